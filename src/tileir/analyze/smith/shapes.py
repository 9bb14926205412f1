"""Statements that move elements: other shapes, orders, parts and repetitions of tiles."""

from __future__ import annotations

from math import prod

from tileir.analyze.smith.tiles import Shape, Tile, either
from tileir.analyze.smith.writer import SHAPES, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.types import tile_error, tile_type
from tileir.ir.types import I1, I32

LARGEST = 256
"""Elements of a tile that grows."""


def _any(writer: Writer, least_rank: int = 0) -> Tile:
    return writer.some([*writer.integers, *writer.floats, I1, I32], least_rank, LARGEST)


def _iota(writer: Writer) -> None:
    element = writer.bits.choice(writer.integers)
    count = min(writer.bits.choice((1, 2, 4, 8, 16, 32, 64, 128)), 64)
    # Lanes that come by another way are kept; this is the operation that was asked for.
    writer.know(Tile(writer.value(ops.IOTA, tile_type((count,), element)), 0, count - 1))


def _constant(writer: Writer) -> None:
    writer.know(writer.random_constant(writer.some_shape(), writer.bits.choice([*writer.integers, *writer.floats, I1])))


def _broadcast(writer: Writer) -> None:
    source = _any(writer)
    if 1 not in source.shape:
        ones = tuple([1 if writer.bits.chance(50) else extent for extent in source.shape])
        source = writer.want(ones, source.element)
    shape = tuple([extent if extent > 1 else writer.bits.choice((1, 2, 4, 8)) for extent in source.shape])
    if prod(shape) <= LARGEST:
        writer.know(source.moved(writer.value(ops.BROADCAST, source, shape)))


def _reshape(writer: Writer) -> None:
    source = _any(writer)
    count = prod(source.shape)
    fitting = [shape for shape in [*SHAPES, ()] if prod(shape) == count and shape != source.shape]
    if fitting:
        writer.know(writer.reshaped(source, writer.bits.choice(fitting)))


def _permute(writer: Writer) -> None:
    source = _any(writer, 2)
    writer.know(source.moved(writer.value(ops.PERMUTE, source, writer.bits.order(len(source.shape)))))


def _cat(writer: Writer) -> None:
    left = _any(writer, 1)
    if prod(left.shape) * 2 > LARGEST:
        return
    right = writer.want(left.shape, left.element)
    writer.know(either(left, right, writer.value(ops.CAT, left, right, writer.bits.below(len(left.shape)))))


def _part(writer: Writer, shape: Shape) -> tuple[Shape, list[Tile]]:
    """The shape of a part, and indices that are inside."""
    part = tuple([max(1, extent >> writer.bits.below(3)) for extent in shape])
    pairs = zip(shape, part, strict=True)
    return part, [writer.below(writer.want((), I32), extent // size) for extent, size in pairs]


def _extract(writer: Writer) -> None:
    source = _any(writer, 1)
    part, indices = _part(writer, source.shape)
    if tile_error(part, source.element, writer.version) is None:
        writer.know(source.moved(writer.value(ops.EXTRACT, source, indices, part)))


def _insert(writer: Writer) -> None:
    target = _any(writer, 1)
    part, indices = _part(writer, target.shape)
    source = writer.want(part, target.element)
    writer.know(either(source, target, writer.value(ops.INSERT, source, target, indices)))


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
