"""`Inspection`: the stack, values, variables and arrays where a launch stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy

from tileir.cpp.demangling import source_name
from tileir.dialect.types import TileType, tile_type
from tileir.execute.dtypes import Array, element_of_dtype
from tileir.execute.errors import BlockId
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recording import PreparedLaunch, Recording
from tileir.execute.recording.script_variables import (
    ArrayReference,
    Content,
    Description,
    FunctionVariables,
    Missing,
    TileContent,
)
from tileir.execute.schedule import block_at
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, Value
from tileir.serve.debugger.expressions import BadExpression, Expression, Lookup, Opaque, computable, numbers
from tileir.serve.debugger.history import Frame, LaunchHistory, StackReader
from tileir.serve.debugger.source_lines import Names, SourceLines, SourceLocation
from tileir.serve.debugger.stops import Position
from tileir.serve.debugger.value_names import ValueNames
from tileir.serve.debugger.values import accesses_since, array_type, numbers_text, result_text, result_type, value_text


@dataclass
class Variable:
    """A value with a name, or the result of an expression.

    A result has no `type`, nor has a variable of a script whose value is a constant of Python, or `Missing`.
    """

    name: str
    type: Type | None
    content: Any
    """What the interpreter has: NumPy arrays for tiles, views, None for tokens; of an array, a function that copies it
    as long as the debugger stands where it was."""
    arrays: list[RecordedArray]
    number: int = -1  # The number of the value in the program; -1 if it is none.
    is_old: bool = False  # Whether it is of an earlier iteration of its loop.
    array: RecordedArray | None = None  # The array, if it is one.

    @property
    def value(self) -> Any:
        if self.array is not None and callable(self.content):
            self.content = self.content()
        return self.content

    @property
    def numbers(self) -> tuple[Type, Array] | None:
        """The type of the elements, and these; None of what has no numbers."""
        value = self.value
        if not isinstance(value, (numpy.ndarray, numpy.generic)):
            return None
        element = self.type.element if isinstance(self.type, TileType) else element_of_dtype(value.dtype)
        return None if element is None else (element, numpy.asarray(value))

    @property
    def type_text(self) -> str:
        if self.array is not None:
            return array_type(self.array.shape, self.array.element.spelling)
        if self.type is not None:
            return self.type.spelling
        if isinstance(self.value, Opaque):
            return self.value.type
        return "" if isinstance(self.value, Missing) else result_type(self.value)

    @property
    def text(self) -> str:
        if self.array is not None:
            return numbers_text(self.array.element, self.value)
        if self.type is not None:
            return value_text(self.type, self.value, self.arrays)
        if isinstance(self.value, Missing):
            return self.value.shown
        return result_text(self.value)


class Inspection:
    """The state of a launch at its current position, or at another position that is recorded."""

    def __init__(self, prepared: PreparedLaunch, sanitize: bool, output: Callable[[str], object], names: Names) -> None:
        self._history: LaunchHistory = LaunchHistory(prepared, sanitize, output)
        program = self._program = prepared.program
        self.lines = SourceLines(program, names)
        self._names = ValueNames(program, self.lines, prepared.arrays, lambda: prepared.script_variables)
        self._stacks = StackReader(self._history, self.lines, self._names)
        # Where it begins, where it stands, and where it stood before the last command.
        self._first = self.position = self._before = Position(next(self._history.stepwise.order()), 0)
        self.finished = False  # Whether the launch stands at its end.

    @property
    def recording(self) -> Recording:
        return self._history.recording

    @property
    def name(self) -> str:
        return source_name(self._program.entry.symbol_name or "")

    @property
    def grid(self) -> BlockId:
        return self._history.prepared.launch.grid

    def steps(self, block: int) -> Array:
        """The operation of each step of a tile block, by number, as far as it is recorded."""
        return self._history.steps(block)

    @property
    def operation(self) -> int | None:
        """The number of the operation that is next; None at the end."""
        if self.finished:
            return None
        block, step = self._standing()
        steps = self._history.steps(block)
        return int(steps[step]) if step < len(steps) else None

    @property
    def location(self) -> SourceLocation | None:
        operation = self.operation
        return self.lines.location(operation) if operation is not None else None

    def _standing(self) -> Position:
        """Where the launch stands, with what is before it recorded."""
        if self.finished:
            self._history.complete()
            self.position = self._history.timeline.last
        else:
            self._history.record(self.position)
        return self.position

    def visits(self, file: str, line: int) -> tuple[int, int | None, int | None]:
        """The nearest line with operations, and the steps at which the tile block reaches it: the last one before this
        position, and the next one."""
        line, numbers = self.lines.at(file, line)
        steps = numpy.flatnonzero(numpy.isin(self.steps(self.position.block), numbers))
        before, behind = steps[steps < self.position.step], steps[steps > self.position.step]
        return line, int(before[-1]) if before.size else None, int(behind[0]) if behind.size else None

    def unfinished_blocks(self) -> list[Position]:
        """Where each tile block stands that has begun and is not done, the current one first, others if interleaved."""
        position = self._standing()
        if not self._history.prepared.launch.is_interleaved:
            return [position]
        return [position, *self._history.timeline.unfinished(position)]

    def stack(self, position: Position | None = None) -> list[Frame]:
        """The branch and the loops that the program is in, or another tile block, and the kernel, innermost first."""
        return self._stacks.frames(position or self._standing())

    def variables(self, frame: Frame | None = None, position: Position | None = None) -> list[Variable]:
        """What has a name, here or where another tile block stands: the variables of the script, then `values`."""
        position = (frame.position if frame is not None else position) or self._standing()
        found: list[Variable] = []
        hidden: set[str] = set()  # A variable of a function hides that of a caller, be it assigned yet or not.
        for one, (_, variables) in zip(self._functions(position), self.functions(position), strict=True):
            found += [variable for variable in variables if variable.name not in hidden]
            hidden.update([*one.parameters, *one.variables, *one.unassigned])
        return [*found, *self.values(frame, position)]

    def value_names(self) -> list[str]:
        """The names that expressions may use here, with the `%` of a tile program and without."""
        names = [one.name for one in [*self.variables(), *self.parameters(), *self.arrays()]]
        return list(dict.fromkeys([*names, *[name.removeprefix("%") for name in names]]))

    def values(self, frame: Frame | None = None, position: Position | None = None) -> list[Variable]:
        """The values of a frame that are computed, or of all: of a script those that are no variables."""
        position = (frame.position if frame is not None else position) or self._standing()
        program = self._program
        history = self.recording.history(position.block, position.step)
        parameters = len(program.entry.regions[0].block.arguments)
        found: dict[str | int, tuple[int, Variable]] = {}
        for number in range(parameters, len(program.values)):
            value = program.values[number]
            owner = value.defining_operation
            name = self._names.shown[number]
            if self._names.hides and (not self._names.authored[number] or self._names.is_variable(name)):
                continue
            if owner in program.in_reductions or (owner is None and not _is_of_loop(value)):
                continue
            body = value.block if isinstance(value, BlockArgument) else owner.parent if owner is not None else None
            newest = history.at(number, position.step)
            if newest is None or (frame is not None and body is not frame.body):
                continue
            step, content = newest
            is_old = frame is not None and step < frame.since
            # An expression of a script may be the value of several operations: the newest is the one that counts.
            # Names of a text may be used again in another block, for something else.
            key = name if self._names.hides else number
            known = found.get(key)
            if known is None or known[0] <= step:
                found[key] = step, Variable(name, value.type, content, self.recording.arrays, number, is_old)
        return [variable for _, variable in found.values()]

    def _functions(self, position: Position) -> list[FunctionVariables]:
        return self.recording.functions(*position) if self._names.variables is not None else []

    def functions(self, position: Position | None = None) -> list[tuple[str, list[Variable]]]:
        """The variables of the script, by function: the innermost first, the kernel last, without its parameters."""
        position = position or self._standing()
        functions = self._functions(position)
        found: list[tuple[str, list[Variable]]] = []
        for one in functions:
            own = one.variables if one is functions[-1] else {**one.parameters, **one.variables}
            found.append((one.function, [self._variable(name, own[name], position) for name in own]))
        return found

    def changes(self, earlier: Position, position: Position) -> list[Variable]:
        """What was assigned, or computed where no script is debugged, between two stops of a tile block."""
        program = self._program
        if self._names.variables is None:
            steps = self._history.steps(position.block)[earlier.step : position.step].tolist()
            executed = [program.operations[number] for number in steps]
            changed = {program.value_numbers[result] for operation in executed for result in operation.results}
            return [one for one in self.values(position=position) if one.number in changed and one.value is not None]
        before = {one.function: {**one.parameters, **one.variables} for one in self._functions(earlier)}
        found: list[Variable] = []
        for function in self._functions(position):
            known = before.get(function.function, {})
            for name, content in {**function.parameters, **function.variables}.items():
                is_same = name in known and _bits(known[name]) == _bits(content)
                if not isinstance(content, Missing) and not is_same:
                    found.append(self._variable(name, content, position))
        return found

    def _variable(self, name: str, content: Content, position: Position) -> Variable:
        arrays = self.recording.arrays
        if isinstance(content, TileContent):
            return Variable(name, self._program.values[content.number].type, content.content, arrays, content.number)
        if isinstance(content, ArrayReference):
            for array in self.arrays(position):
                if array.name == content.name:
                    return replace(array, name=name)
        value = content if isinstance(content, Missing) else self._computable(content, position)
        return Variable(name, None, value, arrays)

    def _computable(self, content: Content, position: Position) -> Any:
        if isinstance(content, TileContent):
            return self._plain(content.number, content.content)
        if isinstance(content, tuple):
            return tuple([self._computable(one, position) for one in content])
        if isinstance(content, ArrayReference):
            for array in self.recording.arrays:
                if array.name == content.name:
                    return numbers(array.element, self.recording.array(array.number, *position))
            return Opaque("array", content.name)
        return constant_value(content)

    def parameters(self, position: Position | None = None) -> list[Variable]:
        """The parameters of the kernel; of a script as they are now."""
        position = position or self._standing()
        functions = self._functions(position)
        if functions:
            return [self._variable(name, content, position) for name, content in functions[-1].parameters.items()]
        program = self._program
        values = self.recording.launch.values
        return [
            Variable(self._names.shown[number], parameter.type, values[number], self.recording.arrays, number)
            for number, parameter in enumerate(program.entry.regions[0].block.arguments)
            if self._names.authored[number] or not self._names.hides
        ]

    def arrays(self, position: Position | None = None) -> list[Variable]:
        """The arrays that the kernel works on, as they are now."""
        block, step = position or self._standing()
        arrays = self.recording.arrays
        contents = [partial(self.recording.array, array.number, block, step) for array in arrays]
        return [
            Variable(array.name, tile_type((), array.element), content, arrays, array=array)
            for array, content in zip(arrays, contents, strict=True)
        ]

    def memory(self, number: int, offset: int, count: int) -> bytes:
        """Bytes of an array as it is now; fewer than `count` where it ends."""
        return self.arrays()[number].value.tobytes()[offset : offset + count] if offset >= 0 else b""

    def accesses(self) -> list[str]:
        """What the tile block has read and written since the last stop, or with the last step if it was elsewhere."""
        position = self._standing()
        earlier = self._before
        is_near = earlier.block == position.block and earlier.step < position.step
        return accesses_since(self.recording, position, earlier.step if is_near else position.step - 1)

    def evaluate(self, expression: str, frame: Frame | None = None, more: Lookup | None = None) -> Variable:
        """Compute an expression in NumPy's terms over what there is now, and `more` by name (docs/tools/debug.md)."""
        read = Expression(expression, self._names.is_known)
        now = self._standing()
        position = frame.position if frame is not None else now

        def lookup(name: str) -> Any:
            found = more(name) if more is not None else None
            return found if found is not None else self._lookup(position, name, now)

        return Variable(expression, None, read.evaluate(lookup), self.recording.arrays)

    def _lookup(self, position: Position, name: str, now: Position) -> Any:
        """The value of a name where a tile block stands, to compute with; None if there is none.  Arrays are `now`."""
        program, recording = self._program, self.recording
        history = recording.history(position.block, position.step)
        variables = self._names.variables
        if variables is not None and self._names.is_variable(name):
            steps = self._history.steps(position.block)
            at = int(steps[min(position.step, len(steps) - 1)]) if len(steps) else 0
            binding = variables.binding(at, name)
            if binding is None:
                return None
            content = variables.content(binding, program, history, steps, position.step)
            if isinstance(content, Missing):
                raise BadExpression(f"variable {name} {content.reason}")
            return self._computable(content, now)
        # The newest value with the name counts, then arrays, then parameters.
        parameters = len(program.entry.regions[0].block.arguments)
        candidates = [number for number in self._names.numbers.get(name, []) if number >= parameters]
        known = [(one[0], number, one[1]) for number in candidates if (one := history.at(number, position.step))]
        if known:
            return self._plain(*max(known, key=lambda one: one[:2])[1:])

        def contents(array: RecordedArray) -> Array:
            return recording.array(array.number, *now)

        return launch_value(self._history.prepared, self._names, position.block, name, contents)

    def _plain(self, number: int, content: Any) -> Any:
        return computable(self.recording.program.values[number].type, content, self.recording.arrays)


