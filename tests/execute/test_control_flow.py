"""Loops, branches, early exits, assertions and printing."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.evaluation import evaluate, program

import tileir

COUNT = """%one = constant <i32: 1> : tile<i32>
%r = for %i in (%zero_index to %n, step %one) : tile<i32> iter_values(%sum = %zero_index) -> (tile<i32>) {
  %next = addi %sum, %i : tile<i32>
  continue %next : tile<i32>
}"""


def test_for_sums_a_range_and_may_be_empty() -> None:
    for limit in (10, 1, 0, -5):
        assert evaluate(COUNT, n=numpy.int32(limit), r="tile<i32>") == sum(range(limit))


def test_unsigned_for_takes_a_negative_bound_for_a_large_one() -> None:
    text = """%low = constant <i8: 120> : tile<i8>
    %step = constant <i8: 5> : tile<i8>
    %r = for unsigned %i in (%low to %n, step %step) : tile<i8> iter_values(%last = %low) -> (tile<i8>) {
      continue %i : tile<i8>
    }"""
    assert evaluate(text, n=numpy.int8(-116), r="tile<i8>") == numpy.int8(-121)
    assert evaluate(text.replace("for unsigned", "for"), n=numpy.int8(-116), r="tile<i8>") == 120


def test_values_carried_by_a_loop_can_swap() -> None:
    text = """%one = constant <i32: 1> : tile<i32>
    %r, %s = for %i in (%zero_index to %n, step %one) : tile<i32> iter_values(%a = %zero_index, %b = %one) -> (tile<i32>, tile<i32>) {
      %c = addi %a, %b : tile<i32>
      continue %b, %c : tile<i32>, tile<i32>
    }"""
    assert evaluate(text, n=numpy.int32(10), r="tile<i32>", s="tile<i32>") == (55, 89)


def test_a_step_that_is_not_positive_is_an_error() -> None:
    with pytest.raises(tileir.ExecutionError, match="has a step of 0: it must be positive"):
        evaluate(COUNT.replace("<i32: 1>", "<i32: 0>"), n=numpy.int32(3), r="tile<i32>")


def test_continue_inside_an_if_skips_the_rest_of_the_iteration() -> None:
    text = """%one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %r = for %i in (%zero_index to %n, step %one) : tile<i32> iter_values(%sum = %zero_index) -> (tile<i32>) {
      %odd = remi %i, %two signed : tile<i32>
      %skip = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
      if %skip {
        continue %sum : tile<i32>
      }
      %next = addi %sum, %i : tile<i32>
      continue %next : tile<i32>
    }"""
    assert evaluate(text, n=numpy.int32(10), r="tile<i32>") == 0 + 2 + 4 + 6 + 8


LOOP = """%one = constant <i32: 1> : tile<i32>
%r = loop iter_values(%i = %zero_index) : tile<i32> -> tile<f32> {
  %done = cmpi greater_than_or_equal %i, %n, signed : tile<i32> -> tile<i1>
  if %done {
    %f = itof %i signed : tile<i32> -> tile<f32>
    break %f : tile<f32>
  }
  %next = addi %i, %one : tile<i32>
  continue %next : tile<i32>
}"""


def test_loop_ends_with_break_and_gives_results_of_another_type() -> None:
    assert evaluate(LOOP, n=numpy.int32(7), r="tile<f32>") == 7.0


def test_break_and_continue_reach_the_innermost_loop_only() -> None:
    text = """%one = constant <i32: 1> : tile<i32>
    %r = for %i in (%zero_index to %n, step %one) : tile<i32> iter_values(%sum = %zero_index) -> (tile<i32>) {
      %inner = loop iter_values(%j = %zero_index) : tile<i32> -> tile<i32> {
        %end = cmpi equal %j, %i, signed : tile<i32> -> tile<i1>
        if %end {
          break %j : tile<i32>
        } else {
          %k = addi %j, %one : tile<i32>
          continue %k : tile<i32>
        }
        break %j : tile<i32>
      }
      %next = addi %sum, %inner : tile<i32>
      continue %next : tile<i32>
    }"""
    assert evaluate(text, n=numpy.int32(5), r="tile<i32>") == 0 + 1 + 2 + 3 + 4


def test_if_gives_the_values_of_the_branch_taken() -> None:
    text = """%c = cmpi greater_than %n, %zero_index, signed : tile<i32> -> tile<i1>
    %r, %s = if %c -> (tile<i32>, tile<i32>) {
      yield %n, %zero_index : tile<i32>, tile<i32>
    } else {
      yield %zero_index, %n : tile<i32>, tile<i32>
    }"""
    assert evaluate(text, n=numpy.int32(3), r="tile<i32>", s="tile<i32>") == (3, 0)
    assert evaluate(text, n=numpy.int32(-3), r="tile<i32>", s="tile<i32>") == (0, -3)


def _launch_with_return(where: str) -> list[int]:
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i32>>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %late = cmpi greater_than_or_equal %x, %two, signed : tile<i32> -> tile<i1>
      {where}
      %t = store_ptr_tko weak %q, %two : tile<ptr<i32>>, tile<i32> -> token
      return }} }}"""
    out = numpy.zeros(4, "i4")
    tileir.compile(tileir.parse(text)).launch(4, (out,))
    return out.tolist()


def test_return_inside_an_if_ends_the_tile_block() -> None:
    assert _launch_with_return("if %late { return }") == [2, 2, 0, 0]


