"""Arithmetic of doubles: pairs and polynomials, f64 in the directed modes, and f64 fma.

A pair is `high + low` with the low part below half a unit of the high one.  The functions of `exponential`
and `trigonometric` are straight-line programs over pairs, polynomials and the exactly defined operations of NumPy, so
that every machine and every engine computes the same bits: nothing here calls a function of the C library.

In the directed modes a product, quotient or root is computed as a pair, on mantissas between 1/4 and 2, where nothing
overflows or underflows; `_scale` restores the exponent and rounds at the precision of the result, which may be
subnormal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic.rounding import (
    NEAREST_EVEN,
    NEGATIVE_INF,
    POSITIVE_INF,
    ZERO,
    Binary,
    Ternary,
    Unary,
    to_odd,
    two_product,
    two_sum,
)
from tileir.ir.declaration import OperationDeclaration

# Pairs and polynomials

SHIFTER: Final = 6755399441055744.0
"""1.5 * 2**52: adding it rounds a double below 2**51 to an integer, whose two's complement is in the low bits."""

POWER_SHIFTER: Final = SHIFTER + 1023.0
"""The same, and the low bits are what the exponent field of that power of two holds: `shifted_power`."""


def widened(x: Any) -> Any:
    return x.astype(numpy.float64, copy=False)


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, highest coefficient first."""
    result: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def fast_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """`s + e == a + b` exactly where `a` is zero or not below `b` in magnitude (Dekker)."""
    total = a + b
    return total, b - (total - a)


def quotient(high: Any, low: Any, divisor: Any, divisor_low: Any) -> tuple[Any, Any]:
    """A pair over a pair: the quotient of the high parts and what it leaves, to about 100 bits."""
    first = high / divisor
    product, error = two_product(first, divisor)
    rest = ((high - product) - error) + (low - first * divisor_low)
    return first, rest / divisor


def power_of_two(exponent: Any) -> Any:
    """`2.0 ** exponent` of int64 from -1022 to 1023; only the low twelve bits count."""
    return ((exponent + 1023) << 52).view(numpy.float64)


def shifted_power(shifted: Any) -> Any:
    """`2.0 ** n` of `n + POWER_SHIFTER`, for n from -1022 to 1023."""
    return (shifted.view(numpy.int64) << 52).view(numpy.float64)


def scale(value: Any, exponent: Any) -> Any:
    """`value * 2 ** exponent` of int64 from -2044 to 2046, rounded where the result is subnormal."""
    half = exponent >> 1
    return value * power_of_two(half) * power_of_two(exponent - half)


# Directed modes, and fma

_ALIGNMENT: Final = 200  # More than 53 + 106 binary digits apart, only the sign of the smaller operand matters.


def _step(result: Any, residual: Any, rounding: str) -> Any:
    """Move `result`, next to the exact value, in a directed mode; `residual` has the sign of exact minus `result`."""
    if rounding == NEGATIVE_INF:
        return numpy.where(residual < 0, numpy.nextafter(result, -numpy.inf), result)
    if rounding == POSITIVE_INF:
        return numpy.where(residual > 0, numpy.nextafter(result, numpy.inf), result)
    if rounding == ZERO:
        return numpy.where(residual * numpy.sign(result) < 0, numpy.nextafter(result, 0.0), result)
    raise ValueError(f"rounding mode '{rounding}' is not directed")


def _scale(high: Any, low: Any, exponent: Any, rounding: str, regular: Any) -> Any:
    """`(high + low) * 2**exponent` rounded once; where not `regular`, `high` is the result."""
    result = numpy.ldexp(high, exponent)
    lost = high - numpy.ldexp(result, -exponent)
    if rounding == NEAREST_EVEN:
        # `result` is `high` rounded: wrong only if that was a tie which `low` breaks the other way.
        half = numpy.ldexp(0.5, -1074 - exponent)
        wrong = (numpy.abs(lost) == half) & (lost * low > 0) & regular
        if numpy.count_nonzero(wrong):
            result = numpy.where(wrong, numpy.nextafter(result, numpy.copysign(numpy.inf, lost)), result)
        return numpy.where(regular, result, high)
    residual = numpy.where(lost != 0, lost, low)
    residual = numpy.where(numpy.isinf(result), -result, residual)
    return _step(result, numpy.where(regular, residual, 0.0), rounding)


def negative_zero(result: Any, a: Any, b: Any) -> Any:
    """The sum `result` of `a` and `b` with the zeros that downward rounding makes negative."""
    zero = numpy.equal(result, 0)
    if numpy.count_nonzero(zero):
        zero &= numpy.signbit(a) | numpy.signbit(b)
        result = numpy.where(zero, numpy.negative(numpy.abs(result)), result)
    return result


def fma(rounding: str) -> Ternary:
    """`a * b + c` rounded once (Boldo and Melquiond's sum of three, on aligned operands)."""

    def exact_fma(a: Any, b: Any, c: Any) -> Any:
        a_mantissa, a_exponent = numpy.frexp(a)
        b_mantissa, b_exponent = numpy.frexp(b)
        c_mantissa, c_exponent = numpy.frexp(c)
        high, low = two_product(a_mantissa, b_mantissa)
        exponent = a_exponent + b_exponent
        # A zero has no exponent of its own: it takes the other side's.
        exponent = numpy.where(high == 0, c_exponent, exponent)
        c_exponent = numpy.where(c_mantissa == 0, exponent, c_exponent)
        distance = c_exponent - exponent
        aligned = numpy.clip(distance, -_ALIGNMENT, _ALIGNMENT)
        exponent = numpy.where(distance > _ALIGNMENT, c_exponent - _ALIGNMENT, exponent)
        addend = numpy.ldexp(c_mantissa, aligned)
        tail, tail_low = two_sum(addend, low)
        total, total_low = two_sum(high, tail)
        rest, rest_low = two_sum(tail_low, total_low)
        result, left = two_sum(total, to_odd(rest, rest_low))
        finite_factors = numpy.isfinite(a) & numpy.isfinite(b)
        regular = finite_factors & numpy.isfinite(c)
        scaled = _scale(result, left, exponent, rounding, regular)
        negative_product = numpy.signbit(a) ^ numpy.signbit(b)
        negative_addend = numpy.signbit(c)
        both = negative_product & negative_addend
        if rounding == NEGATIVE_INF:
            both = negative_product | negative_addend
        scaled = numpy.where(regular & (result == 0), numpy.where(both, -0.0, 0.0), scaled)
        # A product of finite operands must not overflow to an infinity that meets an infinite addend.
        # The sum of a NaN with itself is quiet.
        special = numpy.where(finite_factors, c + c, a * b + c)
        return numpy.where(regular, scaled, special)

    return exact_fma


def binary(declaration: OperationDeclaration, rounding: str) -> Binary:
    """addf, subf, mulf or divf in a directed mode: but for quotients, fma with an operand that changes nothing."""
    fused = fma(rounding)

    def divide(a: Any, b: Any) -> Any:
        regular = numpy.isfinite(a) & numpy.isfinite(b) & (b != 0)
        a_mantissa, a_exponent = numpy.frexp(a)
        b_mantissa, b_exponent = numpy.frexp(b)
        quotient = a_mantissa / b_mantissa
        product, low = two_product(quotient, b_mantissa)
        # What is left of the dividend, exactly; over the divisor it is what the quotient lacks.
        residual = ((a_mantissa - product) - low) * numpy.sign(b_mantissa)
        return _scale(quotient, residual, a_exponent - b_exponent, rounding, regular)

    operations: dict[OperationDeclaration, Binary] = {
        ops.ADDF: lambda a, b: fused(a, 1.0, b),
        ops.SUBF: lambda a, b: fused(a, 1.0, -b),
        ops.MULF: lambda a, b: fused(a, b, numpy.copysign(0.0, a * b)),
        ops.DIVF: divide,
    }
    return operations[declaration]


def square_root(rounding: str) -> Unary:
    def directed_root(a: Any) -> Any:
        mantissa, exponent = numpy.frexp(a)
        odd = exponent & 1
        mantissa = numpy.where(odd != 0, mantissa * 2.0, mantissa)
        root = numpy.sqrt(mantissa)
        product, low = two_product(root, root)
        residual = (mantissa - product) - low
        return _scale(root, residual, (exponent - odd) >> 1, rounding, numpy.isfinite(a) & (a > 0))

    return directed_root
