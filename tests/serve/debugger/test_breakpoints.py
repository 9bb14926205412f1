"""Reasons to stop: lines, operations, tile blocks, conditions, changes, failures, findings."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy
import pytest

from tileir.serve.debugger.session import Debugger

ROUNDS = """// Each tile block adds its number to an element, several times.
cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>, %rounds: tile<i32>) {
    %b, %by, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %at = offset %x, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>

    // A comment.
    %sum = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<i32>) {
      %next = addi %acc, %b : tile<i32>
      continue %next : tile<i32>
    }
    print_tko "sum %d\\n", %sum : tile<i32> -> token
    %token = store_ptr_tko weak %at, %sum : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


class Launch:
    """A program under the debugger, with what it prints."""

    def __init__(self, folder: Path, text: str, grid: Any, *arguments: Any, **options: Any) -> None:
        self.path = folder / "k.mlir"
        self.path.write_text(text)
        self.output: list[str] = []
        self.debugger = Debugger(self.path, grid, arguments, output=self.output.append, **options)

    def line(self) -> int:
        place = self.debugger.location
        assert place is not None
        return place.line


@pytest.fixture(params=["forward", "reverse", "interleaved"])
def rounds(request: pytest.FixtureRequest, tmp_path: Path) -> Launch:
    return Launch(tmp_path, ROUNDS, 4, numpy.zeros(4, numpy.int32), 3, schedule=request.param)


def blocks(launch: Launch) -> list[int]:
    return [3, 2, 1, 0] if launch.debugger.recording.schedule == "reverse" else [0, 1, 2, 3]


def test_a_line_is_stopped_at_in_every_round_and_tile_block_both_ways(rounds: Launch) -> None:
    debugger = rounds.debugger
    found = debugger.breakpoints.add("line", str(rounds.path), 11)
    assert found.is_verified and not found.message and found.location is not None and found.location.line == 11
    stop = debugger.start(stop_on_entry=False)
    seen = []
    while stop.reason == "breakpoint":
        assert stop.breakpoints == (1,) and rounds.line() == 11
        seen.append((stop.position.block, int(debugger.evaluate("i").value)))
        stop = debugger.resume()
    assert stop.reason == "end" and found.hits == 12
    assert seen == [(block, i) for block in blocks(rounds) for i in range(3)]
    back = []
    while (stop := debugger.resume(reverse=True)).reason == "breakpoint":
        back.append((stop.position.block, int(debugger.evaluate("i").value)))
    assert back == seen[::-1] and stop.reason == "beginning"


def test_lines_without_operations_are_moved_and_those_behind_the_last_refused(rounds: Launch) -> None:
    breakpoints = rounds.debugger.breakpoints
    moved = breakpoints.add("line", "k.mlir", 8)
    assert moved.is_verified and moved.message == "line 8 has no operations: moved to line 10"
    refused = breakpoints.add("line", "k.mlir", 99)
    assert not refused.is_verified and "no operation of the kernel comes from line 99" in refused.message
    assert "other.mlir" in breakpoints.add("line", "other.mlir", 1).message


def test_operations_are_named_by_mnemonic_value_and_number(rounds: Launch) -> None:
    breakpoints = rounds.debugger.breakpoints
    for name in ("addi", "cuda_tile.addi", "%next", "next", "#5", 5):
        found = breakpoints.add("operation", name)
        assert found.operations == [5] and found.location is not None and found.location.line == 11
    assert breakpoints.add("operation", "%acc").operations == [5]
    assert breakpoints.add("operation", "constant").message == "2 operations"
    assert breakpoints.add("operation", "mmaf").message == "the kernel has no operation or value mmaf"


REDUCING = """cuda_tile.module @m {
  entry @k() {
    %x = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
    %largest = reduce %x dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>
    (%element: tile<f32>, %so_far: tile<f32>) {
      %larger = maxf %element, %so_far : tile<f32>
      yield %larger : tile<f32>
    }
    %a = addf %largest, %largest : tile<f32> %b = maxf %a, %a : tile<f32> %c = negf %b : tile<f32>
    return
  }
}
"""


