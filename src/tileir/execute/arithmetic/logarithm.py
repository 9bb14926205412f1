"""log, log2 and the power function of doubles.

`x = 2**k * m` with `m` between the roots of 1/2 and 2; with `s = (m - 1) / (m + 1)`, `log m = 2 atanh s`, a
polynomial in `s**2`.  `*_single` and `*_double` are as in `exponential`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.arithmetic.double import fast_two_sum, horner, quotient, widened
from tileir.execute.arithmetic.exponential import (
    DOUBLE_LIMIT,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    exp_of_pair,
    exp_single,
)
from tileir.execute.arithmetic.rounding import two_product

LOG2_E_REST: Final = float.fromhex("0x1.777d0ffda0d24p-56")
"""1 / ln 2 - LOG2_E."""
TWO_THIRDS_REST: Final = float.fromhex("0x1.5555555555555p-55")

# 2 atanh(s) / s in s**2 for m between the roots of 1/2 and 2, to 2**-44.
LOG_SINGLE: Final = (
    0.19608245305704075, 0.22174240003765905, 0.28572166372494656, 0.39999994889749985, 0.6666666667958581,
    1.9999999999999472,
)  # fmt: skip
# (2 atanh(s) - 2 s) / s**3 in s**2, to 2**-51; the square makes it 2**-58 of the logarithm.
LOG_DOUBLE: Final = (
    0.14616585424888623, 0.15331710618210773, 0.18182889455674947, 0.22222211130259878, 0.2857142862600327,
    0.39999999999899444, 0.666666666666667,
)  # fmt: skip
# (2 atanh(s) - 2 s - 2/3 s**3) / s**5 in s**2, to 2**-58.
LOG_POWER: Final = (
    0.11723178623876518, 0.11706236339491206, 0.1333480469384731, 0.1538459496251843, 0.18181818335392802,
    0.22222222221655885, 0.28571428571429364, 0.4,
)  # fmt: skip

_ONE: Final = 0x3FF0000000000000
_EXPONENT_MASK: Final = 0x7FF0000000000000
_BELOW_ONE: Final = _ONE - 0x3FE6A09E667F3BCD
"""From the pattern of the root of 1/2 to that of 1."""
_INTEGERS: Final = 0x4330000000000000
"""The pattern of 2**52: its low bits count ones."""
_SMALLEST_NORMAL: Final = 2.0**-1022


def _split(x: Any) -> tuple[Any, Any]:
    """`x = 2**k * m` as `(k, m - 1)`, for positive normalised doubles; harmless for the others."""
    bits = x.view(numpy.int64)
    biased = bits + _BELOW_ONE
    field = biased & _EXPONENT_MASK
    count = ((field >> 52) | _INTEGERS).view(numpy.float64) - (2.0**52 + 1023.0)
    return count, (bits - field + _ONE).view(numpy.float64) - 1.0


def _split_any(x: Any) -> tuple[Any, Any]:
    """The same for subnormal ones too."""
    tiny = x < _SMALLEST_NORMAL
    if numpy.count_nonzero(tiny):
        count, fraction = _split(numpy.where(tiny, x * 2.0**54, x))
        return numpy.where(tiny, count - 54.0, count), fraction
    return _split(x)


def _with_special_values(x: Any, result: Any) -> Any:
    """Minus infinity for zeros, NaN below, infinity and NaN as they are."""
    irregular = numpy.logical_not((x > 0.0) & (x < numpy.inf))
    if numpy.count_nonzero(irregular):
        special = numpy.where(x == 0.0, -numpy.inf, numpy.where(x < 0.0, numpy.nan, x + x))
        result = numpy.where(irregular, special, result)
    return result


# For types of at most 24 bits


def _log_mantissa_single(fraction: Any) -> Any:
    s = fraction / (fraction + 2.0)
    return s * horner(s * s, LOG_SINGLE)


def _log_single(x: Any) -> Any:
    count, fraction = _split(widened(x))
    # In this order: fused the other way, two arguments of f32 would change.
    return _log_mantissa_single(fraction) + count * LN2


def log_single(x: Any) -> Any:
    return _with_special_values(x, _log_single(x))


def log2_single(x: Any) -> Any:
    count, fraction = _split(widened(x))
    return _with_special_values(x, count + _log_mantissa_single(fraction) * LOG2_E)


# For f64


def _ratio(fraction: Any) -> tuple[Any, Any]:
    """`f / (2 + f)` as a pair."""
    divisor = 2.0 + fraction
    return quotient(fraction, 0.0, divisor, fraction - (divisor - 2.0))


def _log_mantissa_double(fraction: Any) -> tuple[Any, Any]:
    """The logarithm of `1 + fraction` as a pair good for 60 bits."""
    s, rest = _ratio(fraction)
    square = s * s
    return 2.0 * s, 2.0 * rest + s * square * horner(square, LOG_DOUBLE)


def log_double(x: Any) -> Any:
    count, fraction = _split_any(x)
    high, low = _log_mantissa_double(fraction)
    total, rest = fast_two_sum(count * LN2_HIGH, high)
    return _with_special_values(x, total + (rest + (count * LN2_LOW + low)))


def log2_double(x: Any) -> Any:
    count, fraction = _split_any(x)
    high, low = _log_mantissa_double(fraction)
    product, error = two_product(high, LOG2_E)
    total, rest = fast_two_sum(count, product)
    return _with_special_values(x, total + (rest + (error + (high * LOG2_E_REST + low * LOG2_E))))


# Powers


def _log_pair(x: Any) -> tuple[Any, Any]:
    """The logarithm of a positive double as a pair good for 64 bits: a power multiplies it by up to 2**10."""
    count, fraction = _split_any(x)
    s, rest = _ratio(fraction)
    square, square_low = two_product(s, s)
    square_low = square_low + 2.0 * s * rest
    curve, curve_low = fast_two_sum(2.0 / 3.0, square * horner(square, LOG_POWER) + TWO_THIRDS_REST)
    cube, cube_low = _multiply(square, square_low, curve, curve_low)
    cube, cube_low = _multiply(cube, cube_low, s, rest)
    high, low = fast_two_sum(2.0 * s, cube)
    total, left = fast_two_sum(count * LN2_HIGH, high)
    return fast_two_sum(total, left + (count * LN2_LOW + (low + (cube_low + 2.0 * rest))))


def _multiply(high: Any, low: Any, factor: Any, factor_low: Any) -> tuple[Any, Any]:
    product, error = two_product(high, factor)
    return product, error + (high * factor_low + low * factor)


def _with_special_powers(x: Any, y: Any, magnitude: Any) -> Any:
    """`x ** y` from `|x| ** y`: signs and the special cases of C's `pow`."""
    integral = numpy.floor(y) == y
    half = y * 0.5
    odd = integral & (numpy.floor(half) != half)
    size = numpy.abs(x)
    extreme = (size == 0.0) | (size == numpy.inf) | (numpy.abs(y) == numpy.inf)
    if numpy.count_nonzero(extreme):
        # Towards infinity or zero, or neither from 1.
        grows = (size > 1.0) == (y > 0.0)
        limit = numpy.where(size == 1.0, 1.0, numpy.where(grows, numpy.inf, 0.0))
        magnitude = numpy.where(extreme, limit, magnitude)
    negative = numpy.signbit(x)
    if numpy.count_nonzero(negative):
        magnitude = numpy.where(negative & odd, -magnitude, magnitude)
        undefined = (x < 0.0) & (x > -numpy.inf) & numpy.logical_not(integral)
        magnitude = numpy.where(undefined, numpy.nan, magnitude)
    magnitude = numpy.where((x == x) & (y == y), magnitude, numpy.nan)
    return numpy.where((y == 0.0) | (x == 1.0), 1.0, magnitude)


def power_single(x: Any, y: Any) -> Any:
    product = _log_single(numpy.abs(x)) * y
    return _with_special_powers(x, y, exp_single(product))


def power_double(x: Any, y: Any) -> Any:
    high, low = _log_pair(numpy.abs(x))
    # The least logarithm but zero is 2**-53: an exponent beyond 2**65 overflows or vanishes like 2**65.
    bounded = numpy.minimum(numpy.maximum(y, -(2.0**65)), 2.0**65)
    product, product_low = _multiply(high, low, bounded, 0.0)
    clipped = numpy.minimum(numpy.maximum(product, -DOUBLE_LIMIT), DOUBLE_LIMIT)
    product_low = numpy.where(clipped == product, product_low, 0.0)
    return _with_special_powers(x, y, exp_of_pair(clipped, product_low))
