"""Lowering of integer arithmetic: two's complement, wrapping, with a result for every operand (docs/numerics.md).

LLVM may do anything where a divisor is zero or a shift is past the width, so such operands never reach it; where facts
rule them out, nothing is checked.  Promises about overflow are not passed on: they change no result.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

_BINARY: Final[dict[OperationDeclaration, str]] = {
    ops.ADDI: "arith.addi",
    ops.SUBI: "arith.subi",
    ops.MULI: "arith.muli",
    ops.ANDI: "arith.andi",
    ops.ORI: "arith.ori",
    ops.XORI: "arith.xori",
}
_FULL_PRODUCTS: Final = (32, 64)
"""The widths that Triton has the high half of a product for."""


def lower_binary(lowering: Lowering, operation: Operation) -> None:
    """Those that do not tell signed from unsigned."""
    left, right = lowering.operands(operation)
    lowering.result(operation, lowering.build.binary(_BINARY[operation.declaration], left, right))


def lower_extremum(lowering: Lowering, operation: Operation) -> None:
    """maxi, mini."""
    left, right = lowering.operands(operation)
    name = "max" if operation.declaration is ops.MAXI else "min"
    is_signed = operation.signedness == "signed"
    if left.element == "i1":
        # Signed, true is -1 and below false.
        wanted = "arith.andi" if (name == "max") == is_signed else "arith.ori"
    else:
        wanted = f"arith.{name}{'si' if is_signed else 'ui'}"
    lowering.result(operation, lowering.build.binary(wanted, left, right))


def lower_high_product(lowering: Lowering, operation: Operation) -> None:
    """mulhii: the high half of the unsigned product."""
    build = lowering.build
    left, right = lowering.operands(operation)
    width = left.bits
    if width == 1:
        result = build.integer(0, "i1", left.shape)
    elif width in _FULL_PRODUCTS:
        result = build.binary("tt.mulhiui", left, right)
    else:
        wide = [build.convert("arith.extui", value, "i32") for value in (left, right)]
        product = build.immediate("arith.shrui", build.binary("arith.muli", *wide), width)
        result = build.convert("arith.trunci", product, left.element)
    lowering.result(operation, result)


def lower_negation(lowering: Lowering, operation: Operation) -> None:
    """negi, absi; of the least value it is itself, and so it is of a single bit."""
    build = lowering.build
    value = lowering.value(operation.operands[0])
    if value.element == "i1":
        lowering.result(operation, value)
        return
    negative = build.binary("arith.subi", build.integer(0, value.element, value.shape), value)
    if operation.declaration is ops.ABSI:
        negative = build.binary("arith.maxsi", value, negative)
    lowering.result(operation, negative)


# --- shifts ---


def lower_shift(lowering: Lowering, operation: Operation) -> None:
    """shli, shri: past the width there is nothing left but copies of the sign."""
    build = lowering.build
    value, amount = lowering.operands(operation)
    is_signed = operation.keyword("signedness") == "signed"
    if value.element == "i1":
        kept = build.immediate("arith.xori", amount, 1)
        lowering.result(operation, value if is_signed else build.binary("arith.andi", value, kept))
        return
    name = "arith.shli" if operation.declaration is ops.SHLI else "arith.shrsi" if is_signed else "arith.shrui"
    width = value.bits
    most = width - 1
    if lowering.facts.range(operation.operands[1], signed=False)[1] <= most:
        lowering.result(operation, build.binary(name, value, amount))
    elif is_signed:
        limit = build.integer(most, amount.element, amount.shape)
        lowering.result(operation, build.binary(name, value, build.binary("arith.minui", amount, limit)))
    else:
        shifted = build.binary(name, value, build.immediate("arith.andi", amount, most))
        is_within = build.compare("ule", amount, build.integer(most, amount.element, amount.shape))
        zero = build.integer(0, value.element, value.shape)
        lowering.result(operation, build.select(is_within, shifted, zero))


# --- division ---


class _Operands:
    """A dividend and a divisor that LLVM may divide: 1 in place of what it may not be divided by."""

    def __init__(self, lowering: Lowering, operation: Operation) -> None:
        build = lowering.build
        facts = lowering.facts
        self.dividend, divisor = lowering.operands(operation)
        self.is_signed: bool = operation.signedness == "signed"
        element, shape = divisor.element, divisor.shape
        least, greatest = facts.range(operation.operands[1], signed=self.is_signed)
        lowest = facts.range(operation.operands[0], signed=self.is_signed)[0]
        smallest = -(1 << (divisor.bits - 1))
        one = build.integer(1, element, shape)
        self.is_zero: TtirValue | None = None
        """Where the divisor is zero; None if it is nowhere."""
        if least <= 0 <= greatest:
            self.is_zero = build.compare("eq", divisor, build.integer(0, element, shape))
            divisor = build.select(self.is_zero, one, divisor)
        if self.is_signed and least <= -1 <= greatest and lowest == smallest:
            # The least value is its own negative.
            is_least = build.compare("eq", self.dividend, build.integer(smallest, element, shape))
            is_minus_one = build.compare("eq", divisor, build.integer(-1, element, shape))
            divisor = build.select(build.binary("arith.andi", is_least, is_minus_one), one, divisor)
        self.divisor: TtirValue = divisor
        # Unsigned division takes less, and is the same where both are not negative.
        self.letter: str = "s" if self.is_signed and (least < 0 or lowest < 0) else "u"


def lower_division(lowering: Lowering, operation: Operation) -> None:
    """divi: by zero it is 0."""
    build = lowering.build
    if lowering.value(operation.operands[0]).element == "i1":
        # By true it is itself: -1 / -1 is 1, of which a bit remains.
        lowering.result(operation, build.binary("arith.andi", *lowering.operands(operation)))
        return
    operands = _Operands(lowering, operation)
    quotient = build.binary(f"arith.div{operands.letter}i", operands.dividend, operands.divisor)
    rounding = operation.rounding
    if rounding == "positive_inf" or (rounding == "negative_inf" and operands.letter == "s"):
        quotient = _rounded(lowering, operands, quotient, rounding)
    if operands.is_zero is not None:
        zero = build.integer(0, quotient.element, quotient.shape)
        quotient = build.select(operands.is_zero, zero, quotient)
    lowering.result(operation, quotient)


def _rounded(lowering: Lowering, operands: _Operands, quotient: TtirValue, rounding: str) -> TtirValue:
    """A quotient that was rounded towards zero, one more or less where something is left."""
    build = lowering.build
    zero = build.integer(0, quotient.element, quotient.shape)
    product = build.binary("arith.muli", quotient, operands.divisor)
    rest = build.binary("arith.subi", operands.dividend, product)
    moves = build.compare("ne", rest, zero)
    if operands.letter == "s":
        # The exact quotient is positive where the signs are the same.
        signs = build.binary("arith.xori", rest, operands.divisor)
        side = build.compare("slt" if rounding == "negative_inf" else "sge", signs, zero)
        moves = build.binary("arith.andi", moves, side)
    step = build.convert("arith.extui", moves, quotient.element)
    return build.binary("arith.subi" if rounding == "negative_inf" else "arith.addi", quotient, step)


def lower_remainder(lowering: Lowering, operation: Operation) -> None:
    """remi: by zero it is the dividend."""
    build = lowering.build
    if lowering.value(operation.operands[0]).element == "i1":
        value, divisor = lowering.operands(operation)
        kept = build.immediate("arith.xori", divisor, 1)
        lowering.result(operation, build.binary("arith.andi", value, kept))
        return
    operands = _Operands(lowering, operation)
    rest = build.binary(f"arith.rem{operands.letter}i", operands.dividend, operands.divisor)
    if operands.is_zero is not None:
        rest = build.select(operands.is_zero, operands.dividend, rest)
    lowering.result(operation, rest)
