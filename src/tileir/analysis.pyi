# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.analyze.difference.changes import ProgramChange as ProgramChange
from tileir.analyze.difference.difference import ProgramDifference as ProgramDifference
from tileir.analyze.difference.semantic import SemanticDifference as SemanticDifference
from tileir.analyze.forms.form import Representation as Representation
from tileir.analyze.forms.forms import Representations as Representations
from tileir.analyze.lint.fixes import LintFix as LintFix
from tileir.analyze.lint.rule import LintFinding as LintFinding
from tileir.analyze.reducing.reduce import Reduction as Reduction, ReductionProgress as ReductionProgress
from tileir.analyze.smith.program import SMITH_FAMILIES as SMITH_FAMILIES, SMITH_STREAM as SMITH_STREAM, SmithProgram as SmithProgram
from tileir.proofs.records import Assumption as Assumption
from tileir.proofs.report import Answer as Answer, Proof as Proof
from tileir.serve.explorer.exploring import Exploration as Exploration

__all__ = ["Answer", "Assumption", "Exploration", "LintFinding", "LintFix", "ProgramChange", "ProgramDifference", "Proof", "Reduction", "ReductionProgress", "Representation", "Representations", "SMITH_FAMILIES", "SMITH_STREAM", "SemanticDifference", "SmithProgram"]
