"""The watch for NaN and infinity: what is made is told, what is given is noted."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.sanitizer.number_watch import HANDS_ON, MEANT, PRODUCTS
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE

INF, NAN = float("inf"), float("nan")
HUGE = 3e38


def watched(body: str, *numbers: float, dtype: str = "f4", grid: int = 1) -> tileir.sanitizer.SanitizerReport:
    """The report on a kernel that has loaded `numbers` as %v, a tile of four f32."""
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{
  %i = iota : tile<4xi32>
  %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %q = offset %b, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %v, %t = load_ptr_tko weak %q : tile<4xptr<f32>> -> tile<4xf32>, token
{body}
  return }} }}"""
    watch = tileir.sanitizer.NumberWatch()
    tileir.compile(tileir.parse(text, "k.mlir")).launch(grid, (numpy.array(numbers, dtype),), observer=watch)
    return watch.report


def made(report: tileir.sanitizer.SanitizerReport) -> list[tuple[str, str]]:
    return [(finding.kind, finding.operation.declaration.mnemonic) for finding in report.findings]


REDUCE = """  %s = reduce %v dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%e: tile<f32>, %g: tile<f32>) {
    %h = addf %e, %g : tile<f32>
    yield %h : tile<f32>
  }"""
SCAN = """  %s = scan %v dim=0 reverse=false identities=[1.0 : f32] : tile<4xf32> -> tile<4xf32> (%e: tile<f32>, %g: tile<f32>) {
    %h = mulf %e, %g : tile<f32>
    yield %h : tile<f32>
  }"""
ATOMIC = """  %x, %u = atomic_rmw_tko relaxed device %q, addf, %v token=%t : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token"""

# The body, numbers for which it makes something and what that is, numbers for which it does not.
CASES: list[tuple[str, list[float], list[tuple[str, str]], list[float]]] = [
    ("  %w = sqrt %v : tile<4xf32>", [1, 4, -9, 16], [("nan", "sqrt")], [1, NAN, INF, 16]),
    ("  %w = subf %v, %v : tile<4xf32>", [1, INF, 2, 3], [("nan", "subf")], [1, NAN, 2, 3]),
    ("  %w = mulf %v, %v : tile<4xf32>", [1, HUGE, 2, 3], [("infinity", "mulf")], [1, INF, -INF, NAN]),
    ("  %w = log %v : tile<4xf32>", [1, 0, -1, 3], [("nan", "log"), ("infinity", "log")], [1, INF, NAN, 3]),
    ("  %w = ftof %v : tile<4xf32> -> tile<4xf16>", [1, 1e5, 2, 3], [("infinity", "ftof")], [1, INF, NAN, 3]),
    ("  %w = exp %v : tile<4xf32>", [1, 1e3, 2, 3], [("infinity", "exp")], [1, -INF, INF, -1e3]),
    # The first in another element explains nothing.
    ("  %w = addf %v, %v : tile<4xf32>", [INF, HUGE, 2, 3], [("infinity", "addf")], [INF, -INF, NAN, 3]),
    (REDUCE, [HUGE, 1, HUGE, 1], [("infinity", "addf")], [INF, 1, 2, 3]),
    (REDUCE, [INF, 1, -INF, 1], [("nan", "addf")], [NAN, INF, 1, 2]),
    (SCAN, [HUGE, 10, 1, 1], [("infinity", "mulf")], [INF, 1, 1, 1]),
    (ATOMIC, [1, HUGE, 2, 3], [("infinity", "atomic_rmw_tko")], [1, INF, -INF, NAN]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "wrong", "kinds", "right"), CASES)
def test_what_is_made_is_told_and_what_is_handed_on_is_not(
    body: str, wrong: list[float], kinds: list[tuple[str, str]], right: list[float]
) -> None:
    report = watched(body, *wrong)
    assert made(report) == kinds, report.render()
    clean = watched(body, *right)
    assert not clean, clean.render()
    assert clean.notes and all("load_ptr_tko reads" in note.title for note in clean.notes[:1])


