"""The variables of a kernel's script, by operation of its program.

`captured` compiles the kernel once more, has `VariableCapture` read what cuTile's compiler knows of variables, and maps
that to the operations and values of the program.
"""

from __future__ import annotations

import os
import sys
import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.bridge.variable_capture import CapturedScope, VariableCapture
from tileir.dialect.ops import IF
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import (
    REMOVED,
    UNASSIGNED,
    ArrayReference,
    Binding,
    Description,
    Environment,
    Missing,
    ScriptVariables,
)
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import ancestors

_CONSTANTS: Final = (bool, int, float, complex, str, type(None))


def captured(export: Callable[[], bytes], entry: Operation) -> ScriptVariables | None:
    """The variables of the kernel that `export` compiles and that `entry` is the program of; None if cuTile does not
    show them."""
    try:
        capture = VariableCapture()
        with capture.listening():
            export()
        return _Table(capture, NumberedProgram(entry)).variables()
    except Exception as error:
        # Whatever has changed in cuTile, kernels can be debugged without their variables.
        warnings.warn(
            f"the variables of {entry.symbol_name} are unknown: this version of cuTile is not supported "
            f"({type(error).__name__}: {error})",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


class _Table:
    """Converts the captured calls of cuTile's compiler to `ScriptVariables`."""

    def __init__(self, capture: VariableCapture, program: NumberedProgram) -> None:
        self._capture: VariableCapture = capture
        self._program: NumberedProgram = program
        self._locations: list[int] = self._operation_locations()
        self._at_location: dict[int, list[int]] = defaultdict(list)
        for number, place in enumerate(self._locations):
            self._at_location[place].append(number)
        self._defined: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._number_values()
        self._cutile: str = os.path.dirname(os.path.abspath(sys.modules["cuda.tile"].__file__ or "")) + os.sep
        self._arrays: dict[str, str] = {}
        self._bindings: list[Binding] = []
        self._binding_numbers: dict[str, int] = {}
        self._environments: list[Environment] = []
        self._environment_numbers: dict[int, int] = {}
        self._unassigned: int = self._add(Binding((Missing(UNASSIGNED),)))

    def variables(self) -> ScriptVariables:
        if self._capture.scopes:
            self._name_arrays(next(iter(self._capture.scopes.values())))
        operations, numbers = self._program.operations, self._program.operation_numbers
        at = [self._environment_at(number) for number in range(len(operations))]
        # What the compiler adds belongs to no statement: it stands before the one that follows, or in what is around.
        for number, operation in reversed(list(enumerate(operations))):
            if at[number] < 0 and operation.next is not None:
                at[number] = at[numbers[operation.next]]
        for number, operation in enumerate(operations):
            if at[number] < 0 and operation.parent_operation in numbers:
                at[number] = at[numbers[operation.parent_operation]]
        self._mark_unassigned()
        return ScriptVariables(self._environments, at, self._bindings)

    def _operation_locations(self) -> list[int]:
        """For each operation of the program its location object of cuTile's; 0 if it has none."""
        emitted = self._capture.emitted
        operations = self._program.operations
        if emitted and emitted[-1][0] != len(operations):
            raise ValueError(f"{emitted[-1][0]} operations were written, and {len(operations)} read")
        starts = [start for start, _ in emitted]
        places = [bisect_right(starts, number) - 1 for number in range(len(operations))]
        locations = [emitted[place][1] if place >= 0 else None for place in places]
        return [0 if location is None else id(location) for location in locations]

    def _number_values(self) -> None:
        """Number the values as the bytecode does, where those of a block end with it."""
        count = 0

        def note(number: int, value: Any) -> None:
            self._defined[number].append((count, self._program.value_numbers[value]))

        def read(block: Block, first: int) -> None:
            nonlocal count
            for place, argument in enumerate(block.arguments):
                note(first + place, argument)
            following = first + len(block.arguments)
            for operation in block:
                count += 1
                for region in operation.regions:
                    for inner in region.blocks:
                        read(inner, following)
                for result in operation.results:
                    note(following, result)
                    following += 1

        read(self._program.entry.regions[0].block, 0)

    def _environment_at(self, number: int) -> int:
        """The environment of an operation; -1 if it is of no statement."""
        capture = self._capture
        place = self._locations[number]
        if place not in capture.scopes or place not in capture.chains:
            return -1
        around = self._around(number)
        if place in capture.loop_starts:
            if place in around:
                # The compiler tests in each iteration whether the loop was left.
                return self._environment(capture.loop_starts[place])
            if self._program.operations[number].declaration is IF:
                return -1
        for outer in capture.chains[place]:
            if outer not in around and outer in capture.loop_starts:
                # Moved out of a loop: it happens before the loop begins.
                return self._environment(outer)
        return self._environment(place)

    def _around(self, number: int) -> set[int]:
        """The locations of the loops and branches around an operation."""
        numbers = self._program.operation_numbers
        around = ancestors(self._program.operations[number])
        return {self._locations[numbers[each]] for each in around if each in numbers}

    def _environment(self, place: int) -> int:
        scope = self._capture.scopes.get(place)
        if scope is None:
            return -1
        found = self._environment_numbers.get(place)
        if found is not None:
            return found
        call = scope.location.call_site
        caller = self._environment(id(call)) if call is not None else -1
        if scope.function.desc.filename.startswith(self._cutile):
            # A function of cuTile's own is a part of the statement that calls it.
            return caller
        bindings: dict[str, int] = {}
        for depth, (function, variables) in enumerate(scope.scopes):
            # A comprehension has variables of its own, which the function does not store to.
            own = {*function.body.stored_indices, *function.param_local_indices}
            if function is not scope.function:
                own &= set(scope.function.captures_by_depth[depth])
            for index, name in enumerate(function.local_names):
                if index in own and name.isidentifier():
                    bindings[name] = self._bind(variables[index])
        parameters = tuple([scope.function.local_names[index] for index in scope.function.param_local_indices])
        name = scope.function.desc.name or "lambda"
        self._environments.append(Environment(name, parameters, bindings, caller))
        found = self._environment_numbers[place] = len(self._environments) - 1
        return found

    def _name_arrays(self, scope: CapturedScope) -> None:
        """The arrays among the arguments of the kernel, and in tuples of them."""
        function, variables = scope.scopes[-1]

        def name(variable: Any, text: str) -> None:
            value: Any = variable.get_aggregate() if variable is not None and variable.is_aggregate() else None
            if type(value).__name__ == "ArrayValue":
                self._arrays[variable.name] = text
            elif type(value).__name__ == "TupleValue":
                for place, item in enumerate(value.items):
                    name(item, f"{text}[{place}]")

        for index in function.param_local_indices:
            name(variables[index], function.local_names[index])

    def _add(self, binding: Binding) -> int:
        self._bindings.append(binding)
        return len(self._bindings) - 1

    def _bind(self, variable: Any) -> int:
        """The binding of one of cuTile's values."""
        if variable is None:
            return self._unassigned
        found = self._binding_numbers.get(variable.name)
        if found is not None:
            return found
        alias = self._capture.aliases.get(variable.name)
        if alias is not None:
            found = self._binding_numbers[variable.name] = self._bind(alias)
            return found
        found = self._binding_numbers[variable.name] = self._add(Binding())
        self._bindings[found] = binding = self._read_binding(variable)
        merges = self._capture.merges.get(variable.name)
        if merges is not None and binding.constant is None and binding.items is None:
            binding.merged = {}
            for place, value in merges:
                for number in self._leading(place):
                    binding.merged[number] = self._bind(value)
                for number in self._keeping(place):
                    binding.kept[number] = self._bind(value)
        return found

    def _read_binding(self, variable: Any) -> Binding:
        from cuda.tile._ir.type import InvalidReason, InvalidType, TileTy

        type_ = variable.get_type_allow_invalid()
        if variable.name in self._capture.unassigned:
            return Binding((Missing(UNASSIGNED),))
        if isinstance(type_, InvalidType):
            if variable.name in self._capture.merges:
                return Binding()
            is_unassigned = type_.reason is InvalidReason.UNDEFINED
            return Binding((Missing(UNASSIGNED if is_unassigned else REMOVED),))
        if variable.is_constant():
            return Binding((_constant(variable.get_constant(), type_),))
        if variable.is_aggregate():
            value = variable.get_aggregate()
            if type(value).__name__ == "TupleValue":
                return Binding(items=tuple([self._bind(item) for item in value.items]))
            if variable.name in self._arrays:
                return Binding((ArrayReference(self._arrays[variable.name]),))
            return Binding((Description(str(type_)),))
        if not isinstance(type_, TileTy):
            return Binding((Description(str(type_)),))
        dtype = type_.dtype
        is_unsigned = str(dtype).startswith("uint")
        return Binding(values=tuple(self._values(variable)), is_unsigned=is_unsigned)

    def _values(self, variable: Any) -> list[int]:
        """The values of the program that hold one of cuTile's, under its own name or those that replaced it."""
        found: dict[int, None] = {}
        seen: set[str] = set()
        pending = [variable]
        while pending:
            name = pending.pop().name
            if name in seen:
                continue
            seen.add(name)
            if name in self._capture.numbers:
                number, count = self._capture.numbers[name]
                defined = [value for begun, value in self._defined[number] if begun <= count]
                found |= dict.fromkeys(defined[-1:])
            pending += self._capture.replaced[name]
        return list(found)

    def _leading(self, place: int) -> list[int]:
        """The operations at a location that lead to a merge: a terminator, or where a loop begins."""
        numbers = self._at_location[place]
        loops = [one for one in numbers if self._program.operations[one].declaration.is_loop]
        if not loops:
            return [one for one in numbers if self._program.operations[one].declaration.is_terminator]
        # A loop that the compiler splits goes on in the second part.
        return list({self._program.operations[one].parent: one for one in reversed(loops)}.values())

    def _keeping(self, place: int) -> list[int]:
        """The loops that keep the branch that ends at a location, and not the `if`."""
        found: list[int] = []
        for counter in self._capture.kept[place]:
            for number in self._values(counter):
                block = self._program.values[number].parent_block
                if block is not None and block.parent_operation is not None:
                    found.append(self._program.operation_numbers[block.parent_operation])
        return found

    def _mark_unassigned(self) -> None:
        """Mark merges that something without a value leads to."""
        merges = [each for each in self._bindings if each.merged is not None]
        changed = True
        while changed:
            changed = False
            for binding in merges:
                leading = (*(binding.merged or {}).values(), *binding.kept.values())
                if not binding.may_be_unassigned and any(map(self._may_be_unassigned, leading)):
                    binding.may_be_unassigned = changed = True

    def _may_be_unassigned(self, number: int) -> bool:
        binding = self._bindings[number]
        is_missing = binding.constant is not None and isinstance(binding.constant[0], Missing)
        return is_missing or binding.may_be_unassigned


def _constant(value: Any, type_: Any) -> Any:
    shape = getattr(type_, "shape", ())
    if shape and isinstance(value, (bool, int, float)):
        return numpy.full(shape, value)
    if isinstance(value, tuple):
        return tuple([_constant(one, None) for one in value])
    return value if isinstance(value, _CONSTANTS) else Description(getattr(value, "__name__", None) or str(value))
