"""Doubles in pairs, `high + low` with the low part below half a unit of the high one, and polynomials.

The functions of `exponential`, `logarithm` and `trigonometric` are straight-line programs over these and the
exactly defined operations of NumPy, so that every machine and every engine computes the same bits: nothing here calls
a function of the C library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy

from tileir.execute.arithmetic.rounding import two_product

SHIFTER: Final = 6755399441055744.0
"""1.5 * 2**52: adding it rounds a double below 2**51 to an integer, whose two's complement is in the low bits."""

POWER_SHIFTER: Final = SHIFTER + 1023.0
"""The same, and the low bits are what the exponent field of that power of two holds: `shifted_power`."""


def widened(x: Any) -> Any:
    """Doubles of the same values."""
    return x.astype(numpy.float64, copy=False)


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, highest coefficient first."""
    result = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        result += coefficient
        result *= x
    result += coefficients[-1]
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
