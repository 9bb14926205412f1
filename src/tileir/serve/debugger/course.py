"""The course of a launch: recorded as far as the debugger has been, with what the kernel prints on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy

from tileir.dialect.ops import PRINT_TKO, RETURN
from tileir.execute.dtypes import Array
from tileir.execute.errors import converted
from tileir.execute.observing.observer import Observer
from tileir.execute.recording.recorder import Interrupted, Interruption
from tileir.execute.recording.recording import PreparedLaunch, Recording
from tileir.execute.recording.stepwise_recording import StepwiseRecording
from tileir.ir.diagnostics import TileIRError
from tileir.serve.debugger.moments import Moment
from tileir.serve.debugger.scouting import Reached
from tileir.serve.debugger.turns import Turns

_AHEAD: Final = 4096
"""So many steps more than are asked for are recorded of a long tile block, and at least as many as there are."""


class Course:
    """What is known of a launch."""

    def __init__(self, prepared: PreparedLaunch, sanitize: bool, output: Callable[[str], object]) -> None:
        self.prepared: Final = prepared
        self.interruption: Final = Interruption()
        self.stepwise: StepwiseRecording = StepwiseRecording(prepared, self.interruption, sanitize)
        self._output: Callable[[str], object] = output
        self._emitted: int = 0
        self._turns: Turns | None = None
        self._turns_of: object = None
        operations = prepared.program.operations
        self._prints: Array = numpy.array([one.declaration is PRINT_TKO for one in operations], numpy.bool_)

    @property
    def recording(self) -> Recording:
        return self.stepwise.recording

    def sanitize(self, is_wanted: bool) -> None:
        """Record again from the start, with a look for mistakes or without; memory goes back to there."""
        if len(self.recording.blocks):
            self.recording.go_to(0)
        self.stepwise = StepwiseRecording(self.prepared, self.interruption, is_wanted)

    @property
    def turns(self) -> Turns:
        """The turns of what is recorded."""
        recording = self.recording
        blocks = recording.blocks
        state = (id(recording), len(blocks), int(blocks.steps[-1]) if len(blocks) else 0, self.stepwise.is_over)
        if self._turns is None or self._turns_of != state:
            self._turns, self._turns_of = Turns(recording), state
        return self._turns

    # --- recording ---

    def reach(self, place: int, steps: int = 0) -> None:
        """Record up to a step of the tile block of a place, and somewhat further."""
        known = int(self.recording.blocks.steps[place]) if place < len(self.recording.blocks) else 0
        self._do(lambda: self.stepwise.record_to(place, max(steps + _AHEAD, 2 * known)))

    def complete(self) -> None:
        """Record to the end of the launch."""
        self._do(lambda: self.stepwise.record_to(self.stepwise.count - 1))

    def rehearse(self, observer: Observer, place: int, write: Callable[[str], object]) -> None:
        """Run from the tile block of a place without recording."""
        self._do(lambda: self.stepwise.rehearse(observer, place, write))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (TileIRError, Interrupted, Reached):
            raise
        except Exception as error:
            raise converted(error) from error

    def steps(self, block: int) -> Array:
        """The operations that a tile block executes, as far as is known."""
        return self.turns.steps(block)

    def has(self, moment: Moment) -> bool:
        """Whether a moment is recorded: what is next there, or that a tile block is at its end."""
        if self.recording.blocks.place(moment.block) is None:
            return False
        count = len(self.steps(moment.block))
        return moment.step < count or (moment.step == count and not self.stepwise.is_full)

    def end_words(self, wanted: Moment | None) -> str:
        """Why the recording ends where it does, before a moment that is wanted."""
        words = f"The recording takes {self.prepared.limit} bytes, as much as it may, and ends here"
        if wanted is not None:
            words += f", before step {wanted.step} of tile block {wanted.block}, where the launch would stop"
        return f"{words}: pass a larger limit to see more."

    def is_whole(self, block: int) -> bool:
        """Whether a tile block is recorded up to its end, or where it failed."""
        if self.stepwise.is_over:
            return True
        steps = self.steps(block)
        last = self.prepared.program.operations[int(steps[-1])] if len(steps) else None
        return last is not None and last.declaration is RETURN

    def place(self, block: int) -> int:
        """The place of a tile block in the order in which they begin."""
        return self.stepwise.place(block)

    def is_later(self, one: Moment, other: Moment) -> bool:
        """Whether a moment comes behind another one, which is recorded, in the order of time."""
        blocks = self.recording.blocks
        place = blocks.place(one.block)
        if place is None:
            return True
        if one.block == other.block:
            return one.step > other.step
        if not self.prepared.launch.is_interleaved:
            known = blocks.place(other.block)
            return known is not None and place > known
        if one.step >= int(blocks.steps[place]):
            return True
        return self.turns.key(one) > self.turns.key(other)

    # --- what the kernel prints ---

    def printed_before(self, moment: Moment) -> int:
        """How many texts are printed before a moment."""
        if not self._prints.any():
            return 0
        turns = self.turns
        if not len(turns):
            return 0
        last = turns.turn(moment)
        count = 0
        for turn in range(last + 1):
            end = turns.ends[turn] if turn < last else min(moment.step, turns.ends[turn])
            count += int(numpy.count_nonzero(self._prints[turns.steps(turns.blocks[turn])[turns.firsts[turn] : end]]))
        return count

    def emit_to(self, moment: Moment) -> None:
        """Put out what is printed before a moment, if it was not put out before."""
        if not self._prints.any():
            return
        count = min(self.printed_before(moment), len(self.stepwise.texts))
        while self._emitted < count:
            self._emitted += 1
            self._output(self.stepwise.texts[self._emitted - 1])

    def emit_all(self) -> None:
        while self.stepwise.is_over and self._emitted < len(self.stepwise.texts):
            self._emitted += 1
            self._output(self.stepwise.texts[self._emitted - 1])

    def writer(self, place: int) -> Callable[[str], object]:
        """What takes what a rehearsal prints that begins with a tile block: texts that are new are put out at once."""
        blocks = self.recording.blocks
        if place < len(blocks):
            count = self.printed_before(Moment(int(blocks.number[place]), 0)) if place else 0
        else:
            count = len(self.stepwise.texts)

        def write(text: str) -> None:
            nonlocal count
            count += 1
            if count > self._emitted:
                self._emitted = count
                self._output(text)

        return write
