"""The list of operations that the CPU backend cannot run is empty."""

from __future__ import annotations

from tests.dialect.roster import DRAFT_NAMES, DRAFT_SECTIONS, PUBLIC

from tileir.execute.cpu.lowering.table import HANDLERS

# What stands around kernels, not in them.
AROUND = {"entry", "global", "module"}


def test_every_operation_that_a_kernel_may_have_is_lowered() -> None:
    names = {DRAFT_NAMES.get(name, name) for name in DRAFT_SECTIONS} | set(PUBLIC)
    assert names - AROUND <= {declaration.mnemonic for declaration in HANDLERS}
