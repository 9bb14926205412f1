"""Steps by line and by operation, forwards and backwards."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.debugger.session import Debugger

EXAMPLES = Path(__file__).parents[3] / "examples"

LOOP = """cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %sum = for %i in (%zero to %three, step %one) : tile<i32> iter_values(%carried = %zero) -> (tile<i32>) {
      %odd = andi %i, %one : tile<i32>
      %is = cmpi equal %odd, %one, signed : tile<i32> -> tile<i1>
      %added = if %is -> (tile<i32>) {
        %more = addi %carried, %i : tile<i32>
        yield %more : tile<i32>
      } else {
        yield %carried : tile<i32>
      }
      continue %added : tile<i32>
    }
    %token = store_ptr_tko weak %x, %sum : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


@pytest.fixture
def loop(tmp_path: Path) -> Debugger:
    path = tmp_path / "loop.mlir"
    path.write_text(LOOP)
    return Debugger(path, 2, [numpy.zeros(1, numpy.int32)])


def lines(debugger: Debugger, count: int, how: str, **options: object) -> list[int]:
    found = []
    for _ in range(count):
        debugger.step(how, **options)  # type: ignore[arg-type]
        assert debugger.location is not None
        found.append(debugger.location.line)
    return found


def test_into_goes_through_rounds_and_branches(loop: Debugger) -> None:
    assert loop.start().reason == "entry" and loop.location is not None and loop.location.line == 3
    forwards = lines(loop, 15, "into")
    assert forwards == [4, 5, 6, 7, 8, 9, 13, 15, 7, 8, 9, 10, 11, 15, 7]
    assert lines(loop, 15, "into", reverse=True) == [*forwards[-2::-1], 3]


def test_over_goes_through_rounds_and_branches_too(loop: Debugger) -> None:
    loop.start()
    forwards = lines(loop, 15, "over")
    assert forwards == [4, 5, 6, 7, 8, 9, 13, 15, 7, 8, 9, 10, 11, 15, 7]
    assert lines(loop, 15, "over", reverse=True) == [*forwards[-2::-1], 3]


def test_out_leaves_the_branch_then_the_loop_then_the_tile_block(loop: Debugger) -> None:
    loop.start()
    lines(loop, 12, "into")
    assert [frame.name for frame in loop.stack()] == ["if (then)", "for %i = 1 (round 2 of 3)", "k (0, 0, 0)"]
    assert lines(loop, 3, "out") == [15, 17, 3]
    assert loop.position == (1, 0)
    lines(loop, 12, "into")
    assert lines(loop, 3, "out", reverse=True) == [9, 6, 3]


def test_the_first_and_the_last_moment_are_stops(loop: Debugger) -> None:
    loop.start()
    assert loop.step(reverse=True).reason == "beginning"
    assert loop.resume().reason == "end" and loop.finished
    assert loop.step().reason == "end"
    stop = loop.step(reverse=True)
    assert stop.reason == "step" and loop.location is not None and loop.location.line == 18
    assert loop.resume(reverse=True).reason == "beginning" and loop.position == (0, 0)


def test_values_are_those_of_the_moment(loop: Debugger) -> None:
    loop.start()
    lines(loop, 13, "into")
    frames = loop.stack()
    assert {one.name: one.text for one in loop.variables(frames[0])} == {"%more": "1"}
    assert {one.name: one.text for one in loop.variables(frames[1])} == {
        "%i": "1",
        "%carried": "0",
        "%odd": "1",
        "%is": "true",
        "%added": "0",
    }
    assert [one.name for one in loop.variables(frames[1]) if one.is_old] == ["%added"]
    assert [(one.name, one.text) for one in loop.parameters()] == [("%x", "x")]
    assert [one.text for one in loop.arrays()] == ["[0]"]
    loop.finish()
    assert [one.text for one in loop.arrays()] == ["[1]"]


def test_expressions_are_over_what_there_is_at_the_moment(loop: Debugger) -> None:
    loop.start()
    with pytest.raises(BadExpression, match="there is no value %carried here"):
        loop.evaluate("%carried + 1")
    lines(loop, 16, "into")
    assert loop.evaluate("%carried * 2 + i").value == 4
    assert loop.evaluate("(carried, tile_block)").text == "(1, (0, 0, 0))"
    assert loop.evaluate("x").type_text == "1xi32" and loop.evaluate("%x").text == "x"
    loop.go_to(1, 0)
    assert loop.evaluate("x[0]").value == 1


def test_a_launch_reports_its_progress(loop: Debugger) -> None:
    seen: list[tuple[int, int]] = []
    loop.show_progress(lambda done, count: seen.append((done, count)))
    loop.start()
    assert loop.resume().reason == "end"
    assert seen[-1] == (1, 2) and seen == sorted(seen)
