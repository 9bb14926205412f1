"""The tree of a reduction: vectors are halved until one is left, then lanes until one is left.

Item j + half is the first argument and item j the second, as the interpreter documents.  Lanes of one vector are halved
by shuffles that wait for each other, a few instructions each.  Where there are several rows, their vectors go through
the last steps together: each step takes the halves of two vectors by turns, so that the rows share the instructions and
the result is a vector with a lane for each row.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import from_storage, to_storage
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, storage_type

Registers = list[Register]
Combine = Callable[[Registers, Registers], Registers]


class RowVectors:
    """A vector of each of some rows, in memory; rows are a power of two, and no more than lanes."""

    def __init__(self, emission: Emission, like: Registers, rows: int) -> None:
        self._builder: Builder = emission.builder
        self._like: Registers = like
        self._rows: int = rows
        self._sizes: list[int] = [register.width * register.dtype.itemsize for register in like]
        self._pointers: list[str] = [
            emission.frame.stack("i8", 2 * rows * size, name=f"rows{number}.{rows * size}")
            for number, size in enumerate(self._sizes)
        ]

    def put(self, row: Number, registers: Registers) -> None:
        builder = self._builder
        for pointer, size, register in zip(self._pointers, self._sizes, registers, strict=True):
            where = builder.moved(pointer, builder.multiply(row, size))
            builder.do(f"store {to_storage(builder, register).typed}, ptr {where}, align {register.dtype.itemsize}")

    def halved(self, combine: Combine) -> Registers:
        """A vector with a lane for each row.

        Two vectors become one behind the last, until there is one.  All take the same instructions, since what is to
        be combined next is always in the two halves of a vector: so a loop does it, which is as quick as one long
        piece of code, and compiled in a fraction of the time.
        """
        builder, rows = self._builder, self._rows

        def pair(number: Number) -> None:
            place = builder.multiply(number, 2)
            halves = _halves(builder, self._taken(place), self._taken(builder.add(place, 1)))
            self.put(builder.add(number, rows), combine(*halves))

        builder.count(0, rows - 1, 1, pair)
        found = halved(builder, [self._taken(2 * rows - 2)], combine, rows)
        # Each step has moved the next bit of the numbers of rows below those of the steps before.
        bits = rows.bit_length() - 1
        order = [sum([(row >> bit & 1) << (bits - 1 - bit) for bit in range(bits)]) for row in range(rows)]
        return [shuffled(builder, register, None, order) for register in found]

    def _taken(self, row: Number) -> Registers:
        builder = self._builder
        found = []
        for pointer, size, like in zip(self._pointers, self._sizes, self._like, strict=True):
            where = builder.moved(pointer, builder.multiply(row, size))
            text = f"load <{like.width} x {storage_type(like.dtype)}>, ptr {where}, align {like.dtype.itemsize}"
            found.append(from_storage(builder, builder.emit(text), like.dtype, like.width))
        return found


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


def _halves(builder: Builder, first: Registers, second: Registers) -> tuple[Registers, Registers]:
    """The upper halves of two vectors by turns, and the lower ones."""
    width = first[0].width
    low = [lane // 2 + (width if lane % 2 else 0) for lane in range(width)]
    high = [lane + width // 2 for lane in low]

    def chosen(lanes: list[int]) -> Registers:
        return [shuffled(builder, one, other, lanes) for one, other in zip(first, second, strict=True)]

    return chosen(high), chosen(low)


def _part(builder: Builder, register: Register, start: int, count: int) -> Register:
    """Some neighbouring lanes of a vector; a single one is a scalar."""
    if not register.width:
        return register
    if count == 1:
        return builder.value(f"extractelement {register.typed}, i64 {start}", register.dtype)
    return shuffled(builder, register, None, range(start, start + count))
