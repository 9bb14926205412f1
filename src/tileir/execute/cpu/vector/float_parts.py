"""Functions of the sign, exponent and mantissa of a float: nextafter, frexp, ldexp."""

from __future__ import annotations

import numpy

from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import (
    DOUBLE,
    HALF,
    INT32,
    binary,
    cast,
    choose,
    compare,
    constant,
    intrinsic,
    is_machine_float,
    reinterpret,
    to_single,
    unsupported,
)
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import DType


class _Layout:
    """The fields of float32 and float64."""

    def __init__(self, dtype: DType) -> None:
        is_double = dtype == DOUBLE
        self.integer: DType = numpy.dtype(numpy.int64 if is_double else numpy.int32)
        self.mantissa: int = 52 if is_double else 23
        self.bias: int = 1023 if is_double else 127
        self.exponent_field: int = 2047 if is_double else 255


def _layout(value: Register, name: str) -> _Layout:
    if not is_machine_float(value.dtype):
        raise unsupported(name, value.dtype)
    return _Layout(value.dtype)


def nextafter(builder: Builder, operands: list[Register]) -> Register:
    value, towards = operands
    layout = _layout(value, "nextafter")
    integer = layout.integer
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
    if value.dtype == HALF:
        mantissa, exponent = frexp(builder, [to_single(builder, value)])
        return cast(builder, mantissa, HALF), exponent
    layout = _layout(value, "frexp")
    integer = layout.integer
    field_mask = layout.exponent_field << layout.mantissa
    pattern = reinterpret(builder, value, integer)
    field = binary(builder, "and", pattern, constant(field_mask, pattern))
    subnormal = compare(builder, "icmp eq", field, constant(0, pattern))
    lift = layout.mantissa + 2
    lifted = reinterpret(builder, binary(builder, "fmul", value, constant(2.0**lift, value)), integer)
    pattern = choose(builder, subnormal, lifted, pattern)
    field = binary(builder, "and", pattern, constant(field_mask, pattern))
    exponent = binary(builder, "lshr", field, constant(layout.mantissa, pattern))
    down = choose(builder, subnormal, constant(layout.bias - 1 + lift, pattern), constant(layout.bias - 1, pattern))
    exponent = binary(builder, "sub", exponent, down)
    rest = binary(builder, "and", pattern, constant(~field_mask, pattern))
    half = binary(builder, "or", rest, constant((layout.bias - 1) << layout.mantissa, pattern))
    magnitude = intrinsic(builder, "fabs", [value])
    finite = compare(builder, "fcmp olt", magnitude, constant(numpy.inf, value))
    regular = binary(builder, "and", finite, compare(builder, "fcmp une", value, constant(0, value)))
    mantissa = choose(builder, regular, reinterpret(builder, half, value.dtype), value)
    exponent = choose(builder, regular, exponent, constant(0, exponent))
    return mantissa, cast(builder, exponent, INT32)


def ldexp(builder: Builder, operands: list[Register]) -> Register:
    """Times a power of two, rounded once to nearest even where the result is subnormal."""
    value, power = operands
    if value.dtype == HALF:
        raise unsupported("ldexp", value.dtype)
    layout = _layout(value, "ldexp")
    integer = layout.integer
    mantissa, exponent = frexp(builder, [value])
    # Past these bounds nothing changes, and no sum below overflows.
    bound = 4 * layout.bias
    power = intrinsic(builder, "smin", [power, constant(bound, power)])
    power = intrinsic(builder, "smax", [power, constant(-bound, power)])
    total = binary(builder, "add", cast(builder, power, integer), cast(builder, exponent, integer))
    least = 2 - layout.bias
    over = compare(builder, "icmp sgt", total, constant(layout.bias + 1, total))
    small = compare(builder, "icmp slt", total, constant(least, total))
    # What will be subnormal is made a normal number first, as many places higher; the last product rounds it.
    lift = 2 * layout.mantissa
    raised = intrinsic(builder, "smax", [binary(builder, "add", total, constant(lift, total)), constant(least, total)])
    place = choose(builder, small, raised, total)
    pattern = reinterpret(builder, mantissa, integer)
    field = binary(builder, "shl", place, constant(layout.mantissa, place))
    scaled = reinterpret(builder, binary(builder, "add", pattern, field), value.dtype)
    lowered = binary(builder, "fmul", scaled, constant(2.0**-lift, value))
    result = choose(builder, small, lowered, scaled)
    infinity = intrinsic(builder, "copysign", [constant(numpy.inf, value), value])
    result = choose(builder, over, infinity, result)
    magnitude = intrinsic(builder, "fabs", [value])
    finite = compare(builder, "fcmp olt", magnitude, constant(numpy.inf, value))
    regular = binary(builder, "and", finite, compare(builder, "fcmp une", value, constant(0, value)))
    return choose(builder, regular, result, value)
