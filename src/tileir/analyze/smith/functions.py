"""Statements of functions of which the dialect does not say how many bits are right.

Programs look at their results only through comparisons that every reasonable approximation answers alike: of functions
of small integers with a number that is far from all of their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product

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


Operand = Callable[[Writer, Shape, Type], Tile]


def _whole(most: int) -> Operand:
    """Integers as floats, of at most this magnitude."""
    return lambda writer, shape, element: writer.whole(shape, element, most)


def _positive(writer: Writer, shape: Shape, element: Type) -> Tile:
    """Integers from 1 to 8 as floats."""
    small = writer.positive(writer.below(writer.want(shape, I32), 8))
    return Tile(writer.value(ops.ITOF, small, element, "signed"), small.low, small.high, whole=True)


def _exponent(writer: Writer, shape: Shape, element: Type) -> Tile:
    return writer.below(writer.want(shape, I32), 4)


def _observe(writer: Writer, tile: Tile, values: Sequence[float]) -> None:
    """Compare results with a number between them."""
    threshold = _threshold(writer, values)
    if writer.is_open and len(writer.scopes) == 1:
        writer.loose.append(tile)
    if threshold is not None:
        predicate = writer.bits.choice(("less_than", "greater_than"))
        writer.know(writer.compare(predicate, tile, writer.float_constant(tile.shape, tile.element, threshold)))


def _function(declaration: OperationDeclaration, reference: Callable[..., float], *operands: Operand) -> Statement:
    def build(writer: Writer) -> None:
        element, shape = writer.bits.choice(writer.floats), writer.some_shape()
        tiles = [operand(writer, shape, element) for operand in operands]
        named: dict[str, str] = {}
        if element is F32 and writer.may_have(declaration, "rounding_mode") and writer.bits.chance(30):
            named["rounding_mode"] = "approx"
        numbers = product(*[map(float, range(tile.low, tile.high + 1)) for tile in tiles])
        _observe(writer, writer.apply(declaration, *tiles, **named), [reference(*each) for each in numbers])

    return Statement(declaration, build)


def _domain(function: Callable[[float], float]) -> Operand:
    """Numbers that a function is given: from 1 on for one that is defined for positive numbers alone."""
    try:
        for x in range(-8, 1):
            function(float(x))
    except (ValueError, ZeroDivisionError):
        return _positive
    return _whole(7)


STATEMENTS = (
    *[
        _function(each, each.reference, _domain(each.reference))
        for each in REGISTRY.with_traits(ELEMENTWISE | OPEN_BITS)
        if each.reference is not None and not each.draft_only
    ],
    _function(ops.POW, pow, _positive, _whole(3)),
    _function(ops.FPOWI, pow, _positive, _exponent),
    _function(ops.ATAN2, math.atan2, _whole(3), _positive),
)
