"""Statements of functions of which the dialect does not say how many bits are right.

Programs look at their results only through comparisons that every reasonable approximation answers alike: of functions
of small integers with a number that is far from all of their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from tileir.analyze.smith.tiles import Shape, Tile
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, OPEN_BITS
from tileir.ir.types import F32, I32, Type

_GAP = 0.08
"""How far apart two values are, relative to the larger, with a comparison between them."""


def _threshold(writer: Writer, values: Sequence[float]) -> float | None:
    """A number with two digits between two neighboring values that are far apart."""
    ordered = sorted(values)
    gaps = [(low, high) for low, high in pairwise(ordered) if high - low > _GAP * max(abs(low), abs(high), 0.25)]
    if not gaps:
        return None
    low, high = writer.bits.choice(gaps)
    middle = float(f"{(low + high) / 2:.1e}")
    # Two digits may be too few for a narrow gap.
    return middle if low + (high - low) / 4 < middle < high - (high - low) / 4 else None


def _numbers(writer: Writer, shape: Shape, element: Type, least: int) -> Tile:
    """Integers as floats: from -4 to 4 or so, or from 1 to 8."""
    if least <= 0:
        return writer.whole(shape, element, 7)
    small = writer.positive(writer.below(writer.want(shape, I32), 8))
    return Tile(writer.value(ops.ITOF, small, element, "signed"), small.low, small.high, whole=True)


def _observe(writer: Writer, tile: Tile, values: Sequence[float]) -> None:
    """Compare results with a number between them."""
    threshold = _threshold(writer, values)
    if writer.is_open and len(writer.scopes) == 1:
        writer.loose.append(tile)
    if threshold is not None:
        predicate = writer.bits.choice(("less_than", "greater_than"))
        writer.know(writer.compare(predicate, tile, writer.float_constant(tile.shape, tile.element, threshold)))


def _unary(declaration: OperationDeclaration, function: Callable[[float], float]) -> Statement:
    least = _least(function)

    def build(writer: Writer) -> None:
        element = writer.bits.choice(writer.floats)
        source = _numbers(writer, writer.some_shape(), element, least)
        named: dict[str, str] = {}
        if element is F32 and writer.may_have(declaration, "rounding_mode") and writer.bits.chance(30):
            named["rounding_mode"] = "approx"
        found = writer.apply(declaration, source, **named)
        _observe(writer, found, [function(float(x)) for x in range(source.low, source.high + 1)])

    return Statement(declaration, build)


def _least(function: Callable[[float], float]) -> int:
    """The least small integer that a function is given: 1 for one that is defined for positive numbers alone."""
    try:
        for x in range(-8, 1):
            function(float(x))
    except (ValueError, ZeroDivisionError):
        return 1
    return 0


def _power(writer: Writer) -> None:
    element, shape = writer.bits.choice(writer.floats), writer.some_shape()
    _of_two(writer, ops.POW, _numbers(writer, shape, element, 1), writer.whole(shape, element, 3), pow)


def _integer_power(writer: Writer) -> None:
    element = writer.bits.choice(writer.floats)
    source = _numbers(writer, writer.some_shape(), element, 1)
    _of_two(writer, ops.FPOWI, source, writer.below(writer.want(source.shape, I32), 4), pow)


def _angle(writer: Writer) -> None:
    element, shape = writer.bits.choice(writer.floats), writer.some_shape()
    _of_two(writer, ops.ATAN2, writer.whole(shape, element, 3), _numbers(writer, shape, element, 1), math.atan2)


def _of_two(
    writer: Writer,
    declaration: OperationDeclaration,
    left: Tile,
    right: Tile,
    function: Callable[[float, float], float],
) -> None:
    pairs = [(float(x), y) for x in range(left.low, left.high + 1) for y in range(right.low, right.high + 1)]
    _observe(writer, writer.apply(declaration, left, right), [function(x, y) for x, y in pairs])


STATEMENTS = (
    *[
        _unary(each, each.reference)
        for each in REGISTRY.with_traits(ELEMENTWISE | OPEN_BITS)
        if each.reference is not None and not each.draft_only
    ],
    Statement(ops.POW, _power),
    Statement(ops.FPOWI, _integer_power),
    Statement(ops.ATAN2, _angle),
)
