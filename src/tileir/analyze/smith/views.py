"""Statements on views: tensors of all kinds of shapes and strides, in tiles that may reach over their edges."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tileir.analyze.smith.memory import ordering
from tileir.analyze.smith.tiles import Shape, Tile
from tileir.analyze.smith.writer import Statement, Writer, statements
from tileir.dialect import ops
from tileir.dialect.types import TileViewType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I32, I64, FloatType, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_3, V13_4

# Twice as large along each dimension they still fit into an array.
_TILES: tuple[Shape, ...] = ((4,), (8,), (16,), (32,), (2, 4), (4, 4), (4, 8), (8, 2), (1, 8), (2, 2, 4))

_PADDINGS = ("zero", "neg_zero", "nan", "pos_inf", "neg_inf")


def _tensor(writer: Writer, base: Tile, extents: Shape) -> Value:
    """A view of a tensor without holes, its dimensions in any order; some sizes are known only at the launch."""
    bits = writer.bits
    strides = [0] * len(extents)
    step = 1
    for axis in reversed(range(len(extents))) if bits.chance(70) else bits.order(len(extents)):
        strides[axis] = step
        step *= extents[axis]
    index = bits.choice((I32, I64))
    known = [writer.number(index, number) if bits.chance(25) else number for number in (*extents, *strides)]
    return writer.value(ops.MAKE_TENSOR_VIEW, base, known[: len(extents)], known[len(extents) :])


class _View(NamedTuple):
    """A view of a tensor: how many tiles there are along each dimension, whether a tile may reach over an edge."""

    value: Value
    counts: Shape
    reaches: bool
    numeric: bool


def _view(writer: Writer, declaration: OperationDeclaration) -> _View:
    """A view of an array that is only read."""
    bits = writer.bits
    tile = bits.choice(_TILES)
    element = bits.choice([*writer.integers, *writer.floats])
    counts = tuple([bits.choice((1, 2)) for _ in tile])
    axes = tuple(range(len(tile)))
    if declaration is not ops.MAKE_GATHER_SCATTER_VIEW and bits.chance(30):
        axes = tuple(bits.order(len(tile)))
    steps = tile
    if declaration is ops.MAKE_STRIDED_VIEW:
        steps = tuple([bits.choice((1, extent, extent, max(1, extent // 2))) for extent in tile])
    # `counts` tiles: the last one begins inside, and may end outside.
    shorter = tuple([bits.below(step) if bits.chance(30) else 0 for step in steps])
    extents = [0] * len(tile)
    for place, axis in enumerate(axes):
        extents[axis] = steps[place] * counts[place] - shorter[place]
    if declaration is ops.MAKE_GATHER_SCATTER_VIEW:
        return _gathered(writer, tile, element)
    reaches = any(steps[place] * (counts[place] - 1) + tile[place] > extents[axis] for place, axis in enumerate(axes))
    padding = None
    if reaches or bits.chance(20):
        padding = bits.choice(_PADDINGS) if isinstance(element, FloatType) else "zero"
    tensor = _tensor(writer, writer.input(element), tuple(extents))
    strides = (steps,) if declaration is ops.MAKE_STRIDED_VIEW else ()
    value = writer.value(declaration, tensor, tile, *strides, padding=padding, dim_map=axes)
    return _View(value, counts, padding is not None, padding != "nan")


def _gathered(writer: Writer, tile: Shape, element: Type) -> _View:
    """Rows by number, none of them outside."""
    bits = writer.bits
    sparse = bits.below(len(tile))
    extents = tuple([8 if axis == sparse else extent for axis, extent in enumerate(tile)])
    tensor = _tensor(writer, writer.input(element), extents)
    value = writer.value(ops.MAKE_GATHER_SCATTER_VIEW, tensor, tile, sparse)
    counts = tuple([8 if axis == sparse else 1 for axis in range(len(tile))])
    return _View(value, counts, False, True)


def _indices(writer: Writer, view: _View) -> list[Tile]:
    type = view.value.type
    assert isinstance(type, TileViewType)
    shapes = [(type.tile_shape[axis],) if axis == type.sparse_dim else () for axis in range(len(view.counts))]
    return [writer.below(writer.want(shape, I32), count) for shape, count in zip(shapes, view.counts, strict=True)]


def _load(writer: Writer) -> None:
    """Through a view of any kind."""
    kinds = (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)
    _load_through(writer, writer.bits.choice(kinds if writer.version >= V13_3 else kinds[:1]))


def _load_through(writer: Writer, declaration: OperationDeclaration) -> None:
    view = _view(writer, declaration)
    indices = _indices(writer, view)
    named = ordering(writer, "acquire")
    inside = not view.reaches and declaration is not ops.MAKE_GATHER_SCATTER_VIEW
    if writer.version >= V13_4 and inside and writer.bits.chance(40):
        named["inbounds"] = [True] * len(indices)
    writer.know(Tile(writer.value(ops.LOAD_VIEW_TKO, view.value, indices, **named), numeric=view.numeric))


def _store_view(writer: Writer) -> None:
    """A tile into an array of its own, in which every tile block has a row."""
    if len(writer.scopes) > 1:
        _load(writer)
        return
    tile = writer.bits.choice(_TILES)
    element = writer.bits.choice([*writer.integers, *writer.floats])
    value = writer.numeric(writer.want(tile, element))
    across = writer.bits.below(tile[-1]) if writer.bits.chance(40) else 0
    # The last column may be cut off.
    extents = (tile[0] * writer.blocks, *tile[1:])
    if len(tile) > 1:
        extents = (*extents[:-1], extents[-1] - across)
    tensor = _tensor(writer, writer.array(element, prod(extents), None), extents)
    view = writer.value(ops.MAKE_PARTITION_VIEW, tensor, tile)
    indices = [writer.place, *[writer.constant((), I32, 0)] * (len(tile) - 1)]
    writer.op(ops.STORE_VIEW_TKO, value, view, indices)


def _sizes(writer: Writer, declaration: OperationDeclaration, of: Value, sizes: Shape) -> None:
    """Read sizes that are known here."""
    values = writer.op(declaration, of, type=writer.bits.choice((I32, I64))).results
    for value, size in zip(values, sizes, strict=True):
        writer.know(Tile(value, size, size))


def _tensor_shape(writer: Writer) -> None:
    element = writer.bits.choice([*writer.integers, *writer.floats])
    extents = tuple([writer.bits.between(1, 6) for _ in range(writer.bits.between(1, 3))])
    _sizes(writer, ops.GET_TENSOR_SHAPE, _tensor(writer, writer.input(element), extents), extents)


def _index_space(writer: Writer) -> None:
    view = _view(writer, ops.MAKE_PARTITION_VIEW)
    _sizes(writer, ops.GET_INDEX_SPACE_SHAPE, view.value, view.counts)


VIEWS = (
    Statement(ops.LOAD_VIEW_TKO, _load), Statement(ops.MAKE_TENSOR_VIEW, _load),
    *statements(_load_through, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW),
    Statement(ops.STORE_VIEW_TKO, _store_view), Statement(ops.GET_TENSOR_SHAPE, _tensor_shape),
    Statement(ops.GET_INDEX_SPACE_SHAPE, _index_space),
)  # fmt: skip