def test_a_finding_has_the_line_the_block_the_element_and_the_operands() -> None:
    report = watched("  %w = sqrt %v : tile<4xf32>\n  %d = divf %w, %v : tile<4xf32>", 1, 0, -9, -16, grid=3)
    assert report.render().split("\n\n") == [
        "watch: 2 findings in @k, grid (3, 1, 1)",
        "nan: sqrt makes a NaN\n"
        "  --> k.mlir:7:8, tile block (0, 0, 0), element [2]\n"
        "    7 | %w = sqrt %v : tile<4xf32>\n"
        "      |      ^\n"
        "  sqrt of -9 is nan\n"
        "  2 of the 4 elements are like this\n"
        "  seen 3 times\n"
        "  = help: nothing it is computed from is a NaN: it begins here",
        "nan: divf makes a NaN\n"
        "  --> k.mlir:8:8, tile block (0, 0, 0), element [1]\n"
        "    8 | %d = divf %w, %v : tile<4xf32>\n"
        "      |      ^\n"
        "  divf of 0, 0 is nan\n"
        "  1 of the 4 elements is like this\n"
        "  seen 3 times\n"
        "  = help: nothing it is computed from is a NaN: it begins here",
    ]


def test_each_operation_is_told_once_and_later_ones_too() -> None:
    body = (
        "  %w = mulf %v, %v : tile<4xf32>\n  %d = subf %w, %w : tile<4xf32>\n  %c = constant <f32: 0.0> : tile<4xf32>\n"
    )
    report = watched(body + "  %o = divf %v, %c : tile<4xf32>", 1, HUGE, 2, 3, grid=5)
    assert made(report) == [("infinity", "mulf"), ("nan", "subf"), ("infinity", "divf")]
    assert [finding.count for finding in report.findings] == [5, 5, 5]


def test_a_product_looks_at_its_row_its_column_and_its_accumulator() -> None:
    body = """  %l = reshape %v : tile<4xf32> -> tile<2x2xf32>
  %c = constant <f32: [[1.0, 2.0], [3.0, 4.0]]> : tile<2x2xf32>
  %z = constant <f32: 0.0> : tile<2x2xf32>
  %m = mmaf HERE : tile<2x2xf32>, tile<2x2xf32>, tile<2x2xf32>"""
    left, right, added = (body.replace("HERE", text) for text in ("%l, %c, %z", "%c, %l, %z", "%c, %c, %l"))
    # An infinity in the first row explains the first row of the result, and no more.
    report = watched(left, INF, 1, HUGE, HUGE)
    assert made(report) == [("infinity", "mmaf")]
    assert report.findings[0].element == (1, 0)
    assert report.findings[0].details == [
        "mmaf of a row with numbers up to 3e+38, a column with numbers up to 3 and 0 is inf",
        "2 of the 4 elements are like this",
    ]
    report = watched(right, INF, HUGE, 1, HUGE)
    assert made(report) == [("infinity", "mmaf")] and report.findings[0].element == (0, 1)
    for text in (left, right, added):
        assert not watched(text, INF, 1, INF, 1) and not watched(text, 1, 2, 3, 4)
    assert made(watched(right, INF, -INF, -INF, INF)) == [("nan", "mmaf")]


def test_a_reduction_is_told_by_the_operation_in_its_body() -> None:
    finding = watched(REDUCE, HUGE, 1, HUGE, 1).findings[0]
    assert finding.details == ["addf of 3e+38, 3e+38 is inf", "it happens while reduce combines elements"]
    assert finding.element is None and "--> k.mlir:8:10, tile block (0, 0, 0)\n" in finding.render()


def test_an_atomic_is_told_by_what_it_leaves_in_memory() -> None:
    finding = watched(ATOMIC, 1, HUGE, 2, 3).findings[0]
    assert finding.details[0] == "atomic_rmw_tko of 3e+38, 3e+38 leaves inf in memory"
    assert finding.element == (1,)
    # Two elements at one place: what the second brings is not made.
    body = f"""  %n = constant <i32: 0> : tile<4xi32>
  %s = offset %b, %n : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
{ATOMIC.replace("%q", "%s")}"""
    assert not watched(body, 1, INF, 2, 3)
    view = "partition_view<tile=(4), tensor_view<4xf32, strides=[1]>>"
    body = f"""  %s = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xf32, strides=[1]>
  %w = make_partition_view %s : {view}
  %z = constant <i32: 0> : tile<i32>
  %u = atomic_red_view_tko relaxed device %w[%z], addf, %v token = %t : tile<4xf32>, {view}, tile<i32> -> token"""
    report = watched(body, 1, 2, -HUGE, 3)
    assert made(report) == [("infinity", "atomic_red_view_tko")] and report.findings[0].element == (2,)
    assert not watched(body, 1, 2, -INF, 3)


