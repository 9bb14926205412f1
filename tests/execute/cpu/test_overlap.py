"""`tileir.kernels.overlap`: the results of one launch after the other, whatever runs at the same time."""

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
from tests.execute.cpu.native import cpu_kernel
from tests.execute.cpu.overlapping import LONG, PROGRAM, TILE

import tileir
from tileir.execute.cpu.runtime.thread_pool import Pool, pool

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def compiled() -> tileir.Kernel:
    return tileir.compile(tileir.parse(PROGRAM), entry="step", backend="cpu")


@pytest.fixture(params=[0, 20_000, 10**9], ids=["first", "short", "long"])
def step(request: pytest.FixtureRequest, compiled: tileir.Kernel) -> tileir.Kernel:
    """How launches are handed on depends on how long the last one took."""
    cpu_kernel(compiled).version(False, False).loaded.ns_per_block = request.param
    return compiled


def vectors(count: int, blocks: int = 2) -> list[Any]:
    return [numpy.full(TILE * blocks, number, numpy.int32) for number in range(count)]


Launch = Callable[..., None]


def agrees(make: Callable[[Launch, list[Any]], None], step: tileir.Kernel, count: int, blocks: int = 2) -> None:
    """What launches do is the same with and without overlap."""
    wanted, found = vectors(count, blocks), vectors(count, blocks)
    make(lambda source, target, turns=1: step.launch(blocks, (source, target, turns)), wanted)
    with tileir.kernels.overlap():
        make(lambda source, target, turns=1: step.launch(blocks, (source, target, turns)), found)
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
    make(lambda source, target, turns: step.launch(1, (source, target, turns)), wanted)
    with tileir.kernels.overlap():
        make(lambda source, target, turns: step.launch(1, (source, target, turns)), found)
    assert [one.tolist() for one in wanted] == [one.tolist() for one in found]


@pytest.mark.sampled(2)
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
    with tileir.kernels.overlap():
        for number, result in enumerate(results):
            result[:] = 0
            step.launch(2, (numpy.full(2 * TILE, number, numpy.int32), result, 1))
    assert [result[0] for result in results] == [9 * number + 1 for number in range(30)]


def test_all_kinds_of_arguments_are_told_apart_by_their_memory(step: tileir.Kernel) -> None:
    wide = numpy.zeros((2 * TILE, 2), numpy.int32)
    a, b = vectors(2)
    with tileir.kernels.overlap():
        step.launch(2, (a, b, LONG))
        # Strided, in the thorough way; the same memory as b by its bare address.
        step.launch(1, (tileir.kernels.pointer_to(b[::2]), tileir.kernels.pointer_to(wide[:, 0]), 1))
        step.launch(1, (b.ctypes.data, wide.ctypes.data, 1), memory=(b, wide))
    assert wide[0, 0] == _twice(int(b[0]))


def _twice(value: int) -> int:
    """Two launches with one turn each, from 0, in 32 bits."""
    result = 0
    for _ in range(2):
        result = (3 * (3 * value + result) + 1) & 0xFFFFFFFF
    return result - (1 << 32) if result >> 31 else result


def test_global_variables_keep_the_order_of_launches() -> None:
    count = tileir.compile(tileir.parse(PROGRAM), entry="count", backend="cpu")
    results = [numpy.zeros(1, numpy.int32) for _ in range(40)]
    with tileir.kernels.overlap():
        for number, result in enumerate(results):
            count.launch(1, (LONG if number % 10 == 0 else 1, result, numpy.zeros(1, numpy.int32)))
    assert [int(result[0]) for result in results] == list(range(1, 41))


def test_what_reaches_memory_by_addresses_waits_for_all(step: tileir.Kernel) -> None:
    indirect = tileir.compile(tileir.parse(PROGRAM), entry="indirect", backend="cpu")
    a, b = vectors(2)
    b[:] = 0
    out = numpy.zeros(1, numpy.int32)
    with tileir.kernels.overlap():
        step.launch(2, (a, b, LONG))
        indirect.launch(1, (numpy.array([b.ctypes.data]), out), memory=[b])
        assert out[0] == b[0] != 0


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_what_prints_or_is_interpreted_comes_after_all_before_it(step: tileir.Kernel, backend: str) -> None:
    say = tileir.compile(tileir.parse(PROGRAM), entry="say", backend=backend)
    a, b = vectors(2)
    said: list[str] = []
    with tileir.kernels.overlap():
        for turns in (1, 2):
            step.launch(2, (a, b, turns))
            say.launch(1, (b,), output=said.append)
    assert said == ["first is 4\n", "first is 40\n"]


def test_sanitized_launch_raises_where_it_is_made(step: tileir.Kernel) -> None:
    a, b = vectors(2, 1)
    with tileir.kernels.overlap(), pytest.raises(tileir.SanitizerError):
        step.launch(2, (a, b, 1), sanitize=True)


# --- mistakes ---


