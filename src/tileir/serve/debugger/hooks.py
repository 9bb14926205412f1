"""What breakpoints do to a launch that runs ahead: hooks at their operations look at conditions, and count hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.errors import BlockId
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.script_variables import ArrayReference, Content, Missing, StaticValue, unsigned
from tileir.execute.schedule import block_at
from tileir.ir.core import Block, Operation
from tileir.ir.values import BlockArgument, Value
from tileir.serve.debugger.breakpoints import Breakpoint
from tileir.serve.debugger.evaluation import ExpressionMistake, Opaque
from tileir.serve.debugger.expressions import Expression, numbers
from tileir.serve.debugger.moments import Moment
from tileir.serve.debugger.names import ValueNames
from tileir.serve.debugger.scouting import Hit, Hook
from tileir.serve.debugger.values import result_shown, shown
from tileir.serve.debugger.variables import fixed_value

Known = dict[str, Content]
"""What names mean at an operation: a `StaticValue`, or what is known without the launch."""
Log = Callable[[Moment, str], object]
"""Takes what a breakpoint writes instead of stopping, and the moment of it."""


class HookMaker:
    """Makes the hooks of breakpoints, for one run ahead."""

    def __init__(
        self,
        program: NumberedProgram,
        names: ValueNames,
        arrays: Sequence[RecordedArray],
        parameters: Sequence[Any],
        grid: BlockId,
        log: Log,
    ) -> None:
        self._program: NumberedProgram = program
        self._names: ValueNames = names
        self._arrays: Sequence[RecordedArray] = arrays
        self._parameters: Sequence[Any] = parameters
        self._grid: BlockId = grid
        self._log: Log = log
        self.hits: dict[int, int] = {}
        """How often each breakpoint was hit."""

    def hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        if breakpoint.kind == "element":
            return self._element_hooks(breakpoint)
        if breakpoint.kind == "value":
            return self._value_hooks(breakpoint)
        found = []
        for number in breakpoint.operations:
            operation = self._program.operations[number]
            known = self._visible(breakpoint, operation)
            wants = [one.value for one in known.values() if isinstance(one, StaticValue)]
            found.append(Hook(operation, partial(self._reach, breakpoint, known), wants))
        return found

    # --- at an operation ---

    def _visible(self, breakpoint: Breakpoint, operation: Operation) -> Known:
        """What the expressions of a breakpoint mean at an operation, by name."""
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
            value = visible_value(self._program, self._names, name, operation)
            if value is not None:
                found[name] = StaticValue(value, False)
        return found

    def _reach(
        self, breakpoint: Breakpoint, known: Known, block: TileBlock, moment: Moment, given: dict[Value, Any]
    ) -> Hit | None:
        if breakpoint.block is not None and block.id != breakpoint.block:
            return None
        return self._hit(breakpoint, moment, lambda name: self._value(name, known, given, block))

    def _hit(self, breakpoint: Breakpoint, moment: Moment, lookup: Callable[[str], Any], text: str = "") -> Hit | None:
        try:
            if breakpoint.condition is not None and not breakpoint.condition.is_true(lookup):
                return None
        except ExpressionMistake as error:
            # Whoever wrote the condition wants to know, and where.
            condition = breakpoint.condition.text if breakpoint.condition is not None else ""
            return Hit(
                "breakpoint", moment, f"the condition '{condition}' fails: {error.message}", (breakpoint.number,)
            )
        hits = self.hits[breakpoint.number] = self.hits.get(breakpoint.number, 0) + 1
        if not breakpoint.counts(hits):
            return None
        if breakpoint.log is not None:
            self._log(moment, f"{''.join([self._logged(part, lookup) for part in breakpoint.log])}\n")
            return None
        return Hit("data" if breakpoint.is_change else "breakpoint", moment, text, (breakpoint.number,))

    def _logged(self, part: str | Expression, lookup: Callable[[str], Any]) -> str:
        if isinstance(part, str):
            return part
        try:
            value = part.evaluate(lookup)
        except ExpressionMistake as error:
            return f"{{{error.message}}}"
        return value.words if isinstance(value, Opaque) else result_shown(value)

    def _value(self, name: str, known: Known, given: dict[Value, Any], block: TileBlock) -> Any:
        if name in known:
            found = known[name]
            if isinstance(found, StaticValue) and found.value in given:
                content = unsigned(given[found.value]) if found.is_unsigned else given[found.value]
                return self._plain(found.value, content)
            if isinstance(found, Missing):
                raise ExpressionMistake(f"variable {name} {found.reason}")
            if not isinstance(found, (StaticValue, ArrayReference)):
                return fixed_value(found)
            # An array may have another name in the script.
            name = found.name if isinstance(found, ArrayReference) else name
        for array in self._arrays:
            if array.name == name:
                return numbers(array.element, array.contents())
        for number in self._names.numbers.get(name, []):
            if number < len(self._parameters):
                return self._plain(self._program.values[number], self._parameters[number])
        if name == "tile_block":
            return block_at(block.number, self._grid)
        return self._grid if name == "grid" else None

    def _plain(self, value: Value, content: Any) -> Any:
        type = value.type
        if isinstance(type, TileType) and not isinstance(type.element, PointerType):
            return numbers(type.element, content)
        return Opaque(type.spelling, shown(type, content, self._arrays))

    # --- behind changes ---

    def _element_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        assert breakpoint.element is not None
        number, index = breakpoint.element
        array = self._arrays[number]
        start = array.low - array.region.start + array.place(index) * array.size
        if breakpoint.access != "write":
            return self._touching_hooks(breakpoint, array.region.start + start, array.size)
        last: dict[int, bytes] = {}

        def read() -> bytes:
            return bytes(array.region.data[start : start + array.size].tobytes())

        def before(block: TileBlock, moment: Moment, given: dict[Value, Any]) -> None:
            last[block.number] = read()

        def behind(block: TileBlock, moment: Moment, given: dict[Value, Any]) -> Hit | None:
            old, new = last.pop(block.number, None), read()
            if old is None or old == new or (breakpoint.block is not None and block.id != breakpoint.block):
                return None
            return self._hit(breakpoint, moment, lambda name: self._value(name, {}, {}, block))

        found: list[Hook] = []
        for one in breakpoint.operations:
            operation = self._program.operations[one]
            found += [Hook(operation, before), Hook(operation, behind, (), True)]
        return found

    def _touching_hooks(self, breakpoint: Breakpoint, address: int, size: int) -> list[Hook]:
        """Behind what reads an element, or whatever accesses it."""
        kinds = ("read", "atomic") if breakpoint.access == "read" else ("read", "write", "atomic")
        touching: set[int] = set()

        def touch(access: Access) -> None:
            if access.kind not in kinds:
                return
            touched = access.touched
            # From the last address at which an element would still reach into this one.
            low = numpy.uint64(max(address - access.size + 1, 0))
            if bool(((touched >= low) & (touched < numpy.uint64(address + size))).any()):
                touching.add(access.block.number)

        def behind(block: TileBlock, moment: Moment, given: dict[Value, Any]) -> Hit | None:
            if block.number not in touching:
                return None
            touching.remove(block.number)
            if breakpoint.block is not None and block.id != breakpoint.block:
                return None
            return self._hit(breakpoint, moment, lambda name: self._value(name, {}, {}, block))

        return [Hook(self._program.operations[one], behind, (), True, touch) for one in breakpoint.operations]

    def _using_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        """Before what takes a value as an operand."""

        def look(value: Value, block: TileBlock, moment: Moment, given: dict[Value, Any]) -> Hit | None:
            if breakpoint.block is not None and block.id != breakpoint.block:
                return None
            known: Known = {breakpoint.text.strip(): StaticValue(value, False)}
            return self._hit(breakpoint, moment, lambda name: self._value(name, known, given, block))

        found: list[Hook] = []
        for number in breakpoint.values:
            value = self._program.values[number]
            for user in value.users:
                if user in self._program.operation_numbers and user not in self._program.in_reductions:
                    found.append(Hook(user, partial(look, value), [value]))
        return found

    def _value_hooks(self, breakpoint: Breakpoint) -> list[Hook]:
        if breakpoint.access == "read":
            return self._using_hooks(breakpoint)
        last: dict[int, bytes] = {}

        def look(value: Value, block: TileBlock, moment: Moment, given: dict[Value, Any]) -> Hit | None:
            content = given.get(value)
            data = getattr(content, "tobytes", bytes)()
            if last.get(block.number) == data:
                return None
            last[block.number] = data
            if breakpoint.block is not None and block.id != breakpoint.block:
                return None
            known: Known = {breakpoint.text.strip(): StaticValue(value, False)}
            return self._hit(breakpoint, moment, lambda name: self._value(name, known, given, block))

        found = self._using_hooks(breakpoint) if breakpoint.access == "readWrite" else []
        variables, name = self._names.variables, breakpoint.text.strip()
        if variables is not None and self._names.is_variable(name):
            for number in breakpoint.operations:
                binding = variables.binding(number, name)
                static = variables.static(binding, number, self._program) if binding is not None else None
                if isinstance(static, StaticValue):
                    found.append(Hook(self._program.operations[number], partial(look, static.value), [static.value]))
            return found
        for number in breakpoint.values:
            value = self._program.values[number]
            if isinstance(value, BlockArgument):
                if value.block.parent_operation is not self._program.entry:
                    found.append(Hook(next(iter(value.block)), partial(look, value), [value]))
            elif value.defining_operation is not None and value.defining_operation not in self._program.in_reductions:
                found.append(Hook(value.defining_operation, partial(look, value), (), True))
        return found


def visible_value(program: NumberedProgram, names: ValueNames, name: str, operation: Operation) -> Value | None:
    """The value that a name means before an operation: the last of those that are computed by then in every case."""
    around: dict[Block | None, Operation] = {}
    inner: Operation | None = operation
    while inner is not None and inner is not program.entry:
        around[inner.parent] = inner
        inner = inner.parent_operation
    parameters = len(program.entry.regions[0].block.arguments)
    best: Value | None = None
    for number in names.numbers.get(name, []):
        value = program.values[number]
        if number < parameters:
            continue
        if isinstance(value, BlockArgument):
            if value.block in around:
                best = value
            continue
        owner = value.defining_operation
        if owner is None or owner.parent not in around:
            continue
        if program.operation_numbers[owner] < program.operation_numbers[around[owner.parent]]:
            best = value
    return best
