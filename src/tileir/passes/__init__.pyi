# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.ir.core import InsertionPoint as InsertionPoint
from tileir.passes.catalog import register_pass as register_pass, registered_passes as registered_passes
from tileir.passes.pipeline import PassReport as PassReport, run_pipeline as run_pipeline
from tileir.passes.registry import Pass as Pass, PassSession as PassSession
from tileir.rewrite.driver import Fold as Fold, Pattern as Pattern, Statistics as Statistics, apply_greedily as apply_greedily
from tileir.rewrite.fact import Fact as Fact
from tileir.rewrite.facts import Facts as Facts
from tileir.rewrite.rewriter import Rewriter as Rewriter

__all__ = ["Fact", "Facts", "Fold", "InsertionPoint", "Pass", "PassReport", "PassSession", "Pattern", "Rewriter", "Statistics", "apply_greedily", "register_pass", "registered_passes", "run_pipeline"]
