"""Statements of what a program says about itself, and all of it true: asserts, assumptions, sizes of the grid."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Tile
from tileir.analyze.smith.writer import SIGNED, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.attributes import bounded, div_by, same_elements
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.types import TOKEN, scalar_tile
from tileir.ir.attributes import Attribute, string_attribute
from tileir.ir.types import I1, I32, FloatType, IntegerType
from tileir.ir.versions import V13_2


def _assert(writer: Writer) -> None:
    """That a value is within what is known of it."""
    tile = writer.below(writer.some(writer.integers), 16)
    limit = writer.constant(tile.shape, tile.element, tile.high)
    attributes: dict[str, Attribute] = {"comparison_predicate": COMPARISON_PREDICATE["less_than_or_equal"], **SIGNED}
    holds = writer.apply(ops.CMPI, tile, limit, element=I1, attributes=attributes)
    writer.add(ops.ASSERT, [holds.value], [], {"message": string_attribute("within bounds")})


def _assume(writer: Writer) -> None:
    bits = writer.bits
    kind = bits.below(3)
    source = writer.some(writer.integers)
    predicate: Attribute
    if kind == 0:
        source = writer.below(source, 16)
        predicate = bounded(source.low, None if bits.chance(30) else source.high)
    elif kind == 1:
        divisor = bits.choice((2, 4, 8))
        source = writer.apply(ops.MULI, source, writer.constant(source.shape, source.element, divisor))
        predicate = div_by(divisor)
        source = Tile(source.value)
    else:
        scalar = writer.want((), source.element)
        source = writer.filled(scalar, source.shape)
        predicate = same_elements(source.shape)
    value = writer.add(ops.ASSUME, [source.value], [source.type], {"predicate": predicate}).results[0]
    writer.know(source.moved(value))


def _grid(writer: Writer) -> None:
    values = writer.add(ops.GET_NUM_TILE_BLOCKS, [], [scalar_tile(I32)] * 3).results
    for value, extent in zip(values, writer.grid, strict=True):
        writer.know(Tile(value, extent, extent))


def _place(writer: Writer) -> None:
    values = writer.add(ops.GET_TILE_BLOCK_ID, [], [scalar_tile(I32)] * 3).results
    for value, extent in zip(values, writer.grid, strict=True):
        writer.know(Tile(value, 0, extent - 1))


def _print(writer: Writer) -> None:
    """One value, where there is one tile block: what several print has no order."""
    tile = writer.numeric(writer.some([*writer.integers, *writer.floats], most=8))
    assert isinstance(tile.element, (IntegerType, FloatType))
    text = "%f\n" if isinstance(tile.element, FloatType) else "%d\n" if tile.element.width <= 32 else "%lld\n"
    attributes: dict[str, Attribute] = {"str": string_attribute(f"value {text}")}
    tokens = [writer.add(ops.MAKE_TOKEN, [], [TOKEN]).results[0]] if writer.version >= V13_2 else []
    operands = [tile.value, *tokens]
    writer.add(ops.PRINT_TKO, operands, [TOKEN], attributes, segments=(1, len(tokens)))


STATEMENTS = (
    Statement(ops.ASSERT, _assert),
    Statement(ops.ASSUME, _assume),
    Statement(ops.GET_NUM_TILE_BLOCKS, _grid),
    Statement(ops.GET_TILE_BLOCK_ID, _place),
)
PRINTING = (Statement(ops.PRINT_TKO, _print),)
