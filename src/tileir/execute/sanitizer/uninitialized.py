"""Memory that was allocated and not written yet.

`fill` fills memory from an `empty` of NumPy, torch or CuPy with a pattern that no result has; sanitized launches also
keep the line that allocated it (`ALLOCATIONS`).  What still holds the pattern when a kernel starts is unwritten.  A
kernel may write these bytes by chance, so they count only with others around them: float32 by element, other floats and
wide integers by 8 bytes, and narrower types only while nothing of the array is written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from typing import Final, NamedTuple

import numpy

from tileir.execute.arguments.binding import buffer_of
from tileir.execute.dtypes import Array
from tileir.execute.memory import Memory, Region, bytes_at
from tileir.forking import NO_FORK

_WORD: Final = 8
_LEAST: Final = 4  # Fewer bytes than these might hold the pattern by chance.
_FLOATS: Final = 0xFBF5_FBE3_FBD9_FBC7  # As float16 about -6e4, as bfloat16 and float32 -2e36, as float64 -1e289.
_OTHERS: Final = 0xA9E5_938D_D9C5_B3A7  # Negative as signed integers of any width, large as unsigned ones.
UNWRITTEN_WORDS: Final = tuple(value >> 16 * place & 0xFFFF for value in (_FLOATS, _OTHERS) for place in range(4))
"""The 16-bit units of the pattern; the lower seven bits of each differ from allocation to allocation."""

_MIXING: Final = 0x9E3779B1


class Elements(NamedTuple):
    size: int
    is_float: bool


class Allocation(NamedTuple):
    """Memory that was filled; `where` is the line that allocated it, `number` makes its pattern unique."""

    start: int
    size: int
    elements: Elements
    where: str
    number: int

    @property
    def end(self) -> int:
        return self.start + self.size

    def unwritten(self, low: int, high: int) -> Array:
        """Which of the bytes between two addresses in it are unwritten.  No others are read: they may be freed."""
        phase = (low - self.start) % _WORD
        pattern = numpy.roll(_pattern(self.elements, self.number), -phase)
        found: Array = bytes_at(low, high - low, False) == numpy.resize(pattern, high - low)
        size, is_float = self.elements
        if size < _LEAST and not (is_float and size > 1):
            found[:] = found.all()
            return found
        grain = _LEAST if is_float and size == _LEAST else _WORD
        # What is left before and behind whole grains is too short to decide alone.
        first = min(-phase % grain, found.size)
        last = found.size - (found.size - first) % grain
        grains = found[first:last].reshape(-1, grain)
        grains[:] = grains.all(axis=1, keepdims=True)
        if first < last:
            found[:first] = found[:first].all() and found[first]
            found[last:] = found[last:].all() and found[last - 1]
        else:
            found[:] = found.all()
        return found


def _pattern(elements: Elements, number: int) -> Array:
    """The 8 bytes that are repeated; what is copied from elsewhere holds another pattern."""
    value = _FLOATS if elements.is_float else _OTHERS
    mixed = number * _MIXING
    for lane in range(4):
        # Seven bits in each sixteen: neither sign nor exponent change.
        value ^= (mixed >> 7 * lane & 0x7F) << 16 * lane
    return numpy.frombuffer(value.to_bytes(_WORD, "little"), numpy.uint8)


def fill(start: int, size: int, elements: Elements, number: int = 0) -> None:
    """Fill new memory with what no result is."""
    bytes_at(start, size, True)[:] = numpy.resize(_pattern(elements, number), size)


_start: Final = attrgetter("start")


class Allocations:
    """The filled memory that may be unwritten; after it is freed, until its addresses are allocated or written."""

    def __init__(self) -> None:
        self._known: list[Allocation] = []  # By address; they do not overlap.
        self._count: int = 0

    def add(self, start: int, size: int, elements: Elements, where: str) -> None:
        """Fill new memory, and remember it."""
        with NO_FORK:
            self._count += 1
            fill(start, size, elements, self._count)
            for known in self._overlapping(start, start + size):
                self._known.remove(known)
            if size >= _LEAST:
                insort(self._known, Allocation(start, size, elements, where, self._count))

    def unwritten(self, low: int, high: int) -> Iterator[tuple[int, Array]]:
        """The unwritten bytes between two addresses: from an address on, which of them are."""
        with NO_FORK:
            found = self._overlapping(low, high)
        for known in found:
            first, last = max(low, known.start), min(high, known.end)
            chosen = known.unwritten(first, last)
            if chosen.any():
                yield first, chosen
            elif last - first == known.size:
                with NO_FORK, suppress(ValueError):
                    self._known.remove(known)

    def at(self, address: int) -> Allocation | None:
        """The allocation that an address is in."""
        with NO_FORK:
            return next(iter(self._overlapping(address, address + 1)), None)

    def _overlapping(self, low: int, high: int) -> list[Allocation]:
        # One at most begins before.
        first = max(bisect_right(self._known, low, key=_start) - 1, 0)
        found = self._known[first : bisect_left(self._known, high, key=_start)]
        return [known for known in found if known.end > low]


ALLOCATIONS: Final = Allocations()


def unwritten_bytes(memory: Memory, arrays: Iterable[object]) -> Iterator[tuple[Region, int, Array]]:
    """Memory unwritten before a launch, of `arrays` and tracked allocations: region, offset, which bytes from there."""
    for array in arrays:
        buffer = buffer_of(array, "an element of `uninitialized`")
        region = memory.find(buffer.low)
        if region is not None and buffer.high > buffer.low:
            yield region, buffer.low - region.start, numpy.ones(buffer.high - buffer.low, numpy.bool_)
    for region in memory.regions:
        for start, found in ALLOCATIONS.unwritten(region.start, region.end):
            yield region, start - region.start, found
