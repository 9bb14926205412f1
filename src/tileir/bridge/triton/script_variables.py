"""The variables of a Triton kernel's script, by operation of its program.

Triton names values after the variables that they are assigned to, in locations.  Before a statement a variable is the
last value of its name; in a loop what the loop carries, and after a loop or branch its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import PointerType, TileType
from tileir.execute.locations.source_locations import frames_of
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import ArrayReference, Binding, Environment, ScriptVariables
from tileir.ir.core import Block, Operation
from tileir.ir.location import CallSiteLocation, FileLocation, Location, NameLocation
from tileir.ir.values import BlockArgument, Value
from tileir.passes.debug_info import located
from tileir.ttir.locations import function_name

_Frames = tuple[FileLocation, ...]


def script_variables(entry: Operation, locations: Sequence[Location], constants: Mapping[str, Any]) -> ScriptVariables:
    """The variables of the kernel with this program.

    `locations` are those with names, in the order of `located`; `constants` the parameters that are compiled in.
    """
    named = dict(zip(located(entry), locations, strict=True))
    return _Table(entry, named, constants).variables


class _Function:
    """A function of the script under way: what its variables are bound to."""

    def __init__(self, name: str, parameters: tuple[str, ...], caller: int) -> None:
        self.name: Final = name
        self.parameters: Final = parameters
        self.caller: Final = caller
        self.line: int = 0
        self.bound: dict[str, int] = {}  # Before the statement at hand.
        self.assigned: dict[str, int] = {}  # By the statement at hand.
        self.environment: int = -1

    def begin(self, line: int) -> None:
        """Begin a statement, unless it is the one at hand."""
        if line != self.line:
            self.line = line
            self.commit()

    def commit(self) -> None:
        if self.assigned:
            self.bound = {**self.bound, **self.assigned}
            self.assigned, self.environment = {}, -1


class _Table:
    def __init__(
        self, entry: Operation, locations: Mapping[Operation | BlockArgument, Location], constants: Mapping[str, Any]
    ) -> None:
        self._locations: Final = locations
        self._program: Final = NumberedProgram(entry)
        self.variables: Final = ScriptVariables([], [-1] * len(self._program.operations), [])
        self._functions: dict[_Frames, _Function] = {}
        self._computed: Final = {
            frame
            for each in self._program.operations
            if each.declaration is not CONSTANT
            for frame in _named_frames(locations[each])
        }
        body = entry.regions[0].block
        kernel = _Function(entry.symbol_name or "", (*map(self._parameter, body.arguments), *constants), -1)
        self._functions[()] = kernel
        for argument in body.arguments:
            type = argument.type
            is_pointer = isinstance(type, TileType) and isinstance(type.element, PointerType)
            name = self._parameter(argument)
            kernel.bound[name] = self._bind(Binding((ArrayReference(name),)) if is_pointer else self._value(argument))
        kernel.bound |= {name: self._bind(Binding((value,))) for name, value in constants.items()}
        self._read(body)
        # What belongs to no statement stands before the one that follows.
        numbers, at = self._program.operation_numbers, self.variables.at
        for number, operation in reversed(list(enumerate(self._program.operations))):
            if at[number] < 0 and operation.next is not None:
                at[number] = at[numbers[operation.next]]

    def _parameter(self, argument: BlockArgument) -> str:
        return _name(self._locations[argument], 1) or f"argument {argument.index}"

    def _bind(self, binding: Binding) -> int:
        self.variables.bindings.append(binding)
        return len(self.variables.bindings) - 1

    def _value(self, value: Value) -> Binding:
        return Binding(values=(self._program.value_numbers[value],))

    def _read(self, block: Block) -> None:
        for operation in block:
            frames = _named_frames(self._locations[operation])
            if not frames:
                continue
            if operation.declaration is not CONSTANT:
                for depth, frame in reversed(list(enumerate(frames))):
                    self._function(_callers(frames[depth:]), frame.position).begin(frame.position.line)
            function = self._function(_callers(frames), frames[0].position)
            if operation.declaration is not CONSTANT:
                self.variables.at[self._program.operation_numbers[operation]] = self._environment(function)
            elif frames[0] in self._computed:
                # An operand of the statement that computes the variable.
                continue
            results: dict[str, Value] = {}
            for region in operation.regions if operation not in self._program.in_reductions else ():
                for inner in region.blocks:
                    results |= self._inner(inner, operation, function)
            if results:
                function.assigned |= {name: self._bind(self._value(value)) for name, value in results.items()}
            elif operation.results:
                # What a function returns is assigned where it is called.
                binding = self._bind(self._value(operation.results[0]))
                for depth, frame in enumerate(frames):
                    if frame.name:
                        outer = self._function(_callers(frames[depth:]), frame.position)
                        outer.assigned[frame.name] = binding

    def _inner(self, block: Block, around: Operation, function: _Function) -> dict[str, Value]:
        """Read a block of a loop or branch; the results of the operation around it, by the variables that they are."""
        function.commit()
        outside = {key: (each.bound, each.line) for key, each in self._functions.items()}
        depth = len(_named_frames(self._locations[around]))
        for argument in block.arguments:
            name = _name(self._locations[argument], depth)
            if name and isinstance(argument.type, TileType):
                function.assigned[name] = self._bind(self._value(argument))
        function.commit()
        self._read(block)
        for key, each in self._functions.items():
            each.assigned, each.environment = {}, -1
            each.bound, each.line = outside.get(key, ({}, 0))
        last = block.last
        yielded = [_name(self._locations[_owner(each)], depth) for each in last.operands] if last is not None else []
        return {name: value for name, value in zip(yielded, around.results, strict=False) if name}

    def _function(self, callers: _Frames, position: FileLocation) -> _Function:
        """The function that calls led to, and that a position is in."""
        found = self._functions.get(callers)
        if found is None:
            caller = self._environment(self._function(callers[1:], callers[0]))
            name = function_name(position.file, position.line)
            found = self._functions[callers] = _Function(name, (), caller)
        return found

    def _environment(self, function: _Function) -> int:
        if function.environment < 0:
            environment = Environment(function.name, function.parameters, function.bound, function.caller)
            self.variables.environments.append(environment)
            function.environment = len(self.variables.environments) - 1
        return function.environment


class _Frame(NamedTuple):
    """A line in a function, and the variable that is assigned there, if there is one."""

    position: FileLocation
    name: str


def _named_frames(location: Location) -> list[_Frame]:
    """The frames of a location, the innermost call first."""
    if isinstance(location, CallSiteLocation):
        return [*_named_frames(location.callee), *_named_frames(location.caller)]
    positions = frames_of(location)
    return [_Frame(positions[0], location.name if isinstance(location, NameLocation) else "")] if positions else []


def _callers(frames: Sequence[_Frame]) -> _Frames:
    return tuple([each.position for each in frames[1:]])


def _name(location: Location, depth: int) -> str:
    """The variable that a value is assigned to, in a function that so many frames lead to; empty if there is none."""
    frames = _named_frames(location)
    return frames[-depth].name if len(frames) >= depth else ""


def _owner(value: Value) -> Operation | BlockArgument:
    """What has the location of a value."""
    if isinstance(value, BlockArgument):
        return value
    assert value.defining_operation is not None
    return value.defining_operation
