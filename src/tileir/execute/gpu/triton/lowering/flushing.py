"""Zeros for subnormal numbers, on GPUs that have no instructions for it."""

from __future__ import annotations

from tileir.execute.gpu.triton.ttir.operations import TtirOperations
from tileir.execute.gpu.triton.ttir.values import TtirValue


def flushed(build: TtirOperations, value: TtirValue) -> TtirValue:
    """f32 with zeros, of the same sign, for subnormal numbers."""
    bits = build.bitcast(value, "i32")
    magnitude = build.immediate("arith.andi", bits, 0x7FFFFFFF)
    is_small = build.compare("ult", magnitude, build.integer(0x00800000, "i32", bits.shape))
    return build.bitcast(build.select(is_small, build.immediate("arith.andi", bits, 1 << 31), bits), "f32")
