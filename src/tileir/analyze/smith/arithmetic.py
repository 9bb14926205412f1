"""Statements of arithmetic, element by element: integers, floats, comparisons, choices, and functions.

The dialect does not define the accuracy of functions.  Programs use their results only in comparisons that every
reasonable approximation decides the same way: of functions of small integers with a number that is far from all of
their values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise, product

from tileir.analyze.smith.tiles import Shape, Tile, either, range_of, width_of
from tileir.analyze.smith.writer import Statement, Writer, statements
from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, OPEN_BITS
from tileir.ir.types import F32, I1, I32, Type

_PREDICATES = tuple(COMPARISON_PREDICATE.values)
_EXACT = {ops.ADDI: operator.add, ops.SUBI: operator.sub, ops.MULI: operator.mul}
_IEEE_MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")


def _bounds(declaration: OperationDeclaration, left: Tile, right: Tile) -> tuple[int, int] | None:
    """Bounds of the exact result, where they are simple and within the type."""
    exact = _EXACT.get(declaration)
    if exact is not None:
        corners = [exact(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(corners), max(corners)
    elif declaration is ops.ANDI and left.low >= 0 and right.low >= 0:
        low, high = 0, min(left.high, right.high)
    else:
        return None
    least, most = range_of(left.element)
    return (low, high) if least <= low and high <= most and width_of(left.element) > 1 else None


def _binary_integer(writer: Writer, declaration: OperationDeclaration) -> None:
    """Additions and the like, with a promise that nothing wraps where that is known."""
    left, right = writer.pair(writer.integers if "overflow" in declaration.inherent else [*writer.integers, I1])
    bounds = _bounds(declaration, left, right)
    overflow = None
    if bounds is not None and writer.may_have(declaration, "overflow") and writer.bits.chance(40):
        words = ["no_signed_wrap"]
        if min(left.low, right.low, bounds[0]) >= 0:
            words += ["no_unsigned_wrap", "no_wrap"]
        overflow = writer.bits.choice(words)
    writer.know(Tile(writer.value(declaration, left, right, overflow=overflow), *(bounds or (None, None))))


def _signed_or_not(writer: Writer) -> str:
    return "signed" if writer.bits.chance(60) else "unsigned"


def _extreme(writer: Writer, declaration: OperationDeclaration) -> None:
    left, right = writer.pair(writer.integers)
    writer.know(either(left, right, writer.value(declaration, left, right, _signed_or_not(writer))))


def _division(writer: Writer, declaration: OperationDeclaration) -> None:
    """By something from 1 on: by zero, or the least number by -1, is undefined."""
    left = writer.some(writer.integers)
    right = writer.positive(writer.want(left.shape, left.element))
    signedness = _signed_or_not(writer)
    rounding = None
    if writer.may_have(declaration, "rounding") and writer.bits.chance(40):
        # There is no floor of an unsigned quotient.
        rounding = "negative_inf" if signedness == "signed" and writer.bits.chance(50) else "positive_inf"
    writer.know(Tile(writer.value(declaration, left, right, signedness, rounding=rounding)))


def _shift(writer: Writer, declaration: OperationDeclaration) -> None:
    """By less than the width: more is undefined."""
    left = writer.some(writer.integers)
    amount = writer.below(writer.want(left.shape, left.element), width_of(left.element))
    named: dict[str, str] = {}
    if declaration is ops.SHRI:
        named["signedness"] = _signed_or_not(writer)
    elif writer.bits.chance(30) and left.low >= 0 and left.high << amount.high <= range_of(left.element)[1]:
        named["overflow"] = "no_wrap"
    writer.know(Tile(writer.value(declaration, left, amount, **named)))


def _unary_integer(writer: Writer, declaration: OperationDeclaration) -> None:
    source = writer.some(writer.integers)
    is_safe = source.low > range_of(source.element)[0] and writer.may_have(declaration, "overflow")
    overflow = "no_signed_wrap" if is_safe and writer.bits.chance(40) else None
    writer.know(Tile(writer.value(declaration, source, overflow=overflow)))


def _high_half(writer: Writer) -> None:
    writer.know(Tile(writer.value(ops.MULHII, *writer.pair(writer.integers))))


def _compare_integers(writer: Writer) -> None:
    left, right = writer.pair(writer.integers)
    writer.know(writer.compare(writer.bits.choice(_PREDICATES), left, right, _signed_or_not(writer)))


def _rounding(writer: Writer, declaration: OperationDeclaration, tile: Tile) -> dict[str, object]:
    """A rounding mode that defines every bit, and sometimes the flushing of subnormal numbers to zero."""
    is_set = writer.may_have(declaration, "rounding_mode") and writer.bits.chance(25)
    mode = writer.bits.choice(_IEEE_MODES) if is_set else None
    flushes = tile.element is F32 and writer.may_have(declaration, "flush_to_zero") and writer.bits.chance(15)
    return {"rounding_mode": mode, "flush_to_zero": flushes or None}


def _float_operation(writer: Writer, declaration: OperationDeclaration) -> None:
    """Operations whose result is rounded once, or exact."""
    if writer.is_open and declaration in (ops.DIVF, ops.SQRT) and len(writer.scopes) == 1:
        _approximate(writer, declaration)
    first = writer.some(writer.floats)
    operands = [first, *[writer.want(first.shape, first.element) for _ in declaration.operands[1:]]]
    found = writer.value(declaration, *operands, **_rounding(writer, declaration, first))
    exact = declaration in (ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR)
    writer.know(Tile(found, numeric=exact and first.numeric))


def _approximate(writer: Writer, declaration: OperationDeclaration) -> None:
    """A quotient or a root in an approximate mode, of numbers that are neither large nor small."""
    shape = writer.some_shape()
    operands = [writer.clamped(writer.want(shape, F32), 0.25, 8.0) for _ in declaration.operands]
    modes = ("approx", "full") if declaration is ops.DIVF else ("approx",)
    writer.loose.append(writer.apply(declaration, *operands, rounding_mode=writer.bits.choice(modes)))


def _float_extreme(writer: Writer, declaration: OperationDeclaration) -> None:
    left, right = writer.pair(writer.floats)
    spreads = writer.bits.chance(30)
    flushes = left.element is F32 and writer.bits.chance(15)
    numeric = left.numeric and right.numeric if spreads else left.numeric or right.numeric
    found = writer.value(declaration, left, right, propagate_nan=spreads, flush_to_zero=flushes)
    writer.know(Tile(found, numeric=numeric))


def _compare_floats(writer: Writer) -> None:
    left, right = writer.pair(writer.floats)
    predicate = writer.bits.choice(_PREDICATES)
    writer.know(writer.compare(predicate, left, right, writer.bits.choice(("ordered", "unordered"))))


def _select(writer: Writer) -> None:
    left, right = writer.pair([*writer.floats, *writer.integers, I1])
    mask = writer.want(left.shape, I1)
    writer.know(either(left, right, writer.value(ops.SELECT, mask, left, right)))


ARITHMETIC = (
    *statements(_binary_integer, ops.ADDI, ops.SUBI, ops.MULI, ops.ANDI, ops.ORI, ops.XORI),
    *statements(_extreme, ops.MAXI, ops.MINI), *statements(_division, ops.DIVI, ops.REMI),
    *statements(_shift, ops.SHLI, ops.SHRI), *statements(_unary_integer, ops.ABSI, ops.NEGI),
    Statement(ops.MULHII, _high_half), Statement(ops.CMPI, _compare_integers),
    *statements(_float_operation, ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF, ops.REMF),
    *statements(_float_operation, ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT, ops.FMA),
    *statements(_float_extreme, ops.MAXF, ops.MINF), Statement(ops.CMPF, _compare_floats),
    Statement(ops.SELECT, _select),
)  # fmt: skip

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
        is_fast = element is F32 and writer.may_have(declaration, "rounding_mode") and writer.bits.chance(30)
        numbers = product(*[map(float, range(tile.low, tile.high + 1)) for tile in tiles])
        found = writer.apply(declaration, *tiles, rounding_mode="approx" if is_fast else None)
        _observe(writer, found, [reference(*each) for each in numbers])

    return Statement(declaration, build)


def _domain(function: Callable[[float], float]) -> Operand:
    """Numbers that a function is given: from 1 on for one that is defined for positive numbers alone."""
    try:
        for x in range(-8, 1):
            function(float(x))
    except (ValueError, ZeroDivisionError):
        return _positive
    return _whole(7)


FUNCTIONS = (
    *[
        _function(each, each.reference, _domain(each.reference))
        for each in REGISTRY.with_traits(ELEMENTWISE | OPEN_BITS)
        if each.reference is not None and not each.draft_only
    ],
    _function(ops.POW, pow, _positive, _whole(3)),
    _function(ops.FPOWI, pow, _positive, _exponent),
    _function(ops.ATAN2, math.atan2, _whole(3), _positive),
)
