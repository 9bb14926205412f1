"""Functions of integers and floats that take several instructions.

Shifts and divisions of integers: every amount and every divisor has a result.  Functions of the sign, exponent and
mantissa of a float: nextafter, frexp, ldexp.
"""

from __future__ import annotations

import numpy

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import (
    BOOL,
    DOUBLE,
    INT32,
    SINGLE,
    binary,
    cast,
    choose,
    compare,
    constant,
    convert,
    intrinsic,
    is_integer,
    is_machine_float,
    reinterpret,
    unsupported,
)
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import DType
from tileir.ir import floats

# Integers


def literal_integer(value: Register) -> int | None:
    """The number that an integer register holds in all lanes, where that is known."""
    text = value.name
    if text.startswith("splat ("):
        text = text[7:-1].split(" ", 1)[1]
    return int(text) if text.lstrip("-").isdigit() else None


def shift(builder: Builder, instruction: str, value: Register, amount: Register) -> Register:
    """shl, lshr or ashr; amounts are unsigned, and past the width everything is shifted out."""
    width = value.dtype.itemsize * 8
    known = literal_integer(amount)
    if known is not None and 0 <= known < width:
        return binary(builder, instruction, value, amount)
    if instruction == "ashr":
        return binary(builder, instruction, value, intrinsic(builder, "umin", [amount, constant(width - 1, amount)]))
    inside = compare(builder, "icmp ult", amount, constant(width, amount))
    return choose(builder, inside, binary(builder, instruction, value, amount), constant(0, value))


def left_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "shl", operands[0], operands[1])


def right_shift(builder: Builder, operands: list[Register]) -> Register:
    return shift(builder, "ashr" if operands[0].dtype.kind == "i" else "lshr", operands[0], operands[1])


def divide_integers(builder: Builder, left: Register, right: Register) -> tuple[Register, Register]:
    """The quotient towards zero, and where the divisor is zero.

    There, and where the quotient overflows, the divisor counts as 1.
    """
    is_signed = left.dtype.kind == "i"
    size = left.dtype.itemsize
    instruction = "sdiv" if is_signed else "udiv"
    known = literal_integer(right)
    if known is not None and known not in (0, -1):
        return binary(builder, instruction, left, right), constant(False, right, BOOL)
    by_zero = compare(builder, "icmp eq", right, constant(0, right))
    unsafe = by_zero
    if is_signed and size >= 4:
        least = compare(builder, "icmp eq", left, constant(-(1 << (size * 8 - 1)), left))
        overflow = binary(builder, "and", least, compare(builder, "icmp eq", right, constant(-1, right)))
        unsafe = binary(builder, "or", by_zero, overflow)
    safe = choose(builder, unsafe, constant(1, right), right)
    if size == 8 or (size == 4 and not left.width):
        return binary(builder, instruction, left, safe), by_zero
    # Vectors of integers have no division.  Quotients of integers miss the next integer by more than a unit in the last
    # place of a float with half as many bits again, so the float quotient truncates to the right one.
    form = DOUBLE if size == 4 else SINGLE
    wide = "sitofp" if is_signed else "uitofp"
    quotient = binary(builder, "fdiv", convert(builder, wide, left, form), convert(builder, wide, safe, form))
    if size == 4:
        return convert(builder, "fptosi" if is_signed else "fptoui", quotient, left.dtype), by_zero
    return convert(builder, "trunc", convert(builder, "fptosi", quotient, INT32), left.dtype), by_zero


def floor_divide(builder: Builder, operands: list[Register]) -> Register:
    left, right = operands
    if not is_integer(left.dtype):
        raise unsupported("floor_divide", left.dtype)
    quotient, by_zero = divide_integers(builder, left, right)
    if left.dtype.kind == "i":
        rest = binary(builder, "sub", left, binary(builder, "mul", quotient, right))
        zero = constant(0, left)
        opposite = compare(builder, "icmp slt", binary(builder, "xor", rest, right), zero)
        lower = binary(builder, "and", opposite, compare(builder, "icmp ne", rest, zero))
        quotient = binary(builder, "sub", quotient, cast(builder, lower, left.dtype))
    return choose(builder, by_zero, constant(0, left), quotient)


# Floats


def _form_of(value: Register, name: str) -> tuple[floats.FloatFormat, DType]:
    """The fields of float32 or float64, and the integers as wide."""
    if not is_machine_float(value.dtype):
        raise unsupported(name, value.dtype)
    return floats.F64 if value.dtype == DOUBLE else floats.F32, numpy.dtype(f"i{value.dtype.itemsize}")