def test_integers_become_infinities_and_bits_do_not() -> None:
    body = """  %n = constant <i32: [1, 70000, 3, 4]> : tile<4xi32>
  %w = itof %n signed : tile<4xi32> -> tile<4xf16>"""
    report = watched(body, 1, 2, 3, 4)
    assert made(report) == [("infinity", "itof")] and report.findings[0].details[0] == "itof of 70000 is inf"
    body = """  %n = constant <i32: [1, 2139095040, 2143289344, 4]> : tile<4xi32>
  %w = bitcast %n : tile<4xi32> -> tile<4xf32>
  %c = constant <f32: 0xFF800000> : tile<4xf32>
  %m = maxf %w, %c : tile<4xf32>"""
    assert not watched(body, 1, 2, 3, 4)


def test_what_was_read_and_what_was_padded_are_notes() -> None:
    view = "partition_view<tile=(4), padding_value = neg_inf, tensor_view<?xf32, strides=[1]>>"
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %s = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %s : {view}
  %v, %t = load_view_tko weak %w[%x] : {view}, tile<i32> -> tile<4xf32>, token
  return }} }}"""
    watch = tileir.sanitizer.NumberWatch()
    data = numpy.array([1, INF, 3, NAN, 5, 6, INF], "f4")
    tileir.compile(tileir.parse(text, "k.mlir")).launch(2, (data, 7), observer=watch)
    assert not watch.report and watch.report.kinds == []
    told = [(note.title, note.block, note.element, note.details, note.count) for note in watch.report.notes]
    assert told == [
        ("load_view_tko reads a NaN from memory", (0, 0, 0), (3,), _in_all("1 element"), 1),
        ("load_view_tko reads an infinity from memory", (0, 0, 0), (1,), _in_all("2 elements"), 2),
        ("load_view_tko pads with an infinity", (1, 0, 0), (3,), _in_all("1 element"), 1),
    ]


def _in_all(count: str) -> list[str]:
    return [f"{count} in all: given to the program, not made by it"]


def test_small_floats_are_watched() -> None:
    body = """  %h = ftof %v : tile<4xf32> -> tile<4xbf16>
  %w = mulf %h, %h : tile<4xbf16>"""
    assert made(watched(body, 1, 1e30, 2, 3)) == [("infinity", "mulf")]


# What gives no floats, or passes them on through its regions.
_NO_FLOATS = {
    "iota", "offset", "mmai", "int_to_ptr", "ptr_to_int", "ptr_to_ptr", "alloca", "get_global", "get_num_tile_blocks",
    "get_tile_block_id", "get_index_space_shape", "get_tensor_shape", "make_partition_view", "make_tensor_view",
    "make_strided_view", "make_gather_scatter_view", "join_tokens", "make_token", "memory_fence_alias_tko",
    "gdc_launch_dependents_tko", "gdc_wait_tko", "print_tko", "barrier", "store_ptr_tko", "store_view_tko",
    "atomic_store_tko", "multimem_reduce_view_tko", "multimem_store_view_tko", "preview$call", "unrealized_conversion_cast",
}  # fmt: skip


def test_every_operation_with_results_is_one_the_watch_knows() -> None:
    for declaration in REGISTRY.declarations():
        mnemonic = declaration.mnemonic
        # The dialect's own operations for tests are registered where a test needs them; no kernel has them.
        if not declaration.results or not declaration.name.startswith("cuda_tile.") or "testing$" in mnemonic:
            continue
        known: list[Any] = [
            declaration in (*HANDS_ON, *MEANT, *PRODUCTS) or mnemonic in _NO_FLOATS,
            bool(declaration.regions),
            declaration.has_trait(ELEMENTWISE),
            declaration.reads is not None,
        ]
        assert any(known), f"{mnemonic}: does it make numbers, hand them on or read them?"
