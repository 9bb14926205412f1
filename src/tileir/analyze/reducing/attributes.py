"""Attributes: what may be absent goes, words and numbers become simpler; names and locations too."""

from __future__ import annotations

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import Edit
from tileir.analyze.reducing.replacing import splat
from tileir.analyze.reducing.weights import attribute_weight
from tileir.dialect.ops import GET_GLOBAL
from tileir.dialect.types import TileType
from tileir.ir.attributes import (
    Attribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.location import UNKNOWN, CallSiteLocation, FusedLocation, Location, NameLocation
from tileir.ir.traversal import is_function
from tileir.ir.types import FloatType, IntegerType

# The types of a signature follow from its parameters.
_STRUCTURAL = ("function_type", "sym_name")


def strip_attributes(program: Program) -> bool:
    """The edit that drops every attribute that may be absent."""
    dropped = False
    for operation in program.operations:
        for name in list(operation.attributes):
            if _is_optional(operation, name):
                operation.set_attribute(name, None)
                dropped = True
    return dropped


def attribute_changes(program: Program) -> list[Edit]:
    """Each attribute by itself: absent, then simpler."""
    edits: list[Edit] = [strip_attributes]
    for position in reversed(range(len(program.operations))):
        operation = program.operations[position]
        for name, attribute in operation.attributes.items():
            if name in _STRUCTURAL:
                continue
            if _is_optional(operation, name):
                edits.append(_set(position, name, None))
            for simpler in _simpler(operation, attribute):
                edits.append(_set(position, name, simpler))
    return edits


def name_changes(program: Program) -> list[Edit]:
    """Short names: `@m` for the module, `@f`, `@g` and so on for what is in it."""
    names = iter("fghijklnopqrstuvwxyz")
    edits: list[Edit] = []
    for position, operation in enumerate(program.operations):
        old = operation.symbol_name
        if old is None:
            continue
        new = "m" if position == 0 else next(names, None)
        if new is not None and new != old:
            edits.append(lambda p, at=position, to=new: _rename(p, at, to))  # type: ignore[misc]
    return edits


def location_changes(program: Program) -> list[Edit]:
    """The location of each operation: unknown, or a part of what it is."""
    edits: list[Edit] = []
    for position, operation in enumerate(program.operations):
        for location in _simpler_locations(operation.location):
            edits.append(lambda p, at=position, to=location: _relocate(p, at, to))  # type: ignore[misc]
    if edits:
        edits.insert(0, _strip_arguments)
    return edits


def _is_optional(operation: Operation, name: str) -> bool:
    declared = operation.declaration.inherent.get(name)
    if declared is None:
        return True
    return declared.optional or declared.default is not None


def _set(position: int, name: str, attribute: Attribute | None) -> Edit:
    def edit(program: Program) -> bool:
        program.operations[position].set_attribute(name, attribute)
        return True

    return edit


def _simpler(operation: Operation, attribute: Attribute) -> list[Attribute]:
    """Attributes that may take the place of another one, the simplest first."""
    found: list[Attribute] = []
    if isinstance(attribute, EnumAttribute):
        found = list(attribute.kind.cases.values())
    elif isinstance(attribute, IntegerAttribute):
        found = [integer_attribute(attribute.type, number) for number in _smaller(attribute.value)]
    elif isinstance(attribute, StringAttribute):
        found = [string_attribute(""), string_attribute(attribute.value[: len(attribute.value) // 2])]
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
    found: list[Attribute | None] = [splat(type, number) for number in (0, 1, 2)]
    if not value.is_splat:
        size = element_bytes(element)
        found.append(dense_attribute(type, value.shape, element, value.data[:size]))
        found.append(dense_attribute(type, value.shape, element, value.data[-size:]))
    elif isinstance(element, IntegerType) and element.width > 1:
        number = signed_value(element.width, value.bits(0))
        found.extend([splat(type, smaller) for smaller in _smaller(number)])
    elif isinstance(element, FloatType):
        found.extend([splat(type, number) for number in (4, -1)])
    return [simpler for simpler in found if simpler is not None]


def _rename(program: Program, position: int, name: str) -> bool:
    operation = program.operations[position]
    old = operation.symbol_name
    if any(other.symbol_name == name for other in program.operations[1:]):
        return False
    operation.set_attribute("sym_name", string_attribute(name))
    if is_function(operation) and old in program.origins:
        program.origins[name] = program.origins.pop(old)
    for user in program.operations:
        if user.declaration is GET_GLOBAL and user.attributes.get("name") is symbol_attribute(old or ""):
            user.set_attribute("name", symbol_attribute(name))
    return True


def _simpler_locations(location: Location) -> list[Location]:
    if location is UNKNOWN:
        return []
    found: list[Location] = [UNKNOWN]
    if isinstance(location, FusedLocation):
        found.extend(location.locations)
    elif isinstance(location, CallSiteLocation):
        found.extend([location.callee, location.caller])
    elif isinstance(location, NameLocation):
        found.append(location.child)
    return found


def _relocate(program: Program, position: int, location: Location) -> bool:
    program.operations[position].location = location
    return True


def _strip_arguments(program: Program) -> bool:
    for operation in program.operations:
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.location = UNKNOWN
    return True
