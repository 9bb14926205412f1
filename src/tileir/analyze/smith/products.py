"""Statements of matrix products, of numbers so small that no sum rounds: the dialect leaves its order open."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Shape, Tile
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import ROUNDING, SIGNEDNESS
from tileir.dialect.types import ELEMENT_SINCE, tile_type
from tileir.ir.attributes import Attribute
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I8,
    I32,
    TF32,
    Type,
)
from tileir.ir.versions import V13_1

# Factors of at most 3 and an accumulator of at most 255 stay below 2^11 with K up to 64: exact in f16, and in the 14
# bits that tensor cores keep of a sum of f8.
_FACTOR, _ACCUMULATOR = 3, 255
_PAIRS: tuple[tuple[Type, Type], ...] = (
    (F32, F32), (F16, F32), (F16, F16), (BF16, F32), (F64, F64), (TF32, F32), (F8E4M3FN, F32), (F8E5M2, F32),
    (F8E4M3FN, F16),
)  # fmt: skip
_SCALED: tuple[tuple[Type, Type, int], ...] = (
    (F8E4M3FN, F8E8M0FNU, 32), (F8E5M2, F8E8M0FNU, 32), (F4E2M1FN, F8E4M3FN, 16), (F4E2M1FN, F8E8M0FNU, 32),
    (F4E2M1FN, FNV8E5M3FNU, 16),
)  # fmt: skip


def _shapes(writer: Writer, most: int = 64) -> tuple[Shape, int, int, int]:
    bits = writer.bits
    batch: Shape = (2,) if bits.chance(15) else ()
    m, n = (bits.choice((2, 4, 8, 16)) for _ in range(2))
    k = bits.choice([extent for extent in (2, 4, 8, 16, 32) if extent <= most])
    return batch, m, n, k


def _factor(writer: Writer, shape: Shape, element: Type) -> Tile:
    """Small integers in a type that may have no conversion of its own."""
    if element in (F16, BF16, F32, F64):
        return writer.whole(shape, element, _FACTOR)
    source = writer.whole(shape, F32, _FACTOR)
    return Tile(writer.apply(ops.FTOF, source, element=element).value)


def _accumulator(writer: Writer, shape: Shape, element: Type) -> Tile:
    return writer.whole(shape, element, _ACCUMULATOR)


def _floats(writer: Writer) -> None:
    batch, m, n, k = _shapes(writer)
    element, total = writer.bits.choice(_PAIRS)
    left = _factor(writer, (*batch, m, k), element)
    right = _factor(writer, (*batch, k, n), element)
    added = _accumulator(writer, (*batch, m, n), total)
    value = writer.add(ops.MMAF, [left.value, right.value, added.value], [added.type]).results[0]
    bound = _FACTOR * _FACTOR * k + max(-added.low, added.high)
    writer.know(Tile(value, -bound, bound, whole=True))


def _integers(writer: Writer) -> None:
    """Sums that do not overflow: some hardware wraps, some saturates."""
    batch, m, n, k = _shapes(writer)
    left, right = writer.want((*batch, m, k), I8), writer.want((*batch, k, n), I8)
    source = writer.want((*batch, m, n), I32)
    added = source if max(-source.low, source.high) < 1 << 24 else writer.below(source, 1 << 16)
    words = [writer.bits.choice(("signed", "unsigned")) for _ in range(2)]
    attributes: dict[str, Attribute] = {
        "signedness_lhs": SIGNEDNESS[words[0]],
        "signedness_rhs": SIGNEDNESS[words[1]],
    }
    operands = [left.value, right.value, added.value]
    value = writer.add(ops.MMAI, operands, [added.type], attributes).results[0]
    bound = max(-added.low, added.high) + 255 * 255 * k
    writer.know(Tile(value, -bound, bound))


def _scaled(writer: Writer) -> None:
    known = [kinds for kinds in _SCALED if all(ELEMENT_SINCE.get(kind, V13_1) <= writer.version for kind in kinds[:2])]
    element, scale, block = writer.bits.choice(known)
    batch, m, n, _ = _shapes(writer)
    count = writer.bits.choice((1, 2))
    k = block * count
    left, right = _factor(writer, (*batch, m, k), element), _factor(writer, (*batch, k, n), element)
    added = _accumulator(writer, (*batch, m, n), F32)
    scales = [_scale(writer, (*batch, *shape), scale) for shape in ((m, count), (count, n))]
    operands = [left.value, right.value, added.value, *[tile.value for tile in scales]]
    value = writer.add(ops.MMAF_SCALED, operands, [added.type]).results[0]
    # Scales of at most 2 each.
    bound = 4 * _FACTOR * _FACTOR * k + max(-added.low, added.high)
    writer.know(Tile(value, -bound, bound, whole=True))


def _scale(writer: Writer, shape: Shape, element: Type) -> Tile:
    """1 or 2, from integers that are 1 or 2."""
    source = writer.clamped(writer.whole(shape, F32, 3), 1.0, 2.0)
    attributes: dict[str, Attribute] = {}
    if element is F8E8M0FNU:
        attributes["rounding_mode"] = ROUNDING["zero"]
    type = tile_type(shape, element)
    return Tile(writer.add(ops.FTOF, [source.value], [type], attributes).results[0])


STATEMENTS = (
    Statement(ops.MMAF, _floats),
    Statement(ops.MMAI, _integers),
    Statement(ops.MMAF_SCALED, _scaled),
)
