"""Statements on views: tensors of all kinds of shapes and strides, in tiles that may reach over their edges."""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.smith.memory import ordering
from tileir.analyze.smith.tiles import Shape, Tile, count_of
from tileir.analyze.smith.writer import WEAK, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    TOKEN,
    TensorViewType,
    TileViewType,
    gather_scatter_view_type,
    partition_view_type,
    scalar_tile,
    strided_view_type,
    tensor_view_type,
)
from tileir.ir.attributes import dense_array_attribute
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1, I32, I64, FloatType, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_3, V13_4

# Twice as large along each dimension they still fit into an array.
_TILES: tuple[Shape, ...] = ((4,), (8,), (16,), (32,), (2, 4), (4, 4), (4, 8), (8, 2), (1, 8), (2, 2, 4))


class _Tensor:
    """A tensor in an array: its view, its extents."""

    def __init__(self, value: Value, extents: Shape) -> None:
        self.value: Value = value
        self.extents: Shape = extents

    @property
    def type(self) -> TensorViewType:
        type = self.value.type
        assert isinstance(type, TensorViewType)
        return type


def _tensor(writer: Writer, base: Tile, element: Type, extents: Shape, strides: Shape) -> _Tensor:
    """A tensor view; some sizes and strides are known only at the launch."""
    bits = writer.bits
    index = bits.choice((I32, I64))
    shown: list[list[int]] = []
    given: list[list[Value]] = []
    for numbers in (extents, strides):
        known, values = list(numbers), []
        for place, number in enumerate(numbers):
            if bits.chance(25):
                known[place] = DYNAMIC
                values.append(writer.number(index, number).value)
        shown.append(known)
        given.append(values)
    type = tensor_view_type(element, tuple(shown[0]), tuple(shown[1]))
    operands = [base.value, *given[0], *given[1]]
    segments = (1, len(given[0]), len(given[1]))
    return _Tensor(writer.add(ops.MAKE_TENSOR_VIEW, operands, [type], segments=segments).results[0], extents)


def _packed(writer: Writer, extents: Shape) -> Shape:
    """Strides of a tensor without holes, its dimensions in any order."""
    strides = [0] * len(extents)
    step = 1
    order = list(reversed(range(len(extents)))) if writer.bits.chance(70) else writer.bits.order(len(extents))
    for axis in order:
        strides[axis] = step
        step *= extents[axis]
    return tuple(strides)


class _View:
    """A view of a tensor: how many tiles there are along each dimension, whether a tile may reach over an edge."""

    def __init__(self, value: Value, counts: Shape, reaches: bool, numeric: bool) -> None:
        self.value: Value = value
        self.counts: Shape = counts
        self.reaches: bool = reaches
        self.numeric: bool = numeric

    @property
    def type(self) -> TileViewType:
        type = self.value.type
        assert isinstance(type, TileViewType)
        return type


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
    # As many tiles as `counts` says: the last one begins inside, and may end outside.
    shorter = tuple([bits.below(step) if bits.chance(30) else 0 for step in steps])
    extents = [0] * len(tile)
    for place, axis in enumerate(axes):
        extents[axis] = steps[place] * counts[place] - shorter[place]
    if declaration is ops.MAKE_GATHER_SCATTER_VIEW:
        return _gathered(writer, tile, element)
    reaches = any(steps[place] * (counts[place] - 1) + tile[place] > extents[axis] for place, axis in enumerate(axes))
    padding = _padding(writer, element) if reaches or bits.chance(20) else None
    tensor = _tensor(writer, writer.input(element), element, tuple(extents), _packed(writer, tuple(extents)))
    word = None if padding is None else PADDING[padding]
    type: TileViewType
    if declaration is ops.MAKE_STRIDED_VIEW:
        type = strided_view_type(tile, tensor.type, steps, word, axes)
    else:
        type = partition_view_type(tile, tensor.type, word, axes)
    value = writer.add(declaration, [tensor.value], [type]).results[0]
    return _View(value, counts, padding is not None, padding != "nan")


def _padding(writer: Writer, element: Type) -> str:
    if isinstance(element, FloatType):
        return writer.bits.choice(("zero", "neg_zero", "nan", "pos_inf", "neg_inf"))
    return "zero"


def _gathered(writer: Writer, tile: Shape, element: Type) -> _View:
    """Rows by number, none of them outside."""
    bits = writer.bits
    sparse = bits.below(len(tile))
    extents = tuple([8 if axis == sparse else extent for axis, extent in enumerate(tile)])
    tensor = _tensor(writer, writer.input(element), element, extents, _packed(writer, extents))
    type = gather_scatter_view_type(tile, tensor.type, sparse)
    value = writer.add(ops.MAKE_GATHER_SCATTER_VIEW, [tensor.value], [type]).results[0]
    counts = tuple([8 if axis == sparse else 1 for axis in range(len(tile))])
    return _View(value, counts, False, True)


