"""Shadow memory: for each piece of a region the last events that wrote and read it.

A piece, a *cell*, is as large as the elements the program accesses there, and is split where a smaller or odd access
comes.  Each plane holds event numbers (see `events`): the last write, the last read, and of both the last one by
another tile block than that, for the rare programs in which several blocks come to the same place.
"""

from __future__ import annotations

from typing import Any

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.memory import Region

Plane = Any


class Cells:
    """The cells one access touches: a box of them, or a list of places."""

    __slots__ = ("offset", "places", "shape", "strides")

    def __init__(
        self,
        places: Array | None,
        offset: int = 0,
        shape: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> None:
        self.places: Array | None = places
        self.offset: int = offset
        self.shape: tuple[int, ...] = shape
        self.strides: tuple[int, ...] = strides

    def of(self, plane: Plane) -> Array:
        """The events there; a view for a box, a copy for a list."""
        if self.places is not None:
            picked: Array = plane[self.places]
            return picked
        return numpy.ndarray(self.shape, numpy.int32, plane, self.offset, self.strides)

    def put(self, plane: Plane, events: Array | int) -> None:
        if self.places is not None:
            plane[self.places] = events
        else:
            numpy.ndarray(self.shape, numpy.int32, plane, self.offset, self.strides)[...] = events


class Shadow:
    """The shadow of one region."""

    __slots__ = ("cell", "first", "other_readers", "other_writers", "readers", "region", "touched", "writers")

    def __init__(self, region: Region, cell: int, first: int) -> None:
        count = -(-region.size // cell)
        self.region: Region = region
        self.cell: int = cell
        self.first: int = first
        self.writers: Plane = numpy.full(count, first, numpy.int32)
        self.readers: Plane = numpy.zeros(count, numpy.int32)
        self.other_writers: Plane | None = None
        self.other_readers: Plane | None = None
        # Whether any event wrote: most arrays are only read, and need no look at their writers.
        self.touched: bool = first != 0

    def split(self, cell: int) -> None:
        """Make cells smaller."""
        times = self.cell // cell
        count = -(-self.region.size // cell)
        self.cell = cell
        self.writers = numpy.repeat(self.writers, times)[:count]
        self.readers = numpy.repeat(self.readers, times)[:count]
        if self.other_writers is not None:
            self.other_writers = numpy.repeat(self.other_writers, times)[:count]
        if self.other_readers is not None:
            self.other_readers = numpy.repeat(self.other_readers, times)[:count]

    def fit(self, bits: int) -> None:
        """Split until offsets and sizes with these bits are whole cells."""
        while bits & (self.cell - 1):
            self.split(self.cell // 2)

    def box(self, address: int, size: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> Cells:
        """The cells of a box of elements."""
        offset = address - self.region.start
        bits = offset | size
        for stride in strides:
            bits |= stride
        self.fit(bits)
        cell = self.cell
        shape = counts if size == cell else (*counts, size // cell)
        steps = [stride // cell * 4 for stride in strides]
        return Cells(None, offset // cell * 4, shape, tuple(steps if size == cell else [*steps, 4]))

    def listed(self, offsets: Array, size: int, bits: int) -> Cells:
        """The cells of elements at these offsets, a flat array of int64; `bits` is all of them together."""
        self.fit(bits | size)
        cell = self.cell
        places: Array = offsets >> (cell.bit_length() - 1)
        count = int(places.size)
        if size == cell:
            first = int(places[0])
            if int(places[-1]) - first == count - 1 and bool((places[1:] > places[:-1]).all()):
                return Cells(None, first * 4, (count,), (4,))
            return Cells(places)
        return Cells((places[:, None] + numpy.arange(size // cell)).reshape(-1))

    def at(self, plane: Plane, offsets: Array, size: int) -> Array:
        """The events at elements, one row for each: for reports, where time does not matter."""
        places = offsets[:, None] + numpy.arange(0, size, min(self.cell, size))
        rows: Array = plane[places // self.cell]
        return rows


def distinct(events: Array) -> list[int]:
    """The different numbers in an array; quick where they are all the same or come in runs."""
    low = int(events.min())
    if low == int(events.max()):
        return [low]
    flat = events.reshape(-1)
    starts = flat[1:][flat[1:] != flat[:-1]]
    return sorted({int(flat[0]), *starts.tolist()})
