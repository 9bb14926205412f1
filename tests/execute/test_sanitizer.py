"""Each finding of the sanitizer: a program that has the mistake, and a near twin that does not."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.sanitized import OWN, kernel, load, only, report, store, zeros

import tileir

POINTERS = """  %i = iota : tile<8xi32>
  %r = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %r : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %q = offset %b, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
"""
LOAD8 = POINTERS + "  %v, %t = load_ptr_tko weak %q : tile<8xptr<i32>> -> tile<8xi32>, token"


# --- out of bounds ---


def test_a_read_past_the_end_names_the_array_the_element_and_the_distance() -> None:
    finding = only(report(LOAD8, zeros(6)), "out-of-bounds")
    assert finding.title == "load_ptr_tko reads outside of argument 0 (array int32[6])"
    assert finding.element == (6,) and finding.block == (0, 0, 0)
    assert finding.details[0].endswith(": right past the end of argument 0 (array int32[6]), where [6] would be")
    assert finding.details[1] == "2 of the 8 elements it touches are outside"
    text = finding.render()
    assert "--> k.mlir:8:12, tile block (0, 0, 0), element [6]" in text
    assert "    8 | %v, %t = load_ptr_tko weak %q : tile<8xptr<i32>> -> tile<8xi32>, token\n      |          ^" in text
    assert not report(LOAD8, zeros(8))


def test_an_access_that_lands_in_another_array_is_out_of_bounds_too() -> None:
    both = zeros(64)
    # Two halves with a gap: one region each, so that 40 elements past the first lies in the second.
    first, second = both[:24], both[32:]
    body = """  %n = constant <i32: 40> : tile<i32>
      %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %t = store_ptr_tko weak %q, %n : tile<ptr<i32>>, tile<i32> -> token"""
    parameters = "%p: tile<ptr<i32>>, %o: tile<ptr<i32>>"
    finding = only(report(body, first, second, parameters=parameters), "out-of-bounds")
    assert (
        "64 bytes past the end of argument 0 (array int32[24]), where [40] would be, in argument 1 (array int32[32]) at [8]"
        in (finding.details[0])
    )
    assert not both.any(), "what is wrong does not happen"
    assert not report(body.replace("40", "4"), first, second, parameters=parameters)


def test_a_negative_offset_is_told_by_its_distance() -> None:
    body = """  %n = constant <i32: -3> : tile<i32>
      %q = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
    finding = only(report(body, zeros(8)), "out-of-bounds")
    assert finding.details[0].endswith("12 bytes before argument 0 (array int32[8])")
    assert finding.element is None
    assert not report(body.replace("-3", "3"), zeros(8))


VIEW = """  %s = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %w = make_partition_view %s : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>
  %v, %t = load_view_tko weak %w[%x]INBOUNDS : partition_view<tile=(4), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<4xi32>, token"""
VIEW_PARAMETERS = "%p: tile<ptr<i32>>, %n: tile<i32>"


def test_a_tensor_view_larger_than_its_array_is_out_of_bounds_where_it_is_used() -> None:
    body = VIEW.replace("INBOUNDS", "")
    finding = only(report(body, zeros(6), 8, grid=2, parameters=VIEW_PARAMETERS), "out-of-bounds")
    assert finding.block == (1, 0, 0) and finding.element == (2,)
    assert "tensor view reach beyond its array" in finding.help
    assert not report(body, zeros(6), 6, grid=2, parameters=VIEW_PARAMETERS)


def test_an_index_outside_the_index_space() -> None:
    body = VIEW.replace("INBOUNDS", "")
    finding = only(report(body, zeros(6), 6, grid=3, parameters=VIEW_PARAMETERS), "index-space")
    assert finding.block == (2, 0, 0)
    assert finding.details == [
        "dimension 0: index 2 is none of the view's 2 tiles there, counted from 0",
        "the index space is [2], the tensor [6]",
    ]


def test_inbounds_that_does_not_hold() -> None:
    body = VIEW.replace("INBOUNDS", " inbounds = [true]")
    finding = only(report(body, zeros(6), 6, grid=2, parameters=VIEW_PARAMETERS), "inbounds")
    assert finding.block == (1, 0, 0) and finding.element == (2,)
    assert finding.details == ["2 of the tile's 4 positions along dimension 0 are inside: the tensor has 6 there"]
    assert not report(body, zeros(8), 8, grid=2, parameters=VIEW_PARAMETERS)


