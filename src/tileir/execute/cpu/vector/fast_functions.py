"""Functions of f32 as formulas over traced values, within about one unit in the last place.

docs/cpu.md states the error of each.  Polynomials are near-minimax, in Horner's order.  Results may be subnormal, and
zeros, infinities and NaN come out as those of the exact functions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.cpu.vector.casting import DOUBLE, INT32, INT64, SINGLE, UINT64
from tileir.execute.cpu.vector.fast_machine import ONE_BITS, SHIFTER, Machine
from tileir.ir.declaration import OperationDeclaration
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


_EXP_VANISHES: Final = -104.0
_EXP2_VANISHES: Final = -151.0
"""Below these the results are zero."""


def _exp_parts(machine: Machine, value: Any) -> tuple[Any, Any]:
    """exp(value), for values from -104, as a number near 1 and, plus `SHIFTER`, the power of two to scale it by."""
    value = numpy.where(value > 90.0, 90.0, value)
    shifted = machine.fma(value, LOG2_E, SHIFTER)
    count = shifted - SHIFTER
    rest = machine.fma(count, -LN2_LOW, machine.fma(count, -LN2_HIGH, value))
    return machine.horner(rest, _EXP), shifted


def _unless_vanishing(value: Any, least: float, function: Callable[[Any], Any]) -> Any:
    """A function that is zero below `least`: it is not asked there, as numbers that underflow take their time.

    AVX-512 leaves lanes out of an instruction for nothing, and the last one is enough.
    """
    vanishes = value < least
    return numpy.where(vanishes, 0.0, function(numpy.where(vanishes, 0.0, value)))


def _exp(machine: Machine, value: Any) -> Any:
    if machine.has_guesses:
        number, shifted = _exp_parts(machine, value)
        return machine.scale_unless(value < _EXP_VANISHES, number, shifted - SHIFTER)
    return _unless_vanishing(value, _EXP_VANISHES, lambda value: machine.scale(*_exp_parts(machine, value)))


def _exp2(machine: Machine, value: Any) -> Any:
    if machine.has_guesses:
        rest = machine.rest(value)
        return machine.scale_unless(value < _EXP2_VANISHES, machine.horner(rest, _EXP2), value - rest)

    def power(value: Any) -> Any:
        value = numpy.where(value > 128.5, 128.5, value)
        shifted = value + SHIFTER
        return machine.scale(machine.horner(value - (shifted - SHIFTER), _EXP2), shifted)

    return _unless_vanishing(value, _EXP2_VANISHES, power)


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

_TWO_THIRDS: Final = 0x3F2AAAAB
_THREE_QUARTERS: Final = 0x3F400000
_EXPONENT: Final = -0x00800000
LOG10_E: Final = 0.4342944819032518
_LOG10_E_HIGH: Final = float(numpy.float32(LOG10_E))
_LOG2_E_HIGH: Final = float(numpy.float32(LOG2_E - 1.0))
_LOG: Final = (-0.5,) + _numbers(
    "0x1.555556p-2", "-0x1.ffff0ep-3", "0x1.99977ep-3", "-0x1.55990ap-3", "0x1.24f490p-3", "-0x1.f389b2p-4",
    "0x1.b87e02p-4", "-0x1.0711dap-3", "0x1.ebd18ep-4",
)  # fmt: skip
"""log(1 + x) - x over x**2, from -1/3 to 1/3."""
_LOG1P: Final = (-0.5,) + _numbers(
    "0x1.55555ap-2", "-0x1.000070p-2", "0x1.999788p-3", "-0x1.5519a2p-3", "0x1.24603cp-3", "-0x1.04aad0p-3",
    "0x1.df4bbcp-4", "-0x1.7574a8p-4", "0x1.34aaf2p-5",
)  # fmt: skip
"""The same from -1/4 to 1/2."""


def _split(value: Any, least: int) -> tuple[Any, Any]:
    """A positive normal number as 2**count * (1 + part); 1 + part is at least what has these bits, below twice it."""
    bits = value.view(INT32)
    above = bits - least
    return (above >> 23).astype(SINGLE), (bits - (above & _EXPONENT)).view(SINGLE) - 1.0


def _split_any(value: Any) -> tuple[Any, Any]:
    """The same of a subnormal number too, with a part from -1/3 to 1/3."""
    small = value < 2.0**-126
    count, part = _split(numpy.where(small, value * 2.0**23, value), _TWO_THIRDS)
    return count - numpy.where(small, numpy.float32(23.0), numpy.float32(0.0)), part


def _ends(value: Any, pole: float, result: Any) -> Any:
    """A logarithm with its special cases: -inf at the pole, NaN below, infinity and NaN themselves."""
    result = numpy.where(value < inf, result, value)
    return numpy.where(value > pole, result, numpy.where(value == pole, numpy.float32(-inf), numpy.float32(nan)))


def _log_pair(machine: Machine, count: Any, part: Any, coefficients: tuple[float, ...] = _LOG) -> tuple[Any, Any]:
    """count * ln(2) + log(1 + part) as a float32 and a small rest: the sum of the large terms is exact."""
    large = count * LN2_HIGH
    total = large + part
    error = part - (total - large)
    return total, machine.fma(part * part, machine.horner(part, coefficients), machine.fma(count, LN2_LOW, error))


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
    # From -1/4 to 1/2 the part of the exact sum needs no rounding; a large value is its own sum.
    count, part = _split(above, _THREE_QUARTERS)
    power = (ONE_BITS - ((above.view(INT32) - _THREE_QUARTERS) & _EXPONENT)).view(SINGLE)
    part = numpy.where(value > 2.0**30, part, machine.fma(value, power, power - 1.0))
    total, rest = _log_pair(machine, count, part, _LOG1P)
    return numpy.copysign(_ends(value, -1.0, total + rest), value)


# Angles

_TWO_OVER_PI: Final = 0.6366197723675814
_HALF_PI: Final = 1.5707963267948966
_HALF_PI_PARTS: Final = _numbers("0x1.921fb4p+0", "0x1.4442d0p-24", "0x1.846988p-48")
"""Three float32 numbers whose sum it is; all above zero, which keeps the sign of a zero angle."""
_HALF_PI_ERROR: Final = (_HALF_PI - float(numpy.float32(_HALF_PI))) / _HALF_PI
"""What the nearest float32 lacks, relative to it."""
_HALF_PI_HIGH: Final = float.fromhex("0x1.921fb5p+0")
"""Few bits: its product with the number of quarter turns is exact in float64."""
_HALF_PI_LOW: Final = (_HALF_PI - _HALF_PI_HIGH) + 6.123233995736766e-17
_ANGLE_LIMIT: Final = 71476.0
"""Above it the parts are too few: the exact function is called."""
_SHIFTER_DOUBLE: Final = 1.5 * 2.0**52
_SINE: Final = _numbers("-0x1.555544p-3", "0x1.11071cp-7", "-0x1.993960p-13")
_COSINE: Final = (1.0, -0.5) + _numbers("0x1.55554ap-5", "-0x1.6c0c12p-10", "0x1.99e204p-16")
_ARCTAN: Final = _numbers(
    "-0x1.55553ep-2", "0x1.9991fep-3", "-0x1.2421b6p-3", "0x1.c099fep-4", "-0x1.583490p-4", "0x1.dac9e2p-5",
    "-0x1.fed15ep-6", "0x1.65a65ap-7", "-0x1.d62fecp-10",
)  # fmt: skip


def _reduced(machine: Machine, value: Any, with_rest: bool = False) -> tuple[Any, Any, Any]:
    """The number of quarter turns, an integer whose low bits are right, and the angle that is left, at most pi / 4.

    The angle is a float32 and, if asked for, what is missing from it; without fused multiply-add it is a float64.
    """
    if not machine.builder.module.native_fma:
        wide = value.astype(DOUBLE)
        turns = wide * _TWO_OVER_PI + _SHIFTER_DOUBLE
        count = turns - _SHIFTER_DOUBLE
        angle = (wide - count * _HALF_PI_HIGH) - count * _HALF_PI_LOW
        return turns.view(INT64).astype(INT32), angle, None
    first, second, third = _HALF_PI_PARTS
    turns = machine.fma(value, _TWO_OVER_PI, SHIFTER)
    count = turns - SHIFTER
    value = machine.fma(count, -first, value)
    if not with_rest:
        return turns.view(INT32), machine.fma(count, -third, machine.fma(count, -second, value)), None
    product = count * second
    angle = value - product
    error = ((value - angle) - product) - machine.fma(count, second, -product)
    return turns.view(INT32), angle, machine.fma(count, -third, error)


def _sine_and_cosine(machine: Machine, angle: Any) -> tuple[Any, Any]:
    sine = _odd(machine, angle, _SINE)
    return numpy.copysign(sine, angle), machine.horner(angle * angle, _COSINE)


def _is_odd(turns: Any) -> Any:
    return (turns & 1) != 0


def _turned(value: Any, turns: Any) -> Any:
    """With the other sign after two quarter turns."""
    return (value.view(INT32) ^ ((turns & 2) << 30)).view(SINGLE)


def _large_angles(machine: Machine, function: OperationDeclaration, value: Any, usual: Any) -> Any:
    rare = numpy.logical_not(numpy.absolute(value) < _ANGLE_LIMIT)
    return machine.unless_rare(rare, usual, function.mnemonic, float_unary(function, F32), value)


def _sin(machine: Machine, value: Any) -> Any:
    turns, angle, _ = _reduced(machine, value)
    sine, cosine = _sine_and_cosine(machine, angle)
    result = numpy.where(_is_odd(turns), cosine, sine).astype(SINGLE)
    return _large_angles(machine, ops.SIN, value, _turned(result, turns))


def _cos(machine: Machine, value: Any) -> Any:
    turns, angle, _ = _reduced(machine, value)
    sine, cosine = _sine_and_cosine(machine, angle)
    result = numpy.where(_is_odd(turns), sine, cosine).astype(SINGLE)
    return _large_angles(machine, ops.COS, value, _turned(result, turns + 1))


def _tan(machine: Machine, value: Any) -> Any:
    turns, angle, rest = _reduced(machine, value, with_rest=True)
    odd = _is_odd(turns)
    if rest is None:
        sine, cosine = _sine_and_cosine(machine, angle)
        quotient = (numpy.where(odd, -cosine, sine) / numpy.where(odd, sine, cosine)).astype(SINGLE)
    else:
        # A quotient has twice the errors of its operands: their sums are kept with what rounding them loses.
        square = angle * angle
        curve = machine.fma(square, machine.horner(square, _COSINE[1:]), -(angle * rest))
        cosine = curve + 1.0
        cosine_rest = curve - (cosine - 1.0)
        curve = machine.fma(angle * square, machine.horner(square, _SINE), rest * cosine)
        sine = curve + angle
        sine_rest = curve - (sine - angle)
        numerator, numerator_rest = numpy.where(odd, -cosine, sine), numpy.where(odd, -cosine_rest, sine_rest)
        denominator, denominator_rest = numpy.where(odd, sine, cosine), numpy.where(odd, sine_rest, cosine_rest)
        quotient = machine.divide(numerator, denominator, denominator_rest, numerator_rest)
    return _large_angles(machine, ops.TAN, value, numpy.where(value == 0.0, value, quotient))


def _atan2(machine: Machine, numerator: Any, denominator: Any) -> Any:
    high, wide = numpy.absolute(numerator), numpy.absolute(denominator)
    steep = high > wide
    small, large = numpy.where(steep, wide, high), numpy.where(steep, high, wide)
    # Two zeros make the angle 0, two infinities an eighth of a turn.
    equal = numpy.where(large == 0.0, numpy.float32(0.0), numpy.float32(1.0))
    angle = _odd(machine, numpy.where(small == large, equal, small / large), _ARCTAN)
    left = denominator.view(INT32) < 0
    angle = numpy.where(steep ^ left, -angle, angle)
    level = numpy.where(left, numpy.float32(2.0 * _HALF_PI), numpy.float32(0.0))
    base = numpy.where(steep, numpy.float32(_HALF_PI), level)
    # What the base lacks of pi or pi / 2 is proportional to it.
    return numpy.copysign(base + machine.fma(base, _HALF_PI_ERROR, angle), numerator)


# Powers

_THREE_QUARTERS_DOUBLE: Final = 0x3FE8000000000000
_EXPONENTS: Final = 1024
_LOG2_DOUBLE: Final = _numbers(
    "0x1.71547652b7c00p+0", "-0x1.7154765406161p-1", "0x1.ec709dcba4ba6p-2", "-0x1.715473b4bed86p-2",
    "0x1.2776bcfc74c51p-2", "-0x1.ec720d091af07p-3", "0x1.a61cebeab82d4p-3", "-0x1.712f293e79cf0p-3",
    "0x1.478638762f685p-3", "-0x1.2870dafeec13ap-3", "0x1.17bdb686fcd3cp-3", "-0x1.03a4b722eaa5ap-3",
    "0x1.72f72e2f3cf8cp-4", "-0x1.089b253784e0ap-5",
)  # fmt: skip


def _log2_double(machine: Machine, magnitude: Any) -> Any:
    """log2 of float32 numbers of 0 or more in float64, with the relative error 2**-37."""
    bits = magnitude.astype(DOUBLE).view(UINT64)
    # Unsigned, so that the shift is one instruction everywhere, and so is making the count a float.
    above = bits + ((_EXPONENTS << 52) - _THREE_QUARTERS_DOUBLE)
    shifter = int(numpy.float64(_SHIFTER_DOUBLE).view(numpy.uint64))
    count = ((above >> 52) + shifter).view(DOUBLE) - (_SHIFTER_DOUBLE + _EXPONENTS)
    part = ((above & ((1 << 52) - 1)) + _THREE_QUARTERS_DOUBLE).view(DOUBLE) - 1.0
    result = machine.fma(part, machine.horner(part, _LOG2_DOUBLE), count)
    result = numpy.where(magnitude < inf, result, magnitude.astype(DOUBLE))
    return numpy.where(magnitude == 0.0, -inf, result)


def _is_whole(size: Any) -> Any:
    """Whether a number of 0 or more is an integer: all are that have no place for a fraction."""
    unit = 2.0**23
    return (size >= unit) | ((size + unit) - unit == size)


def _pow(machine: Machine, base: Any, exponent: Any) -> Any:
    magnitude = numpy.absolute(base)
    power = _within(exponent.astype(DOUBLE) * _log2_double(machine, magnitude), -160.0, 130.0)
    count = (power + _SHIFTER_DOUBLE) - _SHIFTER_DOUBLE
    number = machine.horner((power - count).astype(SINGLE), _EXP2)
    result = machine.scale(number, count.astype(SINGLE) + SHIFTER)
    size = numpy.absolute(exponent)
    is_whole = _is_whole(size)
    is_odd = is_whole & numpy.logical_not(_is_whole(size * 0.5))
    result = numpy.where(is_odd, numpy.copysign(result, base), result)
    no_number = (base < 0.0) & (base > -inf) & numpy.logical_not(is_whole)
    result = numpy.where(no_number, numpy.float32(nan), result)
    is_one = (base == 1.0) | (exponent == 0.0) | ((magnitude == 1.0) & (size == inf))
    return numpy.where(is_one, numpy.float32(1.0), result)


FORMULAS: Final[dict[OperationDeclaration, Formula]] = {
    ops.EXP: _exp,
    ops.EXP2: _exp2,
    ops.SIGMOID: _sigmoid,
    ops.TANH: _tanh,
    ops.SINH: _sinh,
    ops.COSH: _cosh,
    ops.LOG: _log,
    ops.LOG2: _log2,
    ops.LOG10: _log10,
    ops.LOG1P: _log1p,
    ops.SIN: _sin,
    ops.COS: _cos,
    ops.TAN: _tan,
    ops.ATAN2: _atan2,
    ops.POW: _pow,
    ops.RSQRT: Machine.reciprocal_root,
}
"""The machine and f32 operands to an f32 result."""

__all__ = ["FORMULAS"]
