"""Functions of f32 as formulas over traced values, within about one unit in the last place.

docs/cpu.md states the error of each.  Polynomials are near-minimax, in Horner's order.  Results may be subnormal, and
zeros, infinities and NaN come out as those of the exact functions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, Final

import numpy

from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.cpu.casting import DOUBLE, INT32, INT64, SINGLE, UINT64
from tileir.execute.cpu.fast_machine import ONE_BITS, SHIFTER, Machine
from tileir.ir.types import F32

Formula = Callable[..., Any]


def _numbers(*texts: str) -> tuple[float, ...]:
    return tuple([float.fromhex(text) for text in texts])


def _within(value: Any, least: float, greatest: float) -> Any:
    """Clamped; NaN stays."""
    value = numpy.where(value > greatest, greatest, value)
    return numpy.where(value < least, least, value)


# Exponentials

LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.693359375
"""Nine bits: its product with a small integer is exact."""
LN2_LOW: Final = -2.1219444005469058e-4

_EXP: Final = (1.0, 1.0) + _numbers(
    "0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558f2p-5", "0x1.123a0ap-7", "0x1.6a23f0p-10"
)
_EXP2: Final = (1.0,) + _numbers(
    "0x1.62e430p-1", "0x1.ebfbdcp-3", "0x1.c6aee8p-5", "0x1.3b2d4ep-7", "0x1.5f3e80p-10", "0x1.41fba0p-13"
)
_SINH: Final = _numbers("0x1.555556p-3", "0x1.111136p-7", "0x1.9ffe84p-13", "0x1.7a17d2p-19")
_TANH: Final = _numbers("-0x1.55553ep-2", "0x1.1109aep-3", "-0x1.b898dep-5", "0x1.54b8a0p-6", "-0x1.825858p-8")


def _exp_parts(machine: Machine, value: Any) -> tuple[Any, Any]:
    """exp(value) as a number near 1 and, plus `SHIFTER`, the power of two to scale it by."""
    value = _within(value, -104.0, 90.0)
    shifted = machine.fma(value, LOG2_E, SHIFTER)
    count = shifted - SHIFTER
    rest = machine.fma(count, -LN2_LOW, machine.fma(count, -LN2_HIGH, value))
    return machine.horner(rest, _EXP), shifted


def _exp(machine: Machine, value: Any) -> Any:
    return machine.scale(*_exp_parts(machine, value))


def _exp2(machine: Machine, value: Any) -> Any:
    value = _within(value, -151.0, 128.5)
    shifted = value + SHIFTER
    return machine.scale(machine.horner(value - (shifted - SHIFTER), _EXP2), shifted)


def _sigmoid(machine: Machine, value: Any) -> Any:
    small = _exp(machine, -numpy.absolute(value))
    total = small + 1.0
    return machine.divide(numpy.where(value < 0.0, small, 1.0), total, small - (total - 1.0))


def _odd(machine: Machine, value: Any, coefficients: tuple[float, ...]) -> Any:
    """`value` and its higher odd powers; the sign of a zero is lost."""
    square = value * value
    return machine.fma(value * square, machine.horner(square, coefficients), value)


def _tanh(machine: Machine, value: Any) -> Any:
    magnitude = numpy.absolute(value)
    power = _exp(machine, _within(magnitude, 0.0, 10.0) * 2.0)
    large = 1.0 - machine.divide(numpy.float32(2.0), power + 1.0)
    return numpy.copysign(numpy.where(magnitude < 0.6, _odd(machine, magnitude, _TANH), large), value)


def _half_powers(machine: Machine, magnitude: Any) -> tuple[Any, Any]:
    """exp(magnitude) / 2 and exp(-magnitude) / 2."""
    number, shifted = _exp_parts(machine, magnitude)
    half = machine.scale(number, shifted - 1.0)
    # The other one is nothing beside a large one, which the division does not take.
    return half, machine.divide(numpy.float32(0.25), numpy.where(half > 1e30, 1e30, half))


def _sinh(machine: Machine, value: Any) -> Any:
    magnitude = numpy.absolute(value)
    half, other = _half_powers(machine, magnitude)
    return numpy.copysign(numpy.where(magnitude < 1.0, _odd(machine, magnitude, _SINH), half - other), value)


def _cosh(machine: Machine, value: Any) -> Any:
    half, other = _half_powers(machine, numpy.absolute(value))
    return half + other


# Logarithms

_THREE_QUARTERS: Final = 0x3F400000
_EXPONENT: Final = -0x00800000
LOG10_E: Final = 0.4342944819032518
_LOG10_E_HIGH: Final = float(numpy.float32(LOG10_E))
_LOG2_E_HIGH: Final = float(numpy.float32(LOG2_E - 1.0))
_LOG: Final = (-0.5,) + _numbers(
    "0x1.55555ap-2", "-0x1.000070p-2", "0x1.999788p-3", "-0x1.5519a2p-3", "0x1.24603cp-3", "-0x1.04aad0p-3",
    "0x1.df4bbcp-4", "-0x1.7574a8p-4", "0x1.34aaf2p-5",
)  # fmt: skip


def _split(value: Any) -> tuple[Any, Any]:
    """A positive normal number as 2**count * (1 + part), the part from -0.25 to 0.5."""
    bits = value.view(INT32)
    above = bits - _THREE_QUARTERS
    return (above >> 23).astype(SINGLE), (bits - (above & _EXPONENT)).view(SINGLE) - 1.0


def _split_any(value: Any) -> tuple[Any, Any]:
    """The same of a subnormal number too."""
    small = value < 2.0**-126
    count, part = _split(numpy.where(small, value * 2.0**23, value))
    return count - numpy.where(small, numpy.float32(23.0), numpy.float32(0.0)), part


def _ends(value: Any, pole: float, result: Any) -> Any:
    """A logarithm with its special cases: -inf at the pole, NaN below, infinity and NaN themselves."""
    result = numpy.where(value < inf, result, value)
    return numpy.where(value > pole, result, numpy.where(value == pole, numpy.float32(-inf), numpy.float32(nan)))


def _log_pair(machine: Machine, count: Any, part: Any) -> tuple[Any, Any]:
    """count * ln(2) + log(1 + part) as a float32 and a small rest: the sum of the large terms is exact."""
    large = count * LN2_HIGH
    total = large + part
    error = part - (total - large)
    return total, machine.fma(part * part, machine.horner(part, _LOG), machine.fma(count, LN2_LOW, error))


def _log(machine: Machine, value: Any) -> Any:
    total, rest = _log_pair(machine, *_split_any(value))
    return _ends(value, 0.0, total + rest)


def _log10(machine: Machine, value: Any) -> Any:
    total, rest = _log_pair(machine, *_split_any(value))
    rest = machine.fma(total, LOG10_E - _LOG10_E_HIGH, rest * LOG10_E)
    return _ends(value, 0.0, machine.fma(total, _LOG10_E_HIGH, rest))


def _log2(machine: Machine, value: Any) -> Any:
    count, part = _split_any(value)
    total = count + part
    curve = part * part * machine.horner(part, _LOG)
    rest = machine.fma(curve, LOG2_E, part - (total - count))
    rest = machine.fma(part, _LOG2_E_HIGH, machine.fma(part, LOG2_E - 1.0 - _LOG2_E_HIGH, rest))
    return _ends(value, 0.0, total + rest)


def _log1p(machine: Machine, value: Any) -> Any:
    above = value + 1.0
    count, part = _split(above)
    # The part of the exact sum, which needs no rounding; a large value is its own sum.
    power = (ONE_BITS - ((above.view(INT32) - _THREE_QUARTERS) & _EXPONENT)).view(SINGLE)
    part = numpy.where(value > 2.0**30, part, machine.fma(value, power, power - 1.0))
    total, rest = _log_pair(machine, count, part)
    return numpy.copysign(_ends(value, -1.0, total + rest), value)


# Angles

_TWO_OVER_PI: Final = 0.6366197723675814
_HALF_PI: Final = 1.5707963267948966
_HALF_PI_REST: Final = 6.123233995736766e-17
_HALF_PI_PARTS: Final = _numbers("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50")
"""Three float32 numbers whose sum it is."""
_HALF_PI_HIGH: Final = float.fromhex("0x1.921fb50000000p+0")
"""25 bits and the rest below: the product with an integer of 27 bits is exact."""
_ANGLE_LIMIT: Final = 71476.0
"""Above it the parts are too few: the exact function is called."""
_SHIFTER_DOUBLE: Final = 1.5 * 2.0**52
_SINE: Final = _numbers("-0x1.555544p-3", "0x1.11071cp-7", "-0x1.993960p-13")
_COSINE: Final = (-0.5,) + _numbers("0x1.55554ap-5", "-0x1.6c0c12p-10", "0x1.99e204p-16")
_ARCTAN: Final = _numbers(
    "-0x1.55553ep-2", "0x1.9991fep-3", "-0x1.2421b6p-3", "0x1.c099fep-4", "-0x1.583490p-4", "0x1.dac9e2p-5",
    "-0x1.fed15ep-6", "0x1.65a65ap-7", "-0x1.d62fecp-10",
)  # fmt: skip


def _reduced(machine: Machine, value: Any) -> tuple[Any, Any, Any]:
    """The number of quarter turns, an integer whose low bits are right, and the angle that is left, at most pi / 4.

    The angle is a float32 and what is missing from it.
    """
    if not machine.builder.module.native_fma:
        wide = value.astype(DOUBLE)
        turns = wide * _TWO_OVER_PI + _SHIFTER_DOUBLE
        count = turns - _SHIFTER_DOUBLE
        rest = (wide - count * _HALF_PI_HIGH) - count * (_HALF_PI - _HALF_PI_HIGH)
        angle = rest.astype(SINGLE)
        return turns.view(INT64).astype(INT32), angle, (rest - angle.astype(DOUBLE)).astype(SINGLE)
    first, second, third = _HALF_PI_PARTS
    turns = machine.fma(value, _TWO_OVER_PI, SHIFTER)
    count = turns - SHIFTER
    value = machine.fma(count, -first, value)
    angle = machine.fma(count, -second, value)
    return turns.view(INT32), angle, machine.fma(count, -third, machine.fma(count, -second, value - angle))


def _sine_and_cosine(machine: Machine, angle: Any, rest: Any) -> tuple[Any, Any]:
    square = angle * angle
    cosine = machine.fma(square, machine.horner(square, _COSINE), -(angle * rest)) + 1.0
    sine = machine.fma(angle * square, machine.horner(square, _SINE), rest * cosine) + angle
    return numpy.copysign(sine, angle), cosine


def _is_odd(turns: Any) -> Any:
    return (turns & 1) != 0


def _turned(value: Any, turns: Any) -> Any:
    """With the other sign after two quarter turns."""
    return (value.view(INT32) ^ ((turns & 2) << 30)).view(SINGLE)


def _large_angles(machine: Machine, name: str, value: Any, usual: Any) -> Any:
    rare = numpy.logical_not(numpy.absolute(value) < _ANGLE_LIMIT)
    return machine.unless_rare(rare, usual, name, float_unary(name, F32), value)


def _sin(machine: Machine, value: Any) -> Any:
    turns, angle, rest = _reduced(machine, value)
    sine, cosine = _sine_and_cosine(machine, angle, rest)
    return _large_angles(machine, "sin", value, _turned(numpy.where(_is_odd(turns), cosine, sine), turns))


def _cos(machine: Machine, value: Any) -> Any:
    turns, angle, rest = _reduced(machine, value)
    sine, cosine = _sine_and_cosine(machine, angle, rest)
    return _large_angles(machine, "cos", value, _turned(numpy.where(_is_odd(turns), sine, cosine), turns + 1))


def _tan(machine: Machine, value: Any) -> Any:
    turns, angle, rest = _reduced(machine, value)
    sine, cosine = _sine_and_cosine(machine, angle, rest)
    odd = _is_odd(turns)
    quotient = machine.divide(numpy.where(odd, -cosine, sine), numpy.where(odd, sine, cosine))
    return _large_angles(machine, "tan", value, numpy.where(value == 0.0, value, quotient))


def _atan2(machine: Machine, numerator: Any, denominator: Any) -> Any:
    high, wide = numpy.absolute(numerator), numpy.absolute(denominator)
    steep = high > wide
    small, large = numpy.where(steep, wide, high), numpy.where(steep, high, wide)
    # Two zeros make the angle 0, two infinities an eighth of a turn.
    equal = numpy.where(large == 0.0, numpy.float32(0.0), numpy.float32(1.0))
    angle = _odd(machine, numpy.where(small == large, equal, small / large), _ARCTAN)
    left = denominator.view(INT32) < 0
    angle = numpy.where(steep ^ left, -angle, angle)
    base = numpy.where(steep, numpy.float32(_HALF_PI_PARTS[0]), numpy.where(left, numpy.float32(2.0 * _HALF_PI), numpy.float32(0.0)))
    rest = numpy.where(base == 0.0, angle, machine.fma(base, _HALF_PI_PARTS[1] / _HALF_PI, angle))
    return numpy.copysign(base + rest, numerator)


# Powers

_THREE_QUARTERS_DOUBLE: Final = 0x3FE8000000000000
_EXPONENTS: Final = 1024
_LOG2_DOUBLE: Final = _numbers(
    "0x1.71547652d0196p+0", "-0x1.7154765610869p-1", "0x1.ec709cccffe65p-2", "-0x1.71546f1fe2cc8p-2",
    "0x1.2777247b712d8p-2", "-0x1.ec757aa77d5a5p-3", "0x1.a60122a9ad6ccp-3", "-0x1.70a56611f7e3dp-3",
    "0x1.48b52443eccb1p-3", "-0x1.3195faed95be4p-3", "0x1.1c4801c115630p-3", "-0x1.a20a17995862bp-4",
    "0x1.37464068d6fd7p-5",
)  # fmt: skip


def _log2_double(machine: Machine, magnitude: Any) -> Any:
    """log2 of float32 numbers of 0 or more in float64, with the relative error 2**-35."""
    bits = magnitude.astype(DOUBLE).view(UINT64)
    # Unsigned, so that the shift is one instruction everywhere, and so is making the count a float.
    above = bits + ((_EXPONENTS << 52) - _THREE_QUARTERS_DOUBLE)
    shifter = int(numpy.float64(_SHIFTER_DOUBLE).view(numpy.uint64))
    count = ((above >> 52) + shifter).view(DOUBLE) - (_SHIFTER_DOUBLE + _EXPONENTS)
    exponent = (above >> 52 << 52) - (_EXPONENTS << 52)
    part = (bits - exponent).view(DOUBLE) - 1.0
    result = machine.fma(part, machine.horner(part, _LOG2_DOUBLE), count)
    result = numpy.where(magnitude < inf, result, magnitude.astype(DOUBLE))
    return numpy.where(magnitude == 0.0, -inf, result)


def _pow(machine: Machine, base: Any, exponent: Any) -> Any:
    magnitude = numpy.absolute(base)
    power = _within(exponent.astype(DOUBLE) * _log2_double(machine, magnitude), -160.0, 130.0)
    count = (power + _SHIFTER_DOUBLE) - _SHIFTER_DOUBLE
    number = machine.horner((power - count).astype(SINGLE), _EXP2)
    result = machine.scale(number, count.astype(SINGLE) + SHIFTER)
    is_whole = numpy.floor(exponent) == exponent
    half = exponent * 0.5
    is_odd = is_whole & (numpy.floor(half) != half)
    result = numpy.where(is_odd, numpy.copysign(result, base), result)
    no_number = (base < 0.0) & (base > -inf) & numpy.logical_not(is_whole)
    result = numpy.where(no_number, numpy.float32(nan), result)
    is_one = (base == 1.0) | (exponent == 0.0) | ((magnitude == 1.0) & (numpy.absolute(exponent) == inf))
    return numpy.where(is_one, numpy.float32(1.0), result)


def _rsqrt(machine: Machine, value: Any) -> Any:
    return machine.reciprocal_root(value)


FORMULAS: Final[dict[str, Formula]] = {
    "exp": _exp,
    "exp2": _exp2,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "sinh": _sinh,
    "cosh": _cosh,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "log1p": _log1p,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "atan2": _atan2,
    "pow": _pow,
    "rsqrt": _rsqrt,
}
"""By mnemonic: the machine and f32 operands to an f32 result."""

__all__ = ["FORMULAS"]
