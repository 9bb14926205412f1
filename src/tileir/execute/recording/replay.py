"""Running a tile block again, to see its values.

Values are not kept while a launch runs: the tile block is run again by the interpreter, with memory as it was at each
of its accesses.  What it writes is compared with what it wrote the first time.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy

from tileir.dialect.ops import CONTINUE, FOR, LOOP
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.kernel import Program
from tileir.execute.observer import Access, Observer, TileBlock
from tileir.execute.recording.accesses import READ, AccessTable
from tileir.execute.recording.control import ControlFlow
from tileir.execute.recording.program import NumberedProgram, is_in_reduction
from tileir.execute.recording.timeline import Timeline, Write
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType


class History:
    """The values of one tile block: for each value the steps at which it was computed, and what it was."""

    def __init__(self, count: int) -> None:
        self._steps: list[list[int]] = [[] for _ in range(count)]
        self._contents: list[list[Any]] = [[] for _ in range(count)]
        self.nbytes: int = 0

    def add(self, value: int, step: int, content: Any) -> None:
        steps = self._steps[value]
        if steps and steps[-1] == step:
            self._contents[value][-1] = content
            return
        steps.append(step)
        self._contents[value].append(content)
        self.nbytes += getattr(content, "nbytes", 0) + 64

    def at(self, value: int, step: int) -> tuple[int, Any] | None:
        """The newest of a value at a step: when it was computed, and what it is; None before there is any."""
        steps = self._steps[value]
        place = bisect_right(steps, step) - 1
        return (steps[place], self._contents[value][place]) if place >= 0 else None

    def steps(self, value: int) -> list[int]:
        """The steps at which a value was computed."""
        return self._steps[value]


class _Stop(Exception):
    """The tile block has run as far as it is wanted."""


class _For:
    """A `for` under way."""

    __slots__ = ("counter", "left", "operation", "step")

    def __init__(self, operation: Operation, counter: int, step: int, left: int) -> None:
        self.operation: Operation = operation
        self.counter: int = counter
        self.step: int = step
        self.left: int = left


class Capture(Observer):
    """Keeps the values of a tile block, and moves memory to where it was at each access."""

    def __init__(
        self,
        program: NumberedProgram,
        control: ControlFlow,
        accesses: AccessTable,
        timeline: Timeline,
        allowed: dict[int, Array],
    ) -> None:
        self._program: NumberedProgram = program
        self._control: ControlFlow = control
        self._accesses: AccessTable = accesses
        self._timeline: Timeline = timeline
        self._allowed: dict[int, Array] = allowed
        self.history: History = History(0)
        self._steps: int = 0
        self._rows: list[int] = []
        self._place: int = 0
        self._pending: list[tuple[Write, Array]] = []
        self._pending_time: int = 0
        self._loops: list[_For] = []
        self.differs: bool = False

    def begin(self, values: list[Any], rows: list[int]) -> None:
        """A tile block is about to run, with the values of its parameters and the rows of its accesses."""
        self.history = History(len(self._program.values))
        self._steps = 0
        self._rows = rows
        self._place = 0
        self._pending = []
        self._loops = []
        self.differs = False
        for number, value in enumerate(values):
            self.history.add(number, 0, value)

    def watches(self, operation: Operation) -> bool:
        return not is_in_reduction(operation)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.settle()
        if operation not in self._control.decisions:
            return
        self._steps += self._control.distances[operation]
        declaration = operation.declaration
        if declaration is FOR:
            self._begin_for(operation, operands)
        elif declaration is LOOP:
            self._give(operation.regions[0].block.arguments, operands)
        elif declaration is CONTINUE:
            self._continue(operation, operands)

    def _begin_for(self, operation: Operation, operands: list[Any]) -> None:
        arguments = operation.regions[0].block.arguments
        type = arguments[0].type
        assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
        numbers = [int(operand) for operand in operands[:3]]
        width = type.element.width
        if "unsignedCmp" in operation.attributes:
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
        self.settle()
        step = self._steps
        if operation not in self._control.decisions:
            step += self._control.distances[operation]
        for value, content in zip(operation.results, results, strict=True):
            self.history.add(self._program.value_numbers[value], step, content)

    def access(self, access: Access) -> Array | None:
        self.settle()
        step = self._steps + self._control.distances[access.operation]
        steps = self._accesses.step
        first = self._place
        while self._place < len(self._rows) and int(steps[self._rows[self._place]]) == step:
            self._place += 1
        rows = self._rows[first : self._place]
        if not rows:
            raise _Stop
        self._timeline.move(rows[0])
        if int(self._accesses.kind[rows[0]]) != READ:
            self._pending = [(write, write.read()) for row in rows for write in self._timeline.writes_at(row)]
            self._pending_time = rows[-1] + 1
        allowed = self._allowed.get(rows[0])
        if allowed is None:
            return None
        shape = access.addresses.shape
        flags: Array = numpy.unpackbits(allowed, count=access.addresses.size).astype(numpy.bool_).reshape(shape)
        return flags

    def settle(self) -> None:
        """A write that was about to happen has happened: compare it, and go on to the time behind it."""
        if not self._pending:
            return
        for write, before in self._pending:
            if write.read().tobytes() != write.buffer.tobytes():
                self.differs = True
            write.put(before)
        self._pending = []
        # Once more, from before it: so memory and buffers are what they were the first time.
        self._timeline.move(self._pending_time)


def _counter(number: int, element: IntegerType) -> Any:
    whole, half = 1 << element.width, 1 << (element.width - 1)
    scalar = value_dtype(element).type
    if element.width == 1:
        return scalar(number % 2)
    return scalar((number + half) % whole - half)


def run_block(program: Program, prepared: list[Any], block: TileBlock, capture: Capture) -> str:
    """Run a tile block again; gives the error it ends in, or nothing."""
    try:
        with numpy.errstate(all="ignore"):
            program.run(prepared, block)
    except _Stop:
        pass
    except ExecutionError as error:
        return str(error)
    finally:
        capture.settle()
    return ""
