"""What cuTile knows of the variables of a kernel while it compiles it.

cuTile has no debug information for variables in its bytecode, but its compiler keeps, for each statement, which of its
own values each variable is bound to.  `captured` compiles a kernel once more and reads that, where these are called:

- `retarget_loc` is called once for each step of the compiler through a statement, and makes a location object for it.
  The operations that the step makes carry that object, whatever the compiler does to them later.  The variables of the
  scope at that time are the environment of these operations.
- `_transform_ir` gets the program before the compiler optimizes it: assignments, and what loops and branches merge.
- `ControlFlowInfo` and `store_invalid` tell of variables that are not assigned on every path, which the program omits.
- `Mapper.set_var` is told of each value that takes the place of another one.
- `_clone_loop` makes the loops that a loop is split into; each keeps one branch of an `if`.
- `BytecodeContext` is told of the number that each value gets in the bytecode.

All of them are private.  If one of them changes, there are no variables, and everything else goes on.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import numpy

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

_CONSTANTS: Final = (bool, int, float, complex, str, type(None))


def captured(export: Callable[[], bytes], entry: Operation) -> ScriptVariables | None:
    """The variables of the kernel that `export` compiles and that `entry` is the program of; None if cuTile does not
    tell."""
    try:
        capture = _Capture()
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


class _Scope:
    """The variables of a function at a step of the compiler, as cuTile's values."""

    def __init__(self, location: Any, scope: Any) -> None:
        self.location: Any = location
        self.function: Any = scope.func_hir
        self.scopes: list[tuple[Any, tuple[Any, ...]]] = []
        functions = (*scope.func_hir.enclosing_funcs, scope.func_hir)
        for function, local in zip(functions, scope.local_scopes, strict=True):
            self.scopes.append((function, tuple(local._map)))