def test_bodies_of_reductions_are_one_step(tmp_path: Path) -> None:
    debugger = Launch(tmp_path, REDUCING, 1).debugger
    found = debugger.breakpoints.add("operation", "%larger")
    assert found.is_verified and found.location is not None and found.location.line == 4
    assert found.message == "the body of a reduce is one step, so %larger in it stops before the reduce"
    found = debugger.breakpoints.add("operation", "maxf")
    assert len(found.operations) == 2 and found.message.startswith("2 operations; the body of a reduce is one step")
    found = debugger.breakpoints.add("line", "k.mlir", 6)
    assert found.message == "line 6 is in the body of a reduce, which is one step: moved to line 4"
    stop = debugger.start(stop_on_entry=False)
    assert sorted(stop.breakpoints) == [1, 2, 3]
    assert debugger.resume().breakpoints == (2,) and debugger.evaluate("a").value == 8
    assert debugger.resume().reason == "end"


def test_columns_choose_among_the_operations_of_a_line(tmp_path: Path) -> None:
    launch = Launch(tmp_path, REDUCING, 1)
    debugger = launch.debugger
    line = REDUCING.split("\n")[8]
    for column, name in ((1, "a"), (line.index("%a") + 1, "a"), (line.index("%largest") + 1, "a")):
        placed = debugger.breakpoints.add("line", "k.mlir", 9, column=column)
        assert placed.operations == debugger.breakpoints.add("operation", name).operations
    for column, name in ((line.index("%b") + 1, "b"), (line.index("maxf") + 1, "b"), (line.index("%c") + 1, "c")):
        placed = debugger.breakpoints.add("line", "k.mlir", 9, column=column)
        assert (
            placed.operations == debugger.breakpoints.add("operation", name).operations and placed.location is not None
        )
        assert placed.location.line == 9
    assert (
        debugger.breakpoints.add("line", "k.mlir", 9).operations
        == debugger.breakpoints.add("operation", "a").operations
    )


def test_a_tile_block_alone(rounds: Launch) -> None:
    debugger = rounds.debugger
    debugger.breakpoints.add("block", "2,0,0")
    debugger.breakpoints.add("line", "k.mlir", 15, block=1)
    stops = [debugger.start(stop_on_entry=False), debugger.resume()]
    # Interleaved, all begin before the first of them stores.
    assert [stop.position.block for stop in stops] == ([1, 2] if debugger.recording.schedule == "forward" else [2, 1])
    assert debugger.resume().reason == "end"
    assert "there is no tile block 9" in debugger.breakpoints.add("block", 9).message
    assert "is no tile block" in debugger.breakpoints.add("block", "a").message


@pytest.mark.parametrize(
    "condition, wanted",
    [
        ("i == 1 and tile_block[0] == 2", [(2, 1)]),
        ("%acc + b > 7", [(3, 2)]),
        ("x.sum() > 1000", []),
        ("%rounds == 3 and %b == 3", [(3, 0), (3, 1), (3, 2)]),
    ],
)
def test_conditions_are_over_values_arrays_and_parameters(
    rounds: Launch, condition: str, wanted: list[tuple[int, int]]
) -> None:
    debugger = rounds.debugger
    debugger.breakpoints.add("line", "k.mlir", 11, condition=condition)
    stop = debugger.start(stop_on_entry=False)
    seen = []
    while stop.reason == "breakpoint":
        seen.append((stop.position.block, int(debugger.evaluate("i").value)))
        stop = debugger.resume()
    assert stop.reason == "end" and seen == wanted
    back = []
    while (stop := debugger.resume(reverse=True)).reason == "breakpoint":
        back.append((stop.position.block, int(debugger.evaluate("i").value)))
    assert back == wanted[::-1]


def test_what_is_wrong_with_a_condition_is_said(rounds: Launch) -> None:
    debugger = rounds.debugger
    wrong = debugger.breakpoints.add("line", "k.mlir", 11, condition="i ==")
    assert not wrong.is_verified and "cannot be read" in wrong.message
    assert "is no number of hits" in debugger.breakpoints.add("line", "k.mlir", 11, hit_condition="often").message
    unknown = debugger.breakpoints.add("line", "k.mlir", 11, condition="ii > 1")
    assert not unknown.is_verified and unknown.message == "the kernel has no value ii"
    debugger.breakpoints.add("line", "k.mlir", 11, condition="%sum > 1")
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "breakpoint" and stop.text == "the condition '%sum > 1' fails: there is no value %sum here"


@pytest.mark.parametrize("hits, wanted", [("5", [5]), (">= 11", [11, 12]), ("%4", [4, 8, 12]), ("< 3", [1, 2])])
def test_hits_are_counted_from_the_start_of_the_launch(rounds: Launch, hits: str, wanted: list[int]) -> None:
    debugger = rounds.debugger
    debugger.breakpoints.add("line", "k.mlir", 11, hit_condition=hits)
    every = [(block, i) for block in blocks(rounds) for i in range(3)]
    stop = debugger.start(stop_on_entry=False)
    seen = []
    while stop.reason == "breakpoint":
        seen.append((stop.position.block, int(debugger.evaluate("i").value)))
        stop = debugger.resume()
    assert seen == [every[number - 1] for number in wanted]


