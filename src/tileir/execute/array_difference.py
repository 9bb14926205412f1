"""Comparing arrays: which elements are the same or near each other, how many differ, where and how far.

Two elements are the same number if they are equal or both NaN; zeros of both signs are equal.  A NaN against a number,
or an infinity against anything else, is a difference without a size: it counts as infinitely large.

Distances of floats are also counted in ulps, units in the last place of the element's own type: between two values of
the type the number of steps from one to the next, against an exact number the distance in units of the type there, so
that a correctly rounded result is off by half a unit at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import numpy

from tileir.execute.arithmetic.rounding import narrow, widen
from tileir.execute.dtypes import Array, is_float_dtype, to_bits
from tileir.ir import floats
from tileir.ir.types import FloatType, Type


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tile differs from another; at least one element does."""

    different: int  # How many elements differ.
    count: int  # How many elements there are.
    largest: float  # The largest distance of two elements.
    relative: float  # The largest distance relative to the larger one of the two elements.
    ulps: float | None  # The largest distance in units in the last place; None for integers.
    overall: float  # The largest distance relative to the largest number of the second tile.
    index: tuple[int, ...]  # The index of the first element that differs.

    def __repr__(self) -> str:
        ulps = "" if self.ulps is None else f", {self.ulps:.4g} ulps"
        return (
            f"<Difference: {self.different} of {self.count} elements, first at {list(self.index)}, by at most "
            f"{self.largest:.4g}, relative {self.relative:.4g}{ulps}>"
        )


def same_numbers(left: Array, right: Array) -> Array:
    """Which elements are equal, or both NaN."""
    same: Array = (left == right) | ((left != left) & (right != right))
    return same


def same_bits(left: Array, right: Array) -> Array:
    """Which elements of two arrays of one dtype have the same bits, or are both NaN: one NaN is as good as another."""
    bits = f"u{left.itemsize}"
    same: Array = numpy.ascontiguousarray(left).view(bits) == numpy.ascontiguousarray(right).view(bits)
    if is_float_dtype(left.dtype):
        with numpy.errstate(all="ignore"):
            same |= (left != left) & (right != right)
    return same


def near(found: Array, expected: Array, relative: float, absolute: Array | float) -> Array:
    """Which elements are the same, or within `relative * |expected| + absolute` of a finite expected one."""
    with numpy.errstate(all="ignore"):
        close = numpy.abs(found - expected) <= relative * numpy.abs(expected) + absolute
        within: Array = same_numbers(found, expected) | (close & numpy.isfinite(expected))
    return within


def exact_numbers(element: FloatType, array: Any) -> Array:
    """The numbers of a tile as float64."""
    with numpy.errstate(all="ignore"):
        return numpy.asarray(widen(element)(numpy.asarray(array)))


def difference_of(element: Type, left: Any, right: Any) -> Difference | None:
    """How two tiles of an element type differ, None if they do not."""
    left, right = numpy.asarray(left), numpy.asarray(right)
    if isinstance(element, FloatType):
        wide_left, wide_right = exact_numbers(element, left), exact_numbers(element, right)
        steps = numpy.abs(_ordered(element, left) - _ordered(element, right))
        return _difference(wide_left, wide_right, ~same_numbers(wide_left, wide_right), steps)
    # Truth values and addresses too are numbers to subtract.
    return _difference(left.astype(numpy.float64), right.astype(numpy.float64), left != right, None)


def difference_from_exact(element: FloatType, left: Any, exact: Array) -> Difference | None:
    """How a tile differs from numbers in a wider type, None if each element is its number rounded and within range."""
    left, exact = numpy.asarray(left), numpy.asarray(exact).astype(numpy.float64)
    wide = exact_numbers(element, left)
    with numpy.errstate(all="ignore"):
        rounded = exact_numbers(element, numpy.asarray(narrow(element)(exact)))
        different = ~same_numbers(wide, rounded) | (numpy.isfinite(exact) & (numpy.abs(exact) > _past_largest(element)))
        if not different.any():
            return None
        units = numpy.abs(wide - exact) / unit_in_the_last_place(element, exact)
    return _difference(wide, exact, different, units)


@cache
def _past_largest(element: FloatType) -> float:
    """Numbers above are too large for a float type, also where it would round them to an infinity or its largest."""
    form = floats.FORMATS[element.name]
    return floats.to_double(form, form.largest) * (1.0 + 2.0**-form.precision)


def _ordered(element: FloatType, array: Array) -> Array:
    """Numbers that count the values of a float type: neighbors differ by one, both zeros are 0."""
    form = floats.FORMATS[element.name]
    bits = to_bits(element, array).astype(numpy.uint64)
    magnitude = (bits & numpy.uint64(form.magnitude_mask)).astype(numpy.float64)
    negative = (bits & numpy.uint64(form.sign_mask)) != 0
    ordered: Array = numpy.where(negative, -magnitude, magnitude)
    return ordered


def unit_in_the_last_place(element: FloatType, numbers: Array) -> Array:
    """The distance of neighbors in a float type around each number; the smallest around zero."""
    form = floats.FORMATS[element.name]
    smallest = form.minimum_exponent - form.mantissa_bits
    sized = numpy.isfinite(numbers) & (numbers != 0)
    # Numbers are mantissas from a half to one times a power of two.
    exponents = numpy.where(sized, numpy.frexp(numpy.where(sized, numbers, 1.0))[1] - form.precision, smallest)
    unit: Array = numpy.ldexp(1.0, numpy.maximum(exponents, smallest))
    return unit


def _difference(left: Array, right: Array, different: Array, units: Array | None) -> Difference | None:
    chosen = numpy.flatnonzero(different)
    if not chosen.size:
        return None
    left, right = numpy.reshape(left, -1), numpy.reshape(right, -1)
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(left[chosen] - right[chosen])
        apart[~numpy.isfinite(apart)] = inf
        relative = apart / numpy.maximum(numpy.abs(left[chosen]), numpy.abs(right[chosen]))
        relative[~numpy.isfinite(relative)] = inf
    largest = float(apart.max())
    scale = float(numpy.abs(right[numpy.isfinite(right)]).max(initial=0.0))
    overall = largest / scale if scale else inf
    ulps: float | None = None
    if units is not None:
        ulps = inf if largest == inf else float(numpy.reshape(units, -1)[chosen].max())
    place = tuple([int(position) for position in numpy.unravel_index(int(chosen[0]), numpy.shape(different))])
    return Difference(chosen.size, different.size, largest, float(relative.max()), ulps, overall, place)
