"""Memory through time: what every write replaced.

For each write to an array there is a buffer.  While the memory is as before the write the buffer holds what was
written, afterwards what was there before: to go over a write in either direction is to exchange the buffer with the
memory.  Time is counted in accesses: at time t the accesses before row t have happened.

The oldest writes can be forgotten.  `first` is the earliest time that the others reach.
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

    def __init__(
        self, row: int, region: Region, target: Array, where: Array | None, buffer: Array | None = None
    ) -> None:
        """`target` is the part of the region; or the whole, as elements, and `where` says which of them.

        Without a `buffer` the write is about to happen.
        """
        self.row: int = row
        self.region: Region = region
        self.target: Array = target
        self.where: Array | None = where
        self.buffer: Array = self.read() if buffer is None else buffer

    @property
    def nbytes(self) -> int:
        return self.buffer.nbytes + (self.where.nbytes if self.where is not None else 0) + _ENTRY_BYTES

    def read(self) -> Array:
        """A copy of what the memory holds now."""
        return self.target.copy() if self.where is None else self.target[self.where]

    def put(self, contents: Array) -> None:
        """Make the memory hold something else."""
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
        self.first: int = 0
        self.nbytes: int = 0

    def __len__(self) -> int:
        return len(self._writes)

    @property
    def writes(self) -> list[Write]:
        return self._writes

    def add(self, write: Write) -> None:
        """A write that is about to happen, behind all others."""
        self._writes.append(write)
        self._rows.append(write.row)
        self._done = len(self._writes)
        self.time = write.row + 1
        self.nbytes += write.nbytes

    def restore(self, writes: list[Write]) -> None:
        """Take the writes of a launch that has not happened yet in the memory as it is."""
        self._writes = writes
        self._rows = [write.row for write in writes]
        self._done = self.time = 0
        self.nbytes = sum([write.nbytes for write in writes])

    def move(self, time: int) -> None:
        """Make the memory what it was before the access of a row, `first` at the earliest."""
        assert time >= self.first
        wanted = bisect_left(self._rows, time)
        while self._done < wanted:
            self._writes[self._done].exchange()
            self._done += 1
        while self._done > wanted:
            self._done -= 1
            self._writes[self._done].exchange()
        self.time = time

    def write_at(self, row: int) -> Write | None:
        """The write of a row; None of a row that reads, or whose write is forgotten."""
        place = bisect_left(self._rows, row)
        return self._writes[place] if place < len(self._rows) and self._rows[place] == row else None

    def forget(self, wanted: int) -> None:
        """Forget the oldest writes, so many bytes at least; the memory must be behind them."""
        count = freed = 0
        while count < self._done and freed < wanted:
            freed += self._writes[count].nbytes
            count += 1
        if count:
            self.first = self._rows[count - 1] + 1
            del self._writes[:count], self._rows[:count]
            self._done -= count
            self.nbytes -= freed

    def truncate(self, time: int) -> None:
        """Forget the writes from a time on, at which the memory is."""
        place = bisect_left(self._rows, time)
        self.nbytes -= sum([write.nbytes for write in self._writes[place:]])
        del self._writes[place:], self._rows[place:]
        self._done = place
        self.time = time
        self.first = min(self.first, time)

    def middle(self) -> int:
        """The time of the write up to which the writes take half of the bytes."""
        taken = 0
        for write in self._writes:
            taken += write.nbytes
            if 2 * taken >= self.nbytes:
                return write.row
        return self.time


def box_of(region: Region, address: int, size: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A part of a region by the address of its first element, extents, and distances in bytes."""
    return numpy.ndarray(extents, f"u{size}", region.data, address - region.start, strides)
