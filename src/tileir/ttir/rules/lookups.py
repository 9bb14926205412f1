"""Elements by computed index: gathers and histograms, in memory of the program's own."""

from __future__ import annotations

from math import prod

from tileir.dialect.types import TileType, pointer_type, scalar_tile, tile_type, with_element
from tileir.ir.core import Operation
from tileir.ir.types import I32, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.ttir.rules.arithmetic import filled, splat
from tileir.ttir.rules.memory import from_memory, to_memory
from tileir.ttir.translation import Translation, rule


@rule("tt.gather")
def gather(t: Translation, op: Operation) -> Value:
    """Store the source, and load from where the indices lead; indices are not negative."""
    source, index = t.operands(op)
    axis, build, type = t.attribute(op, "axis"), t.build, t.result_type(op)
    source = to_memory(t, source)
    shape = _tile(source).shape
    pointer = _memory(t, _tile(source))
    stored = build.store_ptr_tko(_elements(t, pointer, shape), source, None, build.make_token())
    place = filled(t, 0, tile_type(type.shape, I32))
    for dimension, extent in enumerate(shape):
        if dimension == axis:
            along = _as_i32(t, index)
        else:
            ones = tuple(extent if each == dimension else 1 for each in range(len(shape)))
            along = build.reshape(build.iota(tile_type((extent,), I32)), ones)
            along = build.broadcast(along, type.shape)
        width = filled(t, extent, tile_type(type.shape, I32))
        place = build.addi(build.muli(place, width), along)
    found, _ = build.load_ptr_tko(build.offset(splat(t, pointer, type.shape), place), None, None, stored)
    return from_memory(t, found, type)


@rule("tt.histogram")
def histogram(t: Translation, op: Operation) -> Value:
    """Count by atomic additions; what is in no bin is not counted."""
    values, mask = t.optional(op, 2)
    assert values is not None
    build, type = t.build, t.result_type(op)
    pointer = _memory(t, type, is_shared=True)
    bins, shape = _elements(t, pointer, type.shape), _tile(values).shape
    cleared = build.store_ptr_tko(bins, filled(t, 0, type), None, build.make_token())
    counted = build.cmpi(values, filled(t, type.count, _tile(values)), "less_than", "unsigned")
    if mask is not None:
        counted = build.andi(counted, mask)
    places = build.offset(splat(t, pointer, shape), values)
    one = filled(t, 1, with_element(_tile(values), type.element))
    _, added = build.atomic_rmw_tko(
        places, one, counted, cleared, memory_ordering_semantics="relaxed", memory_scope="tl_blk", mode="add"
    )
    found, _ = build.load_ptr_tko(bins, None, None, added)
    return found


def _memory(t: Translation, type: TileType, *, is_shared: bool = False) -> Value:
    """A pointer to memory for the elements of a tile."""
    pointer = scalar_tile(pointer_type(type.element))
    return t.build.alloca(pointer, type.count, _size(type.element), global_=is_shared)


def _size(element: Type) -> int:
    assert isinstance(element, (FloatType, IntegerType))
    return max(element.width // 8, 1)


def _elements(t: Translation, pointer: Value, shape: tuple[int, ...]) -> Value:
    """Pointers to the elements of a tile, one after the other."""
    type = tile_type((prod(shape),), I32)
    return t.build.reshape(t.build.offset(splat(t, pointer, type.shape), t.build.iota(type)), shape)


def _as_i32(t: Translation, index: Value) -> Value:
    type = _tile(index)
    assert isinstance(type.element, IntegerType)
    wide = with_element(type, I32)
    if type.element.width > 32:
        return t.build.trunci(index, wide)
    return index if type is wide else t.build.exti(index, wide, "unsigned")


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type
