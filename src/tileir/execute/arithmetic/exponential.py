"""exp, exp2, sinh, cosh, tanh, log, log2 and the power function of doubles.

`exp(x) = 2**k * exp(r)` with `k` the integer next to `x / ln 2` and `r` at most `ln 2 / 2`, where a polynomial is
enough.  Each function has two evaluations: `*_double` for f64, and `*_single` for values of at most 24 bits, in float32
or float64, to be rounded to such a type: relative error below 2**-34, which moves a result by less than 0.0008 of a
unit of f32.  The CPU backend may fuse their multiplications and additions (`fusible` in `execute.cpu.vector`): changing
a constant or an operation here calls for `make test-long`, which compares both ways for every f32.

The polynomials are near-minimax (interpolation at Chebyshev points, `mpmath.chebyfit`): the test
`test_constants_are_the_ones_described` computes them again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.arithmetic.double import (
    POWER_SHIFTER,
    SHIFTER,
    fast_two_sum,
    horner,
    power_of_two,
    quotient,
    scale,
    shifted_power,
    widened,
)
from tileir.execute.arithmetic.rounding import any_beyond, two_product, two_sum, without_subnormals

LOG2_E: Final = float.fromhex("0x1.71547652b82fep+0")
LN2: Final = float.fromhex("0x1.62e42fefa39efp-1")
LN2_REST: Final = float.fromhex("0x1.abc9e3b39803fp-56")  # ln 2 - LN2
LN2_HIGH: Final = float.fromhex("0x1.62e42fefa3800p-1")  # 42 bits, so that its products with exponents are exact
LN2_LOW: Final = float.fromhex("0x1.ef35793c76730p-45")  # ln 2 - LN2_HIGH

# exp(r) for |r| <= ln 2 / 2, to 2**-34.4.
EXP_SINGLE: Final = (
    0.0001990762244077141, 0.00139486261753027, 0.00833328345891087, 0.041666217600642444, 0.1666666678659622,
    0.5000000107988201, 0.9999999999954946, 0.9999999999594321,
)  # fmt: skip
# 2**r for |r| <= 1/2, to 2**-34.4.
EXP2_SINGLE: Final = (
    1.5303700711365693e-05, 0.00015469729214118296, 0.0013333478473685416, 0.009618025613318034,
    0.055504109063258665, 0.24022651213498092, 0.6931471805568324, 0.9999999999595618,
)  # fmt: skip
# (exp(r) - 1) / r for |r| <= ln 2 / 2, to 2**-37.6.
EXP_MINUS_ONE_SINGLE: Final = (
    2.4867883453521802e-05, 0.00019907582591325134, 0.001388883909064138, 0.008333283518768105, 0.041666666786337556,
    0.1666666678638044, 0.4999999999995507, 0.9999999999955055,
)  # fmt: skip
# (exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2, to 2**-60; the square makes it 2**-63.
EXP_DOUBLE: Final = (
    2.0914686968086876e-09, 2.5105217004720745e-08, 2.75572736431103e-07, 2.7557255400206422e-06,
    2.4801587325547743e-05, 0.00019841269874820627, 0.0013888888888883748, 0.008333333333326136, 0.04166666666666667,
    0.1666666666666667, 0.5,
)  # fmt: skip
# (sinh(x) - x) / x**3 in x**2 for |x| <= 1, to 2**-61.
SINH: Final = (
    7.746178593018827e-13, 1.6057679623801638e-10, 2.5052117695907823e-08, 2.7557319191381816e-06,
    0.00019841269841324198, 0.008333333333333299, 0.16666666666666666,
)  # fmt: skip

SINGLE_LIMIT: Final = 200.0  # Exponentials beyond it are zero or infinity in every type of at most 24 bits
_PLAIN_LIMIT: Final = numpy.float32(125.0)  # Powers of two within it are normal numbers of f32
_SINGLE_SHIFTER: Final = numpy.float32(12582912.0)  # 1.5 * 2**23, as `SHIFTER` for float32
_FRACTION_BITS: Final = numpy.int32(23)  # Of float32; a Python number would make a NumPy 1 scalar a wider one
DOUBLE_LIMIT: Final = 800.0  # The same for f64


# For types of at most 24 bits


def _limited(x: Any) -> Any:
    """Within SINGLE_LIMIT, as a double; NaN stays."""
    return widened(numpy.minimum(numpy.maximum(x, -SINGLE_LIMIT), SINGLE_LIMIT))


def exp_single(x: Any) -> Any:
    x = _limited(x)
    shifted = x * LOG2_E + POWER_SHIFTER
    return horner(x - (shifted - POWER_SHIFTER) * LN2, EXP_SINGLE) * shifted_power(shifted)


def exp2_single(x: Any) -> Any:
    x = _limited(x)
    shifted = x + POWER_SHIFTER
    return horner(x - (shifted - POWER_SHIFTER), EXP2_SINGLE) * shifted_power(shifted)


def exp2_of_float32(x: Any) -> Any:
    """`exp2_single` of float32, rounded to float32.  Where no result is subnormal or overflows, it is rounded before
    the power of two, so that only the polynomial is in double."""
    if any_beyond(x, _PLAIN_LIMIT):
        return exp2_single(x).astype(numpy.float32)
    shifted = x + _SINGLE_SHIFTER
    result = horner(widened(x - (shifted - _SINGLE_SHIFTER)), EXP2_SINGLE).astype(numpy.float32)
    scaled = result.view(numpy.int32) + (shifted.view(numpy.int32) << _FRACTION_BITS)
    return without_subnormals(scaled.view(numpy.float32))


def _exp_minus_one_single(magnitude: Any) -> Any:
    """`exp(x) - 1` for doubles from 0 to SINGLE_LIMIT: nothing cancels, as the power of two is at least 1."""
    shifted = magnitude * LOG2_E + POWER_SHIFTER
    r = magnitude - (shifted - POWER_SHIFTER) * LN2
    curve = horner(r, EXP_MINUS_ONE_SINGLE)
    curve *= r
    power = shifted_power(shifted)
    return curve * power + (power - 1.0)


def sinh_single(x: Any) -> Any:
    x = widened(x)
    grown = _exp_minus_one_single(numpy.minimum(numpy.abs(x), SINGLE_LIMIT))
    return numpy.copysign(0.5 * (grown + grown / (grown + 1.0)), x)


def cosh_single(x: Any) -> Any:
    grown = exp_single(numpy.abs(x))
    return 0.5 * (grown + 1.0 / grown)


def tanh_single(x: Any) -> Any:
    x = widened(x)
    # Beyond 20 the result is 1 in 57 bits.
    grown = _exp_minus_one_single(numpy.minimum(numpy.abs(x), 20.0) * 2.0)
    return numpy.copysign(grown / (grown + 2.0), x)


# For f64


def _double_parts(high: Any, low: Any) -> tuple[Any, Any, Any]:
    """`exp(high + low) = 2**k * (1 + r + c)` as `(k, r, c)`, for |high| <= DOUBLE_LIMIT."""
    shifted = high * LOG2_E + SHIFTER
    count = shifted - SHIFTER
    first = high - count * LN2_HIGH
    second = count * LN2_LOW - low
    r = first - second
    # What `r` leaves, times the slope of the exponential.
    rest = ((first - r) - second) * (1.0 + r)
    return shifted.view(numpy.int64) - _SHIFTER_BITS, r, r * r * horner(r, EXP_DOUBLE) + rest


_SHIFTER_BITS: Final = int(numpy.float64(SHIFTER).view(numpy.int64))


def _one_plus(r: Any, curve: Any) -> tuple[Any, Any]:
    """`1 + r + curve` as the sum of two doubles that still overlap."""
    total = 1.0 + r
    return total, (r - (total - 1.0)) + curve


def exp_of_pair(high: Any, low: Any) -> Any:
    """`exp(high + low)` for |high| <= DOUBLE_LIMIT, within 0.6 units where it is not subnormal."""
    exponent, r, curve = _double_parts(high, low)
    total, tail = _one_plus(r, curve)
    return scale(total + tail, exponent)


def exp_double(x: Any) -> Any:
    return exp_of_pair(numpy.minimum(numpy.maximum(x, -DOUBLE_LIMIT), DOUBLE_LIMIT), 0.0)


def exp2_double(x: Any) -> Any:
    x = numpy.minimum(numpy.maximum(x, -1200.0), 1200.0)
    shifted = x + SHIFTER
    fraction = x - (shifted - SHIFTER)
    r = fraction * LN2
    total, tail = _one_plus(r, r * r * horner(r, EXP_DOUBLE) + fraction * LN2_REST)
    return scale(total + tail, shifted.view(numpy.int64) - _SHIFTER_BITS)


def _large_parts(x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """`exp(|x|) = 2**k * (h + t)` and `exp(-|x|) = 2**k * w` as `(|x|, k, h, t, w)`."""
    magnitude = numpy.minimum(numpy.abs(x), DOUBLE_LIMIT)
    exponent, r, curve = _double_parts(magnitude, 0.0)
    total, tail = _one_plus(r, curve)
    # From k = 40 on the small exponential is below 2**-80 of the large one.
    return magnitude, exponent, total, tail, power_of_two(-2 * numpy.minimum(exponent, 40)) / (total + tail)


def sinh_double(x: Any) -> Any:
    magnitude, exponent, total, tail, inverse = _large_parts(x)
    large = scale(total + (tail - inverse), exponent - 1)
    square = magnitude * magnitude
    small = magnitude + magnitude * square * horner(square, SINH)
    return numpy.copysign(numpy.where(magnitude < 1.0, small, large), x)


def cosh_double(x: Any) -> Any:
    _, exponent, total, tail, inverse = _large_parts(x)
    return scale(total + (tail + inverse), exponent - 1)


def tanh_double(x: Any) -> Any:
    """`n / (n + 2)` of `n = exp(2 |x|) - 1`, in pairs."""
    exponent, r, curve = _double_parts(numpy.minimum(numpy.abs(x), 22.0) * 2.0, 0.0)
    total, tail = _one_plus(r, curve)
    power = power_of_two(exponent)
    near = exponent == 0
    total, tail = fast_two_sum(total, tail)
    high, low = fast_two_sum(numpy.where(near, r, total * power - 1.0), numpy.where(near, curve, tail * power))
    divisor, divisor_low = two_sum(high, 2.0)
    first, rest = quotient(high, low, divisor, divisor_low + low)
    return numpy.copysign(first + rest, x)


# Logarithms and powers: `x = 2**k * m` with `m` between the roots of 1/2 and 2; with `s = (m - 1) / (m + 1)`,
# `log m = 2 atanh s`, a polynomial in `s**2`.

LOG2_E_REST: Final = float.fromhex("0x1.777d0ffda0d24p-56")  # 1 / ln 2 - LOG2_E
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
_BELOW_ONE: Final = _ONE - 0x3FE6A09E667F3BCD  # From the pattern of the root of 1/2 to that of 1
_INTEGERS: Final = 0x4330000000000000  # The pattern of 2**52: its low bits count ones
_SMALLEST_NORMAL: Final = 2.0**-1022


def _split(x: Any) -> tuple[Any, Any]:
    """`x = 2**k * m` as `(k, m - 1)`, for positive normalized doubles; harmless for the others."""
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
        # Toward infinity or zero, or neither from 1.
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
