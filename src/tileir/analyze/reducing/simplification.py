"""Passes on single operands, attributes, names and locations: dropped where they are optional, otherwise simplified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final

from tileir.analyze.reducing.program import Edit, Program, at, attribute_weight
from tileir.analyze.reducing.removal import drop_operand, early_values, insert_constant, outermost, remove_unused, splat
from tileir.dialect.ops import GET_GLOBAL
from tileir.dialect.types import TileType
from tileir.ir import attributes
from tileir.ir.attributes import Attribute, EnumAttribute, IntegerAttribute, StringAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.location import UNKNOWN, CallSiteLocation, FusedLocation, Location, NameLocation
from tileir.ir.traversal import is_function
from tileir.ir.types import IntegerType, Type
from tileir.ir.values import Value

_MOST_VALUES: Final = 4
"""The most values that are tried for an operand."""
_NUMBERS: Final = (0, 1, -1)
"""The last has a sign, and all bits set."""
_STRUCTURAL: Final = ("function_type", "sym_name")
"""Attributes that follow from something else, or have a pass of their own."""


def operand_changes(program: Program) -> Iterator[Edit]:
    """For each operand, from the last operation to the first: dropped, other values, small constants."""
    early = cache(partial(early_values, most=_MOST_VALUES))
    for position in reversed(range(len(program.operations))):
        operation = program.operations[position]
        for index in reversed(range(len(operation.operands))):
            yield at(position, _change_operand, index, None)
            for value in _others(operation, index, early)[:_MOST_VALUES]:
                yield partial(_replace_operand, position=position, index=index, value=value)
            for constant in _NUMBERS:
                yield at(position, _set_constant, index, constant)


def _others(operation: Operation, index: int, early: Callable[[Block], dict[Type, list[Value]]]) -> list[Value]:
    """Values that may replace an operand: arguments of the blocks around, early values, other operands."""
    old = operation.operands[index]
    found: list[Value] = []
    block, around = operation.parent, operation
    while block is not None:
        owner = block.parent_operation
        if owner is None or is_function(owner):
            definitions = [(value, value.defining_operation) for value in early(block).get(old.type, [])]
            found += [value for value, definition in definitions if definition is None or definition.is_before(around)]
            break
        found += block.arguments
        around, block = owner, owner.parent
    found += operation.operands
    return [value for value in dict.fromkeys(found) if value.type is old.type and value is not old]


def _replace_operand(program: Program, position: int, index: int, value: Value) -> bool:
    return _change_operand(program.operations[position], index, program.copies[value])


def _set_constant(operation: Operation, index: int, number: int) -> bool:
    around = outermost(operation)
    if around is None or around.parent is None:
        return False
    value = insert_constant(around.parent, operation.operands[index].type, number)
    return value is not None and _change_operand(operation, index, value)


def _change_operand(operation: Operation, index: int, value: Value | None) -> bool:
    """Replace an operand, or drop it; what only it needed goes with it."""
    definition = operation.operands[index].defining_operation
    if value is not None:
        operation.set_operand(index, value)
    elif not drop_operand(operation, index):
        return False
    remove_unused([] if definition is None else [definition])
    return True


def strip_attributes(program: Program) -> bool:
    """The edit that drops every attribute that may be absent."""
    dropped = False
    for operation in program.operations:
        for name in list(operation.attributes):
            if _is_optional(operation, name):
                operation.set_attribute(name, None)
                dropped = True
    return dropped


def attribute_changes(program: Program) -> Iterator[Edit]:
    """All optional attributes dropped; then each attribute by itself: dropped, then simplified."""
    yield strip_attributes
    for position in reversed(range(len(program.operations))):
        operation = program.operations[position]
        for name, attribute in operation.attributes.items():
            if name not in _STRUCTURAL:
                optional: list[Attribute | None] = [None] if _is_optional(operation, name) else []
                for simpler in (*optional, *_simpler(attribute)):
                    yield at(position, Operation.set_attribute, name, simpler)


def _is_optional(operation: Operation, name: str) -> bool:
    declared = operation.declaration.inherent.get(name)
    return declared is None or declared.optional or declared.default is not None


def _simpler(attribute: Attribute) -> list[Attribute]:
    """Attributes that may replace another one, the simplest first."""
    found: list[Attribute] = []
    if isinstance(attribute, EnumAttribute):
        found = list(attribute.kind.cases.values())
    elif isinstance(attribute, IntegerAttribute):
        found = [attributes.integer_attribute(attribute.type, number) for number in _smaller(attribute.value)]
    elif isinstance(attribute, StringAttribute):
        found = [attributes.string_attribute(text) for text in ("", attribute.value[: len(attribute.value) // 2])]
    elif isinstance(attribute, DenseAttribute):
        found = _simpler_dense(attribute)
    weight = attribute_weight(attribute)
    return [simpler for simpler in found if attribute_weight(simpler) < weight]


def _smaller(number: int) -> list[int]:
    return [0, 1, 2, abs(number), number // 2, number - 1 if number > 0 else number + 1]


def _simpler_dense(value: DenseAttribute) -> list[Attribute]:
    element = value.element_type
    type = value.type
    if not isinstance(type, TileType):
        return []
    numbers = [0, 1, 2, 4, -1]
    if value.is_splat and isinstance(element, IntegerType) and element.width > 1:
        numbers = _smaller(signed_value(element.width, value.bits(0)))
    size = element_bytes(element)
    ends = [dense_attribute(type, value.shape, element, data) for data in (value.data[:size], value.data[-size:])]
    found = [splat(type, number) for number in numbers] + ends
    return [simpler for simpler in found if simpler is not None]


def name_changes(program: Program) -> Iterator[Edit]:
    """Short names: `@m` for the module, `@f`, `@g` and so on for what is in it."""
    names = iter("fghijklnopqrstuvwxyz")
    for position, operation in enumerate(program.operations):
        old = operation.symbol_name
        if old is not None:
            new = "m" if position == 0 else next(names, old)
            if new != old:
                yield partial(_rename, position=position, name=new)


def _rename(program: Program, position: int, name: str) -> bool:
    operation = program.operations[position]
    old = operation.symbol_name
    if any(other.symbol_name == name for other in program.operations[1:]):
        return False
    operation.set_attribute("sym_name", attributes.string_attribute(name))
    if is_function(operation) and old in program.origins:
        program.origins[name] = program.origins.pop(old)
    for user in program.operations:
        if user.declaration is GET_GLOBAL and user.attributes.get("name") is attributes.symbol_attribute(old or ""):
            user.set_attribute("name", attributes.symbol_attribute(name))
    return True


def location_changes(program: Program) -> Iterator[Edit]:
    """The locations of all block arguments dropped; then that of each operation dropped, or a part of it."""
    if program.has_locations:
        yield _strip_arguments
    for position, operation in enumerate(program.operations):
        if operation.location is not UNKNOWN:
            for location in (UNKNOWN, *_parts(operation.location)):
                yield at(position, setattr, "location", location)


def _parts(location: Location) -> tuple[Location, ...]:
    if isinstance(location, FusedLocation):
        return location.locations
    if isinstance(location, CallSiteLocation):
        return (location.callee, location.caller)
    return (location.child,) if isinstance(location, NameLocation) else ()


def _strip_arguments(program: Program) -> None:
    for argument in program.block_arguments():
        argument.location = UNKNOWN
