"""`tileir.overlap`: the results of one launch after the other, whatever runs at the same time."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.cpu.native import thread_pool
from tileir.execute.cpu.native.conflicts import Accesses

ROOT = Path(__file__).parents[3]
TILE = 64

# Each tile block: target = 3 source + target + 1, over and over again.
PROGRAM = """
cuda_tile.module @m {
  global @seen <i32: [0]> : tile<1xi32>
  entry @step(%source: tile<ptr<i32>>, %target: tile<ptr<i32>>, %turns: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %size = constant <i32: 64> : tile<i32>
    %start = muli %x, %size : tile<i32>
    %starts = reshape %start : tile<i32> -> tile<1xi32>
    %begin = broadcast %starts : tile<1xi32> -> tile<64xi32>
    %iota = iota : tile<64xi32>
    %place = addi %begin, %iota : tile<64xi32>
    %s0 = reshape %source : tile<ptr<i32>> -> tile<1xptr<i32>>
    %s1 = broadcast %s0 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %s = offset %s1, %place : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %t0 = reshape %target : tile<ptr<i32>> -> tile<1xptr<i32>>
    %t1 = broadcast %t0 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %t = offset %t1, %place : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %three = constant <i32: 3> : tile<64xi32>
    %ones = constant <i32: 1> : tile<64xi32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %in, %k0 = load_ptr_tko weak %s : tile<64xptr<i32>> -> tile<64xi32>, token
    %old, %k1 = load_ptr_tko weak %t : tile<64xptr<i32>> -> tile<64xi32>, token
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %old) -> (tile<64xi32>) {
      %m = muli %in, %three : tile<64xi32>
      %w = addi %m, %v : tile<64xi32>
      %n = muli %w, %three : tile<64xi32>
      %o = addi %n, %ones : tile<64xi32>
      continue %o : tile<64xi32>
    }
    %k2 = store_ptr_tko weak %t, %r : tile<64xptr<i32>>, tile<64xi32> -> token
    return
  }
  entry @count(%turns: tile<i32>, %out: tile<ptr<i32>>, %other: tile<ptr<i32>>) {
    %p = get_global @seen : tile<ptr<i32>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %old, %k0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %old) -> (tile<i32>) {
      %m = muli %v, %v : tile<i32>
      %n = addi %m, %i : tile<i32>
      continue %n : tile<i32>
    }
    %k1 = store_ptr_tko weak %other, %r : tile<ptr<i32>>, tile<i32> -> token
    %new = addi %old, %one : tile<i32>
    %k2 = store_ptr_tko weak %p, %new : tile<ptr<i32>>, tile<i32> -> token
    %k3 = store_ptr_tko weak %out, %new : tile<ptr<i32>>, tile<i32> -> token
    return
  }
  entry @refuse(%target: tile<ptr<i32>>, %turns: tile<i32>, %number: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %zero) -> (tile<i32>) {
      %m = muli %v, %v : tile<i32>
      %n = addi %m, %i : tile<i32>
      continue %n : tile<i32>
    }
    %k = store_ptr_tko weak %target, %r : tile<ptr<i32>>, tile<i32> -> token
    %good = cmpi less_than %number, %one, signed : tile<i32> -> tile<i1>
    assert %good, "refused" : tile<i1>
    return
  }
  entry @say(%source: tile<ptr<i32>>) {
    %v, %k0 = load_ptr_tko weak %source : tile<ptr<i32>> -> tile<i32>, token
    print_tko "first is %i\\0A", %v : tile<i32> -> token
    return
  }
  entry @indirect(%table: tile<ptr<i64>>, %out: tile<ptr<i32>>) {
    %number, %k0 = load_ptr_tko weak %table : tile<ptr<i64>> -> tile<i64>, token
    %p = int_to_ptr %number : tile<i64> -> tile<ptr<i32>>
    %v, %k1 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %k2 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""

LONG = 20_000
"""Turns that take a launch longer than it takes to make the next ones."""


@pytest.fixture(scope="module")
def compiled() -> tileir.Kernel:
    return tileir.compile(tileir.parse(PROGRAM), "step", "cpu")


@pytest.fixture(params=[0, 20_000, 10**9], ids=["first", "short", "long"])
def step(request: pytest.FixtureRequest, compiled: tileir.Kernel) -> tileir.Kernel:
    """How launches are handed on depends on how long the last one took."""
    compiled.native.version(False, False).loaded.pace = request.param
    return compiled


def vectors(count: int, blocks: int = 2) -> list[Any]:
    return [numpy.full(TILE * blocks, number, numpy.int32) for number in range(count)]


Launch = Callable[..., None]


def agrees(make: Callable[[Launch, list[Any]], None], step: tileir.Kernel, count: int, blocks: int = 2) -> None:
    """What launches do is the same with and without overlap."""
    wanted, found = vectors(count, blocks), vectors(count, blocks)
    make(lambda source, target, turns=1: step.launch(blocks, source, target, turns), wanted)
    with tileir.overlap():
        make(lambda source, target, turns=1: step.launch(blocks, source, target, turns), found)
    for one, other in zip(wanted, found, strict=True):
        assert one.tolist() == other.tolist()


def test_independent_launches_have_their_results(step: tileir.Kernel) -> None:
    def make(launch: Launch, arrays: list[Any]) -> None:
        for number in range(0, 100, 2):
            launch(arrays[number], arrays[number + 1], 1 + number % 7 * 100)

    agrees(make, step, 100)


def test_a_chain_runs_in_order(step: tileir.Kernel) -> None:
    def make(launch: Launch, arrays: list[Any]) -> None:
        for number in range(20):
            launch(arrays[number], arrays[number + 1], LONG if number < 2 else 1)

    agrees(make, step, 21)


def test_a_write_waits_for_earlier_reads(step: tileir.Kernel) -> None:
    def make(launch: Launch, arrays: list[Any]) -> None:
        launch(arrays[3], arrays[0], LONG)
        launch(arrays[0], arrays[1], LONG)
        launch(arrays[0], arrays[2], LONG)
        launch(arrays[4], arrays[0], 1)

    agrees(make, step, 5)


def test_parts_of_an_array_that_meet_are_one_after_the_other(step: tileir.Kernel) -> None:
    def make(launch: Launch, arrays: list[Any]) -> None:
        for number in range(40):
            start, other = number * 37 % 193, 193 - number * 11 % 193
            launch(arrays[0][start : start + TILE], arrays[0][other : other + TILE], 50)
            launch(arrays[0][other : other + TILE], arrays[1][start : start + TILE], 50)

    wanted, found = vectors(2, 8), vectors(2, 8)
    wanted[0][:] = found[0][:] = numpy.arange(8 * TILE)
    make(lambda source, target, turns: step.launch(1, source, target, turns), wanted)
    with tileir.overlap():
        make(lambda source, target, turns: step.launch(1, source, target, turns), found)
    assert [one.tolist() for one in wanted] == [one.tolist() for one in found]


@pytest.mark.parametrize("seed", range(3))
def test_launches_on_random_arrays_agree(step: tileir.Kernel, seed: int) -> None:
    def make(launch: Launch, arrays: list[Any]) -> None:
        choice = random.Random(seed)
        # More than may be under way at the same time.
        for _ in range(600):
            source, target = choice.sample(arrays, 2)
            launch(source, target, choice.choice([1, 10, 300]))

    agrees(make, step, 12, 1 + 4 * seed)


def test_arrays_that_only_the_launch_refers_to_live_until_it_is_over(step: tileir.Kernel) -> None:
    results = vectors(30)
    with tileir.overlap():
        for number, result in enumerate(results):
            result[:] = 0
            step.launch(2, numpy.full(2 * TILE, number, numpy.int32), result, 1)
    assert [result[0] for result in results] == [9 * number + 1 for number in range(30)]


def test_all_kinds_of_arguments_are_told_apart_by_their_memory(step: tileir.Kernel) -> None:
    wide = numpy.zeros((2 * TILE, 2), numpy.int32)
    a, b = vectors(2)
    with tileir.overlap():
        step.launch(2, a, b, LONG)
        # Strided, in the thorough way; the same memory as b by its bare address.
        step.launch(1, tileir.pointer_to(b[::2]), tileir.pointer_to(wide[:, 0]), 1)
        step.launch(1, b.ctypes.data, wide.ctypes.data, 1, memory=(b, wide))
    assert wide[0, 0] == _twice(int(b[0]))


def _twice(value: int) -> int:
    """Two launches with one turn each, from 0, in 32 bits."""
    result = 0
    for _ in range(2):
        result = (3 * (3 * value + result) + 1) & 0xFFFFFFFF
    return result - (1 << 32) if result >> 31 else result


def test_global_variables_keep_the_order_of_launches() -> None:
    count = tileir.compile(tileir.parse(PROGRAM), "count", "cpu")
    results = [numpy.zeros(1, numpy.int32) for _ in range(40)]
    with tileir.overlap():
        for number, result in enumerate(results):
            count.launch(1, LONG if number % 10 == 0 else 1, result, numpy.zeros(1, numpy.int32))
    assert [int(result[0]) for result in results] == list(range(1, 41))


def test_what_reaches_memory_by_addresses_waits_for_all(step: tileir.Kernel) -> None:
    indirect = tileir.compile(tileir.parse(PROGRAM), "indirect", "cpu")
    a, b = vectors(2)
    b[:] = 0
    out = numpy.zeros(1, numpy.int32)
    with tileir.overlap():
        step.launch(2, a, b, LONG)
        indirect.launch(1, numpy.array([b.ctypes.data]), out, memory=[b])
        assert out[0] == b[0] != 0


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_what_prints_or_is_interpreted_comes_after_all_before_it(step: tileir.Kernel, backend: str) -> None:
    say = tileir.compile(tileir.parse(PROGRAM), "say", backend)
    a, b = vectors(2)
    said: list[str] = []
    with tileir.overlap():
        for turns in (1, 2):
            step.launch(2, a, b, turns)
            say.launch(1, b, output=said.append)
    assert said == ["first is 4\n", "first is 40\n"]


def test_sanitized_launch_raises_where_it_is_made(step: tileir.Kernel) -> None:
    a, b = vectors(2, 1)
    with tileir.overlap(), pytest.raises(tileir.SanitizerError):
        step.launch(2, a, b, 1, sanitize=True)


# --- mistakes ---


def test_arguments_are_checked_at_once(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with tileir.overlap():
        step.launch(2, a, b, 1)
        with pytest.raises(tileir.LaunchError, match="takes 3 arguments"):
            step.launch(2, a, b)
    assert b[0] == 4


def test_first_error_in_the_order_of_launches_is_raised_and_others_noted(step: tileir.Kernel) -> None:
    refuse = tileir.compile(tileir.parse(PROGRAM), "refuse", "cpu")
    deny = tileir.compile(tileir.parse(PROGRAM.replace("refused", "denied")), "refuse", "cpu")
    for _ in range(5):
        a, b, *rest = vectors(6)
        with pytest.raises(tileir.ExecutionError, match="refused") as caught, tileir.overlap():
            step.launch(2, a, b, 1)
            # Takes long: where there are threads for it, the others have failed before it does.
            refuse.launch(1, rest.pop(), LONG, 1)
            for array in rest:
                deny.launch(1, array, 1, 1)
        assert b[0] == 4
        assert all("failed too" in note and "denied" in note for note in getattr(caught.value, "__notes__", []))


def test_what_needs_the_result_of_a_failed_launch_is_not_run(step: tileir.Kernel) -> None:
    refuse = tileir.compile(tileir.parse(PROGRAM), "refuse", "cpu")
    a, b = vectors(2)
    with pytest.raises(tileir.ExecutionError), tileir.overlap():
        refuse.launch(1, a, LONG, 1)
        step.launch(2, a, b, 1)
    assert b[0] == 1
    # Nothing is left of it.
    with tileir.overlap():
        step.launch(2, a, b, 1)
    assert b[1] == 3 * (3 * a[1] + 1) + 1


def test_launches_before_an_exception_are_run(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with pytest.raises(ValueError, match="mine"), tileir.overlap():
        step.launch(2, a, b, LONG)
        raise ValueError("mine")
    wanted = vectors(2)
    step.launch(2, *wanted, LONG)
    assert b.tolist() == wanted[1].tolist()


# --- contexts ---


def test_inner_context_keeps_the_order_with_the_outer_one(step: tileir.Kernel) -> None:
    wanted, found = vectors(3), vectors(3)
    for kernel_arrays in ((wanted[0], wanted[1], LONG), (wanted[1], wanted[2], 1), (wanted[0], wanted[2], 1)):
        step.launch(2, *kernel_arrays)
    with tileir.overlap():
        step.launch(2, found[0], found[1], LONG)
        with tileir.overlap():
            step.launch(2, found[1], found[2], 1)
        assert found[1].tolist() == wanted[1].tolist()
        step.launch(2, found[0], found[2], 1)
    assert found[2].tolist() == wanted[2].tolist()


def test_launches_after_the_context_wait_as_ever(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with tileir.overlap():
        pass
    step.launch(2, a, b, 1)
    assert b[0] == 4


def test_threads_have_contexts_of_their_own(step: tileir.Kernel) -> None:
    wanted = vectors(2)
    for _ in range(20):
        step.launch(2, *wanted, 100)
    results: list[bool] = []

    def work() -> None:
        for _ in range(3):
            found = vectors(2)
            with tileir.overlap():
                for _ in range(20):
                    step.launch(2, *found, 100)
            results.append(found[1].tolist() == wanted[1].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    with tileir.overlap():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 12


def test_launches_of_another_task_on_the_thread_are_not_put_off(step: tileir.Kernel) -> None:
    seen: list[int] = []

    async def overlapping_task(go: asyncio.Event) -> None:
        with tileir.overlap():
            go.set()
            await asyncio.sleep(0)

    async def plain_task(go: asyncio.Event) -> None:
        await go.wait()
        a, b = vectors(2)
        step.launch(2, a, b, 1)
        seen.append(int(b[0]))

    async def main() -> None:
        go = asyncio.Event()
        await asyncio.gather(plain_task(go), overlapping_task(go))

    asyncio.run(main())
    assert seen == [4]


def test_who_waits_does_the_work_where_no_helper_can_be_had(
    step: tileir.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_pool, "lend", lambda job, most: False)

    def make(launch: Launch, arrays: list[Any]) -> None:
        for number in range(100):
            launch(arrays[number % 5], arrays[number % 40 + 5], 20)

    agrees(make, step, 45)


def test_records_and_arrays_are_let_go(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    references = sys.getrefcount(a), sys.getrefcount(b)
    with tileir.overlap():
        for _ in range(10):
            step.launch(2, a, b, 1)
    # A helper forgets its last launch when it finds no other, which may be a moment later.
    for _ in range(100):
        if (sys.getrefcount(a), sys.getrefcount(b)) == references:
            break
        time.sleep(0.01)
    assert (sys.getrefcount(a), sys.getrefcount(b)) == references


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_does_not_wait_for_the_launches_of_its_parent(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    child = 0
    with tileir.overlap():
        step.launch(2, a, b, LONG)
        child = os.fork()
        if child == 0:
            found = vectors(2)
            step.launch(2, *found, 1)
            os._exit(0 if found[1][0] == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


INTERRUPTED = """
import sys
import numpy
import tileir
from tests.execute.cpu.test_overlap import PROGRAM
step = tileir.compile(tileir.parse(PROGRAM), "step", "cpu")
arrays = [numpy.zeros(64 * 4000, numpy.int32) for _ in range(6)]
step.launch(1, arrays[0], arrays[1], 1)
try:
    with tileir.overlap():
        print("ready", flush=True)
        for number in range(6):
            step.launch(4000, arrays[number], arrays[(number + 1) % 6], 1_000_000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
step.launch(1, arrays[0], arrays[1], 1)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no interrupt signal for one process")
def test_interrupt_stops_all_launches() -> None:
    # Left alone this would take hours.
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert output == "interrupted\ndone\n"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no alarm signal")
def test_interrupts_at_any_time_leave_everything_in_order(step: tileir.Kernel) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    choice = random.Random(0)
    arrays = vectors(8)
    interrupted = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, choice.uniform(1e-5, 2e-3))
                try:
                    with tileir.overlap():
                        for _ in range(30):
                            source, target = choice.sample(arrays, 2)
                            step.launch(2, source, target, choice.choice([1, 50, 2000]))
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted

    def chain(launch: Any, arrays: Any) -> None:
        for n in range(9):
            launch(arrays[n], arrays[n + 1], 10)

    agrees(chain, step, 10)
    for _ in range(100):
        if len(thread_pool._idle) == thread_pool._helper_count:
            break
        time.sleep(0.01)
    assert len(thread_pool._idle) == thread_pool._helper_count


# --- who waits for whom ---


@pytest.mark.parametrize("seed", range(20))
def test_accesses_order_all_that_conflict_and_only_those(seed: int) -> None:
    choice = random.Random(seed)
    accesses: Accesses[int] = Accesses()
    spans: list[list[tuple[int, int, bool]]] = []
    before: list[set[int]] = []
    for number in range(60):
        own = []
        for _ in range(choice.randrange(1, 4)):
            low = choice.randrange(40)
            own.append((low, low + choice.randrange(0, 12), choice.random() < 0.4))
        waits = set(accesses.add(number, own))
        conflicting = {
            earlier
            for earlier in range(number)
            for low, high, writes in own
            for other_low, other_high, other_writes in spans[earlier]
            if max(low, other_low) < min(high, other_high) and (writes or other_writes)
        }
        assert waits <= conflicting
        spans.append(own)
        before.append(waits.union(*[before[earlier] for earlier in waits]))
        assert conflicting <= before[number]


# --- views that lead from one argument into another ---

_TENSOR = "tensor_view<?xi32, strides=[1]>"
_PARTS = f"partition_view<tile=(8), {_TENSOR}>"
WRITER = f"""cuda_tile.module @m {{
  entry @write(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %n: tile<i32>, %o: tile<i32>, %turns: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    BASE
    %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v = make_partition_view %t : {_PARTS}
    %lane = iota : tile<8xi32>
    %c = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%sum = %lane) -> (tile<8xi32>) {{
      %s = muli %sum, %sum : tile<8xi32>
      %more = addi %s, %lane : tile<8xi32>
      continue %more : tile<8xi32>
    }}
    %k = store_view_tko weak %c, %v[%x] : tile<8xi32>, {_PARTS}, tile<i32> -> token
    return }} }}"""
READER = f"""cuda_tile.module @m {{ entry @read(%b: tile<ptr<i32>>, %c: tile<ptr<i32>>, %n: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %t = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v = make_partition_view %t : {_PARTS}
    %t1 = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v1 = make_partition_view %t1 : {_PARTS}
    %l, %k = load_view_tko weak %v[%x] : {_PARTS}, tile<i32> -> tile<8xi32>, token
    %k1 = store_view_tko weak %l, %v1[%x] : tile<8xi32>, {_PARTS}, tile<i32> -> token
    return }} }}"""
MOVED = "%p = offset %a, %o : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"
MOVED_BY_BLOCK = "%0 = subi %x, %x : tile<i32>\n%1 = addi %o, %0 : tile<i32>\n" + MOVED.replace("%o", "%1")


@pytest.mark.parametrize("base", [MOVED, MOVED_BY_BLOCK])
def test_a_view_that_leads_into_another_argument(base: str) -> None:
    """Also where the program writes to the first alone."""
    writer = tileir.compile(tileir.parse(WRITER.replace("BASE", base)), backend="cpu")
    reader = tileir.compile(tileir.parse(READER), backend="cpu")
    count = 8 * 256
    for _ in range(5):
        whole, copy = numpy.zeros(2 * count, numpy.int32), numpy.zeros(count, numpy.int32)
        with tileir.overlap():
            writer.launch(256, whole[:count], whole[count:], 2 * count, count, 10_000)
            reader.launch(256, whole[count:], copy, count)
        assert whole[count:].any() and (copy == whole[count:]).all()