def launch_value(
    prepared: PreparedLaunch, names: ValueNames, block: int, name: str, contents: Callable[[RecordedArray], Array]
) -> Any:
    """An array, a parameter, the tile block or the grid, to compute with; None if a name is none of these."""
    for array in prepared.arrays:
        if array.name == name:
            return numbers(array.element, contents(array))
    values = prepared.launch.values
    for number in names.numbers.get(name, []):
        if number < len(values):
            return computable(prepared.program.values[number].type, values[number], prepared.arrays)
    grid = prepared.launch.grid
    return block_at(block, grid) if name == "tile_block" else grid if name == "grid" else None


def constant_value(content: Content) -> Any:
    if isinstance(content, (Description, Missing)):
        return Opaque("", content.text if isinstance(content, Description) else content.shown)
    if isinstance(content, tuple):
        return tuple([constant_value(one) for one in content])
    return Opaque(type(content).__name__, repr(content)) if content is None or isinstance(content, str) else content


def _bits(content: Content) -> object:
    """The content of a variable, to be compared bit by bit."""
    if isinstance(content, TileContent):
        return _bits(content.content)
    if isinstance(content, tuple):
        return tuple([_bits(one) for one in content])
    if isinstance(content, (numpy.ndarray, numpy.generic)):
        return content.dtype, content.shape, content.tobytes()
    return type(content), repr(content)


def _is_of_loop(value: Value) -> bool:
    owner = value.block.parent_operation if isinstance(value, BlockArgument) else None
    return owner is not None and isinstance(value.type, TileType) and len(owner.regions) == 1
