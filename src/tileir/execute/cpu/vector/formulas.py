"""NumPy's ufuncs that take several instructions, as formulas over traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.execute.cpu.vector.casting import BOOL, DOUBLE, INT32, SINGLE, is_machine_float, unsupported
from tileir.execute.dtypes import DType
from tileir.ir import floats


def _sign(value: Any) -> Any:
    """Zeros of both signs give 0, NaN stays."""
    return numpy.where(value > 0, 1, numpy.where(value < 0, -1, numpy.where(value == 0, 0, value)))


def _magnitude(value: Any) -> Any:
    return numpy.absolute(value if is_machine_float(value.dtype) else value.astype(SINGLE))


def _form_of(value: Any, name: str) -> tuple[floats.FloatFormat, DType]:
    """The fields of float32 or float64, and the integers as wide."""
    if not is_machine_float(value.dtype):
        raise unsupported(name, value.dtype)
    return floats.F64 if value.dtype == DOUBLE else floats.F32, numpy.dtype(f"i{value.dtype.itemsize}")


def _is_regular(value: Any) -> Any:
    """Whether a float is neither zero nor infinite nor NaN."""
    return (numpy.absolute(value) < numpy.inf) & (value != 0)


def _nextafter(value: Any, towards: Any) -> Any:
    _, integer = _form_of(value, "nextafter")
    pattern = value.view(integer)
    one = integer.type(1)
    # Away from zero a pattern grows.
    grows = (value < towards) ^ (pattern < 0)
    sign = towards.view(integer) & numpy.iinfo(integer).min
    moved = numpy.where(value == 0, sign | one, pattern + numpy.where(grows, one, -one))
    result = numpy.where(value == towards, towards, moved.view(value.dtype))
    return numpy.where((value != value) | (towards != towards), value + towards, result)


def _frexp(value: Any) -> tuple[Any, Any]:
    """Magnitudes from 1/2 to 1 and int32 exponents; zeros, infinities and NaN have the exponent 0."""
    form, integer = _form_of(value, "frexp")
    field, bias = form.infinity, form.bias - 1
    pattern = value.view(integer)
    subnormal = (pattern & field) == 0
    lift = form.mantissa_bits + 2
    pattern = numpy.where(subnormal, (value * 2.0**lift).view(integer), pattern)
    exponent = ((pattern & field) >> form.mantissa_bits) - numpy.where(
        subnormal, integer.type(bias + lift), integer.type(bias)
    )
    half = (pattern & ~field) | (bias << form.mantissa_bits)
    regular = _is_regular(value)
    return numpy.where(regular, half.view(value.dtype), value), numpy.where(regular, exponent, 0).astype(INT32)


def _ldexp(value: Any, power: Any) -> Any:
    """Times a power of two, rounded once to nearest even where the result is subnormal."""
    form, integer = _form_of(value, "ldexp")
    mantissa, exponent = _frexp(value)
    # Past these bounds nothing changes, and no sum below overflows.
    bound = 4 * form.bias
    total = numpy.clip(power, -bound, bound).astype(integer) + exponent.astype(integer)
    least = 2 - form.bias
    # What will be subnormal is made a normal number first, as many places higher; the last product rounds it.
    small = total < least
    lift = 2 * form.mantissa_bits
    place = numpy.where(small, numpy.maximum(total + lift, least), total)
    scaled = (mantissa.view(integer) + (place << form.mantissa_bits)).view(value.dtype)
    result = numpy.where(small, scaled * 2.0**-lift, scaled)
    result = numpy.where(total > form.bias + 1, numpy.copysign(numpy.inf, value), result)
    return numpy.where(_is_regular(value), result, value)


FORMULAS: Final[dict[str, Callable[..., Any]]] = {
    "sign": _sign,
    "signbit": lambda value: value.view(f"i{value.dtype.itemsize}") < 0,
    "isnan": lambda value: value != value,
    "isinf": lambda value: _magnitude(value) == numpy.inf,
    "isfinite": lambda value: _magnitude(value) < numpy.inf,
    "invert": lambda value: value ^ numpy.invert(numpy.zeros((), value.dtype)),
    "logical_and": lambda left, right: left.astype(BOOL) & right.astype(BOOL),
    "logical_or": lambda left, right: left.astype(BOOL) | right.astype(BOOL),
    "logical_not": lambda value: value.astype(BOOL) ^ True,
    "nextafter": _nextafter,
    "frexp": _frexp,
    "ldexp": _ldexp,
}
"""By the ufunc's name."""