def nextafter(builder: Builder, operands: list[Register]) -> Register:
    value, towards = operands
    _, integer = _form_of(value, "nextafter")
    pattern = reinterpret(builder, value, integer)
    zero = constant(0, value)
    one = constant(1, pattern)
    # Away from zero a pattern grows.
    up = compare(builder, "fcmp olt", value, towards)
    negative = compare(builder, "icmp slt", pattern, constant(0, pattern))
    grows = binary(builder, "xor", up, negative)
    step = choose(builder, grows, one, constant(-1, pattern))
    moved = binary(builder, "add", pattern, step)
    least = -(1 << (integer.itemsize * 8 - 1))
    sign = binary(builder, "and", reinterpret(builder, towards, integer), constant(least, pattern))
    moved = choose(builder, compare(builder, "fcmp oeq", value, zero), binary(builder, "or", sign, one), moved)
    result = reinterpret(builder, moved, value.dtype)
    result = choose(builder, compare(builder, "fcmp oeq", value, towards), towards, result)
    nan = compare(builder, "fcmp uno", value, towards)
    return choose(builder, nan, binary(builder, "fadd", value, towards), result)


def frexp(builder: Builder, operands: list[Register]) -> tuple[Register, ...]:
    """Magnitudes from 1/2 to 1 and int32 exponents; zeros, infinities and NaN have the exponent 0."""
    (value,) = operands
    form, integer = _form_of(value, "frexp")
    field_mask = form.infinity
    pattern = reinterpret(builder, value, integer)
    field = binary(builder, "and", pattern, constant(field_mask, pattern))
    subnormal = compare(builder, "icmp eq", field, constant(0, pattern))
    lift = form.mantissa_bits + 2
    lifted = reinterpret(builder, binary(builder, "fmul", value, constant(2.0**lift, value)), integer)
    pattern = choose(builder, subnormal, lifted, pattern)
    field = binary(builder, "and", pattern, constant(field_mask, pattern))
    exponent = binary(builder, "lshr", field, constant(form.mantissa_bits, pattern))
    down = choose(builder, subnormal, constant(form.bias - 1 + lift, pattern), constant(form.bias - 1, pattern))
    exponent = binary(builder, "sub", exponent, down)
    rest = binary(builder, "and", pattern, constant(~field_mask, pattern))
    half = binary(builder, "or", rest, constant((form.bias - 1) << form.mantissa_bits, pattern))
    regular = _is_regular(builder, value)
    mantissa = choose(builder, regular, reinterpret(builder, half, value.dtype), value)
    exponent = choose(builder, regular, exponent, constant(0, exponent))
    return mantissa, cast(builder, exponent, INT32)


def ldexp(builder: Builder, operands: list[Register]) -> Register:
    """Times a power of two, rounded once to nearest even where the result is subnormal."""
    value, power = operands
    form, integer = _form_of(value, "ldexp")
    mantissa, exponent = frexp(builder, [value])
    # Past these bounds nothing changes, and no sum below overflows.
    bound = 4 * form.bias
    power = intrinsic(builder, "smin", [power, constant(bound, power)])
    power = intrinsic(builder, "smax", [power, constant(-bound, power)])
    total = binary(builder, "add", cast(builder, power, integer), cast(builder, exponent, integer))
    least = 2 - form.bias
    over = compare(builder, "icmp sgt", total, constant(form.bias + 1, total))
    small = compare(builder, "icmp slt", total, constant(least, total))
    # What will be subnormal is made a normal number first, as many places higher; the last product rounds it.
    lift = 2 * form.mantissa_bits
    raised = intrinsic(builder, "smax", [binary(builder, "add", total, constant(lift, total)), constant(least, total)])
    place = choose(builder, small, raised, total)
    pattern = reinterpret(builder, mantissa, integer)
    field = binary(builder, "shl", place, constant(form.mantissa_bits, place))
    scaled = reinterpret(builder, binary(builder, "add", pattern, field), value.dtype)
    lowered = binary(builder, "fmul", scaled, constant(2.0**-lift, value))
    result = choose(builder, small, lowered, scaled)
    infinity = intrinsic(builder, "copysign", [constant(numpy.inf, value), value])
    result = choose(builder, over, infinity, result)
    return choose(builder, _is_regular(builder, value), result, value)


def _is_regular(builder: Builder, value: Register) -> Register:
    """Whether a float is neither zero nor infinite nor NaN."""
    magnitude = intrinsic(builder, "fabs", [value])
    finite = compare(builder, "fcmp olt", magnitude, constant(numpy.inf, value))
    return binary(builder, "and", finite, compare(builder, "fcmp une", value, constant(0, value)))
