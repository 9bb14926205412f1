"""Values as text, and what steps access."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy
import pytest

from tileir.ir.types import F32, FLOAT_TYPES, I1
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.values import numbers_text

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def matmul() -> Debugger:
    a, b = numpy.ones((100, 70), numpy.float16), numpy.ones((70, 100), numpy.float16)
    return Debugger(EXAMPLES / "matmul.mlir", (2, 2), (a, b, numpy.zeros((100, 100), numpy.float32), 100, 100, 70))


def test_every_element_type_is_shown() -> None:
    element = {
        "f16": numpy.float16,
        "f32": numpy.float32,
        "f64": numpy.float64,
        "bf16": ml_dtypes.bfloat16,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    }
    for name, kind in element.items():
        text = numbers_text(FLOAT_TYPES[name], numpy.array([1, 2, 0.5, 1, 1, 1, 1, 1], kind))
        assert text.endswith("min 0.5, max 2, mean 1.0625") and text.startswith("[1"), (name, text)


def test_what_is_not_finite_is_counted() -> None:
    array = numpy.array([[1, numpy.nan, 2], [numpy.inf, -numpy.inf, 3], [4, 5, 6]], numpy.float32)
    text = numbers_text(F32, array)
    assert text == "[[1.0, nan, 2.0], ..]  min 1, max 6, mean 3.5, 1 NaN, 2 infinite"
    truths = numpy.zeros(100, numpy.bool_)
    assert numbers_text(I1, truths).endswith("0 of 100 true")


def test_pointers_and_views_are_told_by_arrays() -> None:
    count = 1000
    arrays = [numpy.ones(count, numpy.float32) for _ in range(3)]
    debugger = Debugger(EXAMPLES / "vector_add.mlir", 8, (*arrays, count))
    debugger.start()
    debugger.go_to(3, 24)
    shown = {one.name: one.text for one in debugger.variables()}
    pointers = [text for text in shown.values() if text.startswith("[a + 384, a + 385, ..]")]
    assert pointers == ["[a + 384, a + 385, ..]  from a + 384 to a + 511"]


def test_what_a_step_reads_and_writes_is_told(matmul: Debugger) -> None:
    matmul.start()
    matmul.breakpoints.add("operation", "store_view_tko", block="1,1,0")
    matmul.resume()
    assert matmul.position.block == 3
    matmul.step(by="operation")
    (written,) = matmul.accesses()
    assert written == (
        "writes c[64:100, 64:100]  [0.0, 0.0, 0.0, 0.0, ..] -> [70.0, 70.0, 70.0, 70.0, ..], 2800 elements masked"
    )
    matmul.breakpoints.clear()
    matmul.breakpoints.add("operation", "mmaf")
    matmul.start()
    matmul.resume()
    matmul.step(by="operation", reverse=True)
    assert [one.split("  ")[0] for one in matmul.accesses()] == ["reads a[0:64, 0:32]"]