def test_misaligned_access() -> None:
    body = """  %a = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
      %n = constant <i64: 2> : tile<i64>
      %b = addi %a, %n : tile<i64>
      %q = int_to_ptr %b : tile<i64> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"""
    finding = only(report(body, zeros(8)), "misaligned")
    assert finding.title == "load_ptr_tko reads 4-byte elements at addresses that are not multiples of 4"
    assert finding.details[0].endswith("2 bytes past a multiple, in argument 0 (array int32[8]) at [0]")
    assert not report(body.replace("i64: 2", "i64: 4"), zeros(8))


def test_a_write_to_a_constant_global() -> None:
    before = "globalKIND @g alignment = 16 <i32: [1, 2]> : tile<2xi32>"
    body = """  %g = get_global @g : tile<ptr<i32>>
      %t = store_ptr_tko weak %g, %x : tile<ptr<i32>>, tile<i32> -> token"""
    finding = only(report(body, zeros(1), before=before.replace("KIND", " constant")), "read-only")
    assert finding.title == "store_ptr_tko writes to read-only memory: global @g"
    assert finding.details[0].endswith(": global @g at byte 0")
    assert not report(body, zeros(1), before=before.replace("KIND", ""))


# --- memory nobody wrote ---

ALLOCA = """  %a = alloca num_elem = 8, alignment = 16 : tile<ptr<i32>>
  %t0 = store_ptr_tko weak %a, %x : tile<ptr<i32>>, tile<i32> -> token
  %n = constant <i32: OFFSET> : tile<i32>
  %q = offset %a, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %v, %t = load_ptr_tko weak %q token=%t0 : tile<ptr<i32>> -> tile<i32>, token"""


def test_reading_what_alloca_reserved_before_it_is_written() -> None:
    finding = only(report(ALLOCA.replace("OFFSET", "3"), zeros(1)), "uninitialized")
    assert finding.title == "load_ptr_tko reads uninitialized memory"
    assert finding.details[0].endswith("at byte 12 before")
    assert not report(ALLOCA.replace("OFFSET", "0"), zeros(1), grid=3)


def test_an_array_marked_uninitialized_counts_as_not_written() -> None:
    data = zeros(8)
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=[data[4:]])
    kernel(LOAD8).launch(1, (data,), observer=sanitizer)
    assert only(sanitizer.report, "uninitialized").element == (4,)
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=[zeros(4)])
    kernel(LOAD8).launch(1, (data,), observer=sanitizer)
    assert not sanitizer.report


# --- what ends a tile block ---

EXTRACT = """  %a = constant <i32: 5> : tile<8xi32>
  %b = extract %a[%x] : tile<8xi32> -> tile<4xi32>"""


def test_an_extract_index_out_of_range_ends_its_block_only() -> None:
    body = EXTRACT + "\n" + OWN + store("t", "o")
    data = numpy.full(4, -1, "i4")
    finding = only(report(body, data, grid=4, schedule="reverse"), "index")
    assert finding.title == "extract has index 3 in dimension 0: there are 2 sub-tiles"
    assert finding.count == 2
    assert data.tolist() == [0, 1, -1, -1]
    assert not report(body, zeros(2), grid=2)


def test_a_failed_assert() -> None:
    body = """  %c = constant <i32: [0, 0, 1, 0]> : tile<4xi32>
  %z0 = constant <i32: LIMIT> : tile<4xi32>
  %ok = cmpi less_than %c, %z0, signed : tile<4xi32> -> tile<4xi1>
  assert %ok, "too large" : tile<4xi1>"""
    finding = only(report(body.replace("LIMIT", "1"), zeros(1)), "assert")
    assert finding.title == "assert failed: too large" and finding.element == (2,)
    assert not report(body.replace("LIMIT", "2"), zeros(1))


# --- the interface ---


