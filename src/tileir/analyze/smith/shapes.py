"""Statements that move elements: other shapes, orders, parts and repetitions of tiles."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Shape, Tile, count_of, either
from tileir.analyze.smith.writer import SHAPES, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.types import tile_error, tile_type
from tileir.ir.attributes import Attribute, dense_array_attribute, integer_attribute
from tileir.ir.types import I1, I32, I64, Type
from tileir.ir.values import Value

LARGEST = 256
"""Elements of a tile that grows."""


def _any(writer: Writer, least_rank: int = 0) -> Tile:
    return writer.some([*writer.integers, *writer.floats, I1, I32], least_rank, LARGEST)


def _type(writer: Writer, shape: Shape, element: Type) -> Type | None:
    return tile_type(shape, element) if tile_error(shape, element, writer.version) is None else None


def _iota(writer: Writer) -> None:
    element = writer.bits.choice(writer.integers)
    count = writer.bits.choice((1, 2, 4, 8, 16, 32, 64, 128))
    # Lanes that come by another way are kept; this is the operation that was asked for.
    value = writer.add(ops.IOTA, [], [tile_type((min(count, 64),), element)]).results[0]
    writer.know(Tile(value, 0, min(count, 64) - 1))


def _constant(writer: Writer) -> None:
    writer.know(writer.random_constant(writer.some_shape(), writer.bits.choice([*writer.integers, *writer.floats, I1])))


def _broadcast(writer: Writer) -> None:
    source = _any(writer)
    if 1 not in source.shape:
        ones = tuple([1 if writer.bits.chance(50) else extent for extent in source.shape])
        element = source.element
        source = writer.want(ones, element)
    shape = tuple([extent if extent > 1 else writer.bits.choice((1, 2, 4, 8)) for extent in source.shape])
    if count_of(shape) > LARGEST:
        return
    writer.know(source.moved(writer.add(ops.BROADCAST, [source.value], [tile_type(shape, source.element)]).results[0]))


def _reshape(writer: Writer) -> None:
    source = _any(writer)
    count = count_of(source.shape)
    fitting = [shape for shape in [*SHAPES, ()] if count_of(shape) == count and shape != source.shape]
    if not fitting:
        return
    writer.know(writer.reshaped(source, writer.bits.choice(fitting)))


def _permute(writer: Writer) -> None:
    source = _any(writer, 2)
    axes = writer.bits.order(len(source.shape))
    type = tile_type(tuple([source.shape[axis] for axis in axes]), source.element)
    attributes: dict[str, Attribute] = {"permutation": dense_array_attribute(I32, tuple(axes))}
    writer.know(source.moved(writer.add(ops.PERMUTE, [source.value], [type], attributes).results[0]))


def _cat(writer: Writer) -> None:
    left = _any(writer, 1)
    if count_of(left.shape) * 2 > LARGEST:
        return
    right = writer.want(left.shape, left.element)
    axis = writer.bits.below(len(left.shape))
    shape = (*left.shape[:axis], left.shape[axis] * 2, *left.shape[axis + 1 :])
    attributes: dict[str, Attribute] = {"dim": integer_attribute(I64, axis)}
    value = writer.add(ops.CAT, [left.value, right.value], [tile_type(shape, left.element)], attributes).results[0]
    writer.know(either(left, right, value))


def _part(writer: Writer, shape: Shape) -> tuple[Shape, list[Value]]:
    """The shape of a part, and indices that are inside."""
    part = tuple([max(1, extent >> writer.bits.below(3)) for extent in shape])
    indices: list[Value] = []
    for extent, size in zip(shape, part, strict=True):
        indices.append(writer.below(writer.want((), I32), extent // size).value)
    return part, indices


def _extract(writer: Writer) -> None:
    source = _any(writer, 1)
    part, indices = _part(writer, source.shape)
    type = _type(writer, part, source.element)
    if type is not None:
        writer.know(source.moved(writer.add(ops.EXTRACT, [source.value, *indices], [type]).results[0]))


def _insert(writer: Writer) -> None:
    target = _any(writer, 1)
    part, indices = _part(writer, target.shape)
    source = writer.want(part, target.element)
    value = writer.add(ops.INSERT, [source.value, target.value, *indices], [target.type]).results[0]
    writer.know(either(source, target, value))


STATEMENTS = (
    Statement(ops.IOTA, _iota),
    Statement(ops.CONSTANT, _constant),
    Statement(ops.BROADCAST, _broadcast),
    Statement(ops.RESHAPE, _reshape),
    Statement(ops.PERMUTE, _permute),
    Statement(ops.CAT, _cat),
    Statement(ops.EXTRACT, _extract),
    Statement(ops.INSERT, _insert),
)