def _indices(writer: Writer, view: _View, declaration: OperationDeclaration) -> list[Value]:
    found: list[Value] = []
    for axis, count in enumerate(view.counts):
        if declaration is ops.MAKE_GATHER_SCATTER_VIEW and count == 8:
            rows = writer.want((view.type.tile_shape[axis],), I32)
            found.append(writer.below(rows, count).value)
        else:
            found.append(writer.below(writer.want((), I32), count).value)
    return found


def _load_through(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    def build(writer: Writer) -> None:
        made = declaration
        if declaration is ops.LOAD_VIEW_TKO:
            kinds = [ops.MAKE_PARTITION_VIEW]
            if writer.version >= V13_3:
                kinds += [ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW]
            made = writer.bits.choice(kinds)
        view = _view(writer, made)
        indices = _indices(writer, view, made)
        attributes = ordering(writer, "acquire")
        inside = not view.reaches and made is not ops.MAKE_GATHER_SCATTER_VIEW
        if writer.version >= V13_4 and inside and writer.bits.chance(40):
            attributes["inbounds"] = dense_array_attribute(I1, (1,) * len(indices))
        types: list[Type] = [view.type.tile, TOKEN]
        operands = [view.value, *indices]
        segments = (1, len(indices), 0)
        value = writer.add(ops.LOAD_VIEW_TKO, operands, types, attributes, segments=segments).results[0]
        writer.know(Tile(value, numeric=view.numeric))

    return build


def _store_view(writer: Writer) -> None:
    """A tile into an array of its own, in which every tile block has a row."""
    if len(writer.scopes) > 1:
        _load_through(ops.LOAD_VIEW_TKO)(writer)
        return
    tile = writer.bits.choice(_TILES)
    element = writer.bits.choice([*writer.integers, *writer.floats])
    value = writer.numeric(writer.want(tile, element))
    across = writer.bits.below(tile[-1]) if writer.bits.chance(40) else 0
    # The last column may be cut off.
    extents = (tile[0] * writer.blocks, *tile[1:])
    if len(tile) > 1:
        extents = (*extents[:-1], extents[-1] - across)
    base = writer.array(element, count_of(extents), None)
    tensor = _tensor(writer, base, element, extents, _packed(writer, extents))
    type = partition_view_type(tile, tensor.type)
    view = writer.add(ops.MAKE_PARTITION_VIEW, [tensor.value], [type]).results[0]
    zero = writer.constant((), I32, 0).value
    indices = [writer.place.value, *[zero] * (len(tile) - 1)]
    operands = [value.value, view, *indices]
    writer.add(ops.STORE_VIEW_TKO, operands, [TOKEN], WEAK, segments=(1, 1, len(indices), 0))


def _tensor_shape(writer: Writer) -> None:
    element = writer.bits.choice([*writer.integers, *writer.floats])
    extents = tuple([writer.bits.between(1, 6) for _ in range(writer.bits.between(1, 3))])
    tensor = _tensor(writer, writer.input(element), element, extents, _packed(writer, extents))
    types = [scalar_tile(writer.bits.choice((I32, I64)))] * len(extents)
    values = writer.add(ops.GET_TENSOR_SHAPE, [tensor.value], types).results
    for value, extent in zip(values, extents, strict=True):
        writer.know(Tile(value, extent, extent))


def _index_space(writer: Writer) -> None:
    view = _view(writer, ops.MAKE_PARTITION_VIEW)
    types = [scalar_tile(writer.bits.choice((I32, I64)))] * len(view.counts)
    values = writer.add(ops.GET_INDEX_SPACE_SHAPE, [view.value], types).results
    for value, count in zip(values, view.counts, strict=True):
        writer.know(Tile(value, count, count))


STATEMENTS = (
    Statement(ops.LOAD_VIEW_TKO, _load_through(ops.LOAD_VIEW_TKO)),
    Statement(ops.MAKE_TENSOR_VIEW, _load_through(ops.LOAD_VIEW_TKO)),
    Statement(ops.MAKE_PARTITION_VIEW, _load_through(ops.MAKE_PARTITION_VIEW)),
    Statement(ops.MAKE_STRIDED_VIEW, _load_through(ops.MAKE_STRIDED_VIEW)),
    Statement(ops.MAKE_GATHER_SCATTER_VIEW, _load_through(ops.MAKE_GATHER_SCATTER_VIEW)),
    Statement(ops.STORE_VIEW_TKO, _store_view),
    Statement(ops.GET_TENSOR_SHAPE, _tensor_shape),
    Statement(ops.GET_INDEX_SPACE_SHAPE, _index_space),
)
