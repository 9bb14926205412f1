"""Products of later tile blocks on other threads: no program may notice, and no thread outlives its launch."""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execute.interrupting import interrupted, steps
from tests.execute.test_product_loops import program

import tileir
from tileir.execute.dtypes import Array
from tileir.execute.interpreter import control_flow, looking_ahead, product_loops
from tileir.execute.interpreter import kernel as kernels
from tileir.execute.interpreter.looking_ahead import LookAhead


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    """However small a launch is, it has two helpers, which are gone at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_loops, "_TASK", 1)
        patch.setattr(product_loops, "_LAUNCH", 1)
        patch.setattr(looking_ahead, "processors", lambda: 3)
        yield
    # A thread says that it ends a moment before it has ended.
    for _ in range(1000):
        if not helpers():
            return
        threading.Event().wait(0.01)
    assert not helpers()


def helpers() -> int:
    """How many threads help a launch."""
    return sum(_runs_help(frame) for frame in sys._current_frames().values())


def _runs_help(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not looking_ahead._help.__code__:
        frame = frame.f_back
    return frame is not None


def matrices(rows: int, columns: int, depth: int) -> list[Array]:
    rng = numpy.random.default_rng(rows + 7 * depth)
    shapes = ((rows, depth), (depth, columns), (rows, columns))
    return [rng.standard_normal(shape).astype("f4") for shape in shapes]


def launched(text: str, arrays: list[Array], rows: int, columns: int, depth: int, schedule: str = "forward") -> bytes:
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    grid = (-(-rows // 4), -(-columns // 4))
    kernel.launch(grid, *arrays, rows, columns, depth, 0, -(-depth // 4), schedule=schedule)
    return arrays[2].tobytes()


def by_steps(text: str, arrays: list[Array], rows: int, columns: int, depth: int) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_flow, "product_loop", lambda *arguments: None)
        return launched(text, arrays, rows, columns, depth)


def results_asked_for(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each tile block that asks, whether its result was there or under way."""
    found: list[bool] = []
    ask = LookAhead.result

    def listen(self: LookAhead, number: int, *arguments: Any) -> Array:
        found.append(number in self._tasks)
        return ask(self, number, *arguments)

    monkeypatch.setattr(LookAhead, "result", listen)
    return found


extents = st.integers(1, 40)


@settings(deadline=None, max_examples=20)
@given(extents, extents, extents, st.sampled_from(["forward", "reverse", "random:3"]))
def test_the_bits_are_those_of_the_steps(rows: int, columns: int, depth: int, schedule: str) -> None:
    sizes = (rows, columns, depth)
    expected = by_steps(program(), matrices(*sizes), *sizes)
    assert launched(program(), matrices(*sizes), *sizes, schedule=schedule) == expected


def test_every_tile_block_but_the_first_is_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    found = results_asked_for(monkeypatch)
    sizes = (16, 32, 8)
    launched(program(), matrices(*sizes), *sizes)
    assert found == [False] + [True] * 31


