"""The values, variables and arrays at a position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

from tileir.dialect.types import TileType, tile_type
from tileir.execute.dtypes import Array, element_of_dtype
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
from tileir.ir.values import BlockArgument
from tileir.serve.debugger.expressions import BadExpression, Opaque, computable, numbers
from tileir.serve.debugger.history import LaunchHistory
from tileir.serve.debugger.stack import Frame
from tileir.serve.debugger.stops import Position
from tileir.serve.debugger.value_names import ValueNames
from tileir.serve.debugger.values import array_type, numbers_text, result_text, result_type, value_text


@dataclass
class Variable:
    """A value with a name, or the result of an expression.

    A variable of a script may have a constant of Python as its value, or none at all (`Missing`); it has no `type`
    then, nor has a result.
    """

    name: str
    type: Type | None
    content: Any
    """What the interpreter has: NumPy arrays for tiles, views, None for tokens; of an array, a function that copies it
    as long as the debugger stands where it was."""
    arrays: list[RecordedArray]
    number: int = -1
    """The number of the value in the program; -1 if it is none."""
    is_old: bool = False
    """Whether it is of an earlier round of its loop."""
    array: RecordedArray | None = None
    """The array, if it is one."""

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
        """The value in a line."""
        if self.array is not None:
            return numbers_text(self.array.element, self.value)
        if self.type is not None:
            return value_text(self.type, self.value, self.arrays)
        if isinstance(self.value, Missing):
            return self.value.shown
        return result_text(self.value)


class Variables:
    """Reads values off what is recorded of a launch."""

    def __init__(self, history: LaunchHistory, names: ValueNames) -> None:
        self._history: LaunchHistory = history
        self._names: ValueNames = names

    @property
    def _recording(self) -> Recording:
        return self._history.recording

    def of(self, position: Position, frame: Frame | None) -> list[Variable]:
        program = self._recording.program
        history = self._recording.history(position.block, position.step)
        parameters = len(program.entry.regions[0].block.arguments)
        found: dict[str | int, tuple[int, Variable]] = {}
        for number in range(parameters, len(program.values)):
            value = program.values[number]
            owner = value.defining_operation
            if self._names.hides and (not self._names.authored[number] or self._is_variable(number)):
                continue
            if owner in program.in_reductions or (owner is None and not _is_of_loop(value)):
                continue
            if frame is not None:
                body = value.block if isinstance(value, BlockArgument) else owner.parent if owner is not None else None
                if body is not frame.body:
                    continue
            newest = history.at(number, position.step)
            if newest is None:
                continue
            step, content = newest
            name = self._names.shown[number]
            is_old = frame is not None and step < frame.since
            # An expression of a script may be the value of several operations: the newest is the one that counts.
            # Names of a text may be used again in another block, for something else.
            key = name if self._names.hides else number
            known = found.get(key)
            if known is None or known[0] <= step:
                found[key] = step, Variable(name, value.type, content, self._recording.arrays, number, is_old)
        return [variable for _, variable in found.values()]

    def _is_variable(self, number: int) -> bool:
        return self._names.is_variable(self._names.shown[number])

    # --- variables of a script ---

    def _functions(self, position: Position) -> list[FunctionVariables]:
        variables = self._names.variables
        if variables is None:
            return []
        history = self._recording.history(position.block, position.step)
        return variables.functions(self._recording.program, history, self._history.steps(position.block), position.step)

    def functions(self, position: Position) -> list[tuple[str, list[Variable]]]:
        functions = self._functions(position)
        found: list[tuple[str, list[Variable]]] = []
        for one in functions:
            own = one.variables if one is functions[-1] else {**one.parameters, **one.variables}
            found.append((one.function, [self._variable(name, own[name], position) for name in own]))
        return found

    def visible(self, position: Position) -> list[Variable]:
        """Variables that are no parameters of the kernel.  One of a function hides that of a caller with the same name,
        be it assigned yet or not."""
        found: list[Variable] = []
        hidden: set[str] = set()
        for one, (_, variables) in zip(self._functions(position), self.functions(position), strict=True):
            found += [variable for variable in variables if variable.name not in hidden]
            hidden.update([*one.parameters, *one.variables, *one.unassigned])
        return found

    def changes(self, earlier: Position, position: Position) -> list[Variable]:
        program = self._recording.program
        if self._names.variables is None:
            steps = self._history.steps(position.block)[earlier.step : position.step].tolist()
            executed = [program.operations[number] for number in steps]
            changed = {program.value_numbers[result] for operation in executed for result in operation.results}
            return [one for one in self.of(position, None) if one.number in changed and one.value is not None]
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
        recording = self._recording
        if isinstance(content, TileContent):
            type = recording.program.values[content.number].type
            return Variable(name, type, content.content, recording.arrays, content.number)
        if isinstance(content, ArrayReference):
            for array in self.arrays(position):
                if array.name == content.name:
                    array.name = name
                    return array
        if isinstance(content, Missing):
            return Variable(name, None, content, recording.arrays)
        return Variable(name, None, self._computable(content, position), recording.arrays)

    def _computable(self, content: Content, position: Position) -> Any:
        """The content of a variable, to compute with."""
        recording = self._recording
        if isinstance(content, TileContent):
            return self._plain(content.number, content.content)
        if isinstance(content, tuple):
            return tuple([self._computable(one, position) for one in content])
        if isinstance(content, ArrayReference):
            for array in recording.arrays:
                if array.name == content.name:
                    return numbers(array.element, recording.array(array.number, position.block, position.step))
            return Opaque("array", content.name)
        return constant_value(content)

    def parameters(self, position: Position) -> list[Variable]:
        functions = self._functions(position)
        if functions:
            return [self._variable(name, content, position) for name, content in functions[-1].parameters.items()]
        program = self._recording.program
        values = self._recording.launch.values
        return [
            Variable(self._names.shown[number], parameter.type, values[number], self._recording.arrays, number)
            for number, parameter in enumerate(program.entry.regions[0].block.arguments)
            if self._names.authored[number] or not self._names.hides
        ]

    def arrays(self, position: Position) -> list[Variable]:
        return [
            Variable(
                array.name,
                tile_type((), array.element),
                partial(self._recording.array, array.number, position.block, position.step),
                self._recording.arrays,
                array=array,
            )
            for array in self._recording.arrays
        ]

    def lookup(self, position: Position, name: str, now: Position) -> Any:
        """The value of a name where a tile block stands, to compute with; None if there is none.  Arrays are as `now`.

        Of several values with a name the newest counts, then arrays, then parameters.
        """
        program, recording = self._recording.program, self._recording
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
        parameters = len(program.entry.regions[0].block.arguments)
        numbered = self._names.numbers.get(name, [])
        newest: tuple[int, int, Any] | None = None
        for number in numbered:
            found = history.at(number, position.step) if number >= parameters else None
            if found is not None and (newest is None or newest[0] <= found[0]):
                newest = found[0], number, found[1]
        if newest is not None:
            return self._plain(newest[1], newest[2])

        def contents(array: RecordedArray) -> Array:
            return recording.array(array.number, now.block, now.step)

        return launch_value(self._history.prepared, self._names, position.block, name, contents)

    def _plain(self, number: int, content: Any) -> Any:
        return computable(self._recording.program.values[number].type, content, self._recording.arrays)


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
    """A constant of a script, to compute with."""
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


def _is_of_loop(value: object) -> bool:
    if not isinstance(value, BlockArgument):
        return False
    owner = value.block.parent_operation
    return owner is not None and isinstance(value.type, TileType) and len(owner.regions) == 1
