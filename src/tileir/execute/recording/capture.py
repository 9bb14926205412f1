"""The values of a tile block that runs again, as many as there is room for.

Values are not kept while a launch runs: the tile block is run again by the interpreter, with memory as it was at each
of its accesses.  What it writes is compared with what it wrote the first time, as far as that is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from tileir.execute.dtypes import Array
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.accesses import READ, AccessTable, Allowed
from tileir.execute.recording.memory_states import States, Write
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorded_launch import RecordedLaunch
from tileir.execute.recording.recorder import Records
from tileir.ir.core import Operation
from tileir.ir.values import Value

_ENTRY_BYTES: Final = 200
"""What a value takes beside its elements."""


class ValueHistory:
    """For each value the steps at which it was computed, and what it was.

    It is complete for the steps from `first` to `last`.  With more than `room` bytes the older half is forgotten, but
    never the newest of a value.
    """

    def __init__(self, room: int) -> None:
        self.first: int = 0
        self.last: int = 0
        self.nbytes: int = 0
        self.added: int = 0
        """The bytes of all entries, forgotten or not."""
        self.is_over: bool = False
        """Whether the tile block has come to its end."""
        self._room: int = room
        self._entries: dict[int, tuple[list[int], list[Any]]] = {}

    def add(self, value: int, step: int, content: Any) -> None:
        steps, contents = self._entries.setdefault(value, ([], []))
        if steps and steps[-1] == step:
            contents[-1] = content
            return
        steps.append(step)
        contents.append(content)
        self.nbytes += _size(content)
        self.added += _size(content)
        while self.nbytes > self._room and self.first < step:
            self._forget((self.first + step + 1) // 2)

    def _forget(self, first: int) -> None:
        """Forget what is older than what values are at a step."""
        self.first = first
        for steps, contents in self._entries.values():
            place = max(bisect_right(steps, first) - 1, 0)
            self.nbytes -= sum([_size(content) for content in contents[:place]])
            del steps[:place], contents[:place]

    def holds(self, step: int) -> bool:
        """Whether all values of a moment are known."""
        return self.first <= step and (self.is_over or step <= self.last)

    def at(self, value: int, step: int) -> tuple[int, Any] | None:
        """The newest of a value at a step: when it was computed, and what it is; None before there is any."""
        steps, contents = self._entries.get(value, ([], []))
        place = bisect_right(steps, step) - 1
        return (steps[place], contents[place]) if place >= 0 else None

    def steps(self, value: int) -> list[int]:
        """The steps at which a value was computed, of the part that is known."""
        return self._entries.get(value, ([], []))[0]


def _size(content: Any) -> int:
    return _ENTRY_BYTES + int(getattr(content, "nbytes", 0))


class Stop(Exception):
    """The program has run as far as it is wanted."""


class Capture(Observer):
    """Keeps the values of a tile block, and moves memory to where it was at each access."""

    def __init__(self, launch: RecordedLaunch, records: Records) -> None:
        self._program: NumberedProgram = launch.program
        self._control: ControlFlow = launch.control
        self._accesses: AccessTable = records.accesses
        self._states: States = records.states
        self._allowed: Allowed = records.allowed
        self.history: ValueHistory = ValueHistory(0)
        self.differs: bool = False
        """Whether something was written that was not written the first time."""
        self.begin([], [], 0, -1, 0)

    def begin(self, values: list[Any], rows: list[int], steps: int, requested: int, room: int) -> None:
        """A tile block is about to run, with the values of its parameters, the rows of its accesses and so many steps.

        Values are kept around the step `wanted`, -1 for all, with so much room for them.
        """
        self._most_steps: int = steps
        self.history = ValueHistory(room)
        self.moves_memory: bool = True
        """Whether memory is to be moved to where it was; not if the whole launch runs again."""
        self._room: int = room
        self._requested: int = requested
        # With so many bytes, the moment that is wanted among them, it is enough.
        self._enough: int = -1
        self.is_enough: bool = False
        """Whether the tile block was stopped as enough is known."""
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
        # The first operation of an iteration knows what the loop gives to it.
        block = operation.parent
        is_first = block is not None and block.first is operation and _is_loop(block.parent_operation)
        return block.arguments if block is not None and is_first else ()

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
            self._look_at_room(step)
        if operation in self._control.decisions:
            self._steps = step

    def _look_at_room(self, step: int) -> None:
        """Stop before a step behind the one that is wanted, if there is not much room left for what follows."""
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
            # The recording ends here.
            raise Stop
        first = self._rows[self._place]
        end = self._accesses.behind(first)
        self._place += end - first
        self._states.move(first)
        if int(self._accesses.kind[first]) != READ:
            writes = [self._states.timeline.write_at(row) for row in range(first, end)]
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


def _is_loop(operation: Operation | None) -> bool:
    return operation is not None and operation.declaration.is_loop
