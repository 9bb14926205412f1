"""The list of operations that the CPU backend cannot run is empty."""

from __future__ import annotations

from tests.dialect.roster import DRAFT_NAMES, DRAFT_SECTIONS, PUBLIC

from tileir.execute.cpu.lowering.table import HANDLERS
from tileir.execute.errors import why_not_executed
from tileir.ir.registry import REGISTRY

# What stands around kernels, not in them.
AROUND = {"entry", "global", "module"}
# What no backend runs, with a reason.
NOT_EXECUTED = {each.mnemonic for each in REGISTRY.declarations() if why_not_executed(each)}


def test_every_operation_that_a_kernel_may_have_is_lowered() -> None:
    names = {DRAFT_NAMES.get(name, name) for name in DRAFT_SECTIONS} | set(PUBLIC)
    assert names - AROUND - NOT_EXECUTED <= {declaration.mnemonic for declaration in HANDLERS}
