"""Lowering of matrix products."""

from __future__ import annotations

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.ir.core import Operation


def lower_mmaf(lowering: Lowering, operation: Operation) -> None:
    left, right, accumulator = [lowering.whole(operand) for operand in operation.operands]
    lowering.whole_result(operation, lowering.build.dot(left, right, accumulator))
