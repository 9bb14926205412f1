"""Types from Python values, checked: what `tileir.types` offers to people who write programs in Python.

The factories in `types.py` trust their caller; these do not.  An element type may be given by its name, a dynamic
extent or stride is None, and invalid parameters are a `BuildError` with NVIDIA's message.
"""

from __future__ import annotations

from tileir.annotations import Sequence
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    gather_scatter_view_type,
    gather_view_error,
    partition_view_type,
    pointer_error,
    pointer_type,
    scalar_tile,
    strided_view_error,
    strided_view_type,
    tensor_view_error,
    tensor_view_type,
    tile_error,
    tile_type,
    view_error,
)
from tileir.ir.attributes import Attribute, EnumAttribute
from tileir.ir.diagnostics import BuildError
from tileir.ir.quoting import type_text
from tileir.ir.types import FLOAT_TYPES, FloatType, IntegerType, Type, integer_type


def _check(what: str, error: str | None) -> None:
    if error is not None:
        raise BuildError(f"{what}: {error}")


def element(source: object) -> Type:
    """An element type, by itself or by its name: `f32` or `"f32"`."""
    if isinstance(source, str):
        found = FLOAT_TYPES.get(source)
        if found is not None:
            return found
        if source in ("i1", "i4", "i8", "i16", "i32", "i64"):
            return integer_type(int(source[1:]))
        names = ", ".join(["i1", "i4", "i8", "i16", "i32", "i64", *FLOAT_TYPES])
        raise BuildError(f"there is no element type '{source}'; there are {names}")
    if isinstance(source, (IntegerType, FloatType, PointerType)):
        return source
    raise BuildError(f"expected an element type, got {described(source)}")


def extents(source: object, what: str) -> tuple[int, ...]:
    """A shape given as one number or as a sequence of numbers; None is a dynamic extent."""
    items: Sequence[object] = source if isinstance(source, (tuple, list)) else (source,)
    found: list[int] = []
    for item in items:
        if item is None:
            found.append(DYNAMIC)
        elif isinstance(item, int) and not isinstance(item, bool):
            found.append(item)
        else:
            raise BuildError(f"{what}: expected an integer, got {described(item)}")
    return tuple(found)


def tile(shape: object, element_type: object = None) -> TileType:
    """`tile((64, 64), f32)`; `tile(f32)` is the scalar, a tile without dimensions."""
    dims = extents(shape, "tile") if element_type is not None else ()
    kind = element(element_type if element_type is not None else shape)
    _check("tile", tile_error(dims, kind))
    return tile_type(dims, kind)


def ptr(pointee: object, attribute: str | None = None) -> PointerType:
    """`ptr(f32)`; `attribute` is the pointer attribute keyword of 13.4."""
    kind = element(pointee)
    _check("ptr", pointer_error(kind))
    return pointer_type(kind, attribute)


def tensor_view(shape: object, element_type: object, strides: object, attribute: str | None = None) -> TensorViewType:
    """`tensor_view((None, 64), f32, (64, 1))`; None is an extent or stride known only when the kernel runs."""
    dims = extents(shape, "tensor_view")
    steps = extents(strides, "tensor_view")
    kind = element(element_type)
    _check("tensor_view", tensor_view_error(kind, dims, steps))
    return tensor_view_type(kind, dims, steps, attribute)


def padding_value(source: object) -> EnumAttribute | None:
    """What elements outside a tensor read as: a keyword, or None for unspecified."""
    if source is None or (isinstance(source, EnumAttribute) and source.kind is PADDING):
        return source
    if isinstance(source, str) and source in PADDING.cases:
        return PADDING[source]
    raise BuildError(f"'padding' must be one of {', '.join(PADDING.cases)} or None, got {described(source)}")


def _view(
    what: str, tile_shape: object, tensor: object, padding: object, dim_map: object, has_map: bool = True
) -> tuple[tuple[int, ...], TensorViewType, EnumAttribute | None, tuple[int, ...]]:
    """The parameters that all views have: tile shape, tensor, padding and dimension map."""
    dims = extents(tile_shape, what)
    if not isinstance(tensor, TensorViewType):
        raise BuildError(f"{what}: expected a tensor_view type, got {described(tensor)}")
    pad = padding_value(padding)
    mapping = tuple(range(len(dims))) if dim_map is None else extents(dim_map, what)
    _check(what, view_error(dims, tensor, pad, mapping if has_map else None))
    return dims, tensor, pad, mapping


def partition_view(
    tile_shape: object, tensor: object, padding: object = None, dim_map: object = None
) -> PartitionViewType:
    """`partition_view((64, 64), tensor, padding="zero", dim_map=(1, 0))`."""
    return partition_view_type(*_view("partition_view", tile_shape, tensor, padding, dim_map))


def strided_view(
    tile_shape: object, tensor: object, traversal_strides: object, padding: object = None, dim_map: object = None
) -> StridedViewType:
    """`strided_view((64, 64), tensor, traversal_strides=(32, 64))`."""
    dims, over, pad, mapping = _view("strided_view", tile_shape, tensor, padding, dim_map)
    steps = extents(traversal_strides, "strided_view")
    _check("strided_view", strided_view_error(len(dims), steps))
    return strided_view_type(dims, over, steps, pad, mapping)


def gather_scatter_view(
    tile_shape: object, tensor: object, sparse_dim: object, padding: object = None
) -> GatherScatterViewType:
    """`gather_scatter_view((64, 64), tensor, sparse_dim=0)`."""
    dims, over, pad, _ = _view("gather_scatter_view", tile_shape, tensor, padding, None, has_map=False)
    (sparse,) = extents(sparse_dim, "gather_scatter_view")[:1] or (DYNAMIC,)
    _check("gather_scatter_view", gather_view_error(over, sparse))
    return gather_scatter_view_type(dims, over, sparse, pad)


def value_type(source: object) -> Type:
    """The type of a value: any type; an element type or its name stands for the scalar tile."""
    if isinstance(source, (str, IntegerType, FloatType, PointerType)):
        kind = element(source)
        _check("tile", tile_error((), kind))
        return scalar_tile(kind)
    if isinstance(source, Type):
        return source
    raise BuildError(f"expected a type, got {described(source)}")


def described(value: object) -> str:
    """A Python value in the message of a `BuildError`."""
    if isinstance(value, Type):
        return f"the type {value.spelling}"
    if isinstance(value, Attribute):
        return value.text
    if isinstance(value, (bool, int, float, str)) or value is None:
        return repr(value)
    return type_text(value)