def test_return_inside_a_loop_ends_the_tile_block() -> None:
    assert _launch_with_return("loop { if %late { return } else { yield } break }") == [2, 2, 0, 0]


def test_grid_and_block_numbers() -> None:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
      %a = muli %z, %ny : tile<i32>
      %b = addi %a, %y : tile<i32>
      %c = muli %b, %nx : tile<i32>
      %d = addi %c, %x : tile<i32>
      %q = offset %p, %d : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %ten = constant <i32: 10> : tile<i32>
      %e = muli %z, %ten : tile<i32>
      %f = addi %e, %y : tile<i32>
      %g = muli %f, %ten : tile<i32>
      %h = addi %g, %x : tile<i32>
      %t = store_ptr_tko weak %q, %h : tile<ptr<i32>>, tile<i32> -> token
      return } }"""
    kernel = tileir.compile(tileir.parse(text))
    out = numpy.zeros((2, 3, 4), "i4")
    kernel.launch((4, 3, 2), (out,))
    assert out.tolist() == [[[z * 100 + y * 10 + x for x in range(4)] for y in range(3)] for z in range(2)]
    for schedule in ("reverse", "random:5", "interleaved"):
        again = numpy.zeros_like(out)
        kernel.launch((4, 3, 2), (again,), schedule=schedule)
        assert again.tolist() == out.tolist(), schedule


# --- assert and print ---


def test_a_failed_assert_ends_the_launch_and_names_the_element() -> None:
    text = 'assert %c, "too bad" : tile<4xi1>\n%r = constant <i32: 1> : tile<i32>'
    assert evaluate(text, c=numpy.ones(4, bool), r="tile<i32>") == 1
    with pytest.raises(tileir.ExecutionError, match=r"failed: too bad \(first at element \[2\]\)"):
        evaluate(text, c=numpy.array([True, True, False, False]), r="tile<i32>")


def _printed(format: str, types: str, names: str, **values: Any) -> str:
    inputs = {
        name: (
            f"tile<{''.join(f'{e}x' for e in numpy.shape(v))}"
            + {"i": "i32", "f": "f32"}[numpy.asarray(v).dtype.kind]
            + ">"
        )
        for name, v in values.items()
    }
    text = program(f'%tok = print_tko "{format}"{names}{types} -> token', inputs, {})
    parts: list[str] = []
    arrays = [numpy.asarray(v, "i4" if numpy.asarray(v).dtype.kind == "i" else "f4") for v in values.values()]
    tileir.compile(tileir.parse(text)).launch(1, arrays, output=parts.append)
    return "".join(parts)


def test_print_writes_numbers_and_whole_tiles() -> None:
    assert _printed("a %% b\\0A", "", "") == "a % b\n"
    assert _printed("x=%d y=%5.2f", " : tile<i32>, tile<f32>", ", %x, %y", x=42, y=3.14159) == "x=42 y= 3.14"
    assert _printed("%i", " : tile<2x2xi32>", ", %x", x=[[1, 2], [3, -4]]) == "[[1, 2], [3, -4]]"
    assert (
        _printed("%u %x %lld", " : tile<i32>, tile<i32>, tile<i32>", ", %x, %x, %x", x=-1) == "4294967295 ffffffff -1"
    )
    assert _printed("%g %e", " : tile<f32>, tile<f32>", ", %y, %y", y=0.5) == "0.5 5.000000e-01"
    assert _printed("%s|%-4d|%04d", " : tile<f32>, tile<i32>, tile<i32>", ", %y, %x, %x", y=0.5, x=7) == "0.5|7   |0007"


WAITING = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
  if %first {
    loop {
      %v, %t = load_ptr_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token
      %done = cmpi equal %v, %one, signed : tile<i32> -> tile<i1>
      if %done { break }
      continue
    }
  } else {
    %u = store_ptr_tko release device %p, %one : tile<ptr<i32>>, tile<i32> -> token
  }
  return } }"""


def test_interleaved_blocks_may_wait_for_a_later_one() -> None:
    flag = numpy.zeros(1, "i4")
    tileir.compile(tileir.parse(WAITING)).launch(2, (flag,), schedule="interleaved")
    assert flag[0] == 1


def test_a_kernel_that_depends_on_the_order_of_blocks_shows_itself_under_another() -> None:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
      return } }"""
    kernel = tileir.compile(tileir.parse(text))
    found = {}
    for schedule in ("forward", "reverse", "random:1", "random:2"):
        out = numpy.zeros(1, "i4")
        kernel.launch(9, (out,), schedule=schedule)
        again = numpy.zeros(1, "i4")
        kernel.launch(9, (again,), schedule=schedule)
        assert out[0] == again[0]
        found[schedule] = int(out[0])
    assert found["forward"] == 8 and found["reverse"] == 0
    assert len(set(found.values())) > 2


def test_the_body_of_a_reduce_may_join_tokens() -> None:
    body = """%start = make_token : token
        %r = reduce %x dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
        (%a: tile<i32>, %b: tile<i32>) {
          %joined = join_tokens %start, %start : token
          %sum = addi %a, %b : tile<i32>
          yield %sum : tile<i32>
        }"""
    found = evaluate(body, x=numpy.arange(8, dtype=numpy.int32), r="tile<i32>")
    assert int(found) == 28
