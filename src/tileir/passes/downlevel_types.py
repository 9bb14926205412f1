"""Types that came with a later version: what is wrong with them in an earlier one, and what stands for them there."""

from __future__ import annotations

from tileir.dialect.availability import newer_part
from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    gather_scatter_view_type,
    partition_view_type,
    pointer_type,
    strided_view_type,
    tensor_view_type,
    tile_type,
)
from tileir.ir.types import FunctionType, Type, function_type
from tileir.ir.versions import V13_3, V13_4, Version


def newer_type(type: Type, version: Version) -> tuple[str, Version] | None:
    """The part of a type that nothing stands for in a version, and the version that brought it."""
    found = newer_part(older_type(type, version), version)
    return None if found is None else (found[0].spelling.partition("<")[0], found[1])


def _touches(type: StridedViewType) -> bool:
    """Whether the tiles of a strided view neither overlap nor leave gaps: then it is a partition."""
    steps = list(type.traversal_strides)
    return steps == list(type.tile_shape)


def older_type(type: Type, version: Version) -> Type:
    """The type that stands for one in an earlier version; the type itself where it is there."""
    if version >= V13_4:
        return type
    if isinstance(type, TileType):
        element = older_type(type.element, version)
        return type if element is type.element else tile_type(type.shape, element)
    if isinstance(type, PointerType):
        # The only attribute a pointer can have is `none`, which says nothing.
        return type if type.attribute is None else pointer_type(type.pointee)
    if isinstance(type, TensorViewType):
        return type if type.attribute is None else tensor_view_type(type.element, type.shape, type.strides)
    if isinstance(type, FunctionType):
        return _older_function(type, version)
    return _older_view(type, version)


def _older_function(type: FunctionType, version: Version) -> Type:
    known: dict[Type, Type] = {}
    # An explicit stack, because function types nest as deep as a file says; parts come first.
    path: list[Type] = [type]
    while path:
        top = path[-1]
        if not isinstance(top, FunctionType):
            known[top] = older_type(top, version)
            path.pop()
            continue
        waiting = [part for part in (*top.inputs, *top.results) if part not in known]
        if waiting:
            path.extend(waiting)
            continue
        inputs = tuple([known[part] for part in top.inputs])
        known[top] = function_type(inputs, tuple([known[part] for part in top.results]))
        path.pop()
    return known[type]


def _older_view(type: Type, version: Version) -> Type:
    if not isinstance(type, (PartitionViewType, StridedViewType, GatherScatterViewType)):
        return type
    tensor = older_type(type.tensor, version)
    if not isinstance(tensor, TensorViewType):
        return type
    if isinstance(type, PartitionViewType):
        return partition_view_type(type.tile_shape, tensor, type.padding, type.dim_map)
    if isinstance(type, GatherScatterViewType):
        return gather_scatter_view_type(type.tile_shape, tensor, type.sparse_dim, type.padding)
    if version < V13_3 and _touches(type):
        return partition_view_type(type.tile_shape, tensor, type.padding, type.dim_map)
    return strided_view_type(type.tile_shape, tensor, type.traversal_strides, type.padding, type.dim_map)