def test_sanitize_raises_an_error_with_the_report_after_the_launch_ended() -> None:
    data = zeros(4)
    with pytest.raises(tileir.SanitizerError) as caught:
        kernel(store("t", "p") + OWN + store("u", "p")).launch(2, (data,), sanitize=True)
    assert data.tolist() == [1, 0, 0, 0]
    assert str(caught.value).startswith("sanitizer: 2 findings in @k, grid (2, 1, 1)\n\nunordered: ")
    assert caught.value.report.kinds == ["unordered", "race"]
    assert [diagnostic.position for diagnostic in caught.value.diagnostics] == [("k.mlir", 6, 8), ("k.mlir", 4, 8)]
    kernel(OWN + store("u", "o")).launch(4, (data,), sanitize=True)


def test_an_observer_may_watch_a_sanitized_launch() -> None:
    seen: list[str] = []

    class Names(tileir.observers.Observer):
        def before(self, operation: Any, block: Any, operands: Any) -> None:
            seen.append(operation.name)

    kernel(store("t", "p")).launch(1, (zeros(1),), sanitize=True, observer=Names())
    assert seen == ["cuda_tile.get_tile_block_id", "cuda_tile.store_ptr_tko", "cuda_tile.return"]


def test_without_source_the_printed_operation_is_shown() -> None:
    module = tileir.parse(str(kernel(store("t", "p")).entry.parent_operation))
    module = tileir.from_bytecode(tileir.to_bytecode(module))
    sanitizer = tileir.sanitizer.Sanitizer()
    tileir.compile(module).launch(2, (zeros(1),), observer=sanitizer)
    text = sanitizer.report.render()
    assert "      | %0 = store_ptr_tko weak %arg0, %blockId_x : tile<ptr<i32>>, tile<i32> -> token\n" in text


def test_a_sanitized_launch_computes_the_same() -> None:
    body = (
        LOAD8
        + "\n  %w = addi %v, %i : tile<8xi32>\n  %u = store_ptr_tko weak %q, %w token=%t : tile<8xptr<i32>>, tile<8xi32> -> token"
    )
    plain, checked = numpy.arange(8, dtype="i4"), numpy.arange(8, dtype="i4")
    kernel(body).launch(1, (plain,))
    kernel(body).launch(1, (checked,), sanitize=True)
    assert plain.tolist() == checked.tolist() == [2 * number for number in range(8)]


# --- more of the same, by other ways ---


def test_a_store_through_a_view_races_with_loads_of_the_same_tile_by_other_blocks() -> None:
    view = "partition_view<tile=(4), tensor_view<16xi32, strides=[1]>>"
    body = f"""  %s = make_tensor_view %p, shape = [16], strides = [1] : tensor_view<16xi32, strides=[1]>
  %w = make_partition_view %s : {view}
  %c = constant <i32: 0> : tile<i32>
  %last = constant <i32: 2> : tile<i32>
  %v, %t = load_view_tko weak %w[%c] : {view}, tile<i32> -> tile<4xi32>, token
  %chosen = cmpi equal %x, %last, signed : tile<i32> -> tile<i1>
  if %chosen {{
    %u = store_view_tko weak %v, %w[%INDEX] token=%t : tile<4xi32>, {view}, tile<i32> -> token
  }}"""
    for schedule in ("forward", "reverse", "random:1"):
        finding = only(report(body.replace("INDEX", "c"), zeros(16), grid=4, schedule=schedule), "race")
        assert finding.element == (0,)
        assert not report(body.replace("INDEX", "last"), zeros(16), grid=4, schedule=schedule)


def test_boxes_that_overlap_are_compared_by_cell() -> None:
    # The block reads elements 0 to 7 in one tile and 2 to 9 in another, without tokens, then writes element 3 or 12.
    body = (
        POINTERS
        + """  %two = constant <i32: 2> : tile<8xi32>
  %q2 = offset %q, %two : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v, %t = load_ptr_tko weak %q : tile<8xptr<i32>> -> tile<8xi32>, token
  %v2, %t2 = load_ptr_tko weak %q2 : tile<8xptr<i32>> -> tile<8xi32>, token
  %n = constant <i32: PLACE> : tile<i32>
  %o = offset %p, %n : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %o, %x token=%t2 : tile<ptr<i32>>, tile<i32> -> token"""
    )
    assert (
        only(report(body.replace("PLACE", "1"), zeros(16)), "unordered")
        .details[0]
        .startswith("both touch argument 0 (array int32[16]) at [1]")
    )
    assert not report(body.replace("PLACE", "12"), zeros(16))


