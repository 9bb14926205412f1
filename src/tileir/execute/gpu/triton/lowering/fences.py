"""Barriers among the threads of a tile block, for memory."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.descriptors import may_describe

_ASYNCHRONOUS: Final = "cp.async.bulk.wait_group 0; fence.proxy.async; mov.b32 $0, 0;"
"""Waits for what the accelerator writes for this thread, and has it see what the thread wrote."""


def fenced_barrier(lowering: Lowering) -> None:
    """Have all that threads have written seen by all of them, and by the tensor memory accelerator."""
    if may_describe(lowering):
        lowering.build.effect(_ASYNCHRONOUS, "=r", [], "i32")
    lowering.build.barrier()