class _Capture:
    """What cuTile's compiler says of one kernel, as it says it.  Locations go by `id`, as equal ones differ here."""

    def __init__(self) -> None:
        self.scopes: dict[int, _Scope] = {}
        self.chains: dict[int, tuple[int, ...]] = {}
        """For the location of an operation those of the loops and branches around it."""
        self.loop_starts: dict[int, int] = {}
        """For the location of a loop that of the first operation in it."""
        self.aliases: dict[str, Any] = {}
        self.unassigned: set[str] = set()
        """What stands for a value that there is not."""
        self.merges: dict[str, list[tuple[int, Any]]] = {}
        """For what is merged: the location of each operation that leads to it, and the value it is then."""
        self.for_loops: set[int] = set()
        self.joins: list[tuple[int, Any, tuple[Any, ...]]] = []
        """Loops and branches: the location, what cuTile notes of the jumps in it, and the variables before it."""
        self.partial: dict[tuple[int, int], str] = {}
        """What a loop or branch, by location, ends with for a variable, by number, that has no value on some path."""
        self.replaced: dict[str, list[Any]] = {}
        self.kept: dict[int, list[Any]] = {}
        """For the location where a branch ends: the counters of loops that keep that branch, and not the `if`."""
        self.emitted: list[tuple[int, Any]] = []
        """Locations of the bytecode's operations, each from one number on."""
        self.numbers: dict[str, tuple[int, int]] = {}
        """For a value the number it has in the bytecode, and how many operations there are by then."""
        self._kept: list[Any] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to cuTile's compiler in this thread; it compiles one kernel at a time."""
        from cuda.tile import _compile, _ir2bytecode
        from cuda.tile._ir import control_flow_ops, ir
        from cuda.tile._passes import hir2ir, loop_split

        with _compile._compiler_lock, ExitStack() as stack:
            for owner, name, make in (
                (hir2ir, "retarget_loc", self._retarget),
                (control_flow_ops, "ControlFlowInfo", self._join),
                (control_flow_ops, "store_invalid", self._store_invalid),
                (_compile, "_transform_ir", self._transform),
                (ir.Mapper, "set_var", self._set_var),
                (loop_split, "_clone_loop", self._clone_loop),
                (_ir2bytecode.BytecodeContext, "loc", self._emit_at),
                (_ir2bytecode.BytecodeContext, "set_value", self._set_value),
            ):
                original = getattr(owner, name)
                stack.callback(setattr, owner, name, original)
                setattr(owner, name, make(original))
            yield

    # --- while statements are compiled ---

    def _retarget(self, original: Any) -> Any:
        def retarget_loc(location: Any, scope: Any) -> Any:
            found = original(location, scope)
            self.scopes[id(found)] = _Scope(found, scope)
            return found

        return retarget_loc

    def _join(self, original: Any) -> Any:
        from cuda.tile._ir.ir import Builder
        from cuda.tile._ir.scope import Scope

        def control_flow_info(stored_locals: Any, *rest: Any, **options: Any) -> Any:
            found = original(stored_locals, *rest, **options)
            location = Builder.get_current().loc
            self._kept.append(location)
            self.joins.append((id(location), found, tuple(Scope.get_current().local._map)))
            return found

        return control_flow_info

    def _store_invalid(self, original: Any) -> Any:
        from cuda.tile._ir.ir import Builder
        from cuda.tile._ir.scope import Scope

        def store_invalid(index: int, *rest: Any) -> None:
            original(index, *rest)
            self.partial[id(Builder.get_current().loc), index] = Scope.get_current().local._map[index].name

        return store_invalid

    # --- the program before it is optimized ---

    def _transform(self, original: Any) -> Any:
        def transform_ir(body: Any, *rest: Any) -> Any:
            self._read(body, (), None)
            self._read_partial()
            return original(body, *rest)

        return transform_ir

    def _read(self, block: Any, chain: tuple[int, ...], loop: Any) -> None:
        from cuda.tile._ir.control_flow_ops import Break, Continue, EndBranch, IfElse, Loop, MakeDummy
        from cuda.tile._ir.core_ops import Assign

        for operation in block:
            place = id(operation.loc)
            self._kept.append(operation)
            self.chains.setdefault(place, chain)
            if isinstance(operation, Assign):
                self.aliases[operation.result_var.name] = operation.value
            elif isinstance(operation, MakeDummy):
                self.unassigned.add(operation.result_var.name)
            elif isinstance(operation, Loop):
                self._merge(operation.body_vars, place, operation.initial_values)
                if operation.is_for_loop:
                    self.for_loops.add(place)
                    self._merge(operation.result_vars, place, operation.initial_values)
                first = next(iter(operation.body), None)
                if first is not None:
                    self.loop_starts[place] = id(first.loc)
                self._read(operation.body, (*chain, place), operation)
            elif isinstance(operation, IfElse):
                for branch in (operation.then_block, operation.else_block):
                    self._read(branch, (*chain, place), loop)
                    last = branch[-1] if len(branch) else None
                    if isinstance(last, EndBranch):
                        self._merge(operation.result_vars, id(last.loc), last.outputs)
            elif isinstance(operation, (Continue, Break)):
                if isinstance(operation, Continue):
                    self._merge(loop.body_vars, place, operation.values)
                if isinstance(operation, Break) or loop.is_for_loop:
                    self._merge(loop.result_vars, place, operation.values)

    def _read_partial(self) -> None:
        """What variables merge that the program has no values for, as they are not assigned on every path."""
        from cuda.tile._ir.control_flow_ops import Continue
        from cuda.tile._ir.type import InvalidType

        for place, info, before in self.joins:
            start = self.scopes.get(self.loop_starts.get(place, 0))
            is_for = place in self.for_loops
            for number, index in enumerate(info.stored_locals):
                into: list[tuple[str, bool, bool]] = []
                body = start.scopes[-1][1][index] if start is not None else None
                if body is not None and isinstance(body.get_type_allow_invalid(), InvalidType):
                    into.append((body.name, True, False))
                if (place, index) in self.partial:
                    into.append((self.partial[place, index], is_for, True))
                for name, goes_on, ends in into:
                    merged = self.merges.setdefault(name, [])
                    if goes_on:
                        merged.append((place, before[index]))
                    for jump in info.jumps:
                        leads = goes_on if isinstance(jump.jump_op, Continue) else ends
                        if jump.jump_op is not None and leads:
                            value = jump.outputs[len(jump.outputs) - len(info.stored_locals) + number]
                            merged.append((id(jump.jump_op.loc), value))

    def _merge(self, into: Any, place: int, values: Any) -> None:
        for one, value in zip(into, values, strict=True):
            self.merges.setdefault(one.name, []).append((place, value))

    # --- while it is optimized and written ---

    def _set_var(self, original: Any) -> Any:
        def set_var(mapper: Any, old: Any, new: Any) -> None:
            original(mapper, old, new)
            self.replaced.setdefault(old.name, []).append(new)

        return set_var

    def _clone_loop(self, original: Any) -> Any:
        from cuda.tile._ir.control_flow_ops import EndBranch, IfElse

        def clone_loop(loop: Any, *rest: Any) -> Any:
            found = original(loop, *rest)
            *_, flattened, branch, _ = rest
            for operation in loop.body:
                if isinstance(operation, IfElse) and operation in flattened:
                    end = getattr(operation, branch)[-1]
                    if isinstance(end, EndBranch):
                        self.kept.setdefault(id(end.loc), []).append(found.induction_var)
            return found

        return clone_loop

    def _emit_at(self, original: Any) -> Any:
        @contextmanager
        def loc(context: Any, location: Any) -> Iterator[None]:
            around = self.emitted[-1][1] if self.emitted else None
            self.emitted.append((_count(context), location))
            with original(context, location):
                yield
            self.emitted.append((_count(context), around))

        return loc

    def _set_value(self, original: Any) -> Any:
        def set_value(context: Any, variable: Any, value: Any) -> None:
            original(context, variable, value)
            self.numbers[variable.name] = (value.value_id, _count(context))

        return set_value


def _count(context: Any) -> int:
    """How many operations are written; the first entry is of the function itself."""
    return len(context.builder.debug_attr_per_op) - 1


