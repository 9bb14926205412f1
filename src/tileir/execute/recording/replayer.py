"""Runs tile blocks of a recorded launch again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.frame import Options
from tileir.execute.interpreter.kernel import Program, block_runner
from tileir.execute.observing.observer import Access, Observer, Observers, TileBlock
from tileir.execute.recording.accesses import AccessTable, Allowed
from tileir.execute.recording.capture import Capture, Stop, ValueHistory
from tileir.execute.recording.prepared_launch import RecordedLaunch
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorder import Records
from tileir.execute.schedule import RunBlock, block_at, block_order, run_interleaved

_MOST_HISTORIES: Final = 16


class Rerun(Observer):
    """Counts accesses while a launch runs again, and stops it at a time."""

    def __init__(self, accesses: AccessTable, allowed: Allowed) -> None:
        self._accesses: AccessTable = accesses
        self._allowed: Allowed = allowed
        self.time: int = 0
        self.end: int = 0

    def access(self, access: Access) -> Array | None:
        row = self.time
        if row >= self.end:
            raise Stop
        self.time = self._accesses.behind(row)
        return self._allowed.find(row, access)

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        # As in the launch: others may have gone on.
        return True


class Replayer:
    """Runs tile blocks again, and keeps the values of those that were asked for last, within so much room."""

    def __init__(
        self, program: NumberedProgram, control: ControlFlow, launch: RecordedLaunch, records: Records, room: int
    ) -> None:
        self._entry = program.entry
        self._launch: RecordedLaunch = launch
        self._blocks = records.blocks
        self._accesses = records.accesses
        self._states = records.states
        self._states.run_again = self._run_up_to
        self._room: int = room
        self._capture: Capture = Capture(program, control, records.accesses, records.states, records.allowed)
        self._rerun: Rerun = Rerun(records.accesses, records.allowed)
        self._programs: dict[str, Program] = {}
        self._histories: dict[int, ValueHistory] = {}
        self._rows: tuple[Array, Array] | None = None
        self.differs: bool = False
        """Whether a tile block that ran again has written what it had not the first time."""

    @property
    def nbytes(self) -> int:
        return sum([history.nbytes for history in self._histories.values()])

    def rows(self, block: int) -> Array:
        """The rows of the accesses of a tile block."""
        if self._rows is None or len(self._rows[0]) != len(self._accesses):
            column = self._accesses.block
            order = numpy.argsort(column, kind="stable")
            self._rows = order, column[order]
        order, blocks = self._rows
        found: Array = order[numpy.searchsorted(blocks, block) : numpy.searchsorted(blocks, block, "right")]
        return found

    def history(self, block: int, step: int) -> ValueHistory:
        """The values that a tile block computed, around a step, -1 for all that there is room for."""
        found = self._histories.pop(block, None)
        if found is None or not found.holds(max(step, 0)):
            while self._histories and (len(self._histories) >= _MOST_HISTORIES or self.nbytes > self._room // 2):
                del self._histories[next(iter(self._histories))]
            program = self._program("values", self._capture)
            self._run(program, self._capture, block, step, self._room // 2)
            found = self._capture.history
        # The last is the newest.
        self._histories[block] = found
        return found

    def forget(self, block: int) -> None:
        """Forget the values of a tile block, which will be another one."""
        self._histories.pop(block, None)
        self._rows = None

    def watch(self, block: int, observer: Observer) -> None:
        """Run a tile block again for an observer, with memory as it was at each of its accesses."""
        both = Observers([self._capture, observer])
        self._run(self._compiled(both), both, block, -1, 0)

    # --- running ---

    def _program(self, name: str, observer: Observer, is_interleaved: bool = False) -> Program:
        found = self._programs.get(name)
        if found is None:
            found = self._programs[name] = self._compiled(observer, is_interleaved)
        return found

    def _compiled(self, observer: Observer, is_interleaved: bool = False) -> Program:
        options = Options(self._launch.exact, observer, is_interleaved)
        return Program(self._entry, options, self._launch.globals)

    def _runner(self, program: Program, observer: Observer) -> Callable[[int], None]:
        """What runs the tile block of a number."""
        launch = self._launch

        def run(number: int) -> None:
            block = TileBlock(block_at(number, launch.grid), number, launch.grid, launch.memory, _nowhere, observer)
            with numpy.errstate(all="ignore"), suppress(Stop, ExecutionError):
                program.run(launch.values, block)

        return run

    def _run(self, program: Program, observer: Observer, block: int, requested: int, room: int) -> None:
        """Run one tile block for the capture."""
        capture = self._capture
        place = self._blocks.place(block)
        assert place is not None
        rows = self.rows(block).tolist()
        capture.begin(self._launch.values, rows, int(self._blocks.steps[place]), requested, room)
        if self._launch.is_interleaved and rows and rows[0] < self._states.timeline.first:
            # What others write between is not kept: all run again.
            self._run_all(observer, block)
        else:
            self._states.move(int(self._blocks.began[place]))
            self._runner(program, observer)(block)
            capture.complete_write()
        capture.history.is_over = not capture.is_enough
        self.differs = self.differs or capture.differs

    def _run_all(self, observer: Observer, captured: int) -> None:
        """Run the launch again from the beginning until the tile block that is captured is done."""
        self._states.move(0)
        self._capture.moves_memory = False
        self._rerun.time, self._rerun.end = 0, len(self._accesses)
        both = Observers([self._rerun, observer])
        try:
            self._interleave(captured, self._compiled(both, True), both)
        finally:
            # Where memory is, nothing tells.
            self._states.lose()

    def _interleave(self, captured: int = -1, program: Program | None = None, observer: Observer | None = None) -> None:
        """Run all tile blocks in turns, one of them by a program of its own."""
        launch = self._launch
        runners: list[RunBlock] = []
        plain = self._program("all", self._rerun, True)
        for each, watching in ((plain, self._rerun), (program or plain, observer)):
            first = TileBlock((0, 0, 0), 0, launch.grid, launch.memory, _nowhere, watching)
            runners.append(block_runner(each, launch.values, first))
        order = block_order(launch.schedule, launch.grid)
        with suppress(Stop, ExecutionError):
            run_interleaved(order, lambda number, switch: runners[number == captured](number, switch), None)

    def _run_up_to(self, place: int, time: int) -> None:
        """Run the launch again from the tile block of a place up to a time; memory is as it was when it began."""
        rerun, launch = self._rerun, self._launch
        began = self._blocks.began
        rerun.end = time
        if launch.is_interleaved:
            rerun.time = 0
            self._interleave()
            return
        run = self._runner(self._program("all", rerun), rerun)
        while place < len(began) and int(began[place]) < time:
            rerun.time = int(began[place])
            run(int(self._blocks.number[place]))
            place += 1


def _nowhere(text: str) -> None:
    """What a tile block prints that runs again."""
