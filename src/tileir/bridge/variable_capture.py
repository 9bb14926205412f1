"""What cuTile's compiler knows of the variables of a kernel, read while it compiles.

cuTile has no debug information for variables in its bytecode, but its compiler keeps, for each statement, which of its
own values each variable is bound to.  `VariableCapture` reads that where these are called:

- `retarget_loc` is called once for each step of the compiler through a statement, and makes a location object for it.
  The operations that the step makes carry that object, whatever the compiler does to them later.  The variables of the
  scope at that time are the environment of these operations.
- `_transform_ir` gets the program before the compiler optimizes it: assignments, and what loops and branches merge.
- `ControlFlowInfo` and `store_invalid` show variables that are not assigned on every path, which the program omits.
- `Mapper.set_var` gets each value that replaces another one.
- `_clone_loop` makes the loops that a loop is split into; each keeps one branch of an `if`.
- `BytecodeContext` gets the number of each value in the bytecode.

All of them are private.  If one of them changes, there are no variables, and everything else goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tileir.bridge.hooks import replace


class CapturedScope:
    """The variables of a function at a step of the compiler, as cuTile's values."""

    def __init__(self, location: Any, scope: Any) -> None:
        self.location: Any = location
        self.function: Any = scope.func_hir
        functions = (*scope.func_hir.enclosing_funcs, scope.func_hir)
        variables = [tuple(local._map) for local in scope.local_scopes]
        self.scopes: list[tuple[Any, tuple[Any, ...]]] = list(zip(functions, variables, strict=True))


