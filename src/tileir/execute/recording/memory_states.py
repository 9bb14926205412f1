"""Any state of memory, within a limit.

Each write has a buffer (`Write`): what it wrote, while memory is as before it; afterwards what was there before.  To
cross a write in either direction, exchange buffer and memory.  At time t the accesses before row t have happened.
If the writes exceed the limit, the oldest are dropped, and `States` keeps a copy of the written arrays from before the
launch.  It reaches a state between by running tile blocks again, from there or from the last state so reached.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.memory import Region

_ENTRY_BYTES: Final = 400  # What a write takes beside its buffer and its addresses.


class Write:
    """A write: the part of memory it changes and the contents it has on the other side of it."""

    __slots__ = ("buffer", "region", "row", "target", "where")

    def __init__(
        self, row: int, region: Region, target: Array, where: Array | None, buffer: Array | None = None
    ) -> None:
        """`where` selects elements of `target`, None for all; without a `buffer` the write is about to happen."""
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


def box_of(region: Region, address: int, size: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A part of a region by the address of its first element, extents, and distances in bytes."""
    return numpy.ndarray(extents, f"u{size}", region.data, address - region.start, strides)


_NOWHERE: Final = 1 << 62
RunAgain = Callable[[int, int], None]  # From the tile block at a position in the order, up to a time.


class Copy:
    """The written arrays at a time, when the tile block at position `place` of the order was about to begin."""

    def __init__(self, time: int, place: int, regions: list[Region]) -> None:
        self.time: int = time
        self.place: int = place
        self.contents: list[tuple[Region, Array]] = [(region, region.data.copy()) for region in regions]

    def put(self) -> None:
        for region, data in self.contents:
            region.data[:] = data

    @property
    def nbytes(self) -> int:
        return sum([data.nbytes for _, data in self.contents])


class States:
    """The states of memory; `began` has the time at which each tile block began, in order, which grows as they run."""

    def __init__(self, regions: list[Region], room: int, began: Callable[[], Array], is_interleaved: bool) -> None:
        """`regions` are those that the kernel may write to; `room` is for writes and copies, in bytes."""
        self.writes: list[Write] = []
        self.first: int = 0  # From this time on all writes are kept.
        self.room: int = room
        self.run_again: RunAgain | None = None
        self.regions: list[Region] = list(regions)
        self._known: set[int] = {region.start for region in regions}
        self._rows: list[int] = []
        self._done: int = 0  # So many writes have happened in the memory as it is.
        self._bytes: int = 0
        self._start: Copy | None = None  # The arrays before the launch, once writes are forgotten.
        self._began: Callable[[], Array] = began
        self._is_interleaved: bool = is_interleaved
        self._early: int = -1  # Where memory is, if that is before all writes that are kept; -1 if it is among them.
        self._recent: Copy | None = None  # The last state that was reached by running tile blocks again.

    @property
    def nbytes(self) -> int:
        return self._bytes + sum([copy.nbytes for copy in self._copies])

    @property
    def _copies(self) -> list[Copy]:
        return [copy for copy in (self._start, self._recent) if copy is not None]

    @property
    def is_whole(self) -> bool:
        """Whether every write is kept."""
        return self.first == 0

    def add(self, write: Write) -> None:
        """A write is about to happen, behind all others."""
        if write.region.start not in self._known:
            # Nothing has been written there before: it is in all copies what it is now.
            self._known.add(write.region.start)
            self.regions.append(write.region)
            for copy in self._copies:
                copy.contents.append((write.region, write.region.data.copy()))
        self.writes.append(write)
        self._rows.append(write.row)
        self._done = len(self.writes)
        self._bytes += write.nbytes
        self.fit()

    def fit(self) -> None:
        """Forget the oldest writes, if they have no room."""
        while self.writes and self.nbytes > self.room:
            if self._start is None:
                done = self._done
                self._exchange(0)
                self._start = Copy(0, 0, self.regions)
                self._exchange(done)
            goal, count = self._bytes // 2, 0
            while self._bytes > goal:
                self._bytes -= self.writes[count].nbytes
                count += 1
            self.first = self._rows[count - 1] + 1
            del self.writes[:count], self._rows[:count]
            self._done -= count

    def restore(self, writes: list[Write] | None, end: int) -> None:
        """Memory is as before a launch of so many accesses, of which all writes are known, or none."""
        if writes is not None:
            self.writes = writes
            self._rows = [write.row for write in writes]
            self._bytes = sum([write.nbytes for write in writes])
            return
        self._start = Copy(0, 0, self.regions)
        self.first = end
        self._early = 0

    def truncate(self, time: int) -> None:
        """Go to a time, and forget what happened from there on."""
        self.move(time)
        place = self._done = bisect_left(self._rows, time)
        self._bytes -= sum([write.nbytes for write in self.writes[place:]])
        del self.writes[place:], self._rows[place:]
        self.first = min(self.first, time)
        self._recent = None
        self._early = -1

    def write_at(self, row: int) -> Write | None:
        """The write of a row; None of a row that reads, or whose write is forgotten."""
        place = bisect_left(self._rows, row)
        return self.writes[place] if place < len(self._rows) and self._rows[place] == row else None

    def move(self, time: int) -> None:
        """Make the memory what it was before the access of a row."""
        if time >= self.first:
            if self._early >= 0:
                self._reach(self.first)
                self._early = -1
            self._exchange(bisect_left(self._rows, time))
            return
        if self._early < 0:
            # So that all writes that are kept hold what they wrote.
            self._exchange(0)
            self._early = self.first
        self._reach(time)

    def _exchange(self, goal: int) -> None:
        """Make the memory what it was after so many of the writes that are kept."""
        while self._done < goal:
            self.writes[self._done].exchange()
            self._done += 1
        while self._done > goal:
            self._done -= 1
            self.writes[self._done].exchange()

    def advance(self, time: int) -> None:
        """The program itself has gone on to a time, up to `first`, that no write lies behind it which is kept."""
        if self._early >= 0:
            self._early = time if time < self.first else -1

    def lose(self) -> None:
        """The program has left memory in a state that has no time: the next move begins from a copy."""
        self._early = _NOWHERE

    def _reach(self, time: int) -> None:
        """Come to a time before all writes that are kept by running tile blocks again."""
        if self._early == time:
            return
        assert self.run_again is not None
        began = self._began()
        best = max([copy for copy in self._copies if copy.time <= time], key=lambda copy: copy.time)
        # After an interrupt on the way, memory is in no known state.
        self.lose()
        best.put()
        place = best.place
        last = bisect_right(began, time) - 1
        if last > place and not self._is_interleaved:
            self.run_again(place, int(began[last]))
            place = last
            if self.nbytes + best.nbytes <= self.room:
                self._recent = Copy(int(began[last]), last, self.regions)
        if time > (int(began[place]) if place < len(began) else 0):
            self.run_again(place, time)
        self._early = time
