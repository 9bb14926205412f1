"""Values in words and tables, what steps touch, and going to where something changes."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.ir.types import F32, FLOAT_TYPES, I1
from tileir.serve.debugger.evaluation import ExpressionMistake
from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.tables import table_of
from tileir.serve.debugger.values import numbers_shown

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
        text = numbers_shown(FLOAT_TYPES[name], numpy.array([1, 2, 0.5, 1, 1, 1, 1, 1], kind))
        assert text.endswith("min 0.5, max 2, mean 1.0625") and text.startswith("[1"), (name, text)


def test_what_is_not_finite_is_counted() -> None:
    array = numpy.array([[1, numpy.nan, 2], [numpy.inf, -numpy.inf, 3], [4, 5, 6]], numpy.float32)
    text = numbers_shown(F32, array)
    assert text == "[[1.0, nan, 2.0], ..]  min 1, max 6, mean 3.5, 1 NaN, 2 infinite"
    truths = numpy.zeros(100, numpy.bool_)
    assert numbers_shown(I1, truths).endswith("0 of 100 true")


def test_pointers_and_views_are_told_by_arrays() -> None:
    count = 1000
    arrays = [numpy.ones(count, numpy.float32) for _ in range(3)]
    debugger = Debugger(EXAMPLES / "vector_add.mlir", 8, (*arrays, count))
    debugger.start()
    debugger.go_to(3, 24)
    shown = {one.name: one.shown for one in debugger.variables()}
    pointers = [text for text in shown.values() if text.startswith("[a + 384, a + 385, ..]")]
    assert pointers == ["[a + 384, a + 385, ..]  from a + 384 to a + 511"]


def test_tables_are_windows_of_any_rank() -> None:
    array = numpy.arange(2 * 3 * 5, dtype=numpy.float32).reshape(2, 3, 5)
    table = table_of(F32, array, row=1, column=3, rows=5, columns=5, index=(1,))
    assert table.cells == [["23.0", "24.0"], ["28.0", "29.0"]] and (table.rows, table.columns) == (
        range(1, 3),
        range(3, 5),
    )
    assert table.text.splitlines() == [
        "[1, :, :]",
        "      3     4",
        "1  23.0  24.0",
        "2  28.0  29.0",
        "rows 1 to 2 of 3, columns 3 to 4 of 5",
    ]
    assert table_of(F32, numpy.float32(3)).cells == [["3.0"]]
    assert table_of(F32, array[0, 0], column=4).cells == [["4.0"]]
    assert table_of(F32, array, row=99, index=(0,)).cells == []
    with pytest.raises(tileir.LaunchError, match=r"there is no table \[2\]"):
        table_of(F32, array, index=(2,))


def test_what_a_step_reads_and_writes_is_told(matmul: Debugger) -> None:
    matmul.start()
    matmul.breakpoints.add_operation("store_view_tko", block="1,1,0")
    matmul.resume()
    assert matmul.moment.block == 3
    matmul.step(by="operation")
    (written,) = matmul.accesses()
    assert written.where == "c[64:100, 64:100]" and written.count == 36 * 36 and written.masked == 64 * 64 - 36 * 36
    assert written.shown == (
        "writes c[64:100, 64:100]  [0.0, 0.0, 0.0, 0.0, ..] -> [70.0, 70.0, 70.0, 70.0, ..], 2800 elements masked"
    )
    matmul.breakpoints.clear()
    matmul.breakpoints.add_operation("mmaf")
    matmul.start()
    matmul.resume()
    matmul.step(by="operation", reverse=True)
    assert [one.shown.split("  ")[0] for one in matmul.accesses()] == ["reads a[0:64, 0:32]"]


def test_changes_and_accesses_are_gone_to_both_ways(matmul: Debugger) -> None:
    matmul.start()
    rounds = []
    for _ in range(3):
        matmul.go_to_change("next")
        rounds.append(float(matmul.evaluate("next[0, 0]").value))
    assert rounds == [32, 64, 70]
    with pytest.raises(ExpressionMistake, match="not computed any more"):
        matmul.go_to_change("next")
    matmul.go_to_change("next", reverse=True)
    assert matmul.evaluate("next[0, 0]").value == 64
    matmul.go_to_access("c[99, 99]")
    assert matmul.moment.block == 3 and matmul.evaluate("c[99, 99]").value == 0
    with pytest.raises(ExpressionMistake, match="not accessed any more"):
        matmul.go_to_access("c[99, 99]")
    matmul.go_to_access("a[0, 0]", reverse=True)
    assert matmul.moment.block == 2
    with pytest.raises(ExpressionMistake, match="has no element"):
        matmul.go_to_access("a[100, 0]")
