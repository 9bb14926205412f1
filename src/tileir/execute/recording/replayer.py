"""Runs tile blocks of a recorded launch again for their values, with memory as it was at each access.

What a tile block writes is compared with what it wrote the first time, as far as that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.kernel import Program
from tileir.execute.observing.observer import Access, Observer, Observers, TileBlock
from tileir.execute.recording.accesses import READ, AccessTable, Allowed
from tileir.execute.recording.memory_states import States, Write
from tileir.execute.recording.program import ControlFlow, NumberedProgram, ValueHistory
from tileir.execute.recording.recorded_launch import RecordedLaunch
from tileir.execute.recording.recorder import Records
from tileir.ir.core import Operation
from tileir.ir.values import Value


class Stop(Exception):
    """The program has run as far as requested."""


class Capture(Observer):
    """Keeps the values of a tile block, and moves memory to where it was at each access."""

    def __init__(self, launch: RecordedLaunch, records: Records) -> None:
        self._program: NumberedProgram = launch.program
        self._control: ControlFlow = launch.control
        self._accesses: AccessTable = records.accesses
        self._states: States = records.states
        self._allowed: Allowed = records.allowed
        self.history: ValueHistory = ValueHistory(0)
        self.differs: bool = False  # Whether something was written that was not written the first time.
        self.begin([], [], 0, -1, 0)

    def begin(self, values: list[Any], rows: list[int], steps: int, requested: int, room: int) -> None:
        """Start a tile block of so many steps; keep values around the step `requested`, -1 for all, within `room`."""
        self._most_steps: int = steps
        self.history = ValueHistory(room)
        self.moves_memory: bool = True  # Whether memory moves to where it was; not if the whole launch runs again.
        self._room: int = room
        self._requested: int = requested
        self._enough: int = -1  # Stop at so many bytes, which include the requested step.
        self.is_enough: bool = False  # Whether the tile block was stopped as enough is known.
        self._steps: int = 0
        self._rows: list[int] = rows
        self._place: int = 0
        self._pending: list[tuple[Write, Array]] = []
        self._pending_time: int = -1
        for number, value in enumerate(values):
            self.history.add(number, 0, value)

    def watches(self, operation: Operation) -> bool:
        return operation not in self._program.in_reductions

    def wants(self, operation: Operation) -> Sequence[Value]:
        # The first operation of an iteration requests the values that the loop carries into it.
        block = operation.parent
        loop = block.parent_operation if block is not None and block.first is operation else None
        return block.arguments if block is not None and loop is not None and loop.declaration.is_loop else ()

    def block_finished(self, block: TileBlock) -> None:
        self.complete_write()
        if not self.moves_memory:
            raise Stop

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.complete_write()
        carried = operands[len(operation.operands) :]
        self._give(self.wants(operation) if carried else (), carried, self._steps)
        step = self._steps + self._control.distances[operation]
        if step > self._most_steps:
            # The recording goes no further; nor does a file that is not of this program make it run for ever.
            raise Stop
        if 0 <= self._requested < step:
            self._check_room(step)
        if operation in self._control.decisions:
            self._steps = step

    def _check_room(self, step: int) -> None:
        """Stop before a step behind the requested one, if there is not much room left for what follows."""
        history = self.history
        if self._enough < 0:
            self._enough = history.added + self._room // 2
        if history.added >= self._enough or history.nbytes > self._room:
            history.last = step - 1
            self.is_enough = True
            raise Stop

    def _give(self, values: Any, contents: list[Any], step: int) -> None:
        for value, content in zip(values, contents, strict=True):
            self.history.add(self._program.value_numbers[value], step, content)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.complete_write()
        step = self._steps
        if operation not in self._control.decisions:
            step += self._control.distances[operation]
        self._give(operation.results, results, step)

    def access(self, access: Access) -> Array | None:
        if not self.moves_memory:
            return None
        self.complete_write()
        if self._place == len(self._rows):
            raise Stop  # The recording ends here.
        first = self._rows[self._place]
        end = self._accesses.behind(first)
        self._place += end - first
        self._states.move(first)
        if int(self._accesses.kind[first]) != READ:
            writes = [self._states.write_at(row) for row in range(first, end)]
            self._pending = [(write, write.read()) for write in writes if write is not None]
            self._pending_time = end
        else:
            self._states.advance(end)
        return self._allowed.find(first, access)

    def complete_write(self) -> None:
        """A write that was about to happen has happened: compare it, and go on to the time behind it."""
        if self._pending_time < 0:
            return
        for write, before in self._pending:
            if write.read().tobytes() != write.buffer.tobytes():
                self.differs = True
            # Once more, from before it: so memory and buffers are what they were the first time.
            write.put(before)
        if self._pending:
            self._states.move(self._pending_time)
        else:
            self._states.advance(self._pending_time)
        self._pending = []
        self._pending_time = -1


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
        return True  # As in the launch: others may have gone on.


class Replayer:
    """Runs tile blocks again, and keeps the values of those requested last, within so much room."""

    def __init__(self, launch: RecordedLaunch, records: Records, room: int) -> None:
        self._launch: RecordedLaunch = launch
        self._blocks = records.blocks
        self._accesses = records.accesses
        self._states = records.states
        self._states.run_again = self._run_up_to
        self._room: int = room
        self._capture: Capture = Capture(launch, records)
        self._rerun: Rerun = Rerun(records.accesses, records.allowed)
        self._programs: dict[str, Program] = {}
        self._histories: dict[int, ValueHistory] = {}
        self._rows: tuple[Array, Array] | None = None
        self.differs: bool = False  # Whether a tile block that ran again has written what it had not the first time.

    @property
    def nbytes(self) -> int:
        return sum([history.nbytes for history in self._histories.values()])

    def rows(self, block: int) -> Array:
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
            self._run(self._program("values", self._capture), self._capture, block, step, self._room // 2)
            found = self._capture.history
        self._histories[block] = found  # The last is the newest.
        return found

    def forget(self, block: int) -> None:
        """Forget the values of a tile block, which will be another one."""
        self._histories.pop(block, None)
        self._rows = None

    def watch(self, block: int, observer: Observer) -> None:
        """Run a tile block again for an observer, with memory as it was at each of its accesses."""
        both = Observers([self._capture, observer])
        self._run(self._launch.compiled(both, False), both, block, -1, 0)

    def _program(self, name: str, observer: Observer, is_interleaved: bool = False) -> Program:
        found = self._programs.get(name)
        if found is None:
            found = self._programs[name] = self._launch.compiled(observer, is_interleaved)
        return found

    def _run_block(self, program: Program, observer: Observer, number: int) -> None:
        with numpy.errstate(all="ignore"), suppress(Stop, ExecutionError):
            self._launch.runner(program, observer, _nowhere)(number, None)

    def _run(self, program: Program, observer: Observer, block: int, requested: int, room: int) -> None:
        capture = self._capture
        place = self._blocks.place(block)
        assert place is not None
        rows = self.rows(block).tolist()
        capture.begin(self._launch.values, rows, int(self._blocks.steps[place]), requested, room)
        if self._launch.is_interleaved and rows and rows[0] < self._states.first:
            # What others write between is not kept: all run again.
            self._run_all(observer, block)
        else:
            self._states.move(int(self._blocks.began[place]))
            self._run_block(program, observer, block)
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
            self._interleave(captured, self._launch.compiled(both, True), both)
        finally:
            # The state of memory is unknown.
            self._states.lose()

    def _interleave(self, captured: int = -1, program: Program | None = None, observer: Observer | None = None) -> None:
        """Run all tile blocks interleaved, one of them by a program of its own."""
        plain = self._launch.runner(self._program("all", self._rerun, True), self._rerun, _nowhere)
        own = plain
        if program is not None and observer is not None:
            own = self._launch.runner(program, observer, _nowhere)
        with suppress(Stop, ExecutionError):
            self._launch.run(lambda number, switch: (own if number == captured else plain)(number, switch))

    def _run_up_to(self, place: int, time: int) -> None:
        """Run the launch again from the tile block at `place` up to a time; memory is as it was when it began."""
        rerun, began = self._rerun, self._blocks.began
        rerun.end = time
        if self._launch.is_interleaved:
            rerun.time = 0
            self._interleave()
            return
        program = self._program("all", rerun)
        while place < len(began) and int(began[place]) < time:
            rerun.time = int(began[place])
            self._run_block(program, rerun, int(self._blocks.number[place]))
            place += 1


def _nowhere(text: str) -> None:
    """What a tile block prints that runs again."""
