"""Which code a launch gets, by the values of its arguments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.execute.gpu.fake_cuda import entry_of

from tileir.execute.gpu.triton.code import LaunchView, Specialization, argument, constant
from tileir.execute.gpu.triton.variants import Classifier, coarser, general

ADDRESS = 1 << 30


def classifier(parameters: str, *views: LaunchView) -> Classifier:
    return Classifier([each.type for each in entry_of(parameters).regions[0].blocks[0].arguments], views)


MATRIX = LaunchView(argument(0), (argument(1), argument(2)), (argument(3), constant(1)), 2)
MATRIX_PARAMETERS = "%a: tile<ptr<f16>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>"


@pytest.mark.parametrize(
    ("parameters", "values", "divisors"),
    [
        ("%a: tile<ptr<f32>>", [ADDRESS], (16,)),
        ("%a: tile<ptr<f32>>", [ADDRESS + 8], (8,)),
        ("%a: tile<ptr<f32>>", [ADDRESS + 12], (4,)),
        ("%a: tile<ptr<f32>>", [ADDRESS + 2], (2,)),
        ("%a: tile<ptr<f32>>", [ADDRESS + 1], (1,)),
        # Of integers that are in no view, only whether they are multiples of 16.
        ("%n: tile<i32>", [48], (16,)),
        ("%n: tile<i32>", [8], (1,)),
        ("%n: tile<i64>", [-32], (16,)),
        ("%n: tile<i32>", [0], (16,)),
        # Of no use in addresses.
        ("%n: tile<i8>, %b: tile<i1>, %f: tile<f32>, %d: tile<f64>", [16, 1, 16.0, 16.0], (1, 1, 1, 1)),
    ],
)
def test_divisors_of_pointers_and_integers(parameters: str, values: list[Any], divisors: tuple[int, ...]) -> None:
    assert classifier(parameters).specialization(values).divisors == divisors


def matrix(**changed: int) -> Specialization:
    given = {"base": ADDRESS, "rows": 100, "columns": 200, "stride": 256, **changed}
    return classifier(MATRIX_PARAMETERS, MATRIX).specialization(list(given.values()))


def test_extents_and_strides_of_views_are_told_apart_more_finely() -> None:
    assert matrix().divisors == (16, 1, 8, 16)
    assert matrix(columns=204, stride=8).divisors == (16, 1, 4, 8)


def test_extents_along_other_dimensions_make_no_difference() -> None:
    assert matrix(rows=50) == matrix(rows=64) == matrix(rows=1)
    # Where no stride is known to be 1, elements along any dimension may be beside each other.
    view = MATRIX._replace(strides=(argument(3), argument(2)))
    assert classifier(MATRIX_PARAMETERS, view).specialization([ADDRESS, 64, 200, 256]).divisors == (16, 16, 8, 16)


def test_coarser_kinds_know_less() -> None:
    kind = Specialization((16, 8, 4, 1), frozenset((0,)), frozenset((0,)))
    assert coarser(kind) == kind._replace(divisors=(16, 1, 1, 1))
    assert general(4) == Specialization((1, 1, 1, 1))


@pytest.mark.parametrize(
    ("changed", "is_described"),
    [
        ({}, True),
        ({"rows": 1, "columns": 8}, True),
        ({"columns": 203}, False),
        ({"base": ADDRESS + 8}, False),
        ({"base": 0}, False),
        ({"stride": 252}, False),
        ({"stride": 264}, True),
        ({"stride": 0}, False),
        ({"stride": -256}, False),
        ({"stride": 2**32 - 256}, False),
        ({"rows": 1, "stride": 7}, True),
        ({"rows": 0}, False),
        ({"columns": -1}, False),
        ({"columns": 2**32 - 1}, False),
        ({"rows": 2**30}, True),
        ({"rows": 2**30 + 1}, False),
    ],
)
def test_views_that_the_accelerator_serves(changed: dict[str, int], is_described: bool) -> None:
    assert matrix(**changed).described == (frozenset((0,)) if is_described else frozenset())


@pytest.mark.parametrize(
    ("changed", "is_short"),
    [
        ({}, True),
        ({"rows": 0, "stride": 2**31 - 1}, True),
        ({"rows": 2**20 + 1, "columns": 1, "stride": 2**11}, False),
        ({"rows": 2**20, "columns": 2**11, "stride": 2**11}, True),
        ({"rows": 2**20, "columns": 2**11 + 1, "stride": 2**11}, False),
        ({"stride": -1}, False),
    ],
)
def test_views_whose_offsets_fit_into_32_bits(changed: dict[str, int], is_short: bool) -> None:
    assert matrix(**changed).short == (frozenset((0,)) if is_short else frozenset())


def test_what_only_the_kernel_knows_is_neither() -> None:
    unknown = [
        LaunchView(None, (argument(1), argument(2)), (argument(3), constant(1)), 2),
        MATRIX._replace(shape=(None, argument(2))),
        MATRIX._replace(strides=(None, constant(1))),
        # A stride that happens to be 1 is none that says so.
        MATRIX._replace(strides=(argument(3), argument(2))),
    ]
    found = classifier(MATRIX_PARAMETERS, *unknown, MATRIX).specialization([ADDRESS, 100, 200, 256])
    assert found.described == {4} and found.short == {3, 4}


def test_computed_values_that_overflow_are_neither() -> None:
    view = MATRIX._replace(strides=(("muli", argument(3), argument(2), 32), constant(1)))
    of = classifier(MATRIX_PARAMETERS, view)
    assert of.specialization([ADDRESS, 4, 16, 16]).described == {0}
    found = of.specialization([ADDRESS, 4, 2**20, 2**20])
    assert not found.described and not found.short


def test_rank_and_descriptors_that_cannot_be_had() -> None:
    deep = LaunchView(argument(0), (constant(4),) * 6, (*[constant(8)] * 5, constant(1)), 2)
    of = classifier(MATRIX_PARAMETERS, deep, MATRIX)
    assert of.specialization([ADDRESS, 100, 200, 256]).described == {1}
    assert of.specialization([ADDRESS, 100, 200, 256], is_described=False).described == frozenset()


def test_key_has_what_the_kind_is_made_of() -> None:
    parts = classifier(f"{MATRIX_PARAMETERS}, %k: tile<i32>, %b: tile<i1>, %f: tile<f32>", MATRIX).parts
    assert parts == ("{a} & 15", "{a}", "{a}", "{a}", "{a} & 15", "", "")


def test_usual_kind_is_that_of_launches_with_aligned_arrays() -> None:
    of = classifier(f"{MATRIX_PARAMETERS}, %k: tile<i32>, %f: tile<f32>", MATRIX)
    assert of.usual(has_tma=True) == of.specialization([ADDRESS, 64, 64, 64, 16, 1.0])
    assert of.usual(has_tma=False) == of.specialization([ADDRESS, 64, 64, 64, 16, 1.0], is_described=False)