def test_log_points_write_and_do_not_stop(rounds: Launch) -> None:
    debugger = rounds.debugger
    debugger.breakpoints.add("line", "k.mlir", 11, log="{i}: {acc * 2} {missing}", condition="b == 2")
    assert debugger.start(stop_on_entry=False).reason == "end"
    wanted = [f"{i}: {4 * i} {{there is no value missing here}}\n" for i in range(3)]
    assert [text for text in rounds.output if not text.startswith("sum")] == wanted


def test_changes_of_a_value_and_of_an_element_stop_behind_them(rounds: Launch) -> None:
    debugger = rounds.debugger
    element = debugger.breakpoints.add("data", "x[2]")
    assert element.is_verified and element.element is not None
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "data" and stop.position.block == 2 and rounds.line() == 16
    assert debugger.evaluate("x[2]").value == 6
    debugger.step(reverse=True)
    assert debugger.evaluate("x[2]").value == 0
    debugger.breakpoints.clear()
    value = debugger.breakpoints.add("data", "acc", block=3)
    debugger.start()
    seen = []
    while (stop := debugger.resume()).reason == "data":
        assert stop.breakpoints == (value.number,)
        seen.append(int(debugger.evaluate("acc").value))
    assert seen == [0, 3, 6]
    assert "has no element [9]" in debugger.breakpoints.add("data", "x[9]").message
    assert "neither a value" in debugger.breakpoints.add("data", "missing").message


def test_a_temporary_breakpoint_stops_once_and_disabled_ones_do_not(rounds: Launch) -> None:
    debugger = rounds.debugger
    once = debugger.breakpoints.add("line", "k.mlir", 11, temporary=True)
    never = debugger.breakpoints.add("line", "k.mlir", 12)
    debugger.breakpoints[never.number].is_enabled = False
    assert debugger.start(stop_on_entry=False).breakpoints == (once.number,)
    assert once.number not in debugger.breakpoints
    assert debugger.resume().reason == "end"


def test_a_step_out_of_a_loop_stops_at_a_breakpoint_in_it(rounds: Launch) -> None:
    debugger = rounds.debugger
    debugger.breakpoints.add("line", "k.mlir", 11, condition="i == 2")
    debugger.start()
    while rounds.line() != 11:
        debugger.step()
    stop = debugger.step("out")
    assert stop.reason == "breakpoint" and debugger.evaluate("i").value == 2
    assert debugger.step("out").reason == "step" and rounds.line() == 14
    assert debugger.step("over", reverse=True).reason == "step" and rounds.line() == 12
    assert debugger.step("out", reverse=True).reason == "breakpoint" and rounds.line() == 11
    assert debugger.step("out", reverse=True).reason == "step" and rounds.line() == 10


def test_results_and_prints_come_when_the_launch_passes_them_and_once(tmp_path: Path) -> None:
    array = numpy.zeros(4, numpy.int32)
    launch = Launch(tmp_path, ROUNDS, 4, array, 3)
    debugger = launch.debugger
    debugger.start()
    debugger.step("over", count=5)
    debugger.step("out")
    assert launch.line() == 14 and not launch.output
    debugger.step()
    assert launch.output == ["sum 0\n"]
    debugger.resume(reverse=True)
    debugger.breakpoints.add("line", "k.mlir", 15, block=2)
    debugger.resume()
    assert launch.output == ["sum 0\n", "sum 3\n", "sum 6\n"] and not array.any()
    debugger.go_to(1, 0)
    assert debugger.finish().reason == "end"
    assert launch.output == ["sum 0\n", "sum 3\n", "sum 6\n", "sum 9\n"] and array.tolist() == [0, 3, 6, 9]
    debugger.resume(reverse=True)
    debugger.breakpoints.clear()
    debugger.resume()
    assert len(launch.output) == 4