def test_places_that_are_computed_from_the_number_are_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in kernels that go over the tiles in groups."""
    found = results_asked_for(monkeypatch)
    computed = """%p, %q, %z = get_tile_block_id : tile<i32>
      %four = constant <i32: 4> : tile<i32>
      %number0 = muli %q, %four : tile<i32>
      %number = addi %number0, %p : tile<i32>
      %i = remi %number, %four signed : tile<i32>
      %j = divi %number, %four signed : tile<i32>"""
    text = program().replace("%i, %j, %z = get_tile_block_id : tile<i32>", computed)
    sizes = (16, 32, 8)
    assert launched(text, matrices(*sizes), *sizes) == by_steps(program(), matrices(*sizes), *sizes)
    assert found == [False] + [True] * 31


def test_what_fails_while_looking_ahead_fails_in_its_tile_block() -> None:
    """The launch ends there, and its helpers with it."""
    computed = """%i, %q, %z = get_tile_block_id : tile<i32>
      %places = iota : tile<4xi32>
      %place = extract %places[%q] : tile<4xi32> -> tile<1xi32>
      %j = reshape %place : tile<1xi32> -> tile<i32>"""
    text = program().replace("%i, %j, %z = get_tile_block_id : tile<i32>", computed)
    sizes = (16, 32, 8)
    arrays = matrices(*sizes)
    before = arrays[2].copy()
    with pytest.raises(tileir.ExecutionError, match=r"\(0, 4, 0\)"):
        launched(text, arrays, *sizes)
    assert (arrays[2][:, :16] != before[:, :16]).any(axis=0).all()
    assert (arrays[2][:, 16:] == before[:, 16:]).all()


@pytest.mark.parametrize("factor", [0, 1])
def test_what_a_tile_block_writes_is_read_by_the_next(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (32, 32, 32)
    results = []
    found = results_asked_for(monkeypatch)
    for run in (by_steps, launched):
        arrays = matrices(*sizes)
        arrays[2] = arrays[factor]
        results.append(run(program(), arrays, *sizes))
    assert results[0] == results[1]
    # The second tile block finds that memory has changed, and nothing is foretold any more.
    assert found == [False, True] + [False] * 62


def test_what_is_told_of_progress_may_change_arrays() -> None:
    sizes = (16, 16, 16)
    results = []
    for by_step in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if by_step:
                patch.setattr(control_flow, "product_loop", lambda *arguments: None)
            arrays = matrices(*sizes)

            def change(done: int, count: int, arrays: list[Array] = arrays) -> None:
                arrays[0] += done

            kernel = tileir.compile(tileir.parse(program()), backend="interpreter")
            kernel.launch((4, 4), *arrays, *sizes, 0, 4, progress=change)
            results.append(arrays[2].tobytes())
    assert results[0] == results[1]


def test_one_processor_has_no_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_ahead, "processors", lambda: 1)
    monkeypatch.setattr(_thread, "start_new_thread", None)
    sizes = (16, 16, 16)
    assert launched(program(), matrices(*sizes), *sizes) == by_steps(program(), matrices(*sizes), *sizes)


def test_a_system_that_starts_no_threads_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    sizes = (16, 16, 16)
    assert launched(program(), matrices(*sizes), *sizes) == by_steps(program(), matrices(*sizes), *sizes)


def test_the_work_is_shared() -> None:
    """Two pieces of work that wait for each other: one thread alone would wait for ever."""
    meeting = threading.Barrier(2, timeout=30)
    array = numpy.zeros(1)
    counts = []

    def work(number: int, waits: bool) -> Array:
        counts.append(helpers())
        if waits:
            meeting.wait()
        return array + number

    tasks = [(number, 0 < number < 3) for number in range(6)]
    ahead = LookAhead(work, len(tasks))
    results = [ahead.result(number, tasks[number], tasks.__getitem__) for number in range(6)]
    ahead.close()
    assert [result.item() for result in results] == [0, 1, 2, 3, 4, 5]
    assert max(counts) > 0


def test_work_that_fails_is_done_again_where_it_is_asked_for() -> None:
    launcher = threading.get_ident()
    failures: list[int] = []

    def work(number: int) -> Array:
        if number == 2 and not failures:
            failures.append(threading.get_ident())
            raise MemoryError
        return numpy.full(1, number)

    tasks = [(number,) for number in range(5)]
    ahead = LookAhead(work, 5)
    results = [ahead.result(number, tasks[number], tasks.__getitem__).item() for number in range(5)]
    ahead.close()
    assert results == [0, 1, 2, 3, 4]
    assert failures and (failures[0] != launcher or len(failures) == 1)


def test_what_a_signal_handler_raises_is_not_taken_for_a_failure_of_work() -> None:
    """The thread that launches does the work of later tile blocks, too."""
    launcher = threading.get_ident()
    begun = threading.Event()

    def work(number: int) -> Array:
        if threading.get_ident() != launcher:
            begun.set()
            meeting.wait(30)
        elif number > 1:
            meeting.set()
            raise TimeoutError
        return numpy.full(1, number)

    meeting = threading.Event()
    tasks = [(number,) for number in range(9)]
    ahead = LookAhead(work, 9)
    try:
        ahead.result(0, tasks[0], tasks.__getitem__)
        assert begun.wait(30)
        with pytest.raises(TimeoutError):
            ahead.result(1, tasks[1], tasks.__getitem__)
    finally:
        meeting.set()
        ahead.close()


def test_an_interrupt_at_each_step_leaves_no_helpers_behind() -> None:
    kernel = tileir.compile(tileir.parse(program()), backend="interpreter")
    sizes = (8, 16, 4)
    arrays = matrices(*sizes)
    places = (looking_ahead.__file__, kernels.__file__)

    def work() -> None:
        kernel.launch((2, 4), *arrays, *sizes, 0, 1)

    work()
    # Not always the same ones, as threads go.
    for number in range(1, steps(work, places) + 1):
        interrupted(work, number, places)
    work()


def test_results_that_no_tile_block_asks_for_are_not_kept() -> None:
    tasks = [(number,) for number in range(100)]
    ahead = LookAhead(lambda number: numpy.full(1, number), 100)
    for number in range(0, 100, 3):
        assert ahead.result(number, tasks[number], tasks.__getitem__).item() == number
        assert len(ahead._tasks) < 8
    ahead.close()


def test_memory_that_does_not_suffice_to_look_ahead_fails_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(product_loops, "registers_of", fail)
    sizes = (16, 16, 16)
    assert launched(program(), matrices(*sizes), *sizes) == by_steps(program(), matrices(*sizes), *sizes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("place", ["work", "result", "close"])
def test_a_fork_in_the_middle_leaves_a_child_that_goes_on_alone(place: str) -> None:
    """As by a signal handler; the threads are not there."""
    program = f"""
import faulthandler, os, signal, threading, warnings
warnings.simplefilter("ignore")
faulthandler.dump_traceback_later(60, exit=True)
import numpy
from tileir.execute.interpreter import looking_ahead
looking_ahead.processors = lambda: 3
launcher, begun, going_on, child = threading.get_ident(), threading.Event(), threading.Event(), -1

def work(number):
    if threading.get_ident() != launcher:
        begun.set()
        going_on.wait()
    elif number == 0 and "{place}" == "work":
        begun.wait()
        fork()
    return numpy.full(1, number)

def fork(*arguments):
    global child
    child = os.fork()
    if child == 0:
        signal.alarm(30)
    going_on.set()

signal.signal(signal.SIGALRM, fork)
tasks = [(number,) for number in range(9)]
ahead = looking_ahead.LookAhead(work, 9)
results = [ahead.result(0, tasks[0], tasks.__getitem__).item()]
begun.wait()
signal.setitimer(signal.ITIMER_REAL, 0 if "{place}" == "work" else 0.2)
if "{place}" == "close":
    ahead.close()
results += [ahead.result(number, tasks[number], tasks.__getitem__).item() for number in range(1, 9)]
ahead.close()
assert results == list(range(9)), results
if child == 0:
    os._exit(0)
assert child > 0 and os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=90)