def test_arguments_are_checked_at_once(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with tileir.kernels.overlap():
        step.launch(2, (a, b, 1))
        with pytest.raises(tileir.LaunchError, match="takes 3 arguments"):
            step.launch(2, (a, b))
    assert b[0] == 4


def test_first_error_in_the_order_of_launches_is_raised_and_others_noted(step: tileir.Kernel) -> None:
    refuse = tileir.compile(tileir.parse(PROGRAM), entry="refuse", backend="cpu")
    deny = tileir.compile(tileir.parse(PROGRAM.replace("refused", "denied")), entry="refuse", backend="cpu")
    for _ in range(5):
        a, b, *rest = vectors(6)
        with pytest.raises(tileir.ExecutionError, match="refused") as caught, tileir.kernels.overlap():
            step.launch(2, (a, b, 1))
            # Takes long: where there are threads for it, the others have failed before it does.
            refuse.launch(1, (rest.pop(), LONG, 1))
            for array in rest:
                deny.launch(1, (array, 1, 1))
        assert b[0] == 4
        assert all("failed too" in note and "denied" in note for note in getattr(caught.value, "__notes__", []))


def test_what_needs_the_result_of_a_failed_launch_is_not_run(step: tileir.Kernel) -> None:
    refuse = tileir.compile(tileir.parse(PROGRAM), entry="refuse", backend="cpu")
    a, b = vectors(2)
    with pytest.raises(tileir.ExecutionError), tileir.kernels.overlap():
        refuse.launch(1, (a, LONG, 1))
        step.launch(2, (a, b, 1))
    assert b[0] == 1
    # Nothing is left of it.
    with tileir.kernels.overlap():
        step.launch(2, (a, b, 1))
    assert b[1] == 3 * (3 * a[1] + 1) + 1


def test_launches_before_an_exception_are_run(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with pytest.raises(ValueError, match="mine"), tileir.kernels.overlap():
        step.launch(2, (a, b, LONG))
        raise ValueError("mine")
    wanted = vectors(2)
    step.launch(2, (*wanted, LONG))
    assert b.tolist() == wanted[1].tolist()


# --- contexts ---


def test_inner_context_keeps_the_order_with_the_outer_one(step: tileir.Kernel) -> None:
    wanted, found = vectors(3), vectors(3)
    for kernel_arrays in ((wanted[0], wanted[1], LONG), (wanted[1], wanted[2], 1), (wanted[0], wanted[2], 1)):
        step.launch(2, kernel_arrays)
    with tileir.kernels.overlap():
        step.launch(2, (found[0], found[1], LONG))
        with tileir.kernels.overlap():
            step.launch(2, (found[1], found[2], 1))
        assert found[1].tolist() == wanted[1].tolist()
        step.launch(2, (found[0], found[2], 1))
    assert found[2].tolist() == wanted[2].tolist()


def test_launches_after_the_context_wait_as_ever(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    with tileir.kernels.overlap():
        pass
    step.launch(2, (a, b, 1))
    assert b[0] == 4


def test_threads_have_contexts_of_their_own(step: tileir.Kernel) -> None:
    wanted = vectors(2)
    for _ in range(20):
        step.launch(2, (*wanted, 100))
    results: list[bool] = []

    def work() -> None:
        for _ in range(3):
            found = vectors(2)
            with tileir.kernels.overlap():
                for _ in range(20):
                    step.launch(2, (*found, 100))
            results.append(found[1].tolist() == wanted[1].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    with tileir.kernels.overlap():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 12


def test_launches_of_another_task_on_the_thread_are_not_put_off(step: tileir.Kernel) -> None:
    seen: list[int] = []

    async def overlapping_task(go: asyncio.Event) -> None:
        with tileir.kernels.overlap():
            go.set()
            await asyncio.sleep(0)

    async def plain_task(go: asyncio.Event) -> None:
        await go.wait()
        a, b = vectors(2)
        step.launch(2, (a, b, 1))
        seen.append(int(b[0]))

    async def main() -> None:
        go = asyncio.Event()
        await asyncio.gather(plain_task(go), overlapping_task(go))

    asyncio.run(main())
    assert seen == [4]


def test_who_waits_does_the_work_where_there_is_no_worker(step: tileir.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "grow", lambda self, wanted, native: 0)

    def make(launch: Launch, arrays: list[Any]) -> None:
        for number in range(100):
            launch(arrays[number % 5], arrays[number % 40 + 5], 20)

    agrees(make, step, 45)


def test_records_and_arrays_are_let_go(step: tileir.Kernel) -> None:
    a, b = vectors(2)
    references = sys.getrefcount(a), sys.getrefcount(b)
    with tileir.kernels.overlap():
        for _ in range(10):
            step.launch(2, (a, b, 1))
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
    with tileir.kernels.overlap():
        step.launch(2, (a, b, LONG))
        child = os.fork()
        if child == 0:
            found = vectors(2)
            step.launch(2, (*found, 1))
            os._exit(0 if found[1][0] == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


INTERRUPTED = """
import sys
import numpy
import tileir
from tests.execute.cpu.overlapping import PROGRAM
step = tileir.compile(tileir.parse(PROGRAM), entry="step", backend="cpu")
arrays = [numpy.zeros(64 * 4000, numpy.int32) for _ in range(6)]
step.launch(1, (arrays[0], arrays[1], 1))
try:
    with tileir.kernels.overlap():
        print("ready", flush=True)
        for number in range(6):
            step.launch(4000, (arrays[number], arrays[(number + 1) % 6], 1_000_000))
except KeyboardInterrupt:
    print("interrupted", flush=True)
step.launch(1, (arrays[0], arrays[1], 1))
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
    # Imports what it needs: Python 3.11 does not survive an interrupt while it compiles a module.
    with tileir.kernels.overlap():
        step.launch(2, (*arrays[:2], 1))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, choice.uniform(1e-5, 2e-3))
                try:
                    with tileir.kernels.overlap():
                        for _ in range(30):
                            source, target = choice.sample(arrays, 2)
                            step.launch(2, (source, target, choice.choice([1, 50, 2000])))
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
    assert pool().token == [None]