class VariableCapture:
    """The calls of cuTile's compiler for one kernel.  Locations go by `id`, as equal ones differ here."""

    def __init__(self) -> None:
        self.scopes: dict[int, CapturedScope] = {}
        self.chains: dict[int, tuple[int, ...]] = {}  # For an operation's location those of loops and branches around.
        self.loop_starts: dict[int, int] = {}  # For the location of a loop that of the first operation in it.
        self.aliases: dict[str, Any] = {}
        self.unassigned: set[str] = set()  # The placeholders of missing values.
        self.merges: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        """For what is merged: the location of each operation that leads to it, and the value it is then."""
        self.for_loops: set[int] = set()
        self.joins: list[tuple[int, Any, tuple[Any, ...]]] = []
        """Loops and branches: the location, what cuTile notes of the jumps in it, and the variables before it."""
        self.partial: dict[tuple[int, int], str] = {}
        """What a loop or branch, by location, ends with for a variable, by number, that has no value on some path."""
        self.replaced: dict[str, list[Any]] = defaultdict(list)
        self.kept: dict[int, list[Any]] = defaultdict(list)
        """For the location where a branch ends: the counters of loops that keep that branch, and not the `if`."""
        self.emitted: list[tuple[int, Any]] = []  # Locations of the bytecode's operations, each from one number on.
        self.numbers: dict[str, tuple[int, int]] = {}
        """For a value its number in the bytecode, and the number of operations before it."""
        self._alive: list[Any] = []  # What has the locations that go by `id`.

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to cuTile's compiler in this thread; it compiles one kernel at a time."""
        from cuda.tile import _compile, _ir2bytecode
        from cuda.tile._ir import control_flow_ops, ir
        from cuda.tile._passes import hir2ir, loop_split

        with _compile._compiler_lock, ExitStack() as stack:
            for owner, name, listener in (
                (hir2ir, "retarget_loc", self._retarget),
                (control_flow_ops, "ControlFlowInfo", self._join),
                (control_flow_ops, "store_invalid", self._store_invalid),
                (_compile, "_transform_ir", self._transform),
                (ir.Mapper, "set_var", self._set_var),
                (loop_split, "_clone_loop", self._clone_loop),
                (_ir2bytecode.BytecodeContext, "loc", self._emit_at),
                (_ir2bytecode.BytecodeContext, "set_value", self._set_value),
            ):
                stack.callback(setattr, owner, name, getattr(owner, name))
                replace(owner, name, listener)
            yield

    def _retarget(self, original: Any, location: Any, scope: Any) -> Any:
        found = original(location, scope)
        self.scopes[id(found)] = CapturedScope(found, scope)
        return found

    def _join(self, original: Any, stored_locals: Any, *rest: Any, **options: Any) -> Any:
        found = original(stored_locals, *rest, **options)
        location, variables = _here()
        self._alive.append(location)
        self.joins.append((id(location), found, tuple(variables)))
        return found

    def _store_invalid(self, original: Any, index: int, *rest: Any) -> None:
        original(index, *rest)
        location, variables = _here()
        self.partial[id(location), index] = variables[index].name

    # --- the program before it is optimized ---

    def _transform(self, original: Any, body: Any, *rest: Any) -> Any:
        self._read(body, (), None)
        self._read_partial()
        return original(body, *rest)

    def _read(self, block: Any, chain: tuple[int, ...], loop: Any) -> None:
        from cuda.tile._ir.control_flow_ops import Break, Continue, EndBranch, IfElse, Loop, MakeDummy
        from cuda.tile._ir.core_ops import Assign

        for operation in block:
            place = id(operation.loc)
            self._alive.append(operation)
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
                for first in tuple(operation.body)[:1]:
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
            for number, index in enumerate(info.stored_locals, -len(info.stored_locals)):
                # The merge, whether it goes on from what was before and from iteration to iteration, and whether it
                # has what the loop or branch ends with.
                into: list[tuple[str, bool, bool]] = []
                body = start.scopes[-1][1][index] if start is not None else None
                if body is not None and isinstance(body.get_type_allow_invalid(), InvalidType):
                    into.append((body.name, True, False))
                if (place, index) in self.partial:
                    into.append((self.partial[place, index], is_for, True))
                for name, goes_on, ends in into:
                    if goes_on:
                        self.merges[name].append((place, before[index]))
                    for jump in info.jumps:
                        leads = goes_on if isinstance(jump.jump_op, Continue) else ends
                        if jump.jump_op is not None and leads:
                            self.merges[name].append((id(jump.jump_op.loc), jump.outputs[number]))

    def _merge(self, into: Any, place: int, values: Any) -> None:
        for one, value in zip(into, values, strict=True):
            self.merges[one.name].append((place, value))

    # --- while it is optimized and written ---

    def _set_var(self, original: Any, mapper: Any, old: Any, new: Any) -> None:
        original(mapper, old, new)
        self.replaced[old.name].append(new)

    def _clone_loop(self, original: Any, loop: Any, *rest: Any) -> Any:
        from cuda.tile._ir.control_flow_ops import EndBranch, IfElse

        found = original(loop, *rest)
        *_, flattened, branch, _ = rest
        for operation in loop.body:
            if isinstance(operation, IfElse) and operation in flattened:
                end = getattr(operation, branch)[-1]
                if isinstance(end, EndBranch):
                    self.kept[id(end.loc)].append(found.induction_var)
        return found

    @contextmanager
    def _emit_at(self, original: Any, context: Any, location: Any) -> Iterator[None]:
        around = self.emitted[-1][1] if self.emitted else None
        self.emitted.append((_count(context), location))
        with original(context, location):
            yield
        self.emitted.append((_count(context), around))

    def _set_value(self, original: Any, context: Any, variable: Any, value: Any) -> None:
        original(context, variable, value)
        self.numbers[variable.name] = (value.value_id, _count(context))


def _here() -> tuple[Any, Any]:
    """The location that the compiler is at, and the variables of the function there."""
    from cuda.tile._ir.ir import Builder
    from cuda.tile._ir.scope import Scope

    return Builder.get_current().loc, Scope.get_current().local._map


def _count(context: Any) -> int:
    """How many operations are written; the first entry is of the function itself."""
    return len(context.builder.debug_attr_per_op) - 1
