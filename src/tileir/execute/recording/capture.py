"""The values of a tile block that runs again, as many as there is room for.

Values are not kept while a launch runs: the tile block is run again by the interpreter, with memory as it was at each
of its accesses.  What it writes is compared with what it wrote the first time, as far as that is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from tileir.dialect.ops import CONTINUE, FOR, LOOP
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.accesses import READ, AccessTable, Allowed
from tileir.execute.recording.memory_states import States, Write
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType

_ENTRY_BYTES: Final = 200
"""What a value takes beside its elements."""
_COMPACTED: Final = 1024
"""So many forgotten entries of a value are cut off at once."""


class ValueHistory:
    """For each value the steps at which it was computed, and what it was.

    It is complete for the moments from `first` to `last`.  With more than `room` bytes the oldest entries are
    forgotten, but never the newest of a value.
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
        self._steps: dict[int, list[int]] = {}
        self._contents: dict[int, list[Any]] = {}
        # How many of the entries of each value are forgotten.
        self._forgotten: dict[int, int] = {}
        # Values in the order of their entries, and those whose turn has come while they had no newer one.
        self._order: deque[int] = deque()
        self._due: set[int] = set()

    def add(self, value: int, step: int, content: Any) -> None:
        steps = self._steps.get(value)
        if steps is None:
            steps = self._steps[value] = []
            self._contents[value] = []
            self._forgotten[value] = 0
        contents = self._contents[value]
        if len(steps) > self._forgotten[value] and steps[-1] == step:
            contents[-1] = content
            return
        steps.append(step)
        contents.append(content)
        self._order.append(value)
        self.nbytes += _size(content)
        self.added += _size(content)
        if value in self._due:
            # The one before has its turn again, so that what is newer than the room goes back stays complete.
            self._due.discard(value)
            self._order.append(value)
        while self.nbytes > self._room and self._order:
            oldest = self._order.popleft()
            if len(self._steps[oldest]) - self._forgotten[oldest] > 1:
                self._forget(oldest)
            else:
                self._due.add(oldest)

    def _forget(self, value: int) -> None:
        """Forget the oldest entry of a value that has a newer one."""
        steps, contents = self._steps[value], self._contents[value]
        place = self._forgotten[value]
        self.nbytes -= _size(contents[place])
        contents[place] = None
        place += 1
        self.first = max(self.first, steps[place])
        if place >= _COMPACTED:
            del steps[:place], contents[:place]
            place = 0
        self._forgotten[value] = place

    def holds(self, step: int) -> bool:
        """Whether all values of a moment are known."""
        return self.first <= step and (self.is_over or step <= self.last)

    def at(self, value: int, step: int) -> tuple[int, Any] | None:
        """The newest of a value at a step: when it was computed, and what it is; None before there is any."""
        steps = self._steps.get(value)
        if steps is None:
            return None
        place = bisect_right(steps, step, self._forgotten[value]) - 1
        return (steps[place], self._contents[value][place]) if place >= self._forgotten[value] else None

    def steps(self, value: int) -> list[int]:
        """The steps at which a value was computed, of the part that is known."""
        return self._steps.get(value, [])[self._forgotten.get(value, 0) :]


def _size(content: Any) -> int:
    return _ENTRY_BYTES + int(getattr(content, "nbytes", 0))


class Stop(Exception):
    """The program has run as far as it is wanted."""


@dataclass(slots=True, eq=False)
class _For:
    """A `for` under way."""

    operation: Operation
    counter: int
    step: int
    left: int


