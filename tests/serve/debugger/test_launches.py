"""Launches of all kinds under the debugger: with globals, with memory of their own, that fail, that never end .."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from tests.serve.debugger.test_every_step import Walk

import tileir
from tileir.serve.debugger.session import Debugger


def program(parameters: str, body: str, before: str = "") -> str:
    return f"cuda_tile.module @m {{\n{before}\nentry @k({parameters}) {{\n{body}\nreturn\n}}\n}}"


ADVANCING = program(
    "%p: tile<ptr<i32>>",
    """%g = get_global @g : tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token
    %o = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
    %w = addi %v, %v : tile<i32>
    %s = store_ptr_tko weak %g, %w token=%t : tile<ptr<i32>>, tile<i32> -> token""",
    "global @g alignment = 64 <i32: [1, 2, 3, 4]> : tile<4xi32>",
)
RESERVING = program(
    "%p: tile<ptr<i32>>, %n: tile<i32>",
    """%zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %zero) -> (tile<i32>) {
      %area = alloca num_elem = 4, alignment = 128 : tile<ptr<i32>>
      %t0 = store_ptr_tko weak %area, %i : tile<ptr<i32>>, tile<i32> -> token
      %v, %t1 = load_ptr_tko weak %area token=%t0 : tile<ptr<i32>> -> tile<i32>, token
      %next = addi %sum, %v : tile<i32>
      continue %next : tile<i32>
    }
    %t = store_ptr_tko weak %p, %last : tile<ptr<i32>>, tile<i32> -> token""",
)
FOLLOWING = program(
    "%p: tile<ptr<i64>>",
    """%v, %t = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
    %q = int_to_ptr %v : tile<i64> -> tile<ptr<i32>>
    %x, %t1 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    %y = addi %x, %x : tile<i32>
    %t2 = store_ptr_tko weak %q, %y token=%t1 : tile<ptr<i32>>, tile<i32> -> token""",
)
PRINTING = program(
    "",
    """%x, %y, %z = get_tile_block_id : tile<i32>
    %t = print_tko "tile block %i\\n", %x : tile<i32> -> token
    %u = print_tko "again %i\\n", %x token=%t : tile<i32> -> token""",
)
FAILING = program(
    "%p: tile<ptr<i32>>",
    """%x, %y, %z = get_tile_block_id : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t0 = print_tko "tile block %i\\n", %x : tile<i32> -> token
    %t1 = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
    %ok = cmpi not_equal %x, %one, signed : tile<i32> -> tile<i1>
    assert %ok, "not the second" : tile<i1>
    %t2 = store_ptr_tko weak %p, %one token=%t1 : tile<ptr<i32>>, tile<i32> -> token""",
)
ENDLESS = program(
    "%p: tile<ptr<i32>>",
    """%one = constant <i32: 1> : tile<i32>
    loop iter_values(%i = %one) : tile<i32> {
      %j = addi %i, %one : tile<i32>
      %u = store_ptr_tko weak %p, %j : tile<ptr<i32>>, tile<i32> -> token
      continue %j : tile<i32>
    }""",
)


def compiled(text: str) -> Any:
    return tileir.compile(tileir.parse(text), backend="interpreter")


def number() -> Any:
    return numpy.zeros(1, numpy.int32)


@pytest.mark.parametrize("schedule", ["forward", "reverse", "interleaved"])
@pytest.mark.parametrize(
    "text, arguments",
    [
        (ADVANCING, [number()]),
        (ADVANCING.replace("\nglobal", "\nglobal constant"), [number()]),
        (RESERVING, [number(), 4]),
        (PRINTING, []),
        (FAILING, [number()]),
    ],
    ids=["globals", "a constant global", "alloca", "printing", "failing"],
)
def test_values_are_those_of_a_plain_launch(text: str, arguments: list[Any], schedule: str) -> None:
    Walk(compiled(text), 3, arguments, schedule).forwards_and_back(1)


def test_a_global_is_as_the_launch_leaves_it_and_goes_back_in_time() -> None:
    kernel = compiled(ADVANCING)
    debugger = Debugger(kernel, 3, [number()], names="tile")
    debugger.start()
    debugger.finish()
    assert {one.name: one.value.tolist() for one in debugger.arrays()} == {"p": [4], "@g": [8, 2, 3, 4]}
    debugger.resume(reverse=True)
    assert {one.name: one.value.tolist() for one in debugger.arrays()} == {"p": [0], "@g": [1, 2, 3, 4]}
    # The kernel keeps what the launch has left, as after a plain one.
    assert kernel.globals.regions["g"].data.view(numpy.int32).tolist() == [8, 2, 3, 4]


@pytest.mark.parametrize("schedule, result", [("forward", 40), ("interleaved", 10)])
def test_memory_that_is_reached_by_addresses_in_memory(schedule: str, result: int) -> None:
    reached = numpy.array([5, 6], numpy.int32)
    addresses = numpy.array([reached.ctypes.data])
    debugger = Debugger(compiled(FOLLOWING), 3, [addresses], schedule=schedule, memory=[reached], names="tile")
    debugger.start()
    debugger.step(count=4)
    shown = {one.name: one.text for one in debugger.variables()}
    assert shown["%q"] == "element 0 of `memory`" and shown["%x"] == "5" and shown["%y"] == "10"
    assert reached.tolist() == [5, 6]
    assert debugger.finish().reason == "end"
    assert reached.tolist() == [result, 6] and addresses[0] == reached.ctypes.data


def test_nothing_is_printed_twice() -> None:
    printed: list[str] = []
    debugger = Debugger(compiled(PRINTING), 2, output=printed.append, names="tile")
    debugger.start()
    debugger.step(count=2)
    assert printed == ["tile block 0\n"]
    debugger.step(reverse=True, count=2)
    debugger.step(count=3)
    assert printed == ["tile block 0\n", "again 0\n"]
    debugger.finish()
    debugger.resume(reverse=True)
    debugger.resume()
    assert printed == ["tile block 0\n", "again 0\n", "tile block 1\n", "again 1\n"]


def test_a_tile_block_that_another_one_ended_before_it_did_anything() -> None:
    debugger = Debugger(compiled(FAILING), 3, [number()], schedule="interleaved", names="tile")
    debugger.start()
    while debugger.step(by="operation").reason == "step":
        pass
    with pytest.raises(tileir.LaunchError, match="nothing is known of tile block 2"):
        debugger.select_block(2)


# --- a recording that may take little ---


def test_a_limit_that_no_recording_fits_in() -> None:
    with pytest.raises(tileir.LaunchError, match=r"bytes at least, .* and the memory limit is 1000: raise it"):
        Debugger(compiled(RESERVING), 2, [number(), 4], limit=1000)


@pytest.mark.parametrize("grid", [1, 2])
def test_steps_end_where_the_recording_does(grid: int) -> None:
    result = number()
    debugger = Debugger(compiled(RESERVING), grid, [result, 2000], limit=100_000, names="tile")
    debugger.start()
    debugger.step()
    last = len(debugger.steps(0)) - 1
    debugger.go_to(0, last - 1)
    assert debugger.step(by="operation").reason == "step"
    for _ in range(2):
        stop = debugger.step(by="operation")
        assert stop.reason == "limit" and stop.position == (0, last) and "100000 bytes" in stop.text
    assert debugger.location is not None and debugger.stack() and not debugger.finished
    # What does not fit is not lost: the launch comes to its end.
    assert debugger.resume().reason == "end"
    assert result.tolist() == [sum(range(2000))]


def test_a_breakpoint_behind_the_recording_is_told_of() -> None:
    result = number()
    debugger = Debugger(compiled(RESERVING), 3, [result, 2000], limit=100_000, names="tile")
    debugger.breakpoints.add("operation", "alloca", block=2)
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "limit" and "before step 3 of tile block 2, where the launch would stop" in stop.text
    assert stop.position.block == 0 and debugger.location is not None and debugger.variables()
    assert debugger.finish().reason == "end"
    assert result.tolist() == [sum(range(2000))]


# --- launches without an end, without tile blocks, without a name ---


def interrupted(debugger: Debugger, command: Any) -> Any:
    timer = threading.Timer(0.05, debugger.interrupt)
    timer.start()
    stop = command()
    timer.join()
    return stop


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
def test_an_endless_launch_is_paused_and_never_goes_back(schedule: str) -> None:
    result = number()
    debugger = Debugger(compiled(ENDLESS), 2, [result], schedule=schedule, names="tile")
    debugger.start()
    debugger.step(count=5)
    before = debugger.position
    for command in (debugger.resume, debugger.finish, debugger.resume):
        stop = interrupted(debugger, command)
        assert stop.reason == "pause" and stop.position == debugger.position
        assert stop.position.block != before.block or stop.position.step >= before.step
        before = stop.position
    (count,) = [one.value for one in debugger.variables() if one.name == "%i"]
    assert count == (stop.position.step - 2) // 3 + 1
    assert debugger.step(reverse=True).position.step < before.step
    assert debugger.resume(reverse=True).reason == "beginning"
    # The caller has results only when a launch comes to its end.
    assert result.tolist() == [0]


@pytest.mark.parametrize("grid", [0, (2, 0, 1), (1, 2, 3, 4)])
def test_a_grid_without_tile_blocks_is_refused_as_in_a_plain_launch(grid: Any) -> None:
    kernel = compiled(PRINTING)
    with pytest.raises(tileir.LaunchError) as plain:
        kernel.launch(grid)
    with pytest.raises(tileir.LaunchError) as debugged:
        Debugger(kernel, grid)
    assert str(debugged.value) == str(plain.value)


def test_one_of_several_entries_is_debugged() -> None:
    module = tileir.parse(PRINTING.replace("entry @k", "entry @other() {\nreturn\n}\nentry @k"))
    with pytest.raises(tileir.LaunchError, match="choose one of @other, @k"):
        Debugger(module, 1)
    debugger = Debugger(tileir.compile(module, entry="other", backend="interpreter"), 2)
    assert debugger.start().reason == "entry" and debugger.name == "other"
    assert [debugger.step().reason for _ in range(2)] == ["step", "end"]
