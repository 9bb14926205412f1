"""Statements of arithmetic: integers, floats, comparisons and choices, element by element."""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.smith.tiles import Tile, either, range_of, width_of
from tileir.analyze.smith.writer import Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import F32, I1

_PREDICATES = tuple(COMPARISON_PREDICATE.values)
IEEE_MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")

# --- integers ---


def _bounds(declaration: OperationDeclaration, left: Tile, right: Tile) -> tuple[int, int] | None:
    """Bounds of the exact result, where they are simple."""
    if declaration is ops.ADDI:
        return left.low + right.low, left.high + right.high
    if declaration is ops.SUBI:
        return left.low - right.high, left.high - right.low
    if declaration is ops.MULI:
        corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
        return min(corners), max(corners)
    if declaration is ops.ANDI and left.low >= 0 and right.low >= 0:
        return 0, min(left.high, right.high)
    return None


def _fits(tile: Tile, bounds: tuple[int, int] | None) -> bool:
    least, most = range_of(tile.element)
    return bounds is not None and least <= bounds[0] and bounds[1] <= most


def _binary_integer(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    """Additions and the like, with a promise that nothing wraps where that is known."""
    flagged = "overflow" in declaration.inherent

    def build(writer: Writer) -> None:
        kinds = writer.integers if flagged else [*writer.integers, I1]
        left = writer.some(kinds)
        right = writer.want(left.shape, left.element)
        bounds = _bounds(declaration, left, right)
        fits = _fits(left, bounds) and width_of(left.element) > 1
        promised: dict[str, str] = {}
        if writer.may_have(declaration, "overflow") and fits and bounds is not None and writer.bits.chance(40):
            words = ["no_signed_wrap"]
            if min(left.low, right.low, bounds[0]) >= 0:
                words += ["no_unsigned_wrap", "no_wrap"]
            promised["overflow"] = writer.bits.choice(words)
        known = bounds if fits and bounds is not None else (None, None)
        writer.know(Tile(writer.value(declaration, left, right, **promised), *known))

    return build


def _signed_or_not(writer: Writer) -> str:
    return "signed" if writer.bits.chance(60) else "unsigned"


def _extreme(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    def build(writer: Writer) -> None:
        left = writer.some(writer.integers)
        right = writer.want(left.shape, left.element)
        writer.know(either(left, right, writer.value(declaration, left, right, _signed_or_not(writer))))

    return build


def _division(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    """By something from 1 on: by zero, or the least number by -1, is undefined."""

    def build(writer: Writer) -> None:
        left = writer.some(writer.integers)
        right = writer.positive(writer.want(left.shape, left.element))
        signedness = _signed_or_not(writer)
        rounded: dict[str, str] = {}
        if writer.may_have(declaration, "rounding") and writer.bits.chance(40):
            # There is no floor of an unsigned quotient.
            floor = signedness == "signed" and writer.bits.chance(50)
            rounded["rounding"] = "negative_inf" if floor else "positive_inf"
        writer.know(Tile(writer.value(declaration, left, right, signedness, **rounded)))

    return build


def _shift(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    """By less than the width: more is undefined."""

    def build(writer: Writer) -> None:
        left = writer.some(writer.integers)
        amount = writer.below(writer.want(left.shape, left.element), width_of(left.element))
        named: dict[str, str] = {}
        if declaration is ops.SHRI:
            named["signedness"] = _signed_or_not(writer)
        elif writer.bits.chance(30) and left.low >= 0 and left.high << amount.high <= range_of(left.element)[1]:
            named["overflow"] = "no_wrap"
        writer.know(Tile(writer.value(declaration, left, amount, **named)))

    return build


def _unary_integer(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    def build(writer: Writer) -> None:
        source = writer.some(writer.integers)
        promised: dict[str, str] = {}
        apart = source.low > range_of(source.element)[0]
        if apart and writer.may_have(declaration, "overflow") and writer.bits.chance(40):
            promised["overflow"] = "no_signed_wrap"
        writer.know(Tile(writer.value(declaration, source, **promised)))

    return build


def _high_half(writer: Writer) -> None:
    left = writer.some(writer.integers)
    writer.know(Tile(writer.value(ops.MULHII, left, writer.want(left.shape, left.element))))


def _compare_integers(writer: Writer) -> None:
    left = writer.some(writer.integers)
    right = writer.want(left.shape, left.element)
    writer.know(writer.compare(writer.bits.choice(_PREDICATES), left, right, _signed_or_not(writer)))


# --- floats ---


def _rounding(writer: Writer, declaration: OperationDeclaration, tile: Tile) -> dict[str, object]:
    """A mode that says what every bit is, and now and then that subnormal numbers are zeros."""
    named: dict[str, object] = {}
    if writer.may_have(declaration, "rounding_mode") and writer.bits.chance(25):
        named["rounding_mode"] = writer.bits.choice(IEEE_MODES)
    if tile.element is F32 and writer.may_have(declaration, "flush_to_zero") and writer.bits.chance(15):
        named["flush_to_zero"] = True
    return named


def _float_operation(declaration: OperationDeclaration, count: int) -> Callable[[Writer], None]:
    """Operations whose result is rounded once, or exact."""

    def build(writer: Writer) -> None:
        if writer.is_open and declaration in (ops.DIVF, ops.SQRT) and len(writer.scopes) == 1:
            _approximate(writer, declaration)
        first = writer.some(writer.floats)
        operands = [first, *[writer.want(first.shape, first.element) for _ in range(count - 1)]]
        found = writer.value(declaration, *operands, **_rounding(writer, declaration, first))
        exact = declaration in (ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR)
        writer.know(Tile(found, numeric=exact and first.numeric))

    return build


def _approximate(writer: Writer, declaration: OperationDeclaration) -> None:
    """A quotient or a root in a mode that asks for speed, of numbers that are neither large nor small."""
    shape = writer.some_shape()
    count = 2 if declaration is ops.DIVF else 1
    operands = [writer.clamped(writer.want(shape, F32), 0.25, 8.0) for _ in range(count)]
    modes = ("approx", "full") if declaration is ops.DIVF else ("approx",)
    writer.loose.append(writer.apply(declaration, *operands, rounding_mode=writer.bits.choice(modes)))


def _float_extreme(declaration: OperationDeclaration) -> Callable[[Writer], None]:
    def build(writer: Writer) -> None:
        left = writer.some(writer.floats)
        right = writer.want(left.shape, left.element)
        spreads = writer.bits.chance(30)
        flushes = left.element is F32 and writer.bits.chance(15)
        numeric = left.numeric and right.numeric if spreads else left.numeric or right.numeric
        found = writer.value(declaration, left, right, propagate_nan=spreads, flush_to_zero=flushes)
        writer.know(Tile(found, numeric=numeric))

    return build


def _compare_floats(writer: Writer) -> None:
    left = writer.some(writer.floats)
    right = writer.want(left.shape, left.element)
    predicate = writer.bits.choice(_PREDICATES)
    writer.know(writer.compare(predicate, left, right, writer.bits.choice(("ordered", "unordered"))))


def _select(writer: Writer) -> None:
    left = writer.some([*writer.floats, *writer.integers, I1])
    right = writer.want(left.shape, left.element)
    mask = writer.want(left.shape, I1)
    writer.know(either(left, right, writer.value(ops.SELECT, mask, left, right)))


STATEMENTS = (
    *[
        Statement(declaration, _binary_integer(declaration))
        for declaration in (ops.ADDI, ops.SUBI, ops.MULI, ops.ANDI, ops.ORI, ops.XORI)
    ],
    *[Statement(declaration, _extreme(declaration)) for declaration in (ops.MAXI, ops.MINI)],
    *[Statement(declaration, _division(declaration)) for declaration in (ops.DIVI, ops.REMI)],
    *[Statement(declaration, _shift(declaration)) for declaration in (ops.SHLI, ops.SHRI)],
    *[Statement(declaration, _unary_integer(declaration)) for declaration in (ops.ABSI, ops.NEGI)],
    Statement(ops.MULHII, _high_half),
    Statement(ops.CMPI, _compare_integers),
    *[
        Statement(declaration, _float_operation(declaration, 2))
        for declaration in (ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF, ops.REMF)
    ],
    *[
        Statement(declaration, _float_operation(declaration, 1))
        for declaration in (ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT)
    ],
    Statement(ops.FMA, _float_operation(ops.FMA, 3)),
    *[Statement(declaration, _float_extreme(declaration)) for declaration in (ops.MAXF, ops.MINF)],
    Statement(ops.CMPF, _compare_floats),
    Statement(ops.SELECT, _select),
)
