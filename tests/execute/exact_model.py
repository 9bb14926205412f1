"""Floats as exact fractions: what the numerics of the interpreter are checked against.

Rounding is written here a second time, on Python integers, apart from `tileir.ir.floats` and from the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy

from tileir.execute.dtypes import bits_dtype, from_bits, to_bits
from tileir.ir import floats
from tileir.ir.floats import FloatFormat
from tileir.ir.types import FloatType

MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")


def exact_value(form: FloatFormat, bits: int) -> Fraction:
    negative, significand, exponent = floats.decode(form, bits)
    if negative:
        significand = -significand
    return Fraction(significand << exponent) if exponent >= 0 else Fraction(significand, 1 << -exponent)


def floor_log2(value: Fraction) -> int:
    top = value.numerator.bit_length() - value.denominator.bit_length()
    at_least = value.numerator >= value.denominator << top if top >= 0 else value.numerator << -top >= value.denominator
    return top if at_least else top - 1


def round_up(whole: int, rest: int, unit: int, negative: bool, mode: str) -> bool:
    """Whether `whole + rest / unit` is rounded to `whole + 1`."""
    if mode == "nearest_even":
        return 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    if mode == "nearest_away":
        return 2 * rest >= unit
    if mode == "zero":
        return False
    return rest > 0 and negative == (mode == "negative_inf")


def round_fraction(form: FloatFormat, value: Fraction, mode: str, negative_zero: bool = False) -> int:
    """The pattern of an exact value in a rounding mode; -1 stands for NaN."""
    negative = value < 0 or (value == 0 and negative_zero)
    sign = form.sign_mask if negative else 0
    if value == 0:
        return sign
    magnitude = abs(value)
    last_place = max(floor_log2(magnitude), form.minimum_exponent) - form.mantissa_bits
    numerator = magnitude.numerator << max(-last_place, 0)
    denominator = magnitude.denominator << max(last_place, 0)
    whole, rest = divmod(numerator, denominator)
    whole += round_up(whole, rest, denominator, negative, mode)
    if whole and negative and not form.has_sign:
        return -1
    if not whole >> form.mantissa_bits:
        return whole | sign
    # A carry to the next power of two passes into the exponent field.
    field = last_place + form.mantissa_bits + form.bias
    pattern = (field << form.mantissa_bits) + whole - (1 << form.mantissa_bits)
    if pattern <= form.largest:
        return pattern | sign
    away = mode in ("nearest_even", "nearest_away") or mode == ("negative_inf" if negative else "positive_inf")
    if not away:
        return form.largest | sign
    if form.has_infinity:
        return form.infinity | sign
    return form.largest | sign if form.quiet_nan < 0 else -1


def convert_fraction(form: FloatFormat, value: Fraction, mode: str, negative_zero: bool = False) -> int:
    """The pattern of a conversion: as `round_fraction`, but f8E4M3FN and f8E5M2 stop at their largest value."""
    bits = round_fraction(form, value, mode, negative_zero)
    if form.name in SATURATING and (bits < 0 or bits & form.magnitude_mask > form.largest):
        return form.largest | (form.sign_mask if value < 0 else 0)
    return bits


SATURATING = ("f8E4M3FN", "f8E5M2")


def sum_is_negative_zero(a: bool, b: bool, mode: str) -> bool:
    """Whether an exact zero sum of terms with these sign bits is -0."""
    return (a or b) if mode == "negative_inf" else (a and b)


def reference_binary(form: FloatFormat, name: str, a: int, b: int, mode: str) -> int:
    """The pattern of addf, subf, mulf or divf, -1 for NaN."""
    if not (floats.is_finite(form, a) and floats.is_finite(form, b)) or (name == "divf" and floats.is_zero(form, b)):
        return special(form, _DOUBLE[name], a, b)
    x = exact_value(form, a)
    y = exact_value(form, b)
    x_sign = floats.is_negative(form, a)
    y_sign = floats.is_negative(form, b)
    if name == "addf":
        return round_fraction(form, x + y, mode, sum_is_negative_zero(x_sign, y_sign, mode))
    if name == "subf":
        return round_fraction(form, x - y, mode, sum_is_negative_zero(x_sign, not y_sign, mode))
    return round_fraction(form, x * y if name == "mulf" else x / y, mode, x_sign != y_sign)


def reference_fma(form: FloatFormat, a: int, b: int, c: int, mode: str) -> int:
    if not all(floats.is_finite(form, bits) for bits in (a, b, c)):
        if floats.is_finite(form, a) and floats.is_finite(form, b):
            return -1 if floats.is_nan(form, c) else c
        return special(form, lambda x, y, z: x * y + z, a, b, c)
    product_sign = floats.is_negative(form, a) != floats.is_negative(form, b)
    value = exact_value(form, a) * exact_value(form, b) + exact_value(form, c)
    return round_fraction(form, value, mode, sum_is_negative_zero(product_sign, floats.is_negative(form, c), mode))


WIDE = FloatFormat("24 bits, any exponent", exponent_bits=12, mantissa_bits=23, bias=2047)
"""The precision of f32 and exponents that no operation on f32 leaves."""


def is_tiny(value: Fraction, mode: str) -> bool:
    """Whether an exact result of f32 is below the smallest normal number when it is rounded as if exponents had no end."""
    return abs(exact_value(WIDE, round_fraction(WIDE, value, mode))) < Fraction(1, 1 << 126)


def flushed(bits: int) -> int:
    """A subnormal operand of f32 as a zero of its sign."""
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


def flushed_binary(name: str, a: int, b: int, mode: str) -> int:
    """The pattern of an f32 operation with `flush_to_zero`, -1 for NaN."""
    a, b = flushed(a), flushed(b)
    result = reference_binary(floats.F32, name, a, b, mode)
    if not (floats.is_finite(floats.F32, a) and floats.is_finite(floats.F32, b)):
        return result
    x, y = exact_value(floats.F32, a), exact_value(floats.F32, b)
    if name == "divf" and y == 0:
        return result
    value = {"addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / (y or 1)}[name]
    return result & 0x80000000 if is_tiny(value, mode) else result


def flushed_fma(a: int, b: int, c: int, mode: str) -> int:
    a, b, c = flushed(a), flushed(b), flushed(c)
    result = reference_fma(floats.F32, a, b, c, mode)
    if not all(floats.is_finite(floats.F32, bits) for bits in (a, b, c)):
        return result
    value = exact_value(floats.F32, a) * exact_value(floats.F32, b) + exact_value(floats.F32, c)
    return result & 0x80000000 if is_tiny(value, mode) else result


def special(form: FloatFormat, operation: Callable[..., numpy.float64], *patterns: int) -> int:
    """Infinities, NaN and division by zero, where IEEE double has no rounding to do."""
    with numpy.errstate(all="ignore"):
        value = float(operation(*[numpy.float64(floats.to_double(form, bits)) for bits in patterns]))
    if value != value or (value in (float("inf"), -float("inf")) and not form.has_infinity):
        if form.quiet_nan >= 0:
            return -1
        # The four-bit floats have neither: the largest value stands for NaN, and for infinity with its sign.
        return form.largest | (form.sign_mask if value < 0 else 0)
    return floats.from_double(form, value)


_DOUBLE: dict[str, Callable[..., numpy.float64]] = {
    "addf": lambda x, y: x + y,
    "subf": lambda x, y: x - y,
    "mulf": lambda x, y: x * y,
    "divf": lambda x, y: x / y,
}


def reference_sqrt(form: FloatFormat, bits: int, mode: str) -> int:
    """The root by integers: of a value scaled so that the integer root has four bits more than the format."""
    if floats.is_nan(form, bits) or (floats.is_negative(form, bits) and not floats.is_zero(form, bits)):
        return -1
    if floats.is_infinity(form, bits) or floats.is_zero(form, bits):
        return bits
    value = exact_value(form, bits)
    shift = 2 * (form.precision + 4) - floor_log2(value)
    shift += shift % 2
    scaled = value * Fraction(2) ** shift
    root = integer_root(scaled.numerator // scaled.denominator)
    estimate = Fraction(root)
    if estimate * estimate != scaled:
        # Between two integers: any value strictly between rounds as the root does.
        estimate += Fraction(1, 3)
    return round_fraction(form, estimate / Fraction(2) ** (shift // 2), mode)


def integer_root(value: int) -> int:
    guess = 1 << (value.bit_length() + 1) // 2
    while True:
        better = (guess + value // guess) // 2
        if better >= guess:
            return guess
        guess = better


# Arrays of patterns


def values(element: FloatType, patterns: list[int]) -> numpy.ndarray:
    return from_bits(element, numpy.array(patterns, bits_dtype(element)))


def mismatches(element: FloatType, result: numpy.ndarray, expected: list[int]) -> list[tuple[int, int, int]]:
    """`(index, got, expected)` where patterns differ; any NaN matches -1."""
    form = floats.FORMATS[element.name]
    found = to_bits(element, numpy.asarray(result)).tolist()
    assert len(found) == len(expected)
    return [
        (index, got, want)
        for index, (got, want) in enumerate(zip(found, expected, strict=True))
        if got != want and not (want == -1 and floats.is_nan(form, got))
    ]


def notable_patterns(form: FloatFormat) -> list[int]:
    """Zeros, the ends of the subnormal and normal ranges, ones, and what is not finite, of both signs."""
    one = form.bias << form.mantissa_bits
    least = 1 << form.mantissa_bits
    found = {0, 1, 2, 3, least - 1, least, least + 1, one - 1, one, one + 1, one + 2, form.largest, form.largest - 1}
    found |= {one + (1 << max(form.mantissa_bits - 1, 0)), (form.bias + 1) << form.mantissa_bits}
    if form.has_infinity:
        found.add(form.infinity)
    if form.quiet_nan >= 0:
        found.add(form.quiet_nan)
    found = {bits for bits in found if 0 <= bits <= form.magnitude_mask}
    return sorted(found | {bits | form.sign_mask for bits in found})


def random_patterns(form: FloatFormat, count: int, seed: int) -> list[int]:
    generator = numpy.random.default_rng(seed)
    return [int(bits) & ((1 << form.width) - 1) for bits in generator.integers(0, 1 << 63, count, numpy.uint64) * 2 + 1]


def pairs(form: FloatFormat, count: int, seed: int) -> tuple[list[int], list[int]]:
    """All pairs of notable patterns, random ones, and random ones of neighboring magnitude."""
    notable = notable_patterns(form)
    lhs = [a for a in notable for _ in notable]
    rhs = [b for _ in notable for b in notable]
    generator = numpy.random.default_rng(seed)
    first = random_patterns(form, count, seed + 1)
    second = random_patterns(form, count, seed + 2)
    reach = min((form.precision + 2) << form.mantissa_bits, form.magnitude_mask // 2)
    for index in range(0, count, 2):
        near = (first[index] & form.magnitude_mask) + int(generator.integers(-reach, reach + 1))
        near = min(max(near, 0), form.magnitude_mask)
        second[index] = near | (second[index] & form.sign_mask)
    return lhs + first, rhs + second


def units_off(form: floats.FloatFormat, got: float, want: mpmath.mpf) -> float:
    """The distance in units of the last place that the exact result has in the format."""
    largest = floats.to_double(form, form.largest)
    if math.isinf(got):
        limit = mpmath.mpf(largest) + mpmath.ldexp(1, form.bias - form.mantissa_bits - 1)
        return 0.0 if abs(want) >= limit * (1 - mpmath.mpf(2) ** -50) and (want > 0) == (got > 0) else math.inf
    if want == 0:
        return 0.0 if got == 0 else math.inf
    exponent = max(int(mpmath.frexp(want)[1]) - 1, form.minimum_exponent)
    return float(abs(mpmath.mpf(got) - want) / mpmath.ldexp(1, exponent - form.mantissa_bits))
