"""Any state of memory, within a limit.

As long as all writes are kept, memory goes through time by exchanging them (`timeline`).  Where they would take more
than the limit allows, the oldest are forgotten, and copies of the arrays that are written are kept for a few moments
instead, the first of them from before the launch: a state between is reached by running tile blocks again from the
nearest copy before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from tileir.execute.dtypes import Array
from tileir.execute.memory import Region
from tileir.execute.recording.timeline import Timeline, Write

_NOWHERE: Final = 1 << 62
RunAgain = Callable[[int, int], None]
"""Runs the launch again from the start of a tile block, by its place in the order, up to a time."""


class Copy:
    """The arrays that are written as they were at a time, when the tile block of a place was about to begin."""

    __slots__ = ("contents", "place", "time")

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
        self.timeline: Timeline = Timeline()
        self.room: int = room
        self.run_again: RunAgain | None = None
        self.regions: list[Region] = list(regions)
        self._known: set[int] = {region.start for region in regions}
        self._copies: list[Copy] = []
        self._began: Callable[[], Array] = began
        self._is_interleaved: bool = is_interleaved
        # Where memory is, if that is before all writes that are kept; -1 if it is among them.
        self._early: int = -1
        # The last state that was reached by running tile blocks again.
        self._recent: Copy | None = None

    @property
    def nbytes(self) -> int:
        recent = self._recent.nbytes if self._recent is not None else 0
        return self.timeline.nbytes + sum([copy.nbytes for copy in self._copies]) + recent

    @property
    def is_whole(self) -> bool:
        """Whether every write is kept."""
        return self.timeline.first == 0

    # --- while the launch runs ---

    def add(self, write: Write) -> None:
        """A write is about to happen."""
        if write.region.start not in self._known:
            # Nothing has been written there before: it is in all copies what it is now.
            self._known.add(write.region.start)
            self.regions.append(write.region)
            for copy in self._copies:
                copy.contents.append((write.region, write.region.data.copy()))
        self.timeline.add(write)
        self.fit()

    def fit(self) -> None:
        """Forget as much as has no room."""
        while len(self.timeline) and self.nbytes > self.room:
            self._shrink()
        while len(self._copies) > 1 and self.nbytes > self.room:
            self._copies.pop()

    def _shrink(self) -> None:
        """Forget about half of the writes; where it helps and fits, with a copy to begin from."""
        timeline = self.timeline
        now = timeline.time
        if not self._copies:
            timeline.move(0)
            self._copies.append(Copy(0, 0, self.regions))
        wanted = timeline.nbytes // 2 + 1
        if not self._is_interleaved:
            began = self._began()
            place = bisect_right(began, timeline.middle()) - 1
            time = int(began[place])
            if time > max(timeline.first, self._copies[-1].time):
                size = self._copies[0].nbytes
                if (len(self._copies) + 1) * size > self.room // 2:
                    # Every second one goes, but not the first.
                    self._copies = self._copies[:1] + self._copies[2::2]
                if (len(self._copies) + 1) * size <= self.room // 2:
                    timeline.move(time)
                    self._copies.append(Copy(time, place, self.regions))
        timeline.move(now)
        timeline.forget(wanted)

    def restore(self, writes: list[Write] | None, end: int) -> None:
        """Memory is as before a launch of so many accesses, of which all writes are known, or none."""
        if writes is not None:
            self.timeline.restore(writes)
            return
        self._copies.append(Copy(0, 0, self.regions))
        self.timeline.first = self.timeline.time = end
        self._early = 0

    def truncate(self, time: int) -> None:
        """Go to a time, and forget what happened from there on."""
        self.move(time)
        self.timeline.truncate(time)
        self._copies = [copy for copy in self._copies if copy.time <= time]
        self._recent = None
        self._early = -1

    # --- afterwards ---

    @property
    def time(self) -> int:
        return self._early if self._early >= 0 else self.timeline.time

    def move(self, time: int) -> None:
        """Make the memory what it was before the access of a row."""
        timeline = self.timeline
        if time >= timeline.first:
            if self._early >= 0:
                self._reach(timeline.first)
                self._early = -1
            timeline.move(time)
            return
        if self._early < 0:
            # So that all writes that are kept hold what they wrote.
            timeline.move(timeline.first)
            self._early = timeline.first
        self._reach(time)

    def advance(self, time: int) -> None:
        """The program itself has gone on to a time, up to `first`, that no write lies behind it which is kept."""
        if self._early >= 0:
            self._early = time if time < self.timeline.first else -1

    def lose(self) -> None:
        """The program has left memory in a state that has no time: the next move begins from a copy."""
        self._early = _NOWHERE

    def _reach(self, time: int) -> None:
        """Come to a time before all writes that are kept by running tile blocks again."""
        if self._early == time:
            return
        assert self.run_again is not None
        began = self._began()
        choice = [copy for copy in [*self._copies, self._recent] if copy is not None and copy.time <= time]
        best = max(choice, key=lambda copy: copy.time)
        # Until it is there: whoever is interrupted on the way must not take it for a state.
        self.lose()
        best.put()
        place = best.place
        if not self._is_interleaved:
            last = bisect_right(began, time) - 1
            if last > place:
                self.run_again(place, int(began[last]))
                place = last
                if self.nbytes + best.nbytes <= self.room:
                    self._recent = None
                    self._recent = Copy(int(began[last]), last, self.regions)
        if time > (int(began[place]) if place < len(began) else 0):
            self.run_again(place, time)
        self._early = time
