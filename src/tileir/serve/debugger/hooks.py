"""The hooks of breakpoints: they check conditions, count hits and write logs while a launch runs ahead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recording import PreparedLaunch
from tileir.execute.recording.script_variables import ArrayReference, Content, Missing, StaticValue, unsigned
from tileir.execute.schedule import block_at
from tileir.ir.core import Block, Operation
from tileir.ir.values import BlockArgument, Value
from tileir.serve.debugger.breakpoints import Breakpoint
from tileir.serve.debugger.expressions import BadExpression, Expression, Lookup, computable, numbers
from tileir.serve.debugger.observers import Given, Hook
from tileir.serve.debugger.stops import Position, Stop
from tileir.serve.debugger.value_names import ValueNames
from tileir.serve.debugger.values import result_text
from tileir.serve.debugger.variables import constant_value

Known = dict[str, Content]
"""What names mean at an operation: a `StaticValue`, or what is known without the launch."""


class HookMaker:
    """Makes the hooks of breakpoints, for one run ahead.  `log` takes what a breakpoint writes instead of stopping."""

    def __init__(self, prepared: PreparedLaunch, names: ValueNames, log: Callable[[Position, str], object]) -> None:
        self._prepared: PreparedLaunch = prepared
        self._program: NumberedProgram = prepared.program
        self._names: ValueNames = names
        self._log: Callable[[Position, str], object] = log
        # How often each breakpoint was hit.
        self._hits: dict[int, int] = {}

    def hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        if breakpoint.element is not None:
            return self._element_hooks(breakpoint)
        if breakpoint.kind == "data":
            return self._value_hooks(breakpoint)
        found = []
        for number in breakpoint.operations:
            operation = self._program.operations[number]
            known = self._visible(breakpoint, operation)
            uses = [one.value for one in known.values() if isinstance(one, StaticValue)]
            found.append(Hook(operation, partial(self._reach, breakpoint, known), uses))
        return found

    # --- at an operation ---

    def _visible(self, breakpoint: Breakpoint, operation: Operation) -> Known:
        """What the names in the expressions of a breakpoint mean at an operation."""
        expressions = [part for part in (breakpoint.condition, *(breakpoint.log or ())) if isinstance(part, Expression)]
        found: Known = {}
        variables = self._names.variables
        number = self._program.operation_numbers[operation]
        for name in sorted({name for one in expressions for name in one.names}):
            if variables is not None and self._names.is_variable(name):
                binding = variables.binding(number, name)
                missing = Missing("is no variable of this function")
                found[name] = variables.static(binding, number, self._program) if binding is not None else missing
                continue
            value = _visible_value(self._program, self._names, name, operation)
            if value is not None:
                found[name] = StaticValue(value, False)
        return found

    def _reach(
        self, breakpoint: Breakpoint, known: Known, block: TileBlock, position: Position, given: Given
    ) -> Stop | None:
        """A breakpoint is reached: the stop, if its tile block, condition and hit count say so."""
        if breakpoint.block is not None and block.id != breakpoint.block:
            return None
        lookup: Lookup = partial(self._value, known, given, block)
        numbers = (breakpoint.number,)
        try:
            if breakpoint.condition is not None and not breakpoint.condition.is_true(lookup):
                return None
        except BadExpression as error:
            # The user wants to know, and where.
            text = f"the condition '{breakpoint.spec.condition}' fails: {error.message}"
            return Stop("breakpoint", position, text, numbers)
        hits = self._hits[breakpoint.number] = self._hits.get(breakpoint.number, 0) + 1
        if not breakpoint.counts(hits):
            return None
        if breakpoint.log is not None:
            self._log(position, f"{''.join([_logged(part, lookup) for part in breakpoint.log])}\n")
            return None
        return Stop("data" if breakpoint.kind == "data" else "breakpoint", position, "", numbers)

    def _value(self, known: Known, given: Given, block: TileBlock, name: str) -> Any:
        arrays, launch = self._prepared.arrays, self._prepared.launch
        if name in known:
            found = known[name]
            if isinstance(found, StaticValue) and found.value in given:
                content = unsigned(given[found.value]) if found.is_unsigned else given[found.value]
                return computable(found.value.type, content, arrays)
            if isinstance(found, Missing):
                raise BadExpression(f"variable {name} {found.reason}")
            if not isinstance(found, (StaticValue, ArrayReference)):
                return constant_value(found)
            # An array may have another name in the script.
            name = found.name if isinstance(found, ArrayReference) else name
        for array in arrays:
            if array.name == name:
                return numbers(array.element, array.contents())
        for number in self._names.numbers.get(name, []):
            if number < len(launch.values):
                return computable(self._program.values[number].type, launch.values[number], arrays)
        if name == "tile_block":
            return block_at(block.number, launch.grid)
        return launch.grid if name == "grid" else None

    # --- data ---

    def _element_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        assert breakpoint.element is not None
        number, index = breakpoint.element
        array = self._prepared.arrays[number]
        start = array.low - array.region.start + array.place(index) * array.size
        if breakpoint.spec.access != "write":
            return self._access_hooks(breakpoint, array.region.start + start, array.size)
        last: dict[int, bytes] = {}

        def read() -> bytes:
            return bytes(array.region.data[start : start + array.size].tobytes())

        def before(block: TileBlock, position: Position, given: Given) -> None:
            last[block.number] = read()

        def behind(block: TileBlock, position: Position, given: Given) -> Stop | None:
            if last.pop(block.number, read()) == read():
                return None
            return self._reach(breakpoint, {}, block, position, {})

        operations = [self._program.operations[one] for one in breakpoint.operations]
        return [hook for one in operations for hook in (Hook(one, before), Hook(one, behind, is_behind=True))]

    def _access_hooks(self, breakpoint: Breakpoint, address: int, size: int) -> list[Hook]:
        """Behind what reads an element, or whatever accesses it."""
        kinds = ("read", "atomic") if breakpoint.spec.access == "read" else ("read", "write", "atomic")
        accessing: set[int] = set()

        def check(access: Access) -> None:
            if access.kind not in kinds:
                return
            # From the last address at which an element would still reach into this one.
            low = numpy.uint64(max(address - access.size + 1, 0))
            if bool(((access.touched >= low) & (access.touched < numpy.uint64(address + size))).any()):
                accessing.add(access.block.number)

        def behind(block: TileBlock, position: Position, given: Given) -> Stop | None:
            if block.number not in accessing:
                return None
            accessing.remove(block.number)
            return self._reach(breakpoint, {}, block, position, {})

        return [
            Hook(self._program.operations[one], behind, is_behind=True, access=check) for one in breakpoint.operations
        ]

    def _value_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        """Before what uses a value, and where it changes."""
        access, name = breakpoint.spec.access, str(breakpoint.spec.what).strip()
        last: dict[int, bytes] = {}

        def used(value: Value, block: TileBlock, position: Position, given: Given) -> Stop | None:
            return self._reach(breakpoint, {name: StaticValue(value, False)}, block, position, given)

        def computed(value: Value, block: TileBlock, position: Position, given: Given) -> Stop | None:
            data = getattr(given.get(value), "tobytes", bytes)()
            if last.get(block.number) == data:
                return None
            last[block.number] = data
            return used(value, block, position, given)

        found: list[Hook] = []
        values = [self._program.values[number] for number in breakpoint.values]
        in_reductions = self._program.in_reductions
        if access != "write":
            for value in values:
                users = [one for one in value.users if one in self._program.operation_numbers]
                found += [Hook(one, partial(used, value), [value]) for one in users if one not in in_reductions]
        if access == "read":
            return found
        variables = self._names.variables
        if variables is not None and self._names.is_variable(name):
            for number in breakpoint.operations:
                binding = variables.binding(number, name)
                static = variables.static(binding, number, self._program) if binding is not None else None
                if isinstance(static, StaticValue):
                    operation = self._program.operations[number]
                    found.append(Hook(operation, partial(computed, static.value), [static.value]))
            return found
        for value in values:
            owner = value.defining_operation
            if isinstance(value, BlockArgument):
                if value.block.parent_operation is not self._program.entry:
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


def _visible_value(program: NumberedProgram, names: ValueNames, name: str, operation: Operation) -> Value | None:
    """The value that a name means before an operation: the last of those that are computed by then in every case."""
    around: dict[Block | None, Operation] = {}
    inner: Operation | None = operation
    while inner is not None and inner is not program.entry:
        around[inner.parent] = inner
        inner = inner.parent_operation
    best: Value | None = None
    for number in names.numbers.get(name, []):
        value = program.values[number]
        owner = value.defining_operation
        if isinstance(value, BlockArgument):
            if value.block in around and number >= len(program.entry.regions[0].block.arguments):
                best = value
        elif owner is not None and owner.parent in around:
            if program.operation_numbers[owner] < program.operation_numbers[around[owner.parent]]:
                best = value
    return best
