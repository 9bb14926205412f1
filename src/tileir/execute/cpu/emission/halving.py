"""The tree of a reduction: vectors are halved until one is left, then lanes until one is left.

Item j + half is the first argument and item j the second, as the interpreter documents.  Lanes of one vector are halved
by shuffles that wait for each other, a few instructions each.  Where there are several rows, their vectors go through
the last steps together: each step puts the halves of two vectors side by side, so that the rows share the instructions
and the result is a vector with a lane for each row.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import from_storage, to_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type
from tileir.execute.cpu.vector.parts import shuffled

Registers = list[Register]
Combine = Callable[[Registers, Registers], Registers]


class RowVectors:
    """A vector of each of some rows, in memory until the last row is there."""

    def __init__(self, emission: Emission, like: Registers, rows: int) -> None:
        self._builder: Builder = emission.builder
        self._rows: int = rows
        self._like: Registers = like
        self._sizes: list[int] = [register.width * register.dtype.itemsize for register in like]
        self._pointers: list[str] = [
            emission.frame.stack("i8", rows * size, name=f"rows{number}.{rows * size}")
            for number, size in enumerate(self._sizes)
        ]

    def put(self, row: Number, registers: Registers) -> None:
        builder = self._builder
        for pointer, size, register in zip(self._pointers, self._sizes, registers, strict=True):
            where = builder.moved(pointer, builder.multiply(row, size))
            builder.do(f"store {to_storage(builder, register).typed}, ptr {where}, align {register.dtype.itemsize}")

    def all(self) -> list[Registers]:
        return [[self._taken(row, number) for number in range(len(self._like))] for row in range(self._rows)]

    def _taken(self, row: int, number: int) -> Register:
        builder, like = self._builder, self._like[number]
        where = builder.moved(self._pointers[number], row * self._sizes[number])
        text = f"load <{like.width} x {storage_type(like.dtype)}>, ptr {where}, align {like.dtype.itemsize}"
        return from_storage(builder, builder.emit(text), like.dtype, like.width)


def halved(builder: Builder, vectors: list[Registers], combine: Combine, lanes: int = 1) -> Registers:
    """One vector of so many lanes of several vectors; by vector, then by operand."""
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [combine(high, low) for high, low in zip(vectors[half:], vectors[:half], strict=True)]
    (registers,) = vectors
    width = registers[0].width
    while width > lanes:
        width //= 2
        high = [_part(builder, register, width, width) for register in registers]
        low = [_part(builder, register, 0, width) for register in registers]
        registers = combine(high, low)
    return registers


def halved_together(builder: Builder, rows: list[Registers], combine: Combine) -> Registers:
    """A vector with a lane for each row, of one vector of each row; there are no more rows than lanes."""
    width = rows[0][0].width
    # Each vector holds the lanes of some rows one after another, so many of each.
    each = width
    while each > 1:
        each //= 2
        if len(rows) > 1:
            pairs = list(zip(rows[0::2], rows[1::2], strict=True))
            rows = [combine(*_halves(builder, first, second, each)) for first, second in pairs]
        else:
            rows = [combine(*_halves(builder, rows[0], None, each))]
    return rows[0]


def _halves(builder: Builder, first: Registers, second: Registers | None, each: int) -> tuple[Registers, Registers]:
    """The upper and the lower halves of the rows in one or two vectors, side by side."""
    count = first[0].width * (2 if second is not None else 1)
    low = [lane for lane in range(count) if lane % (2 * each) < each]
    high = [lane + each for lane in low]

    def chosen(lanes: list[int]) -> Registers:
        others: list[Register | None] = [None] * len(first) if second is None else list(second)
        return [shuffled(builder, one, other, lanes) for one, other in zip(first, others, strict=True)]

    return chosen(high), chosen(low)


def _part(builder: Builder, register: Register, start: int, count: int) -> Register:
    """Some neighbouring lanes of a vector; a single one is a scalar."""
    if not register.width:
        return register
    if count == 1:
        return builder.value(f"extractelement {register.typed}, i64 {start}", register.dtype)
    return shuffled(builder, register, None, range(start, start + count))
