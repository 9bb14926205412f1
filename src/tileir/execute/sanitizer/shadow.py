"""Shadow memory: for each cell of a region the last events that wrote and read it.

A *cell* is as large as the elements accessed there, and is split for a smaller or misaligned access.  Planes hold event
numbers: the last write, the last read, and of both the last by another tile block than that.  Until a region is
written, reads of whole boxes are kept by box: one entry stands for thousands of cells that many blocks read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.memory import Region

Plane = Any
Key = tuple[int, tuple[int, ...], tuple[int, ...]]

MOST_BOXES = 1 << 16  # More boxes than these are not worth keeping apart.


def distinct(events: Array) -> Array:
    """The different ones among events, at least one; quick where they are all the same."""
    flat = events.reshape(-1)
    content = flat.tobytes()
    return flat[:1].copy() if content == content[:4] * flat.size else numpy.unique(flat)


@dataclass(slots=True, eq=False)
class Cells:
    """The cells one access touches: a box of them, or a list of indices."""

    indices: Array | None
    offset: int = 0
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def of(self, plane: Plane) -> Array:
        """The events there; a view for a box, a copy for a list."""
        if self.indices is not None:
            picked: Array = plane.take(self.indices)
            return picked
        return numpy.ndarray(self.shape, numpy.int32, plane, self.offset, self.strides)

    def starts(self, parts: int) -> Cells:
        """The first cell of each element, where elements have so many."""
        if parts == 1:
            return self
        if self.indices is not None:
            return Cells(self.indices[::parts])
        return Cells(None, self.offset, self.shape[:-1], self.strides[:-1])

    def put(self, plane: Plane, events: Array | int) -> None:
        if self.indices is not None:
            plane[self.indices] = events
        else:
            numpy.ndarray(self.shape, numpy.int32, plane, self.offset, self.strides)[...] = events


class Shadow:
    def __init__(self, region: Region, cell: int, first: int) -> None:
        count = -(-region.size // cell)
        self.region: Region = region
        self.cell: int = cell
        self.writers: Plane = numpy.full(count, first, numpy.int32)
        self.written: bool = first != 0  # Whether the writers are worth a look.
        # Whether strong accesses have to look at them, which do not conflict with each other.
        self.weakly_written: bool = first != 0
        self.readers: Plane | None = None
        self.other_writers: Plane | None = None
        self.other_readers: Plane | None = None
        # Not events: for each cell the release that an acquire there comes after (`Events.releases`).
        self.released: Plane | None = None
        # The last reader of each box, and the last one of another tile block; used until there is a writer.
        self.boxes: dict[Key, tuple[Cells, int, int]] = {}

    def plane(self) -> Plane:
        """A plane without events."""
        return numpy.zeros(self.writers.size, numpy.int32)

    def flush(self) -> None:
        """Write what is kept by box to the cells."""
        boxes, self.boxes = self.boxes, {}
        for cells, reader, other in boxes.values():
            if self.readers is None:
                self.readers = self.plane()
            known = cells.of(self.readers)
            if other or known.any():
                if self.other_readers is None:
                    self.other_readers = self.plane()
                others = cells.of(self.other_readers)
                # Of two readers of different tile blocks at least one is in another block than the next writer.
                others[...] = other if other else numpy.where(others != 0, others, known)
                cells.put(self.other_readers, others)
            cells.put(self.readers, reader)

    def split(self, cell: int) -> None:
        """Make cells smaller."""
        self.flush()
        times = self.cell // cell
        count = -(-self.region.size // cell)
        self.cell = cell
        self.writers = numpy.repeat(self.writers, times)[:count]
        for name in ("readers", "other_writers", "other_readers"):
            plane = getattr(self, name)
            if plane is not None:
                setattr(self, name, numpy.repeat(plane, times)[:count])
        if self.released is not None:
            # A release counts only for reads where it starts.
            known, self.released = self.released, self.plane()
            self.released[::times] = known

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
        indices: Array = offsets >> (cell.bit_length() - 1)
        if size == cell:
            return Cells(indices)
        return Cells((indices[:, None] + numpy.arange(size // cell)).reshape(-1))

    def at(self, plane: Plane, offsets: Array, size: int) -> Array:
        """The events at elements, one row for each: for reports, where time does not matter."""
        indices = offsets[:, None] + numpy.arange(0, size, min(self.cell, size))
        rows: Array = plane[indices // self.cell]
        return rows
