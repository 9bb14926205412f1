"""Barriers among the threads of a tile block, for memory."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.descriptors import may_describe
from tileir.ir.core import Operation

_ASYNCHRONOUS: Final = "cp.async.bulk.wait_group 0; fence.proxy.async; mov.b32 $0, 0;"
"""Waits for what the accelerator writes for this thread, and has it see what the thread wrote."""


def fenced_barrier(lowering: Lowering) -> None:
    """Have all that threads have written seen by all of them, and by the tensor memory accelerator."""
    if may_describe(lowering):
        lowering.build.effect(_ASYNCHRONOUS, "=r", [], "i32")
    lowering.build.barrier()


def wait_for_others(lowering: Lowering, operation: Operation) -> None:
    """A barrier, where an access needs one before it."""
    if operation in lowering.barriers:
        fenced_barrier(lowering)


def lower_alias_fence(lowering: Lowering, operation: Operation) -> None:
    """What comes before it may reach the same memory as what comes after, whatever their addresses."""
    fenced_barrier(lowering)
