"""Contents that find bugs: what is made, and that nobody is judged where the reference itself is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

from tileir.judging.tasks.variants import CONTENTS, LAYOUTS, NONFINITE, laid_out, variants_of

X = numpy.random.default_rng(1).standard_normal((6, 5)).astype("f4")


def variants(reference: Callable[..., Any], *inputs: Any, kinds: Any = CONTENTS) -> dict[str, tuple[Any, list[float]]]:
    found = variants_of(inputs, kinds, lambda values, is_wide: reference(*values), None)
    return {each.label: (each.inputs, each.slack) for each in found}


def test_an_elementwise_function_is_judged_on_all_of_them() -> None:
    found = variants(lambda x: x * 2, X)
    assert list(found) == list(CONTENTS)
    for (array,), _ in found.values():
        assert (array.dtype, array.shape) == (X.dtype, X.shape)
    assert numpy.signbit(found["negative zeros"][0][0]).all()
    assert abs(found["huge"][0][0]).max() > 1e9 > 1e-8 > abs(found["tiny"][0][0]).max()
    assert 0 < abs(found["subnormal"][0][0]).max() < numpy.finfo("f4").smallest_normal
    assert (numpy.diff(found["descending rows"][0][0], axis=1) <= 0).all()
    assert (found["one-hot rows"][0][0].sum(axis=1) == 1).all()


def test_contents_for_which_the_reference_is_ill_conditioned_are_left_out() -> None:
    # What is left of a sum that cancels is rounding; ones have none.
    found = variants(lambda x: (x + numpy.float32(1e6)) - numpy.float32(1e6), X)
    assert not {"tiny", "descending rows", "equal rows"} & set(found) and "ones" in found
    # A step at zero: inputs that differ by a rounding have other results.
    stepped = variants(lambda x: numpy.sign(x), X)
    assert "zeros" not in stepped and "huge" in stepped
    # Overflow.
    assert "huge" not in variants(lambda x: x**8, X)
    assert not variants(lambda x: 1 / (x - x), X)


def test_ties_accuse_nobody() -> None:
    found = variants(lambda x: x.argmax(axis=1), X)
    assert not {"zeros", "ones", "equal rows"} & set(found) - {"equal rows"}
    assert "huge" in found and found["huge"][1] == [0.0]


def test_a_reference_that_refuses_contents_is_not_judged_on_them() -> None:
    def picky(x: Any) -> Any:
        if not x.all():
            raise ValueError("a zero")
        return x

    assert not {"zeros", "identity", "one-hot rows"} & set(variants(picky, X))


@pytest.mark.parametrize(
    "array",
    [
        numpy.arange(30, dtype="f4").reshape(5, 6),
        numpy.tile(numpy.array([0, 1], "f4"), (4, 4)),
        numpy.full((3, 4), 0.25, "f4"),
        numpy.where(numpy.tri(5, dtype=bool), 0, -numpy.inf).astype("f4"),
        numpy.array(3.0, "f4"),
        numpy.arange(12).reshape(3, 4),
    ],
    ids=["sorted", "mask", "shares", "infinite", "scalar", "integers"],
)
def test_arrays_whose_contents_mean_something_are_left_alone(array: Any) -> None:
    assert variants(lambda x: x, array) == {}


def test_signs_and_ranges_stay() -> None:
    positive = abs(X) + 0.5
    assert {"zeros", "negative zeros", "one-hot rows"}.isdisjoint(variants(numpy.log, positive))
    for (array,), _ in variants(lambda x: x, numpy.random.default_rng(2).random((4, 7))).values():
        assert array.min() >= 0 and array.max() <= 1


def test_structure_is_given_to_the_first_array_alone() -> None:
    b = numpy.random.default_rng(3).standard_normal((5, 4)).astype("f4")
    inputs, slack = variants(lambda x, y: x @ y, X, b)["identity"]
    assert (inputs[0] == numpy.eye(6, 5)).all() and (inputs[1] == b).all()
    assert len(slack) == 1 and 0 < slack[0] < 1e-4


def test_nan_and_infinity_are_tried_where_both_evaluations_have_them() -> None:
    assert list(variants(lambda x: x + 1, X, kinds=NONFINITE)) == list(NONFINITE)
    assert variants(lambda x: numpy.where(numpy.isfinite(x), x, x.dtype.itemsize), X, kinds=NONFINITE) == {}


def test_narrow_types_are_judged_by_their_own_roundings() -> None:
    for dtype in (numpy.float16, ml_dtypes.bfloat16):
        assert {"zeros", "ones", "huge", "identity"} <= variants(lambda x: x + x, X.astype(dtype)).keys()


def test_arrays_lie_in_memory_in_another_way() -> None:
    for layout in LAYOUTS:
        (array,), number = laid_out(((X,), 3), layout)
        assert (array == X).all() and number == 3
    assert laid_out(X, LAYOUTS[0]).strides == (40, 8)
    assert laid_out(X, LAYOUTS[1]).ctypes.data % 16 == (laid_out(X, LAYOUTS[1]).base.ctypes.data + 4) % 16
