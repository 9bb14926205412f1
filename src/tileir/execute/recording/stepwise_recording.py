"""A launch that is recorded only as far as requested, and rehearsed to see where it goes.

Sequential tile blocks are recorded one by one; an interrupted one starts over when the recording goes on.  Interleaved
tile blocks, and a sanitized launch, are recorded in one go.  To *rehearse* is to run the launch from the start of a
tile block without recording it, nearly as fast as without a debugger; afterwards memory is what it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import numpy

from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Observer
from tileir.execute.recording.memory_states import Copy
from tileir.execute.recording.recorder import Interrupted, Interruption, Recorder
from tileir.execute.recording.recording import PreparedLaunch, Recording, notes_of, recording_of
from tileir.execute.schedule import RunBlock

Write = Callable[[str], object]


class StepwiseRecording:
    def __init__(self, prepared: PreparedLaunch, interruption: Interruption, sanitize: bool = False) -> None:
        self.prepared: Final = prepared
        self.interruption: Final = interruption
        self.is_sequential: Final = not prepared.launch.is_interleaved and not sanitize
        """Whether tile blocks are recorded one after the other."""
        self._sanitize: Final = sanitize
        grid = prepared.launch.grid
        self.count: Final = grid[0] * grid[1] * grid[2]  # How many tile blocks the launch has.
        self.texts: list[str] = []  # What the kernel has printed, as far as it is recorded.
        self.whole: int = 0  # So many tile blocks are recorded up to their end.
        self.is_over: bool = False  # Whether no more can be recorded: the launch ended, failed, or has no room.
        self.error: ExecutionError | None = None
        self.final: Copy | None = None  # The arrays as they are when the launch is over, if a rehearsal came to there.
        self._printed: int = 0
        self._begin()

    def _begin(self) -> None:
        self._recorder: Recorder = self.prepared.recorder(self._sanitize, [])
        self.recording: Recording = recording_of(self.prepared, self._recorder, self._sanitize)
        self._recorder.interruption = self.interruption
        self._run: RunBlock | None = None
        self.texts.clear()
        self.whole = 0
        self.is_over = False

    @property
    def is_full(self) -> bool:
        """Whether the recording ends before the launch does, as it may not take more."""
        return self.is_over and self._recorder.end is not None

    @property
    def is_complete(self) -> bool:
        return self.is_over and self._recorder.end is None

    def has(self, place: int, steps: int = -1) -> bool:
        """Whether the tile block at position `place` is recorded: so many steps of it, -1 for all."""
        if self.is_over or place < self.whole:
            return True
        blocks = self.recording.blocks
        return 0 <= steps <= (int(blocks.steps[place]) if place < len(blocks) else -1)

    def place(self, block: int) -> int:
        """The position of a tile block in the order in which they begin, be it recorded or not."""
        found = self.recording.blocks.place(block)
        if found is not None:
            return found
        return next(place for place, number in enumerate(self.order()) if number == block)

    def record_to(self, place: int, steps: int = -1) -> None:
        """Record up to the tile block at position `place`, and at least so many steps of that one, -1 for all.

        Raises `Interrupted` on request; what is recorded by then stays.
        """
        if self.has(place, steps):
            return
        launch = self.prepared.launch
        with self.recording.lock, numpy.errstate(all="ignore"):
            bound = (next(islice(self.order(), place, None)), steps) if steps >= 0 else (-1, 0)
            if not self.is_sequential:
                # Nothing can be recorded between: all of it, from the start.
                place = self.count - 1
                if len(self.recording.blocks):
                    self.recording.go_to(0)
                    self._begin()
            recording, recorder = self.recording, self._recorder
            recorder.bound = bound
            if len(recording.blocks) > self.whole:
                recording.truncate(self.whole)
                del self.texts[self._printed :]
            recording.go_to(len(recording.accesses))
            if self._run is None:
                self._run = self._runner(recorder, self.texts.append)
                recorder.launch_started(launch.grid, launch.memory)
            if launch.is_interleaved:
                run = self._run
                if not self._record(lambda *_: launch.run(run), -1):
                    return
                self.whole = self.count
            for number in islice(self.order(), self.whole, place + 1):
                if launch.progress is not None:
                    launch.progress(self.whole, self.count)
                self._printed = len(self.texts)
                if not self._record(self._run, number):
                    return
                self.whole += 1
                if recorder.end is not None and self.is_sequential:
                    break
            if self.whole == self.count or recorder.end is not None:
                self._finish()

    def _record(self, run: RunBlock, number: int) -> bool:
        """Record a tile block; whether it came to its end."""
        try:
            run(number, None)
        except ExecutionError as error:
            self.error = error
            self.recording.failure = str(error)
            self._finish()
            return False
        except BaseException as interrupt:
            self._recorder.launch_finished()
            if self.interruption.is_requested or not isinstance(interrupt, Interrupted):
                raise
            return False
        return True

    def _finish(self) -> None:
        self._recorder.launch_finished()
        if self._recorder.end is not None:
            self._recorder.end.put()
        self.is_over = True
        self.recording.notes[:] = notes_of(self._recorder, self.prepared.limit)

    @property
    def last(self) -> int:
        """The tile block that begins last."""
        return next(islice(self.order(), self.count - 1, None))

    def order(self) -> Iterator[int]:
        """The tile blocks in the order in which they begin."""
        return self.prepared.launch.order.numbers

    def _runner(self, observer: Observer, write: Write) -> RunBlock:
        launch = self.prepared.launch
        return launch.runner(launch.compiled(observer, launch.is_interleaved), observer, write)

    def rehearse(self, observer: Observer, place: int, write: Write) -> None:
        """Run the launch from position `place` until an observer raises; if it ends or fails first, `final` has the
        arrays."""
        recording = self.recording
        with recording.lock, numpy.errstate(all="ignore"):
            states = recording.records.states
            began = recording.blocks.began
            time = int(began[place]) if place < len(began) else len(recording.accesses)
            del began
            states.move(time)
            before = Copy(time, place, self.prepared.regions)
            launch = self.prepared.launch
            is_over = True
            try:
                run = self._runner(observer, write)
                observer.launch_started(launch.grid, launch.memory)
                launch.run(run, place)
            except ExecutionError:
                raise
            except BaseException:
                is_over = False
                raise
            finally:
                if is_over and self.final is None:
                    self.final = Copy(-1, -1, self.prepared.regions)
                before.put()

    def hand_back(self) -> None:
        """Give the caller the arrays as the launch leaves them; it must have come to its end."""
        recording = self.recording
        with recording.lock:
            if self.is_complete:
                recording.go_to(len(recording.accesses))
                self.prepared.hand_back()
                return
            assert self.final is not None
            before = Copy(-1, -1, self.prepared.regions)
            self.final.put()
            self.prepared.hand_back()
            before.put()
