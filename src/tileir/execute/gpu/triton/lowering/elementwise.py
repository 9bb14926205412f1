"""How each elementwise operation is lowered: one line for each, and the rules for integers.

A line names the rule, `rule(build, operation, *names, *operands)`, and the names that it takes of TTIR, PTX or the
library; it serves tiles, scalars, and regions of reductions and scans.  Integers wrap, with a result for every operand
(docs/reference/numerics.md): LLVM never gets a zero divisor or a shift past the width; facts that rule them out save
the check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering import conversions, floats
from tileir.execute.gpu.triton.lowering.context import Handler, Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import PREDICATES, TtirValue
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

_FULL_PRODUCTS: Final = (32, 64)


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
    return build.select(is_within, shifted, 0)


class _Operands:
    """A dividend and a divisor that LLVM may divide: another in place of what it may not be divided by."""

    def __init__(self, build: Lowering, operation: Operation, stand_in: int = 1) -> None:
        facts = build.facts
        self.dividend, divisor = build.operands(operation)
        self.is_signed: bool = operation.signedness == "signed"
        element, shape = divisor.element, divisor.shape
        least, greatest = facts.range(operation.operands[1], signed=self.is_signed)
        lowest = facts.range(operation.operands[0], signed=self.is_signed)[0]
        smallest = -(1 << (divisor.bits - 1))
        one = build.integer(1, element, shape)
        self.is_zero: TtirValue | None = None  # Where the divisor is zero; None if it is nowhere.
        if least <= 0 <= greatest:
            self.is_zero = build.compare("eq", divisor, 0)
            divisor = build.select(self.is_zero, build.integer(stand_in, element, shape), divisor)
        self.is_even: bool = facts.divisor(operation.operands[1]) > 1
        if self.is_signed and least <= -1 <= greatest and lowest == smallest and not self.is_even:
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
    """A quotient that was rounded toward zero, one more or less where something is left."""
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
    """By zero it is the dividend.

    A signed one is divided by the smallest number then, which leaves a rest of all numbers but itself: a choice behind
    the division would keep Triton from seeing that x % n counts up as x does where n is a multiple of 16.
    """
    if left.element == "i1":
        return build.apply("arith.andi", left, build.apply("arith.xori", right, 1))
    smallest = -(1 << (left.bits - 1))
    operands = _Operands(build, operation, stand_in=smallest)
    rest = build.apply(f"arith.rem{operands.letter}i", operands.dividend, operands.divisor)
    if operands.is_zero is not None and not (operands.is_signed and operands.is_even):
        rest = build.select(operands.is_zero, operands.dividend, rest)
    return rest


def by(rule: Callable[..., TtirValue] | str, *names: str) -> Handler:
    """A handler whose result is that of a rule, or of one operation of TTIR."""

    def lower(build: Lowering, operation: Operation) -> None:
        values = build.operands(operation)
        made = build.apply(rule, *values) if isinstance(rule, str) else rule(build, operation, *names, *values)
        build.result(operation, made)

    return lower


ELEMENTWISE: Final[dict[OperationDeclaration, Handler]] = {
    # Integers, with operations of TTIR, where there are two the signed one first.
    ops.ADDI: by("arith.addi"),
    ops.SUBI: by("arith.subi"),
    ops.MULI: by("arith.muli"),
    ops.ANDI: by("arith.andi"),
    ops.ORI: by("arith.ori"),
    ops.XORI: by("arith.xori"),
    ops.MAXI: by(extremum, "arith.maxsi", "arith.maxui"),
    ops.MINI: by(extremum, "arith.minsi", "arith.minui"),
    ops.SHLI: by(shift, "arith.shli", "arith.shli"),
    ops.SHRI: by(shift, "arith.shrsi", "arith.shrui"),
    ops.NEGI: by(negation),
    ops.ABSI: by(magnitude),
    ops.MULHII: by(high_product),
    ops.DIVI: by(division),
    ops.REMI: by(remainder),
    ops.CMPI: by(comparison),
    # Floats, with mnemonics of PTX.
    ops.ADDF: by(floats.arithmetic, "add"),
    ops.SUBF: by(floats.arithmetic, "sub"),
    ops.MULF: by(floats.arithmetic, "mul"),
    ops.DIVF: by(floats.arithmetic, "div"),
    ops.FMA: by(floats.arithmetic, "fma"),
    ops.SQRT: by(floats.arithmetic, "sqrt"),
    ops.MAXF: by(floats.extremum, "max"),
    ops.MINF: by(floats.extremum, "min"),
    ops.ABSF: by(floats.of_sign, "arith.andi"),
    ops.NEGF: by(floats.of_sign, "arith.xori"),
    ops.CEIL: by(floats.integral, "math.ceil"),
    ops.FLOOR: by(floats.integral, "math.floor"),
    ops.REMF: by(floats.remainder),
    ops.CMPF: by(floats.comparison),
    ops.SELECT: by(lambda build, operation, *values: build.select(*values)),
    # Functions: the library's name, PTX for approximations in f32, PTX for f32 where it is accurate enough.
    ops.EXP: by(floats.function, "exp", "ex2.approx{ftz}.f32", ""),
    ops.LOG: by(floats.function, "log", "lg2.approx{ftz}.f32", ""),
    ops.EXP2: by(floats.function, "exp2", "ex2.approx{ftz}.f32", "ex2.approx{ftz}.f32"),
    ops.RSQRT: by(floats.function, "rsqrt", "rsqrt.approx{ftz}.f32", "rsqrt.approx{ftz}.f32"),
    ops.LOG2: by(floats.function, "log2", "lg2.approx{ftz}.f32", ""),
    ops.SIN: by(floats.function, "sin", "sin.approx{ftz}.f32", ""),
    ops.COS: by(floats.function, "cos", "cos.approx{ftz}.f32", ""),
    ops.TANH: by(floats.function, "tanh", "tanh.approx.f32", ""),
    ops.TAN: by(floats.function, "tan", "", ""),
    ops.SINH: by(floats.function, "sinh", "", ""),
    ops.COSH: by(floats.function, "cosh", "", ""),
    ops.POW: by(floats.function, "pow", "", ""),
    ops.ATAN2: by(floats.function, "atan2", "", ""),
    ops.FPOWI: by(floats.integer_power),
    # Conversions.
    ops.EXTI: by(conversions.extension),
    ops.TRUNCI: by(conversions.truncation),
    ops.FTOF: by(conversions.float_to_float),
    ops.ITOF: by(conversions.integer_to_float),
    ops.FTOI: by(conversions.float_to_integer),
    ops.BITCAST: by(conversions.reinterpretation, "tt.bitcast"),
    ops.PTR_TO_PTR: by(conversions.reinterpretation, "tt.bitcast"),
    ops.INT_TO_PTR: by(conversions.reinterpretation, "tt.int_to_ptr"),
    ops.PTR_TO_INT: by(conversions.reinterpretation, "tt.ptr_to_int"),
}