class Capture(Observer):
    """Keeps the values of a tile block, and moves memory to where it was at each access."""

    def __init__(
        self,
        program: NumberedProgram,
        control: ControlFlow,
        accesses: AccessTable,
        states: States,
        allowed: Allowed,
    ) -> None:
        self._program: NumberedProgram = program
        self._control: ControlFlow = control
        self._accesses: AccessTable = accesses
        self._states: States = states
        self._allowed: Allowed = allowed
        self.history: ValueHistory = ValueHistory(0)
        self.differs: bool = False
        """Whether something was written that was not written the first time."""
        self.begin([], 0, [], 0, -1, 0)

    def begin(self, values: list[Any], block: int, rows: list[int], steps: int, requested: int, room: int) -> None:
        """A tile block is about to run, with the values of its parameters, the rows of its accesses and so many steps.

        Values are kept around the step `wanted`, -1 for all, with so much room for them.
        """
        self._most_steps: int = steps
        self.history = ValueHistory(room)
        self.moves_memory: bool = True
        """Whether memory is to be moved to where it was; not if the whole launch runs again."""
        self._room: int = room
        self._block: int = block
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
        self._loops: list[_For] = []
        for number, value in enumerate(values):
            self.history.add(number, 0, value)

    def watches(self, operation: Operation) -> bool:
        return operation not in self._program.in_reductions

    def block_finished(self, block: TileBlock) -> None:
        if block.number == self._block:
            self.complete_write()
            if not self.moves_memory:
                raise Stop

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if block.number != self._block:
            return
        self.complete_write()
        step = self._steps + self._control.distances[operation]
        if step > self._most_steps:
            # The recording goes no further; nor does a file that is not of this program make it run for ever.
            raise Stop
        if 0 <= self._requested < step:
            self._look_at_room(step)
        if operation not in self._control.decisions:
            return
        self._steps = step
        declaration = operation.declaration
        if declaration is FOR:
            self._begin_for(operation, operands)
        elif declaration is LOOP:
            self._give(operation.regions[0].block.arguments, operands)
        elif declaration is CONTINUE:
            self._continue(operation, operands)

    def _look_at_room(self, step: int) -> None:
        """Stop before a step behind the one that is wanted, if there is not much room left for what follows."""
        history = self.history
        if self._enough < 0:
            self._enough = history.added + self._room // 2
        if history.added >= self._enough or history.nbytes > self._room:
            history.last = step - 1
            self.is_enough = True
            raise Stop

    def _begin_for(self, operation: Operation, operands: list[Any]) -> None:
        arguments = operation.regions[0].block.arguments
        type = arguments[0].type
        assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
        numbers = [int(operand) for operand in operands[:3]]
        width = type.element.width
        if operation.unsigned_cmp:
            numbers = [number % (1 << width) for number in numbers]
        elif width == 1:
            numbers = [-(number % 2) for number in numbers]
        span = range(numbers[0], numbers[1], numbers[2]) if numbers[2] > 0 else range(0)
        if not span:
            return
        self._loops = [one for one in self._loops if one.operation.is_ancestor_of(operation)]
        self._loops.append(_For(operation, numbers[0], numbers[2], len(span)))
        self._give(arguments, [_counter(numbers[0], type.element), *operands[3:]])

    def _continue(self, operation: Operation, operands: list[Any]) -> None:
        loop = operation.parent_operation
        while loop is not None and loop.declaration is not FOR and loop.declaration is not LOOP:
            loop = loop.parent_operation
        assert loop is not None
        arguments = loop.regions[0].block.arguments
        if loop.declaration is LOOP:
            self._give(arguments, operands)
            return
        while self._loops[-1].operation is not loop:
            self._loops.pop()
        state = self._loops[-1]
        state.left -= 1
        state.counter += state.step
        if state.left:
            type = arguments[0].type
            assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
            self._give(arguments, [_counter(state.counter, type.element), *operands])

    def _give(self, values: Any, contents: list[Any]) -> None:
        for value, content in zip(values, contents, strict=True):
            self.history.add(self._program.value_numbers[value], self._steps, content)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if block.number != self._block:
            return
        self.complete_write()
        step = self._steps
        if operation not in self._control.decisions:
            step += self._control.distances[operation]
        for value, content in zip(operation.results, results, strict=True):
            self.history.add(self._program.value_numbers[value], step, content)

    def access(self, access: Access) -> Array | None:
        if access.block.number != self._block or not self.moves_memory:
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


def _counter(number: int, element: IntegerType) -> Any:
    whole, half = 1 << element.width, 1 << (element.width - 1)
    scalar = value_dtype(element).type
    if element.width == 1:
        return scalar(number % 2)
    return scalar((number + half) % whole - half)
