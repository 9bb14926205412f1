"""Rounding a double to a narrower format, once and in any mode.

An exact result is held as a double `hi`, the exact result rounded to nearest, and a double `low` whose sign is the sign
of what `hi` leaves out.  `to_odd` folds the two into one double rounded to odd: inexact results get an odd last bit.
Rounding such a double again, to a format with at least two bits less, equals rounding the exact result, in every mode
and in the subnormal range too (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
using rounding to odd", 2008).  All formats but f64 have at most 24 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy

from tileir.execute.dtypes import Array, tf32_numbers, value_dtype
from tileir.ir import floats
from tileir.ir.floats import FloatFormat
from tileir.ir.types import BF16, F4E2M1FN, F8E8M0FNU, F16, F32, F64, FNV8E5M3FNU, TF32, FloatType

Unary: TypeAlias = Callable[[Any], Any]
Binary: TypeAlias = Callable[[Any, Any], Any]
Ternary: TypeAlias = Callable[[Any, Any, Any], Any]

NEAREST_EVEN: Final = "nearest_even"
ZERO: Final = "zero"
NEGATIVE_INF: Final = "negative_inf"
POSITIVE_INF: Final = "positive_inf"
NEAREST_AWAY: Final = "nearest_away"
IEEE_MODES: Final = (NEAREST_EVEN, ZERO, NEGATIVE_INF, POSITIVE_INF)

_EXPONENT_MASK: Final = numpy.int64(0x7FF0000000000000)
_SPLITTER: Final = 134217729.0  # 2**27 + 1: multiplying by it splits a double into two halves of 26 bits (Veltkamp)


def ieee_mode(rounding: str) -> str:
    """The mode an operation computes in: `approx` and `full` allow any result near enough, nearest even among them."""
    if rounding in IEEE_MODES:
        return rounding
    if rounding in ("approx", "full"):
        return NEAREST_EVEN
    raise ValueError(f"rounding mode '{rounding}' does not round floats")


def float_format(element: FloatType) -> FloatFormat:
    return floats.FORMATS[element.name]


def as_array(value: Any) -> Any:
    """A NumPy scalar as a 0-D array, which items can be assigned to; anything else, such as a tracer, as it is."""
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def take(table: Array, index: Any) -> Any:
    """The elements of a constant table at indices.  NumPy cannot index by a tracer, so a tracer does the lookup."""
    look_up = getattr(index, "look_up", None)
    return table.take(index) if look_up is None else look_up(table)


def any_beyond(x: Any, limit: Any) -> bool:
    """Whether a float32 is farther from zero than a limit, or NaN.  A tracer emits one test for several vectors."""
    test = getattr(x, "any_beyond", None)
    return bool(numpy.count_nonzero(~(numpy.abs(x) <= limit)) if test is None else test(limit))


def without_subnormals(x: Any) -> Any:
    """The same numbers; a tracer records that none of them is subnormal."""
    mark = getattr(x, "without_subnormals", None)
    return x if mark is None else mark()


def through_double(function: Callable[..., Any], element: FloatType, down: Unary) -> Callable[..., Any]:
    """A kernel of an element type from a function of doubles: operands are widened, `down` rounds the result."""
    up = widen(element)
    return lambda *operands: down(function(*[up(operand) for operand in operands]))


# Error-free transformations


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """`s + e == a + b` exactly, barring overflow (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """`p + e == a * b` exactly for magnitudes far from overflow and underflow (Dekker)."""
    product = a * b
    c = _SPLITTER * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = _SPLITTER * b
    b_high = c - (c - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def to_odd(high: Any, low: Any) -> Any:
    """`high + low` rounded to odd; `low` is below half a unit of `high`, NaN counts as zero."""
    toward = high * low
    bits = high.view(numpy.int64)
    side = (toward > 0).view(numpy.int8) - (toward < 0).view(numpy.int8)
    # An even pattern gets its odd neighbor on the side of `low`.
    return numpy.add(bits, numpy.multiply(numpy.bitwise_and(~bits, 1), side)).view(numpy.float64)


# Widening


@cache
def value_table(element: FloatType) -> Array:
    """The value of each bit pattern of a format of at most eight bits."""
    form = float_format(element)
    return numpy.array([floats.to_double(form, bits) for bits in range(1 << form.width)])


@cache
def single_table(element: FloatType) -> Array:
    """The same as float32, and for f16 too: looking it up is three times as fast as NumPy's cast.  NaNs are quiet."""
    if element is not F16:
        return value_table(element).astype(numpy.float32)
    with numpy.errstate(invalid="ignore"):
        table = numpy.arange(1 << 16, dtype=numpy.uint16).view(numpy.float16).astype(numpy.float32)
    table.view(numpy.uint32)[numpy.isnan(table)] |= numpy.uint32(0x00400000)
    return table


def identity(array: Any) -> Any:
    return array


def widen(element: FloatType) -> Unary:
    """The function that converts an element type to double, exactly."""
    if element is F64:
        return identity
    if element is F16:
        return lambda array: array.astype(numpy.float64)
    if element in (F32, TF32, BF16):
        up = widen_single(element)
        return lambda array: up(array).astype(numpy.float64)
    table = value_table(element)
    return lambda array: take(table, array.view(numpy.uint8))


def widen_single(element: FloatType) -> Unary:
    """The function that converts an element type of at most 24 bits to float32."""
    if element is F32:
        return identity
    if element is TF32:
        return tf32_numbers
    if element is BF16:
        return _as_single
    table, bits = single_table(element), numpy.uint16 if element is F16 else numpy.uint8
    return lambda array: take(table, array.view(bits))


def _as_single(array: Any) -> Any:
    return array.astype(numpy.float32)


# Narrowing


def _round_away(array: Any) -> Any:
    whole = numpy.trunc(array)
    # Adding a half first would round twice.
    return whole + numpy.copysign((numpy.abs(array - whole) >= 0.5).astype(numpy.float64), array)


_INTEGRAL: Final[dict[str, Unary]] = {
    NEAREST_EVEN: numpy.rint,
    ZERO: numpy.trunc,
    NEGATIVE_INF: numpy.floor,
    POSITIVE_INF: numpy.ceil,
    NEAREST_AWAY: _round_away,
}


def quantize(element: FloatType, rounding: str) -> Unary:
    """Doubles to doubles that the format holds, or infinity where they overflow; NaN stays."""
    form = float_format(element)
    if rounding not in _INTEGRAL:
        raise ValueError(f"rounding mode '{rounding}' does not round floats")
    integral = _INTEGRAL[rounding]
    smallest_power = 2.0**form.minimum_exponent
    largest = floats.to_double(form, form.largest)
    unit = 2.0 ** (1 - form.precision)
    # Just above `largest`, and small enough for the division below.
    limit = 2.0 ** (form.bias + 3)
    keep_positive = rounding in (ZERO, NEGATIVE_INF)
    keep_negative = rounding in (ZERO, POSITIVE_INF)

    def round_to_format(array: Any) -> Any:
        clipped = numpy.minimum(numpy.maximum(array, -limit), limit)
        # The power of two below each magnitude, at least the smallest normalized one, determines the last place.
        power = numpy.bitwise_and(clipped.view(numpy.int64), _EXPONENT_MASK).view(numpy.float64)
        quantum = numpy.maximum(power, smallest_power) * unit
        result = integral(clipped / quantum) * quantum
        over = numpy.abs(result) > largest
        if not numpy.count_nonzero(over):
            return result
        bound = numpy.where(array > 0, largest if keep_positive else numpy.inf, numpy.inf)
        bound = numpy.where(array < 0, -largest if keep_negative else -numpy.inf, bound)
        return numpy.where(over, numpy.where(numpy.isinf(array), array, bound), result)

    return round_to_format


def narrow(element: FloatType, rounding: str = NEAREST_EVEN) -> Unary:
    """The kernel that rounds doubles to values of an element type, once.

    Too large values follow `tileir.ir.floats`: infinity, else NaN, else the largest value; a mode that rounds toward
    zero stops at the largest value.  The unsigned formats round values below zero to NaN; f8E8M0FNU has no zero and
    rounds it to its smallest value; f4E2M1FN has no NaN and rounds it to its largest value, as NVIDIA's conversion
    instructions do.
    """
    encoder = encode_exact(element)
    if element is F64 or (rounding == NEAREST_EVEN and element in (F32, F16)):
        return encoder
    rounder = quantize(element, rounding)
    return lambda array: encoder(rounder(array))


def encode_exact(element: FloatType) -> Unary:
    """Doubles that the format holds, infinities and NaN, to values."""
    dtype = value_dtype(element)
    if element is F64:
        return identity
    if element is F32:
        return _as_single
    if element is F16:
        return lambda array: array.astype(numpy.float16)
    if element is F4E2M1FN:
        return lambda array: numpy.where(numpy.isnan(array), 6.0, array).astype(numpy.float32).astype(dtype)
    found = {TF32: _encode_tf32, F8E8M0FNU: _encode_power, FNV8E5M3FNU: _encode_unsigned_eight}.get(element)
    return found or (lambda array: array.astype(numpy.float32).astype(dtype))


def _encode_tf32(array: Any) -> Any:
    """tf32 in the high bits of a float32: the payload of a NaN would fill the low ones."""
    single = array.astype(numpy.float32)
    nan = numpy.isnan(single)
    return numpy.where(nan, numpy.float32(numpy.nan), single) if numpy.count_nonzero(nan) else single


def _encode_power(array: Any) -> Any:
    """f8E8M0FNU: the biased exponent; zero becomes the smallest value, what is no finite power of two NaN."""
    field = numpy.right_shift(array.view(numpy.int64), 52) - (1023 - 127)
    field = numpy.where(array == 0, 0, numpy.where((array > 0) & numpy.isfinite(array), field, 255))
    return field.astype(numpy.uint8).view(value_dtype(F8E8M0FNU))


def _encode_unsigned_eight(array: Any) -> Any:
    """fnv8E5M3FNU: last places above the smallest normalized value make the pattern, eight to a power of two."""
    regular = (array >= 0) & numpy.isfinite(array)
    safe = numpy.where(regular, array, 0.0)
    power = numpy.bitwise_and(safe.view(numpy.int64), _EXPONENT_MASK).view(numpy.float64)
    power = numpy.maximum(power, 2.0**-14)
    exponent = numpy.right_shift(power.view(numpy.int64), 52) - 1023
    pattern = (safe / power * 8.0).astype(numpy.int64) + 8 * (exponent + 14)
    return numpy.where(regular, pattern, 255).astype(numpy.uint8)


# Flushing: f32 alone has operations with `flush_to_zero`

_SMALLEST_NORMAL_SINGLE: Final = numpy.float32(2.0**-126)
RAISED: Final = numpy.float32(2.0**64)
"""What operands are multiplied with to see a result that is rounded to 24 bits whatever its exponent is."""
_SMALLEST_NORMAL_RAISED: Final = numpy.float32(2.0**-62)


def flush_single(array: Any) -> Any:
    """float32 with subnormal values replaced by zeros of the same sign."""
    # NaN is not below, and the product of a subnormal with zero keeps the sign.
    return array * (numpy.abs(array) >= _SMALLEST_NORMAL_SINGLE).astype(numpy.float32)


def flush_tiny(result: Any, raised: Any) -> Any:
    """A result with a zero of the same sign where it is tiny after rounding, as on GPUs: below the smallest normal
    number when it is rounded to 24 bits with an unbounded exponent, even if rounding in range makes it that number.

    `raised` is the same result of operands times `RAISED`: what is tiny is a normal number there.  Where a raised
    operand overflows, `raised` is infinite or NaN, and the result is not tiny, but zero or far above: no operand is a
    subnormal number, so with a multiplier, dividend or addend of 2**64 an exact result has no bit below 2**-108.
    """
    return result * numpy.logical_not(numpy.abs(raised) < _SMALLEST_NORMAL_RAISED).astype(numpy.float32)