class _Table:
    """Turns what cuTile's compiler said into `ScriptVariables`."""

    def __init__(self, capture: _Capture, program: NumberedProgram) -> None:
        self._capture: _Capture = capture
        self._program: NumberedProgram = program
        self._locations: list[int] = self._operation_locations()
        self._at_location: dict[int, list[int]] = {}
        for number, place in enumerate(self._locations):
            self._at_location.setdefault(place, []).append(number)
        self._defined: dict[int, list[tuple[int, int]]] = {}
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
        at = [self._environment_at(number) for number in range(len(self._program.operations))]
        # What the compiler adds belongs to no statement: it stands before the one that follows, or in what is around.
        for number in reversed(range(len(at))):
            following = self._program.operations[number].next
            if at[number] < 0 and following is not None:
                at[number] = at[self._program.operation_numbers[following]]
        for number, operation in enumerate(self._program.operations):
            around = operation.parent_operation
            if at[number] < 0 and around in self._program.operation_numbers:
                at[number] = at[self._program.operation_numbers[around]]
        self._mark_unassigned()
        return ScriptVariables(self._environments, at, self._bindings)

    # --- operations ---

    def _operation_locations(self) -> list[int]:
        """For each operation of the program the location object that cuTile gave it; 0 if it is none."""
        emitted = self._capture.emitted
        operations = self._program.operations
        if emitted and emitted[-1][0] != len(operations):
            raise ValueError(f"{emitted[-1][0]} operations were written, and {len(operations)} read")
        found: list[int] = []
        place = -1
        for number in range(len(operations)):
            while place + 1 < len(emitted) and emitted[place + 1][0] <= number:
                place += 1
            location = emitted[place][1] if place >= 0 else None
            found.append(id(location) if location is not None else 0)
        return found

    def _number_values(self) -> None:
        """Number the values as the bytecode does, where those of a block end with it."""
        count = 0

        def note(number: int, value: Any) -> None:
            self._defined.setdefault(number, []).append((count, self._program.value_numbers[value]))

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
                # The compiler asks in each iteration whether the loop was left.
                return self._environment(capture.loop_starts[place])
            if self._program.operations[number].declaration is IF:
                return -1
        for outer in capture.chains[place]:
            if outer not in around and outer in capture.loop_starts:
                # Moved out of a loop: it happens before the loop begins.
                return self._environment(outer)
        return self._environment(place)

    def _around(self, number: int) -> set[int]:
        found: set[int] = set()
        around = self._program.operations[number].parent_operation
        while around is not None and around is not self._program.entry:
            found.add(self._locations[self._program.operation_numbers[around]])
            around = around.parent_operation
        return found

    # --- environments ---

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

    def _name_arrays(self, scope: _Scope) -> None:
        """The arrays among the arguments of the kernel, and in tuples of them."""
        function, variables = scope.scopes[-1]

        def name(variable: Any, text: str) -> None:
            if variable is None or not variable.is_aggregate():
                return
            value = variable.get_aggregate()
            if type(value).__name__ == "ArrayValue":
                self._arrays[variable.name] = text
            elif type(value).__name__ == "TupleValue":
                for place, item in enumerate(value.items):
                    name(item, f"{text}[{place}]")

        for index in function.param_local_indices:
            name(variables[index], function.local_names[index])

    # --- bindings ---

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
            one = pending.pop()
            if one.name in seen:
                continue
            seen.add(one.name)
            known = self._capture.numbers.get(one.name)
            if known is not None:
                number, count = known
                defined = [value for begun, value in self._defined.get(number, []) if begun <= count]
                if defined:
                    found[defined[-1]] = None
            pending += self._capture.replaced.get(one.name, [])
        return list(found)

    def _leading(self, place: int) -> list[int]:
        """The operations at a location that lead to a merge: a terminator, or where a loop begins."""
        numbers = self._at_location.get(place, [])
        loops = [one for one in numbers if self._program.operations[one].declaration.is_loop]
        if not loops:
            return [one for one in numbers if self._program.operations[one].declaration.is_terminator]
        # A loop that the compiler splits goes on in the second part.
        first: dict[Block | None, int] = {}
        for one in loops:
            first.setdefault(self._program.operations[one].parent, one)
        return list(first.values())

    def _keeping(self, place: int) -> list[int]:
        """The loops that keep the branch that ends at a location, and not the `if`."""
        found: list[int] = []
        for counter in self._capture.kept.get(place, []):
            for number in self._values(counter):
                block = self._program.values[number].parent_block
                if block is not None and block.parent_operation is not None:
                    found.append(self._program.operation_numbers[block.parent_operation])
        return found

    def _mark_unassigned(self) -> None:
        """Mark merges that something without a value leads to."""
        changed = True
        while changed:
            changed = False
            for binding in self._bindings:
                if binding.merged is not None and not binding.may_be_unassigned:
                    if any(self._may_be_unassigned(one) for one in (*binding.merged.values(), *binding.kept.values())):
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