def test_a_gather_that_promises_inbounds() -> None:
    view = "gather_scatter_view<tile=(4), tensor_view<8xi32, strides=[1]>, sparse_dim=0>"
    body = f"""  %s = make_tensor_view %p, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>
  %w = make_gather_scatter_view %s : {view}
  %i = constant <i32: [0, 7, LAST, 2]> : tile<4xi32>
  %v, %t = load_view_tko weak %w[%i] inbounds = [true] : {view}, tile<4xi32> -> tile<4xi32>, token"""
    finding = only(report(body.replace("LAST", "8"), zeros(8)), "inbounds")
    assert finding.element == (2,)
    assert not report(body.replace("LAST", "3"), zeros(8))


def test_an_atomic_through_a_view_races_with_a_plain_store() -> None:
    view = "partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>"
    body = f"""  %s = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
  %w = make_partition_view %s : {view}
  %c = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<4xi32>
  %t = atomic_red_view_tko relaxed device %w[%c], add, %one : tile<4xi32>, {view}, tile<i32> -> token
"""
    assert not report(body, zeros(4), grid=3)
    plain = f"  %u = store_view_tko weak %one, %w[%c] token=%t : tile<4xi32>, {view}, tile<i32> -> token"
    assert set(report(body + plain, zeros(4), grid=2).kinds) == {"race"}


def test_what_assume_cond_promises() -> None:
    body = """  %c = constant <i32: LIMIT> : tile<i32>
  %ok = cmpi less_than %x, %c, signed : tile<i32> -> tile<i1>
  assume_cond %ok : tile<i1>"""
    finding = only(report(body.replace("LIMIT", "2"), zeros(1), grid=3), "assume")
    assert finding.title == "what assume_cond promises does not hold" and finding.block == (2, 0, 0)
    assert not report(body.replace("LIMIT", "3"), zeros(1), grid=3)


def test_an_insert_index_out_of_range() -> None:
    body = """  %a = constant <i32: 5> : tile<8xi32>
  %b = constant <i32: 6> : tile<4xi32>
  %n = constant <i32: INDEX> : tile<i32>
  %c = insert %b, %a[%n] : tile<4xi32>, tile<8xi32>"""
    finding = only(report(body.replace("INDEX", "2"), zeros(1)), "index")
    assert finding.title == "insert has index 2 in dimension 0: there are 2 sub-tiles"
    assert not report(body.replace("INDEX", "1"), zeros(1))


def test_a_loop_with_a_step_that_is_not_positive() -> None:
    body = """  %a = constant <i32: 0> : tile<i32>
  %b = constant <i32: STEP> : tile<i32>
  for %k in (%a to %a, step %b) : tile<i32> {
    continue
  }"""
    assert only(report(body.replace("STEP", "0"), zeros(1)), "error").title == (
        "for has a step of 0: it must be positive"
    )
    assert not report(body.replace("STEP", "1"), zeros(1))


def test_a_division_inside_a_reduction() -> None:
    body = (
        LOAD8
        + """
  %s = reduce %v dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%e: tile<i32>, %f: tile<i32>) {
    %d = divi %e, %f signed : tile<i32>
    yield %d : tile<i32>
  }"""
    )
    only(report(body, zeros(8)), "division-by-zero")
    assert not report(body, numpy.ones(8, "i4"))


def test_race_with_a_tile_block_long_before_is_found() -> None:
    # Every block writes its own place; the last one also the place of block 5.
    body = (
        OWN
        + store("t", "o")
        + load("l", "o", " token=%t")
        + """  %last = constant <i32: 399> : tile<i32>
  %five = constant <i32: 5> : tile<i32>
  %chosen = cmpi equal %x, %last, signed : tile<i32> -> tile<i1>
  if %chosen {
    %f = offset %p, %five : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %u = store_ptr_tko weak %f, %x : tile<ptr<i32>>, tile<i32> -> token
  }"""
    )
    sanitizer = tileir.sanitizer.Sanitizer()
    kernel(body).launch(400, (zeros(400),), observer=sanitizer)
    assert sanitizer.report.kinds == ["race", "race"]
    assert {finding.other.block for finding in sanitizer.report.findings if finding.other} == {(5, 0, 0)}
