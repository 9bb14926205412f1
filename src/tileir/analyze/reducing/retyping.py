"""Changes of value types, with all that has to agree with them: constants, signatures, identities, globals."""

from __future__ import annotations

from math import prod
from typing import Final

from tileir.dialect import ops
from tileir.dialect.rules import signature
from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    gather_scatter_view_type,
    partition_view_type,
    pointer_type,
    strided_view_type,
    tensor_view_error,
    tensor_view_type,
    tile_error,
    tile_type,
    view_error,
)
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    FloatAttribute,
    IntegerAttribute,
    SymbolAttribute,
    array_attribute,
    float_attribute,
    integer_attribute,
    type_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.floats import FORMATS, from_double, to_double
from tileir.ir.traversal import is_function
from tileir.ir.types import FloatType, IntegerType, Type, function_type
from tileir.ir.values import Value

# These do nothing where source and result have one type.
_CONVERSIONS: Final = (
    ops.BITCAST,
    ops.BROADCAST,
    ops.EXTI,
    ops.EXTRACT,
    ops.FTOF,
    ops.PTR_TO_PTR,
    ops.RESHAPE,
    ops.TRUNCI,
)


def shape_of(type: Type) -> tuple[int, ...]:
    """The extents of a tile, or of the tiles of a view."""
    if isinstance(type, TileType):
        return type.shape
    return type.tile_shape if isinstance(type, TileViewType) else ()


def core_element(type: Type) -> Type | None:
    """The number type of a tile, of what its pointers point to, or of a view."""
    if isinstance(type, TileType):
        return type.element.pointee if isinstance(type.element, PointerType) else type.element
    if isinstance(type, TileViewType):
        return type.tensor.element
    return type.element if isinstance(type, TensorViewType) else None


def with_shape(type: Type, shape: tuple[int, ...]) -> Type:
    """A tile, or a view of tiles, of another shape."""
    if isinstance(type, TileType):
        return tile_type(shape, type.element)
    return _view_with(type, shape, type.tensor) if isinstance(type, TileViewType) else type


def with_core_element(type: Type, element: Type) -> Type:
    """The type with other numbers in it."""
    if isinstance(type, TileType):
        if isinstance(type.element, PointerType):
            return tile_type(type.shape, pointer_type(element, type.element.attribute))
        return tile_type(type.shape, element)
    if isinstance(type, TensorViewType):
        return tensor_view_type(element, type.shape, type.strides, type.attribute)
    if isinstance(type, TileViewType):
        tensor = tensor_view_type(element, type.tensor.shape, type.tensor.strides, type.tensor.attribute)
        return _view_with(type, type.tile_shape, tensor)
    return type


def _view_with(type: TileViewType, shape: tuple[int, ...], tensor: TensorViewType) -> Type:
    """A view of the same kind with other tiles of another tensor."""
    if isinstance(type, PartitionViewType):
        return partition_view_type(shape, tensor, type.padding, type.dim_map)
    if isinstance(type, StridedViewType):
        return strided_view_type(shape, tensor, type.traversal_strides, type.padding, type.dim_map)
    if isinstance(type, GatherScatterViewType):
        return gather_scatter_view_type(shape, tensor, type.sparse_dim, type.padding)
    return type


def _is_sound(type: Type) -> bool:
    """Whether a type is one that the verifier assumes to exist."""
    if isinstance(type, TileType):
        return tile_error(type.shape, type.element) is None
    if isinstance(type, TensorViewType):
        return tensor_view_error(type.element, type.shape, type.strides) is None
    if isinstance(type, TileViewType):
        dim_map = None if isinstance(type, GatherScatterViewType) else getattr(type, "dim_map", None)
        return view_error(type.tile_shape, type.tensor, type.padding, dim_map) is None
    return True


def retype(operations: list[Operation], changes: dict[Value, Type]) -> bool:
    """Give values other types, and make the rest of the program agree; False if there is no such type."""
    for value, type in changes.items():
        if not _is_sound(type):
            return False
        value.type = type
    globals_: dict[str, Type] = {}
    for operation in operations:
        declaration = operation.declaration
        if declaration is ops.CONSTANT:
            number = operation.attributes.get("value")
            target = operation.results[0].type
            if isinstance(number, DenseAttribute) and number.type is not target and isinstance(target, TileType):
                operation.set_attribute("value", _converted(number, target))
        elif declaration in (ops.REDUCE, ops.SCAN):
            _retype_identities(operation)
        elif declaration is ops.GET_GLOBAL:
            name, target = operation.attributes.get("name"), operation.results[0].type
            if isinstance(name, SymbolAttribute) and isinstance(target, TileType):
                if isinstance(target.element, PointerType):
                    globals_[name.path[-1]] = target.element.pointee
        elif is_function(operation) and operation.regions and operation.regions[0].blocks:
            inputs = tuple([argument.type for argument in operation.regions[0].blocks[0].arguments])
            old = signature(operation)
            if inputs != old.inputs:
                operation.set_attribute("function_type", type_attribute(function_type(inputs, old.results)))
    for operation in operations:
        if operation.symbol_name in globals_:
            initial = operation.attributes.get("value")
            element = globals_[operation.symbol_name]
            if isinstance(initial, DenseAttribute) and initial.element_type is not element:
                operation.set_attribute("value", _converted(initial, tile_type(initial.shape, element)))
    for operation in operations:
        if operation.declaration in (*_CONVERSIONS, ops.BROADCAST, ops.RESHAPE) and operation.parent is not None:
            if operation.operands and operation.operands[0].type is operation.results[0].type:
                operation.replace_with([operation.operands[0]])
    return True


def _retype_identities(operation: Operation) -> None:
    found = operation.attributes.get("identities")
    if not isinstance(found, ArrayAttribute) or len(found.elements) != len(operation.operands):
        return
    elements: list[Attribute] = []
    for identity, value in zip(found.elements, operation.operands, strict=True):
        element = value.type.element if isinstance(value.type, TileType) else None
        if isinstance(identity, FloatAttribute) and isinstance(element, FloatType):
            elements.append(float_attribute(element, _number(identity.type, element, identity.bits)))
        elif isinstance(identity, IntegerAttribute) and isinstance(element, IntegerType):
            bits = identity.value & ((1 << element.width) - 1)
            elements.append(integer_attribute(element, signed_value(element.width, bits)))
        else:
            elements.append(identity)
    operation.set_attribute("identities", array_attribute(tuple(elements)))


def _converted(value: DenseAttribute, target: TileType) -> DenseAttribute:
    """A constant of another type: the same numbers, as many as it has."""
    source, element = value.element_type, target.element
    size = element_bytes(element)
    kept = value.values() if value.is_splat else value.values()[: prod(target.shape)]
    numbers = [_number(source, element, bits) for bits in kept]
    return dense_attribute(target, target.shape, element, b"".join([n.to_bytes(size, "little") for n in numbers]))


def _number(source: Type, target: Type, bits: int) -> int:
    if isinstance(source, FloatType) and isinstance(target, FloatType):
        try:
            return from_double(FORMATS[target.name], to_double(FORMATS[source.name], bits))
        except ValueError:
            return 0
    width = target.width if isinstance(target, (IntegerType, FloatType)) else 64
    if isinstance(source, IntegerType):
        bits = signed_value(source.width, bits)
    return bits & ((1 << width) - 1)
