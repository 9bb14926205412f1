"""Lowering of pointers, and of what is read and written through tiles of them."""

from __future__ import annotations

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation


def lower_offset(lowering: Lowering, operation: Operation) -> None:
    pointers, offsets = lowering.operands(operation)
    lowering.result(operation, lowering.build.advance(pointers, _counted(lowering, offsets)))


def _counted(lowering: Lowering, offsets: TtirValue) -> TtirValue:
    """Offsets, which are signed, in at least the 32 bits that Triton counts in."""
    return lowering.build.convert("arith.extsi", offsets, "i32") if offsets.bits < 32 else offsets
