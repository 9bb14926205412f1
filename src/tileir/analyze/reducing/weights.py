"""How simple a program is: a total order, in which every accepted candidate is below the one before.

Operations count most, then what they are connected with, then types, then attributes; at last values that are defined
earlier are simpler than those that are defined later.
"""

from __future__ import annotations

from functools import lru_cache

from tileir.analyze.reducing.program import Program
from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType, TileViewType
from tileir.ir import attributes
from tileir.ir.dense import DenseAttribute, signed_value
from tileir.ir.floats import FORMATS, integral_value
from tileir.ir.location import UNKNOWN, Location
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.values import Value

Weight = tuple[int, int, int, int, int]

# A text is cut here: what is longer is not simpler by its end.
_LONGEST = 1 << 12


def weight(program: Program) -> Weight:
    """The weight of a program: operations, connections, types, attributes, order."""
    connections = types = attributes = order = 0
    if program.grid is not None:
        connections += sum([extent.bit_length() for extent in program.grid])
    positions: dict[Value, int] = {}
    for operation in program.operations:
        connections += len(operation.operands) + len(operation.results)
        for value in operation.operands:
            order += positions.get(value, 0)
        for result in operation.results:
            types += type_weight(result.type)
            positions[result] = len(positions)
        if operation.attributes:
            for name, attribute in operation.attributes.items():
                attributes += 1 + attribute_weight(attribute)
                if name == "function_type":
                    attributes -= attribute_weight(attribute)
        if operation.location is not UNKNOWN:
            attributes += 1 + attribute_weight(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                connections += 1
                for argument in block.arguments:
                    connections += 1
                    types += type_weight(argument.type)
                    positions[argument] = len(positions)
                    if argument.location is not UNKNOWN:
                        attributes += 2
    return (len(program.operations), connections, types, attributes, order)


@lru_cache(maxsize=4096)
def type_weight(type: Type) -> int:
    """Fewer dimensions, elements and bits are simpler."""
    if isinstance(type, TileType):
        return type_weight(type.element) + _shape(type.shape)
    if isinstance(type, PointerType):
        return type_weight(type.pointee) + 1 + (type.attribute is not None)
    if isinstance(type, (IntegerType, FloatType)):
        return 2 * type.width.bit_length() + (type.spelling not in _USUAL)
    if isinstance(type, TensorViewType):
        return type_weight(type.element) + _shape(type.shape) + _shape(type.strides) + (type.attribute is not None)
    if isinstance(type, TileViewType):
        return 3 + type_weight(type.tensor) + _shape(type.tile_shape) + 2 * (type.padding is not None) + len(type.text)
    return 1


_USUAL = ("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64")


def _shape(shape: tuple[int, ...]) -> int:
    return sum([3 if extent == DYNAMIC else 1 + 2 * extent.bit_length() for extent in shape])


@lru_cache(maxsize=4096)
def attribute_weight(attribute: attributes.Attribute) -> int:
    """Zero is simpler than one, one than other numbers; a word is as heavy as it is long."""
    if isinstance(attribute, attributes.UnitAttribute):
        return 0
    if isinstance(attribute, Location):
        return len(attributes.spell(attribute, limit=_LONGEST))
    if isinstance(attribute, attributes.IntegerAttribute):
        return _integer(attribute.value)
    if isinstance(attribute, attributes.FloatAttribute):
        return _float(attribute.type, attribute.bits)
    if isinstance(attribute, attributes.StringAttribute):
        return min(len(attribute.value), _LONGEST)
    if isinstance(attribute, attributes.EnumAttribute):
        return list(attribute.kind.cases).index(attribute.keyword) if attribute.keyword in attribute.kind.cases else 9
    if isinstance(attribute, DenseAttribute):
        if not attribute.is_splat:
            return 200 + attribute.count.bit_length()
        element = attribute.element_type
        if isinstance(element, FloatType):
            return _float(element, attribute.bits(0))
        return _integer(signed_value(element.width if isinstance(element, IntegerType) else 64, attribute.bits(0)))
    return min(len(attribute.text), _LONGEST)


def _integer(value: int) -> int:
    return 2 * abs(value).bit_length() + (value < 0) + min(abs(value), 8)


def _float(type: FloatType, bits: int) -> int:
    integral = integral_value(FORMATS[type.name], bits)
    if integral is None:
        return 160
    return min(_integer(int(integral)) + 20 * (bits != 0 and integral == 0), 150)
