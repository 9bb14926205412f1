"""Memory through time: what every write replaced.

For each write to an array there is a buffer.  While the memory is as before the write the buffer holds what was
written, afterwards what was there before: to go over a write in either direction is to exchange the buffer with the
memory.  Time is counted in accesses: at time t the accesses before row t have happened.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.memory import Region

_ENTRY_BYTES: Final = 400
"""What a write takes beside its buffer and its places."""


class Write:
    """A write: the part of memory it changes and the contents it has on the other side of it."""

    __slots__ = ("buffer", "region", "row", "target", "where")

    def __init__(self, row: int, region: Region, target: Array, where: Array | None) -> None:
        """`target` is the part of the region; or the whole, as elements, and `where` says which of them."""
        self.row: int = row
        self.region: Region = region
        self.target: Array = target
        self.where: Array | None = where
        self.buffer: Array = self.read()

    @property
    def nbytes(self) -> int:
        return self.buffer.nbytes + (self.where.nbytes if self.where is not None else 0) + _ENTRY_BYTES

    def read(self) -> Array:
        """A copy of what the memory holds now."""
        return self.target.copy() if self.where is None else self.target[self.where]

    def put(self, contents: Array) -> None:
        """Make the memory hold something else."""
        self.region.changed()
        if self.where is None:
            self.target[...] = contents
        else:
            self.target[self.where] = contents

    def exchange(self) -> None:
        held = self.read()
        self.put(self.buffer)
        self.buffer = held


class Timeline:
    """The writes of a launch in order; `time` is where the memory is."""

    def __init__(self) -> None:
        self._writes: list[Write] = []
        self._rows: list[int] = []
        # So many writes have happened in the memory as it is.
        self._done: int = 0
        self.time: int = 0
        self.nbytes: int = 0

    def add(self, write: Write) -> None:
        """A write that is about to happen, behind all others."""
        self._writes.append(write)
        self._rows.append(write.row)
        self._done = len(self._writes)
        self.time = write.row + 1
        self.nbytes += write.nbytes

    def move(self, time: int) -> None:
        """Make the memory what it was before the access of a row."""
        wanted = bisect_left(self._rows, time)
        while self._done < wanted:
            self._writes[self._done].exchange()
            self._done += 1
        while self._done > wanted:
            self._done -= 1
            self._writes[self._done].exchange()
        self.time = time

    def writes_at(self, row: int) -> list[Write]:
        """The writes of a row; at most one, and none of a row that reads."""
        place = bisect_left(self._rows, row)
        return [self._writes[place]] if place < len(self._rows) and self._rows[place] == row else []


def box_of(region: Region, address: int, size: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A part of a region by the address of its first element, extents, and distances in bytes."""
    return numpy.ndarray(extents, f"u{size}", region.data, address - region.start, strides)
