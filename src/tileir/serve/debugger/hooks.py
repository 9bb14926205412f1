"""Hooks of breakpoints, and the observers that run them while a launch runs ahead and nothing is recorded.

`StopObserver` counts steps as a recording does, at the decisions of control flow, so it knows the position of a hook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recorder import Interrupted, Interruption
from tileir.execute.recording.recording import PreparedLaunch
from tileir.execute.recording.script_variables import ArrayReference, Content, Missing, StaticValue, precedes, unsigned
from tileir.execute.sanitizer.number_watch import NumberWatch
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value
from tileir.serve.debugger.breakpoints import Breakpoint
from tileir.serve.debugger.expressions import BadExpression, Expression, Lookup, computable
from tileir.serve.debugger.history import Reached
from tileir.serve.debugger.inspection import constant_value, launch_value
from tileir.serve.debugger.stops import Position, Stop
from tileir.serve.debugger.value_names import ValueNames
from tileir.serve.debugger.values import result_text

HookValues = dict[Value, Any]  # The values that a hook uses; after an operation its results.


@dataclass
class Hook:
    """Something to do before an operation, or after it."""

    operation: Operation
    reach: Callable[[TileBlock, Position, HookValues], Stop | None]  # Returns a stop if there is a reason for one.
    uses: Sequence[Value] = ()
    is_behind: bool = False
    access: Callable[[Access], object] | None = None
    """Takes the accesses to memory that the operation makes, before they happen."""


class StopObserver(Observer):
    """Finds the first stop that `is_ahead`; or with `is_back`, the last one of all (`last`)."""

    def __init__(
        self,
        prepared: PreparedLaunch,
        hooks: list[Hook],
        interruption: Interruption,
        is_ahead: Callable[[Position], bool],
        is_back: bool = False,
    ) -> None:
        self._decisions, self._distances = prepared.control.decisions, prepared.control.distances
        self._program, self._in_reductions = prepared.program, prepared.program.in_reductions
        self._interruption, self._is_ahead, self._is_back = interruption, is_ahead, is_back
        self._hooks: dict[Operation, list[Hook]] = {}
        self._hooks_behind: dict[Operation, list[Hook]] = {}
        self._used: dict[Operation, list[Value]] = {}
        for hook in hooks:
            (self._hooks_behind if hook.is_behind else self._hooks).setdefault(hook.operation, []).append(hook)
            used = self._used.setdefault(hook.operation, [])
            used += [value for value in hook.uses if value not in used]
        self._steps: dict[int, int] = {}
        self.last: Stop | None = None
        self.interrupted_at: Position | None = None
        self.failed_at: Position | None = None  # The position before the operation that ended the launch.

    def watches(self, operation: Operation) -> bool:
        return operation in self._decisions or operation in self._used

    def wants(self, operation: Operation) -> Sequence[Value]:
        return self._used.get(operation, ())

    def block_started(self, block: TileBlock) -> None:
        self._steps[block.number] = 0
        self._check_interruption(block)

    def block_finished(self, block: TileBlock) -> None:
        del self._steps[block.number]

    def _check_interruption(self, block: TileBlock, offset: int = 0) -> None:
        if self._interruption.is_requested:
            self.interrupted_at = Position(block.number, self._steps[block.number] + offset)
            raise Interrupted

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        hooks = self._hooks.get(operation)
        if hooks is not None:
            position = Position(block.number, self._steps[block.number] + self._distances[operation] - 1)
            given = zip(self._used[operation], operands[len(operation.operands) :], strict=True)
            self._run(hooks, block, position, dict(given))
        if operation in self._decisions:
            self._steps[block.number] += self._distances[operation]
            if self._interruption.is_requested:
                self._check_interruption(block, -1)

    def _run(self, hooks: list[Hook], block: TileBlock, position: Position, given: HookValues) -> None:
        found: Stop | None = None
        for hook in hooks:
            stop = hook.reach(block, position, given)
            found = stop.joined(found) if stop is not None else found
        if found is not None:
            self.stop(found)

    def stop(self, stop: Stop) -> None:
        if self._is_ahead(stop.position):
            if not self._is_back:
                raise Reached(stop)
            self.last = stop

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        self.failed_at = Position(block.number, self.step_of(error.operation, block) - 1)
        return False

    def step_of(self, operation: Operation, block: TileBlock) -> int:
        """The step of an operation that a tile block is at, counted from 1."""
        operation = self._program.step_operation(operation)
        steps = self._steps[block.number]
        return steps if operation in self._decisions else steps + self._distances[operation]


class AccessObserver(StopObserver):
    """Also runs hooks after operations, and at accesses to memory."""

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        hooks = self._hooks_behind.get(operation)
        if hooks is not None:
            # A loop or a branch has its results with its last step, which is the last decision.
            position = Position(block.number, self.step_of(operation, block))
            self._run(hooks, block, position, dict(zip(operation.results, results, strict=True)))

    def access(self, access: Access) -> Array | None:
        for hook in self._hooks_behind.get(access.operation, ()):
            if hook.access is not None:
                hook.access(access)
        return None


Checker = Sanitizer | NumberWatch  # An observer that adds findings to its report.


class FindingObserver(AccessObserver):
    """Also stops where checkers find something, which are called before it; `made` is that of `StopSearch`."""

    def __init__(self, *arguments: Any, checkers: Sequence[Checker], made: dict[Operation, Position]) -> None:
        super().__init__(*arguments)
        self._checkers, self._made = checkers, made
        self._seen = [0] * len(checkers)  # How many findings of each report were seen.

    def watches(self, operation: Operation) -> bool:
        return any(one.watches(operation) for one in self._checkers) or super().watches(operation)

    def _check(self, operation: Operation, block: TileBlock) -> None:
        for index, checker in enumerate(self._checkers):
            new = checker.report.findings[self._seen[index] :]
            if not new:
                continue
            self._seen[index] += len(new)
            position = Position(block.number, self.step_of(operation, block) - 1)
            is_nan = isinstance(checker, NumberWatch)
            if is_nan:
                new = [one for one in new if self._made.get(one.operation, position) == position]
            if new:
                if is_nan and self._is_ahead(position):
                    self._made[new[0].operation] = position
                text = "\n\n".join([finding.render(checker.report.names) for finding in new])
                self.stop(Stop("nan" if is_nan else "sanitizer", position, text))

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if operation not in self._in_reductions:
            super().before(operation, block, operands)
        self._check(operation, block)

    def access(self, access: Access) -> Array | None:
        self._check(access.operation, access.block)
        return super().access(access)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self._check(operation, block)
        if operation not in self._in_reductions:
            super().after(operation, block, results)

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        super().failed(error, block)
        self._check(error.operation, block)
        return False


Known = dict[str, Content]  # What names mean at an operation: a `StaticValue`, or what is known without the launch.


@dataclass(eq=False)
class HookMaker:
    """Makes the hooks of breakpoints, for one run ahead."""

    _prepared: PreparedLaunch
    _names: ValueNames
    _log: Callable[[Position, str], object]  # Takes what a breakpoint writes instead of stopping.
    _hits: dict[int, int] = field(default_factory=dict)  # How often each breakpoint was hit.

    def hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        if breakpoint.element is not None:
            return self._element_hooks(breakpoint)
        if breakpoint.kind == "data":
            return self._value_hooks(breakpoint)
        found = []
        for number in breakpoint.operations:
            operation = self._prepared.program.operations[number]
            known = self._visible(breakpoint, operation)
            uses = [one.value for one in known.values() if isinstance(one, StaticValue)]
            found.append(Hook(operation, partial(self._reach, breakpoint, known), uses))
        return found

    def _visible(self, breakpoint: Breakpoint, operation: Operation) -> Known:
        """What the names in the expressions of a breakpoint mean at an operation."""
        expressions = [part for part in (breakpoint.condition, *(breakpoint.log or ())) if isinstance(part, Expression)]
        found: Known = {}
        program, parameters = self._prepared.program, len(self._prepared.launch.values)
        for name in sorted({name for one in expressions for name in one.names}):
            if self._names.is_variable(name):
                found[name] = self._names.static(name, program.operation_numbers[operation])
                continue
            # The last of those that are computed by then in every case.
            values = [program.values[one] for one in self._names.numbers.get(name, []) if one >= parameters]
            values = [value for value in values if precedes(program, value, operation)]
            if values:
                found[name] = StaticValue(values[-1], False)
        return found

    def _reach(
        self, breakpoint: Breakpoint, known: Known, block: TileBlock, position: Position, given: HookValues
    ) -> Stop | None:
        """Handle a breakpoint that is reached: the stop, if its tile block, condition and hit count match."""
        if breakpoint.block is not None and block.id != breakpoint.block:
            return None
        lookup: Lookup = partial(self._value, known, given, block)
        numbers = (breakpoint.number,)
        try:
            if breakpoint.condition is not None and not breakpoint.condition.is_true(lookup):
                return None
        except BadExpression as error:
            # Stop, to report the error and its location.
            text = f"the condition '{breakpoint.spec.condition}' fails: {error.message}"
            return Stop("breakpoint", position, text, numbers)
        hits = self._hits[breakpoint.number] = self._hits.get(breakpoint.number, 0) + 1
        if not breakpoint.counts(hits):
            return None
        if breakpoint.log is not None:
            self._log(position, f"{''.join([_logged(part, lookup) for part in breakpoint.log])}\n")
            return None
        return Stop("data" if breakpoint.kind == "data" else "breakpoint", position, "", numbers)

    def _value(self, known: Known, given: HookValues, block: TileBlock, name: str) -> Any:
        if name in known:
            found = known[name]
            if isinstance(found, StaticValue) and found.value in given:
                content = unsigned(given[found.value]) if found.is_unsigned else given[found.value]
                return computable(found.value.type, content, self._prepared.arrays)
            if isinstance(found, Missing):
                raise BadExpression(f"variable {name} {found.reason}")
            if not isinstance(found, (StaticValue, ArrayReference)):
                return constant_value(found)
            # An array may have another name in the script.
            name = found.name if isinstance(found, ArrayReference) else name
        return launch_value(self._prepared, self._names, block.number, name, RecordedArray.contents)

    def _element_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        """After what reads an element, whatever accesses it, or what changes it."""
        assert breakpoint.element is not None
        number, index = breakpoint.element
        array = self._prepared.arrays[number]
        start = array.low - array.region.start + array.place(index) * array.size
        address, end = array.region.start + start, numpy.uint64(array.region.start + start + array.size)
        watched = breakpoint.spec.access
        kinds = ("atomic", watched) if watched != "readWrite" else ("read", "write", "atomic")
        last: dict[int, bytes] = {}  # What the element was before the access of a tile block.

        def content() -> bytes:
            return bytes(array.region.data[start : start + array.size].tobytes())

        def check(access: Access) -> None:
            # From the last address at which an element would still reach into this one.
            low = numpy.uint64(max(address - access.size + 1, 0))
            if access.kind in kinds and bool(((access.touched >= low) & (access.touched < end)).any()):
                last[access.block.number] = content()

        def behind(block: TileBlock, position: Position, given: HookValues) -> Stop | None:
            before = last.pop(block.number, None)
            if before is None or (watched == "write" and before == content()):
                return None
            return self._reach(breakpoint, {}, block, position, {})

        operations = [self._prepared.program.operations[one] for one in breakpoint.operations]
        return [Hook(one, behind, is_behind=True, access=check) for one in operations]

    def _value_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        """Before what uses a value, and where it changes."""
        access, name = breakpoint.spec.access, str(breakpoint.spec.what).strip()
        last: dict[int, bytes] = {}

        def used(value: Value, block: TileBlock, position: Position, given: HookValues) -> Stop | None:
            return self._reach(breakpoint, {name: StaticValue(value, False)}, block, position, given)

        def computed(value: Value, block: TileBlock, position: Position, given: HookValues) -> Stop | None:
            data = getattr(given.get(value), "tobytes", bytes)()
            if last.get(block.number) == data:
                return None
            last[block.number] = data
            return used(value, block, position, given)

        found: list[Hook] = []
        values = [self._prepared.program.values[number] for number in breakpoint.values]
        in_reductions = self._prepared.program.in_reductions
        if access != "write":
            for value in values:
                users = [one for one in value.users if one in self._prepared.program.operation_numbers]
                found += [Hook(one, partial(used, value), [value]) for one in users if one not in in_reductions]
        if access == "read":
            return found
        if self._names.is_variable(name):
            for number in breakpoint.operations:
                static, operation = self._names.static(name, number), self._prepared.program.operations[number]
                if isinstance(static, StaticValue):
                    found.append(Hook(operation, partial(computed, static.value), [static.value]))
            return found
        for value in values:
            owner = value.defining_operation
            if isinstance(value, BlockArgument):
                if value.block.parent_operation is not self._prepared.program.entry:
                    found.append(Hook(next(iter(value.block)), partial(computed, value), [value]))
            elif owner is not None and owner not in in_reductions:
                found.append(Hook(owner, partial(computed, value), is_behind=True))
        return found


def _logged(part: str | Expression, lookup: Lookup) -> str:
    if isinstance(part, str):
        return part
    try:
        return result_text(part.evaluate(lookup))
    except BadExpression as error:
        return f"{{{error.message}}}"
