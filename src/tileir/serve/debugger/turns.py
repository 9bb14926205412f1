"""The steps of all tile blocks in the order of time.

A *turn* is a tile block and a stretch of its steps that nothing comes between.  Under most schedules each tile block
has one turn.  Interleaved ones give way before every memory operation: who is next depends on nothing but the program,
so the turns follow from the paths of the tile blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator

import numpy

from tileir.dialect.ops import RETURN
from tileir.execute.dtypes import Array
from tileir.execute.recording.recording import Recording
from tileir.execute.schedule import WINDOW
from tileir.ir.traits import TOKEN_ORDERED
from tileir.serve.debugger.moments import Moment


class Turns:
    """The turns of a recorded launch; turn t has steps of `blocks[t]` from `firsts[t]` up to `ends[t]`, counted from
    0."""

    def __init__(self, recording: Recording) -> None:
        self._recording: Recording = recording
        # The operations of each path that was looked at.
        self._executed: dict[int, Array] = {}
        self.blocks: list[int] = []
        self.firsts: list[int] = []
        self.ends: list[int] = []
        if recording.launch.is_interleaved:
            self._take_turns()
        else:
            self.blocks = recording.order.tolist()
            self.firsts = [0] * len(self.blocks)
            self.ends = recording.blocks.steps.tolist()
        # The turns of each block.
        self._of_block: dict[int, list[int]] = {}
        for turn, block in enumerate(self.blocks):
            self._of_block.setdefault(block, []).append(turn)

    def _take_turns(self) -> None:
        """As `run_interleaved` does."""
        recording = self._recording
        operations = recording.program.operations
        ordered = numpy.array([one.declaration.has_trait(TOKEN_ORDERED) for one in operations], numpy.bool_)
        coming = iter(recording.order.tolist())
        waiting: deque[tuple[int, list[int]]] = deque()
        unfinished: set[int] = set()

        def start() -> None:
            block = next(coming, None)
            if block is not None:
                steps = self.steps(block)
                # A tile block gives way before each of these; what is left of it is one stretch more.
                bounds = [0, *numpy.flatnonzero(ordered[steps]).tolist(), len(steps)]
                if not len(steps) or operations[int(steps[-1])].declaration is not RETURN:
                    unfinished.add(block)
                waiting.append((block, bounds[::-1]))

        for _ in range(WINDOW):
            start()
        while waiting:
            block, bounds = waiting.popleft()
            first = bounds.pop()
            # One that waits alone goes on.
            while len(bounds) > 1 and not waiting:
                bounds.pop(-1)
            self._add(block, first, bounds[-1])
            if len(bounds) > 1:
                waiting.append((block, bounds))
            elif block not in unfinished:
                start()

    def _add(self, block: int, first: int, end: int) -> None:
        if end > first:
            self.blocks.append(block)
            self.firsts.append(first)
            self.ends.append(end)

    def __len__(self) -> int:
        return len(self.blocks)

    def steps(self, block: int) -> Array:
        """The operation of each step of a tile block."""
        recording = self._recording
        path = int(recording.blocks.path[recording.place(block)])
        found = self._executed.get(path)
        if found is None:
            if len(self._executed) > 64:
                self._executed.clear()
            found = self._executed[path] = recording.steps(block)
        return found

    def turn(self, moment: Moment) -> int:
        """The turn that the next step of a moment is in; of a tile block that is done its last."""
        own = self._of_block.get(moment.block)
        if not own:
            self._recording.place(moment.block)
            return 0
        firsts = [self.firsts[turn] for turn in own] if len(own) > 1 else [0]
        return own[max(bisect_right(firsts, moment.step) - 1, 0)]

    def key(self, moment: Moment) -> tuple[int, int]:
        """Moments in the order of time have keys in order."""
        return self.turn(moment), moment.step

    @property
    def last(self) -> Moment:
        """The moment at which everything has happened."""
        return Moment(self.blocks[-1], self.ends[-1])

    @property
    def first(self) -> Moment:
        return Moment(self.blocks[0], self.firsts[0])

    def behind(self, moment: Moment) -> Moment:
        """The moment at which the next step of all has happened, and another one is next; or the last of all."""
        turn = self.turn(moment)
        if moment.step + 1 < self.ends[turn]:
            return Moment(moment.block, moment.step + 1)
        return Moment(self.blocks[turn + 1], self.firsts[turn + 1]) if turn + 1 < len(self) else self.last

    def before(self, moment: Moment) -> Moment | None:
        """The moment one step earlier."""
        turn = self.turn(moment)
        if moment.step > self.firsts[turn]:
            return Moment(moment.block, moment.step - 1)
        return Moment(self.blocks[turn - 1], self.ends[turn - 1] - 1) if turn else None

    def under_way(self, moment: Moment) -> list[Moment]:
        """Where the other tile blocks stand at a moment that have begun and are not done, in the order of the grid.

        They take turns, so each of them has had one among the last few.
        """
        last = self.turn(moment)
        found: dict[int, int] = {}
        for turn in range(last - 1, max(last - 2 * WINDOW, 0) - 1, -1):
            found.setdefault(self.blocks[turn], self.ends[turn])
        return [
            Moment(block, step)
            for block, step in sorted(found.items())
            if block != moment.block and step < len(self.steps(block))
        ]

    def forwards(self, moment: Moment, wanted: Array) -> Iterator[Moment]:
        """The moments behind one whose next operation is wanted, in order; `wanted` has a truth value for each."""
        first = self.turn(moment)
        known: dict[int, Array] = {}
        for turn in range(first, len(self)):
            low = moment.step + 1 if turn == first else self.firsts[turn]
            places = self._places(turn, wanted, known)
            yield from self._moments(turn, places[numpy.searchsorted(places, low) :], low, self.ends[turn])

    def backwards(self, moment: Moment, wanted: Array) -> Iterator[Moment]:
        """The moments before one whose next operation is wanted, the last first."""
        first = self.turn(moment)
        known: dict[int, Array] = {}
        for turn in range(first, -1, -1):
            high = moment.step if turn == first else self.ends[turn]
            places = self._places(turn, wanted, known)[::-1]
            yield from self._moments(turn, places, self.firsts[turn], high)

    def _moments(self, turn: int, places: Array, low: int, high: int) -> Iterator[Moment]:
        block = self.blocks[turn]
        for step in places[(places >= low) & (places < high)].tolist():
            yield Moment(block, step)

    def _places(self, turn: int, wanted: Array, known: dict[int, Array]) -> Array:
        """The steps of a block whose operation is wanted; `known` has those of paths that were looked at."""
        recording = self._recording
        path = int(recording.blocks.path[recording.place(self.blocks[turn])])
        found = known.get(path)
        if found is None:
            found = known[path] = numpy.flatnonzero(wanted[self.steps(self.blocks[turn])])
        return found


def first_wanted(steps: Array, wanted: Array, start: int) -> int:
    """The first step from one on whose operation is wanted; -1 if there is none.  Most are near."""
    size = 64
    while start < len(steps):
        places = numpy.flatnonzero(wanted[steps[start : start + size]])
        if places.size:
            return start + int(places[0])
        start += size
        size *= 4
    return -1
