"""sin, cos, tan and atan2 of doubles.

An angle is reduced to `r = x - n pi/2`: with pi/2 in parts whose products with `n` are exact (Cody and Waite), and for
large angles with the bits of 2/pi that count for the angle's exponent (Payne and Hanek).  `*_single` and `*_double` are
as in `exponential`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.arithmetic.double import SHIFTER, fast_two_sum, horner, quotient, widened
from tileir.execute.arithmetic.integer import multiply_high_wide
from tileir.execute.arithmetic.rounding import as_array, take, two_product, two_sum

TWO_OVER_PI_BITS: Final = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
"""2/pi in units of 2**-1280, cut off."""
TWO_OVER_PI: Final = float.fromhex("0x1.45f306dc9c883p-1")
HALF_PI: Final = float.fromhex("0x1.921fb54442d18p+0")
HALF_PI_REST: Final = float.fromhex("0x1.1a62633145c07p-54")  # pi/2 - HALF_PI
HALF_PI_PARTS: Final = tuple(
    map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104"))
)
"""pi/2 in three parts of at most 33 bits and a fourth."""
HALF_PI_SINGLE: Final = (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a626331p-34"))
"""pi/2 in a part of 33 bits and a second."""
LARGE: Final = 2.0**20  # Above it, `n` has more than the 20 bits for which products with the parts are exact

# sin(r) / r in r**2 for |r| <= pi/2, to 2**-44.
SIN_SINGLE: Final = (
    1.541115620698822e-10, -2.503026387632415e-08, 2.755695280400059e-06, -0.00019841266681876787, 0.0083333333203519,
    -0.1666666666646655, 0.9999999999999496,
)  # fmt: skip
# cos(r) in r**2 for |r| <= pi/4, to 2**-44.
COS_SINGLE: Final = (
    -2.717339169572195e-07, 2.4798928225823623e-05, -0.00138888803912356, 0.0416666665438622, -0.4999999999935079,
    0.9999999999999444,
)  # fmt: skip
# (sin(r) - r) / r**3 in r**2 for |r| <= pi/4, to 2**-66.
SIN_DOUBLE: Final = (
    -7.586691094197958e-13, 1.6058531516797758e-10, -2.5052106231802837e-08, 2.7557319219337312e-06,
    -0.00019841269841265063, 0.008333333333333331, -0.16666666666666666,
)  # fmt: skip
# (cos(r) - 1 + r**2 / 2) / r**4 in r**2 for |r| <= pi/4, to 2**-59.
COS_DOUBLE: Final = (
    -1.1382623647474604e-11, 2.087614614655861e-09, -2.7557317271145144e-07, 2.480158729876456e-05,
    -0.0013888888888887398, 0.041666666666666664,
)  # fmt: skip
# atan(z) / z in z**2 for |z| <= tan(pi/8), to 2**-40.
ATAN_SINGLE: Final = (
    -0.03765307369056794, 0.06974084047595203, -0.08992528079362637, 0.11103454236491274, -0.1428538640718612,
    0.19999993049762435, -0.3333333327688608, 0.9999999999992442,
)  # fmt: skip
# (atan(z) - z) / z**3 in z**2 for |z| <= tan(pi/8), to 2**-54; the square makes it 2**-57.
ATAN_DOUBLE: Final = (
    -0.019175404711104935, 0.03923044778479309, -0.050854078345894844, 0.05858140904866328, -0.06664510525508936,
    0.07692183125376892, -0.0909090457530649, 0.11111111015187018, -0.14285714284665682, 0.19999999999995516,
    -0.3333333333333333,
)  # fmt: skip


# For types of at most 24 bits


def _chunk(place: int, size: int) -> float:
    """`size` bits of 2/pi, the last in units of 2**-place."""
    return float((TWO_OVER_PI_BITS >> (1280 - place)) & ((1 << size) - 1)) * 2.0**-place


_FIRST_EXPONENT: Final = 20
_LAST_EXPONENT: Final = 127
# With x = M * 2**(e - 23), an integer M of 24 bits: what 2/pi has above the first chunk makes multiples of 4, the
# products with the first and the second are exact, and what is below the third makes less than 2**-84.
_CHUNKS: Final = [
    numpy.array([_chunk(e - 23 + place, size) for e in range(_FIRST_EXPONENT, _LAST_EXPONENT + 1)])
    for place, size in ((27, 29), (56, 29), (109, 53))
]


def _reduce_single(x: Any, step: int, offset: int) -> tuple[Any, Any]:
    """`x = n pi/2 + r` with `n = step * h + offset` and |r| <= step * pi/4, as `(h + SHIFTER, r)`."""
    x = widened(x)
    shifted = x * (TWO_OVER_PI / step)
    if offset:
        shifted -= offset / step
    shifted += SHIFTER
    count = (shifted - SHIFTER) * step
    if offset:
        count += offset
    first, second = HALF_PI_SINGLE
    r = (x - count * first) - count * second
    large = numpy.abs(x) > LARGE
    if numpy.count_nonzero(large):
        shifted, r = as_array(shifted), as_array(r)
        shifted[large], r[large] = _reduce_large_single(as_array(x)[large], step, offset)
    return shifted, r


def _reduce_large_single(x: Any, step: int, offset: int) -> tuple[Any, Any]:
    exponent = (x.view(numpy.int64) >> 52) & 0x7FF
    index = numpy.minimum(numpy.maximum(exponent - (1023 + _FIRST_EXPONENT), 0), _LAST_EXPONENT - _FIRST_EXPONENT)
    first, second, third = [x * take(chunk, index) for chunk in _CHUNKS]
    first -= 4.0 * numpy.rint(first * 0.25)
    whole = numpy.rint((first + second - offset) / step)
    turns = ((first - (whole * step + offset)) + second) + third
    return whole + SHIFTER, turns * HALF_PI


def _flip(value: Any, count: Any) -> Any:
    """The value with its sign changed where the last bit of an integer is set."""
    return (value.view(numpy.int64) ^ (count << 63)).view(numpy.float64)


def _sine(r: Any) -> Any:
    return r * horner(r * r, SIN_SINGLE)


def sin_single(x: Any) -> Any:
    shifted, r = _reduce_single(x, 2, 0)
    return _flip(_sine(r), shifted.view(numpy.int64))


def cos_single(x: Any) -> Any:
    # cos(n pi/2 + r) with n = 2 h + 1 is -sin(r), and changes its sign with h.
    shifted, r = _reduce_single(x, 2, 1)
    return _flip(_sine(-r), shifted.view(numpy.int64))


def tan_single(x: Any) -> Any:
    shifted, r = _reduce_single(x, 1, 0)
    sine = _sine(r)
    cosine = horner(r * r, COS_SINGLE)
    odd = (shifted.view(numpy.int64) & 1) == 1
    return numpy.where(odd, -cosine, sine) / numpy.where(odd, sine, cosine)


# For f64


def _reduce_double(x: Any) -> tuple[Any, Any, Any]:
    """`x = n pi/2 + r` with |r| <= pi/4 as `(n modulo 4, high, low)`, the pair to more than 110 bits."""
    shifted = x * TWO_OVER_PI + SHIFTER
    count = shifted - SHIFTER
    first, second, third, fourth = HALF_PI_PARTS
    total, rest = two_sum(x - count * first, -(count * second))
    rest, left = two_sum(rest, -(count * third))
    high, low = two_sum(total, rest)
    low = low + (left - count * fourth)
    number = shifted.view(numpy.int64)
    large = numpy.abs(x) > LARGE
    if numpy.count_nonzero(large):
        number, high, low = as_array(number), as_array(high), as_array(low)
        number[large], high[large], low[large] = _reduce_large_double(as_array(x)[large])
    return number, high, low


_WORDS: Final = numpy.array(
    # 64 zeros before the point: of angles below 2**52 the window begins there.
    [0] + [(TWO_OVER_PI_BITS >> (1280 - 64 * (word + 1))) & 0xFFFFFFFFFFFFFFFF for word in range(20)],
    numpy.uint64,
)


def _reduce_large_double(x: Any) -> tuple[Any, Any, Any]:
    """With |x| = M * 2**E, an integer M of 53 bits: M times 192 bits of 2/pi, from the twos on, modulo 4."""
    bits = x.view(numpy.int64)
    exponent = ((bits >> 52) & 0x7FF) - 1075
    mantissa = ((bits & 0x000FFFFFFFFFFFFF) | 0x0010000000000000).view(numpy.uint64)
    # Any other exponent than those from 2**20 to the largest reads some bits.
    place = numpy.minimum(numpy.maximum(exponent + 62, 0), 971 + 62)
    word = place >> 6
    shift = (place & 63).view(numpy.uint64)
    words = [take(_WORDS, word + position) for position in range(4)]
    one = numpy.uint64(1)
    back = numpy.uint64(63) - shift
    window = [(words[i] << shift) | ((words[i + 1] >> one) >> back) for i in range(3)]
    low = mantissa * window[1]
    carried = low + multiply_high_wide(mantissa, window[2]).view(numpy.uint64)
    high = mantissa * window[0] + multiply_high_wide(mantissa, window[1]).view(numpy.uint64)
    high = high + (carried < low).astype(numpy.uint64)
    # Two bits of quadrant, rounded, and the fraction in 64 signed and 62 further bits.
    number = ((high + numpy.uint64(1 << 61)) >> numpy.uint64(62)).view(numpy.int64)
    top = ((high << numpy.uint64(2)) | (carried >> numpy.uint64(62))).view(numpy.int64)
    bottom = (carried << numpy.uint64(2)).view(numpy.int64)
    turns, rest = fast_two_sum(
        (top >> 32).astype(numpy.float64) * 2.0**-32, (top & 0xFFFFFFFF).astype(numpy.float64) * 2.0**-64
    )
    rest = rest + (
        ((bottom >> 32) & 0xFFFFFFFF).astype(numpy.float64) * 2.0**-96
        + (bottom & 0xFFFFFFFF).astype(numpy.float64) * 2.0**-128
    )
    turns, rest = fast_two_sum(turns, rest)
    angle, error = two_product(turns, HALF_PI)
    angle, error = fast_two_sum(angle, error + (turns * HALF_PI_REST + rest * HALF_PI))
    negative = x < 0.0
    number, angle, error = [numpy.where(negative, -each, each) for each in (number, angle, error)]
    return number, angle, error


def _sine_parts(high: Any, low: Any, square: Any) -> tuple[Any, Any]:
    """The sine of a pair: the high part and the rest."""
    return high, low * (1.0 - 0.5 * square) + high * square * horner(square, SIN_DOUBLE)


def _cosine_parts(high: Any, low: Any, square: Any) -> tuple[Any, Any]:
    half = 0.5 * square
    total = 1.0 - half
    return total, ((1.0 - total) - half) + (square * square * horner(square, COS_DOUBLE) - high * low)


def _wave(x: Any, quarter: int) -> Any:
    """sin(x + quarter * pi/2)."""
    number, high, low = _reduce_double(x)
    number = number + quarter
    square = high * high
    sine, sine_rest = _sine_parts(high, low, square)
    cosine, cosine_rest = _cosine_parts(high, low, square)
    odd = (number & 1) == 1
    result = _flip(numpy.where(odd, cosine + cosine_rest, sine + sine_rest), number >> 1)
    return numpy.where(numpy.abs(x) < numpy.inf, result, numpy.nan)


_TINY: Final = 2.0**-28  # Below it, sine and tangent are the angle, subnormal or negative zero as it may be


def sin_double(x: Any) -> Any:
    return numpy.where(numpy.abs(x) < _TINY, x, _wave(x, 0))


def cos_double(x: Any) -> Any:
    return _wave(x, 1)


def tan_double(x: Any) -> Any:
    number, high, low = _reduce_double(x)
    square, error = two_product(high, high)
    sine, sine_rest = fast_two_sum(*_sine_parts(high, low, square))
    cosine, cosine_rest = _cosine_parts(high, low, square)
    cosine, cosine_rest = fast_two_sum(cosine, cosine_rest - 0.5 * error)
    odd = (number & 1) == 1
    first, rest = quotient(
        numpy.where(odd, -cosine, sine),
        numpy.where(odd, -cosine_rest, sine_rest),
        numpy.where(odd, sine, cosine),
        numpy.where(odd, sine_rest, cosine_rest),
    )
    size = numpy.abs(x)
    return numpy.where(size < _TINY, x, numpy.where(size < numpy.inf, first + rest, numpy.nan))


# atan2

_TANGENT: Final = 0.41421356237309503  # tan(pi/8)


def _ordered(y: Any, x: Any) -> tuple[Any, Any, Any]:
    """Both magnitudes, the smaller first, and whether that is `x`; infinities count as 1 and 1, zeros as 0 and 1."""
    height, width = numpy.abs(y), numpy.abs(x)
    small, large = numpy.minimum(height, width), numpy.maximum(height, width)
    endless = large == numpy.inf
    small = numpy.where(endless, (small == large).astype(numpy.float64), small)
    large = numpy.where(endless | (large == 0.0), 1.0, large)
    return small, large, height > width


def _quarters(x: Any, wide: Any, swapped: Any) -> tuple[Any, Any]:
    """The angle is `q pi/4 + s atan(z)` before its sign, as `(q, s)`."""
    behind = numpy.signbit(x)
    sign = numpy.where(behind == swapped, 1.0, -1.0)
    count = numpy.where(swapped, 2.0, numpy.where(behind, 4.0, 0.0))
    return numpy.where(wide, count + sign, count), sign


def atan2_single(y: Any, x: Any) -> Any:
    small, large, swapped = _ordered(y, x)
    wide = small > _TANGENT * large
    # tan(a - pi/4) = (tan(a) - 1) / (tan(a) + 1)
    z = numpy.where(wide, small - large, small) / numpy.where(wide, small + large, large)
    count, sign = _quarters(x, wide, swapped)
    angle = count * (0.5 * HALF_PI) + sign * (z * horner(z * z, ATAN_SINGLE))
    return numpy.copysign(angle, y)


def atan2_double(y: Any, x: Any) -> Any:
    small, large, swapped = _ordered(y, x)
    plain = small / large
    # Away from the ends of the exponents, where products keep their errors.
    factor = numpy.where(large > 2.0**500, 2.0**-600, numpy.where(large < 2.0**-400, 2.0**600, 1.0))
    small = small * factor
    large = large * factor
    wide = small > _TANGENT * large
    difference, difference_low = two_sum(small, -large)
    total, total_low = two_sum(small, large)
    high, low = quotient(
        numpy.where(wide, difference, small),
        numpy.where(wide, difference_low, 0.0),
        numpy.where(wide, total, large),
        numpy.where(wide, total_low, 0.0),
    )
    square = high * high
    low = low + high * square * horner(square, ATAN_DOUBLE)
    count, sign = _quarters(x, wide, swapped)
    # Multiples of pi/4 up to 4 are those of its two parts but for 3, which rounds the first.
    base, base_low = two_product(count, 0.5 * HALF_PI)
    angle, rest = fast_two_sum(base, sign * high)
    angle = angle + (rest + (base_low + count * (0.5 * HALF_PI_REST) + sign * low))
    # A small quotient is its own angle, subnormal as it may be.
    angle = numpy.where((plain < 2.0**-30) & (count == 0.0), plain, angle)
    return numpy.copysign(angle, y)
