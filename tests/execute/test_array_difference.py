"""How far tiles are apart, against numbers worked out by hand."""

from __future__ import annotations

from math import inf, isinf, nan
from typing import Any

import numpy
import pytest

from tileir.execute.arithmetic.rounding import narrow
from tileir.execute.array_difference import (
    Difference,
    difference_from_exact,
    difference_of,
    unit_in_the_last_place,
)
from tileir.execute.dtypes import from_bits
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I1, I8, I64, TF32, FloatType, Type


def differs(element: Type, left: Any, right: Any) -> Difference:
    found = difference_of(element, left, right)
    assert found is not None
    return found


def half(*numbers: float) -> Any:
    return numpy.array(numbers, numpy.float16)


def test_equal_tiles_do_not_differ() -> None:
    assert difference_of(F16, half(1, nan, -inf, 0.0), half(1, nan, -inf, -0.0)) is None
    assert difference_of(I64, numpy.int64(3), numpy.int64(3)) is None


def test_a_difference_says_how_many_where_and_how_far() -> None:
    found = differs(F16, half(1, 2, 3, 4), half(1, 2.5, 3, 5))
    assert (found.different, found.count, found.index) == (2, 4, (1,))
    assert (found.largest, found.relative, found.overall) == (1.0, 0.2, 0.2)
    # Between 2 and 4 halves are 2**-9 apart, between 4 and 8 2**-8.
    assert found.ulps == 0.5 * 2**9


def test_the_place_is_an_index_of_the_tile() -> None:
    left = numpy.zeros((4, 8), numpy.int8)
    right = left.copy()
    right[2, 5] = 1
    assert differs(I8, left, right).index == (2, 5)
    assert differs(I8, left, right).ulps is None


def test_steps_between_neighbors_are_ulps_across_zero_and_powers_of_two() -> None:
    one = numpy.float32(1)
    assert differs(F32, one, numpy.nextafter(one, numpy.float32(0))).ulps == 1
    assert differs(F32, one, numpy.nextafter(one, numpy.float32(2))).ulps == 1
    smallest = numpy.nextafter(numpy.float16(0), numpy.float16(1))
    assert differs(F16, smallest, -smallest).ulps == 2


@pytest.mark.parametrize("wrong", [nan, inf])
def test_what_is_no_number_is_infinitely_far_from_one(wrong: float) -> None:
    found = differs(F16, half(1, wrong), half(1, 2))
    assert found.different == 1
    assert isinf(found.largest) and isinf(found.relative) and found.ulps is not None and isinf(found.ulps)


def test_infinities_of_both_signs_differ() -> None:
    assert isinf(differs(F32, numpy.float32(inf), numpy.float32(-inf)).largest)


def test_truth_values_differ_by_one() -> None:
    assert differs(I1, numpy.array([True, False]), numpy.array([True, True])).largest == 1


@pytest.mark.parametrize("element", [F16, BF16, F8E4M3FN, F8E5M2, TF32, F32])
def test_what_is_rounded_once_does_not_differ_from_the_exact_number(element: FloatType) -> None:
    exact = numpy.random.default_rng(3).standard_normal(1000)
    rounded = narrow(element)(exact)
    assert difference_from_exact(element, rounded, exact) is None
    units = numpy.abs(exact - rounded.astype(numpy.float64)) / unit_in_the_last_place(element, exact)
    assert 0.4 < units.max() <= 0.5


def test_one_step_away_from_the_rounded_number_is_a_difference() -> None:
    exact = numpy.array([1.0, 100.0, 1000.0])
    value = numpy.nextafter(exact.astype(numpy.float16), numpy.float16(0))
    found = difference_from_exact(F16, value, exact)
    assert found is not None and found.different == 3 and found.ulps == 1.0


def test_numbers_that_are_too_large_differ_though_they_round_to_infinity() -> None:
    found = difference_from_exact(F16, half(1, inf), numpy.array([1.0, 70000.0]))
    assert found is not None and found.different == 1 and isinf(found.overall)
    assert difference_from_exact(F16, half(1, inf), numpy.array([1.0, inf])) is None
    # Conversions to f8 stop at the largest number.
    largest = from_bits(F8E4M3FN, numpy.array([0x7E], numpy.uint8))
    assert difference_from_exact(F8E4M3FN, largest, numpy.array([1000.0])) is not None


def test_units_end_at_the_smallest_number() -> None:
    assert unit_in_the_last_place(F16, numpy.array([0.0, 1e-30, 1.0, 2.0])).tolist() == [2**-24, 2**-24, 2**-10, 2**-9]
    assert unit_in_the_last_place(F64, numpy.array([1.0])).tolist() == [2**-52]
