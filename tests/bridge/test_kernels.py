"""The kernels of the corpus, launched here and compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from tests.bridge import kernel_comparisons, product_comparisons
from tests.bridge.kernel_comparisons import F32, normal, whole
from tests.kernels import (
    control_flow,
    conversions,
    parameters,
    printing_and_asserts,
)
from tests.sampling import one_in

COMPARISONS = {**kernel_comparisons.COMPARISONS, **product_comparisons.COMPARISONS}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", one_in(2, COMPARISONS))
def test_kernel_matches_numpy(name: str) -> None:
    COMPARISONS[name]().check()


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("dtype", [numpy.float16, numpy.float32, numpy.float64])
def test_every_float_but_zero_is_true(dtype: Any, backend: str) -> None:
    # As NVIDIA's own tests of `astype(bool)` have it, and `bool` of Python.
    x = numpy.zeros(64, dtype)
    x[:8] = [-20.7, 0.3, numpy.nan, -0.0, numpy.inf, -numpy.inf, numpy.finfo(dtype).smallest_subnormal, 1.0]
    found = numpy.zeros(64, numpy.float32)
    tileir.launch(conversions.booleans, 1, (x, found), backend=backend)
    assert found.tolist() == [3.0 * bool(value) for value in x.tolist()]


def test_lists_are_walked_together() -> None:
    sources = [normal(length) for length in (100, 30, 64)]
    targets = [numpy.zeros_like(source) for source in sources]
    tileir.launch(parameters.grouped_copy, 2, (sources, targets))
    for source, target in zip(sources, targets, strict=True):
        numpy.testing.assert_array_equal(target, source)


def test_kernel_without_parameters_runs() -> None:
    tileir.launch(control_flow.empty, 3)


def test_printing_goes_to_the_output_given() -> None:
    lines: list[str] = []
    tileir.launch(printing_and_asserts.print_values, 1, (whole(4, dtype=F32), 3), output=lines.append)
    assert "count 3 of" in "".join(lines)
    assert 'no arguments: 100%, "quoted"' in "".join(lines)


def test_failed_assert_names_the_line_of_the_kernel() -> None:
    with pytest.raises(tileir.ExecutionError, match="bound must be positive") as caught:
        tileir.launch(printing_and_asserts.assert_values, 1, (numpy.full(64, -9, F32), -1.0))
    report = str(caught.value)
    assert "printing_and_asserts.py:" in report
    assert '|     ct.assert_(bound > 0, "bound must be positive")' in report
