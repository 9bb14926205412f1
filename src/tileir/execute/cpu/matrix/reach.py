"""How much of a product is wanted, and how much there is of its operands: tiles lie over the edges of tensors."""

from __future__ import annotations

from typing import TypeAlias

from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register, index_register, scalar_type, suffix_of, value_type
from tileir.execute.dtypes import DType

Reach: TypeAlias = tuple[Number, Number]
"""How many rows and columns of C are wanted."""


def end_of(builder: Builder, reach: Reach | None, axis: int, start: int, end: int, step: int) -> Number:
    """Where blocks of rows (0) or columns (1) end that would go on from a start to an end; there is one at least."""
    if reach is None or end <= start + step:
        return end
    least = builder.call("i64", "llvm.umax.i64", [f"i64 {reach[axis]}", f"i64 {start + 1}"])
    return builder.call("i64", "llvm.umin.i64", [f"i64 {least}", f"i64 {end}"])


def lanes_below(builder: Builder, count: Number, width: int) -> str:
    """A mask: the first lanes, as many as there are of a count, which may be negative."""
    left = builder.splat(index_register(count), width)
    order = ", ".join([f"i64 {lane}" for lane in range(width)])
    return builder.emit(f"icmp sgt <{width} x i64> {left.name}, <{order}>")


def all_lanes(builder: Builder, condition: str, width: int) -> str:
    """A mask: all lanes where an i1 holds, else none."""
    kind = f"<{width} x i1>"
    return builder.emit(f"select i1 {condition}, {kind} splat (i1 true), {kind} zeroinitializer")


def load_masked(builder: Builder, dtype: DType, width: int, pointer: str, mask: str, suffix: str = "") -> Register:
    """Load a vector's lanes of a mask: zeros for the others."""
    kind = value_type(dtype, width)
    operands = [f"ptr {pointer}", f"i32 {dtype.itemsize}", f"<{width} x i1> {mask}", f"{kind} zeroinitializer"]
    name = f"llvm.masked.load.{suffix_of(scalar_type(dtype), width)}.p0"
    return Register(builder.call(kind, name, operands, suffix), dtype, width)
