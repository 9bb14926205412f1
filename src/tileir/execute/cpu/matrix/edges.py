"""How much of a product is wanted, and how much there is of its operands: tiles lie over the edges of tensors."""

from __future__ import annotations

from typing import TypeAlias

from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type, suffix_of, value_type
from tileir.execute.dtypes import DType

Reach: TypeAlias = tuple[Number, Number]
"""How many rows and columns of C are wanted."""
Known: TypeAlias = tuple[Number, int]
"""How many rows of A there are, the others counting as zero; and how many elements of each may be wanted."""


def end_of(builder: Builder, reach: Reach | None, axis: int, start: int, end: int, step: int) -> Number:
    """Where blocks of rows (0) or columns (1) end that would go on from a start to an end; there is one at least."""
    if reach is None or end <= start + step:
        return end
    least = builder.call("i64", "llvm.umax.i64", [f"i64 {reach[axis]}", f"i64 {start + 1}"])
    return builder.call("i64", "llvm.umin.i64", [f"i64 {least}", f"i64 {end}"])


def lanes_below(builder: Builder, count: Number, width: int) -> str:
    """A mask: the first lanes, as many as there are of a count, which may be negative; of 32 lanes at most.

    Made of bits in a register, it is one instruction away wherever it is wanted.
    """
    least = builder.call("i64", "llvm.smax.i64", [f"i64 {count}", "i64 0"])
    number = builder.call("i64", "llvm.umin.i64", [f"i64 {least}", f"i64 {width}"])
    bits = builder.emit(f"sub i64 {builder.emit(f'shl i64 1, {number}')}, 1")
    if width == 1:
        return builder.emit(f"insertelement <1 x i1> poison, i1 {builder.emit(f'trunc i64 {bits} to i1')}, i64 0")
    return builder.emit(f"bitcast i{width} {builder.emit(f'trunc i64 {bits} to i{width}')} to <{width} x i1>")


def load_masked(builder: Builder, dtype: DType, width: int, pointer: str, mask: str, suffix: str = "") -> Register:
    """Load a vector's lanes of a mask: zeros for the others."""
    kind = value_type(dtype, width)
    operands = [f"ptr {pointer}", f"i32 {dtype.itemsize}", f"<{width} x i1> {mask}", f"{kind} zeroinitializer"]
    name = f"llvm.masked.load.{suffix_of(scalar_type(dtype), width)}.p0"
    return Register(builder.call(kind, name, operands, suffix), dtype, width)
