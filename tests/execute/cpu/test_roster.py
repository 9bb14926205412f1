"""The list of operations that the CPU engine cannot run is empty."""

from __future__ import annotations

from tests.dialect.roster import PUBLIC, SEED_NAMES, SEED_SECTIONS

from tileir.execute.cpu.lowering.roster import HANDLERS

# What stands around kernels, not in them.
AROUND = {"entry", "global", "module"}


def test_every_operation_that_a_kernel_may_have_is_lowered() -> None:
    names = {SEED_NAMES.get(name, name) for name in SEED_SECTIONS} | set(PUBLIC)
    assert names - AROUND <= set(HANDLERS)