DIVIDING = """cuda_tile.module @m {
  entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<i32>>) {
    %b, %by, %bz = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %at = offset %x, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %v, %t = load_ptr_tko weak %at : tile<ptr<f32>> -> tile<f32>, token
    %same = subf %v, %v rounding<nearest_even> : tile<f32>
    %none = divf %same, %same rounding<nearest_even> : tile<f32>
    %two = constant <i32: 2> : tile<i32>
    %small = cmpi less_than %b, %two, signed : tile<i32> -> tile<i1>
    assert %small, "only two" : tile<i1>
    %t2 = store_ptr_tko weak %y, %b : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_a_failure_stops_at_the_operation(tmp_path: Path, schedule: str) -> None:
    launch = Launch(tmp_path, DIVIDING, 4, numpy.ones(4, numpy.float32), numpy.zeros(1, numpy.int32), schedule=schedule)
    debugger = launch.debugger
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "failure" and "only two" in stop.text and launch.line() == 11 and stop.position.block == 2
    assert debugger.evaluate("small").value == False  # noqa: E712
    assert debugger.step(reverse=True).reason == "step" and launch.line() == 10
    assert debugger.step().reason == "step" and launch.line() == 11
    assert "only two" in debugger.resume().text
    assert debugger.finished


def test_stepping_over_a_failure_stops_at_it_once(tmp_path: Path) -> None:
    launch = Launch(tmp_path, DIVIDING, 4, numpy.ones(4, numpy.float32), numpy.zeros(1, numpy.int32))
    debugger = launch.debugger
    debugger.start()
    debugger.go_to(2, 7)
    assert debugger.step().reason == "step"
    stop = debugger.step("out")
    assert stop.reason == "failure" and "only two" in stop.text and launch.line() == 11
    assert debugger.step().reason == "end"


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_a_number_that_is_none_stops_where_it_is_made(tmp_path: Path, schedule: str) -> None:
    launch = Launch(
        tmp_path,
        DIVIDING,
        2,
        numpy.ones(4, numpy.float32),
        numpy.zeros(1, numpy.int32),
        stop_on=["nan"],
        schedule=schedule,
    )
    debugger = launch.debugger
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "nan" and "divf makes a NaN" in stop.text and launch.line() == 8 and stop.position.block == 0
    debugger.step()
    assert debugger.evaluate("numpy.isnan(none)").value
    assert debugger.resume().reason == "end"
    assert debugger.resume(reverse=True).reason == "nan"


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_findings_of_the_sanitizer_stop(tmp_path: Path, schedule: str) -> None:
    launch = Launch(
        tmp_path,
        DIVIDING,
        2,
        numpy.ones(4, numpy.float32),
        numpy.zeros(1, numpy.int32),
        stop_on=["sanitizer"],
        schedule=schedule,
    )
    debugger = launch.debugger
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "sanitizer" and "race" in stop.text and launch.line() == 12 and stop.position.block == 1
    assert debugger.resume().reason == "end"


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_findings_and_numbers_that_are_none_stop_in_one_launch(tmp_path: Path, schedule: str) -> None:
    arrays = numpy.ones(4, numpy.float32), numpy.zeros(1, numpy.int32)
    launch = Launch(tmp_path, DIVIDING, 2, *arrays, stop_on=["sanitizer", "nan"], schedule=schedule)
    debugger = launch.debugger
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "nan" and launch.line() == 8 and stop.position.block == 0
    stop = debugger.resume()
    assert stop.reason == "sanitizer" and "race" in stop.text and launch.line() == 12 and stop.position.block == 1
    assert debugger.resume().reason == "end"
    assert debugger.resume(reverse=True).reason in ("sanitizer", "nan")


ENDLESS = """cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    loop iter_values(%n = %zero) : tile<i32> -> tile<i32> {
      %next = addi %n, %one : tile<i32>
      continue %next : tile<i32>
    }
    return
  }
}
"""


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_an_endless_kernel_is_paused_and_looked_at(tmp_path: Path, schedule: str) -> None:
    launch = Launch(tmp_path, ENDLESS, 2, numpy.zeros(1, numpy.int32), schedule=schedule)
    debugger = launch.debugger
    debugger.breakpoints.add("line", "k.mlir", 6, hit_condition="100")
    assert debugger.start(stop_on_entry=False).reason == "breakpoint"
    assert debugger.evaluate("n").value == 99
    assert debugger.step("into", count=5000, by="operation").reason in ("step", "breakpoint")
    debugger.breakpoints.clear()
    threading.Timer(0.05, debugger.interrupt).start()
    assert debugger.resume().reason == "pause"
    count = int(debugger.evaluate("n").value)
    assert count > 100 and launch.line() in (6, 7)
    debugger.step(reverse=True, count=2)
    assert int(debugger.evaluate("n").value) == count - 1
    assert debugger.resume(reverse=True).reason == "beginning"
