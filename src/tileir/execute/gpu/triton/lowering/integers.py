"""Lowering of integer arithmetic: two's complement, wrapping, with a result for every operand (docs/numerics.md).

LLVM may do anything where a divisor is zero or a shift is past the width, so such operands never reach it; where facts
rule them out, nothing is checked.  Promises about overflow are not passed on: they change no result.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir.core import Operation

PREDICATES: Final = {
    "equal": "eq",
    "not_equal": "ne",
    "less_than": "lt",
    "less_than_or_equal": "le",
    "greater_than": "gt",
    "greater_than_or_equal": "ge",
}
_FULL_PRODUCTS: Final = (32, 64)
"""The widths that Triton has the high half of a product for."""


def binary(build: Lowering, operation: Operation, name: str, left: TtirValue, right: TtirValue) -> TtirValue:
    """Those that do not tell signed from unsigned."""
    return build.apply(name, left, right)


def extremum(
    build: Lowering, operation: Operation, signed: str, unsigned: str, left: TtirValue, right: TtirValue
) -> TtirValue:
    name = signed if operation.signedness == "signed" else unsigned
    if left.element == "i1":
        # Signed, true is -1 and below false.
        name = "arith.andi" if name in ("arith.maxsi", "arith.minui") else "arith.ori"
    return build.apply(name, left, right)


def comparison(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    predicate = PREDICATES[operation.comparison_predicate]
    if predicate not in ("eq", "ne"):
        predicate = ("s" if operation.signedness == "signed" else "u") + predicate
    return build.compare(predicate, left, right)


def high_product(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    """The high half of the unsigned product."""
    width = left.bits
    if width == 1:
        return build.integer(0, "i1", left.shape)
    if width in _FULL_PRODUCTS:
        return build.apply("tt.mulhiui", left, right)
    wide = [build.convert("arith.extui", value, "i32") for value in (left, right)]
    product = build.apply("arith.shrui", build.apply("arith.muli", *wide), width)
    return build.convert("arith.trunci", product, left.element)


def negation(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    """Of the least value it is itself, and so it is of a single bit."""
    if value.element == "i1":
        return value
    return build.apply("arith.subi", build.integer(0, value.element, value.shape), value)


def magnitude(build: Lowering, operation: Operation, value: TtirValue) -> TtirValue:
    if value.element == "i1":
        return value
    return build.apply("arith.maxsi", value, negation(build, operation, value))


# --- shifts ---


def shift(
    build: Lowering, operation: Operation, signed: str, unsigned: str, value: TtirValue, amount: TtirValue
) -> TtirValue:
    """Past the width there is nothing left but copies of the sign."""
    is_signed = operation.keyword("signedness") == "signed"
    if value.element == "i1":
        kept = build.apply("arith.xori", amount, 1)
        return value if is_signed else build.apply("arith.andi", value, kept)
    name = signed if is_signed else unsigned
    most = value.bits - 1
    if build.facts.range(operation.operands[1], signed=False)[1] <= most:
        return build.apply(name, value, amount)
    if is_signed:
        limit = build.integer(most, amount.element, amount.shape)
        return build.apply(name, value, build.apply("arith.minui", amount, limit))
    shifted = build.apply(name, value, build.apply("arith.andi", amount, most))
    is_within = build.compare("ule", amount, most)
    return build.select(is_within, shifted, build.integer(0, value.element, value.shape))


# --- division ---


class _Operands:
    """A dividend and a divisor that LLVM may divide: 1 in place of what it may not be divided by."""

    def __init__(self, build: Lowering, operation: Operation) -> None:
        facts = build.facts
        self.dividend, divisor = build.operands(operation)
        self.is_signed: bool = operation.signedness == "signed"
        element, shape = divisor.element, divisor.shape
        least, greatest = facts.range(operation.operands[1], signed=self.is_signed)
        lowest = facts.range(operation.operands[0], signed=self.is_signed)[0]
        smallest = -(1 << (divisor.bits - 1))
        one = build.integer(1, element, shape)
        self.is_zero: TtirValue | None = None
        """Where the divisor is zero; None if it is nowhere."""
        if least <= 0 <= greatest:
            self.is_zero = build.compare("eq", divisor, 0)
            divisor = build.select(self.is_zero, one, divisor)
        if self.is_signed and least <= -1 <= greatest and lowest == smallest:
            # The least value is its own negative.
            is_least = build.compare("eq", self.dividend, smallest)
            is_minus_one = build.compare("eq", divisor, -1)
            divisor = build.select(build.apply("arith.andi", is_least, is_minus_one), one, divisor)
        self.divisor: TtirValue = divisor
        # Unsigned division takes less, and is the same where both are not negative.
        self.letter: str = "s" if self.is_signed and (least < 0 or lowest < 0) else "u"


def division(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    """By zero it is 0."""
    if left.element == "i1":
        # By true it is itself: -1 / -1 is 1, of which a bit remains.
        return build.apply("arith.andi", left, right)
    operands = _Operands(build, operation)
    quotient = build.apply(f"arith.div{operands.letter}i", operands.dividend, operands.divisor)
    rounding = operation.rounding
    if rounding == "positive_inf" or (rounding == "negative_inf" and operands.letter == "s"):
        quotient = _rounded(build, operands, quotient, rounding)
    if operands.is_zero is not None:
        zero = build.integer(0, quotient.element, quotient.shape)
        quotient = build.select(operands.is_zero, zero, quotient)
    return quotient


def _rounded(build: Lowering, operands: _Operands, quotient: TtirValue, rounding: str) -> TtirValue:
    """A quotient that was rounded towards zero, one more or less where something is left."""
    zero = build.integer(0, quotient.element, quotient.shape)
    product = build.apply("arith.muli", quotient, operands.divisor)
    rest = build.apply("arith.subi", operands.dividend, product)
    moves = build.compare("ne", rest, zero)
    if operands.letter == "s":
        # The exact quotient is positive where the signs are the same.
        signs = build.apply("arith.xori", rest, operands.divisor)
        side = build.compare("slt" if rounding == "negative_inf" else "sge", signs, zero)
        moves = build.apply("arith.andi", moves, side)
    step = build.convert("arith.extui", moves, quotient.element)
    return build.apply("arith.subi" if rounding == "negative_inf" else "arith.addi", quotient, step)


def remainder(build: Lowering, operation: Operation, left: TtirValue, right: TtirValue) -> TtirValue:
    """By zero it is the dividend."""
    if left.element == "i1":
        return build.apply("arith.andi", left, build.apply("arith.xori", right, 1))
    operands = _Operands(build, operation)
    rest = build.apply(f"arith.rem{operands.letter}i", operands.dividend, operands.divisor)
    if operands.is_zero is not None:
        rest = build.select(operands.is_zero, operands.dividend, rest)
    return rest
