"""Interrupts of what is no native code: the interpreter, contexts, and what handlers raise."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any

import numpy
import pytest
from tests.execute.interrupting import Interrupt, interrupted, steps
from tests.soak.programs import PRINTING, SUM, expected_sum

import tileir

FOLDER = os.path.dirname(tileir.__file__)

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no signals for users")


@pytest.fixture
def handled() -> Iterator[Callable[[BaseException], None]]:
    """Have the handler of SIGUSR1 raise something."""
    before = signal.getsignal(signal.SIGUSR1)

    def set_handler(error: BaseException) -> None:
        def handler(number: int, frame: object) -> None:
            raise error

        signal.signal(signal.SIGUSR1, handler)

    yield set_handler
    signal.signal(signal.SIGUSR1, before)


def test_interrupt_of_the_interleaved_schedule_ends_all_tile_blocks(
    handled: Callable[[BaseException], None],
) -> None:
    handled(Interrupt())
    kernel = tileir.compile(tileir.parse(PRINTING), backend="interpreter")
    threads = len(sys._current_frames())
    printed: list[str] = []

    def output(text: str) -> None:
        printed.append(text)
        if len(printed) == 20:
            os.kill(os.getpid(), signal.SIGUSR1)

    array = numpy.full(5_000, -1, "i4")
    with pytest.raises(Interrupt):
        kernel.launch(5_000, (array,), schedule="interleaved", output=output)
    assert len(sys._current_frames()) == threads
    # The launching thread has its turn soon, however busy the machine is.
    assert 20 <= len(printed) < 1_000
    kernel.launch(50, (array,), schedule="interleaved", output=lambda text: None)
    assert (array[:50] == numpy.arange(50)).all()


def test_a_thread_that_cannot_be_started_ends_the_interleaved_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tileir.compile(tileir.parse(SUM), backend="interpreter")
    array = numpy.zeros(40, "i4")
    started = 0
    start = _thread.start_new_thread

    def limited(*arguments: Any) -> int:
        nonlocal started
        started += 1
        if started == 25:
            raise RuntimeError("can't start new thread")
        return start(*arguments)

    monkeypatch.setattr("_thread.start_new_thread", limited)
    with pytest.raises(tileir.LaunchError, match="starts no more threads"):
        kernel.launch(40, (array, 2), schedule="interleaved")


def test_a_tile_block_that_was_woken_in_the_same_moment_does_not_keep_the_others_from_ending() -> None:
    from tileir.execute.schedule import _Turns

    turns = _Turns(lambda number, switch: None)

    class Woken:
        """A lock that another thread has released."""

        def release(self) -> None:
            turns._threads.clear()
            raise RuntimeError("release unlocked lock")

    turns._threads[Woken()] = None  # type: ignore[index]
    turns.abandon()
    assert not turns._threads


def test_what_progress_raises_ends_the_interleaved_schedule() -> None:
    def progress(done: int, count: int) -> None:
        if done > 3:
            raise ZeroDivisionError

    kernel = tileir.compile(tileir.parse(SUM), backend="interpreter")
    with pytest.raises(ZeroDivisionError):
        kernel.launch(40, (numpy.zeros(40, "i4"), 2), schedule="interleaved", progress=progress)


def test_interrupt_at_each_step_of_the_interleaved_schedule() -> None:
    kernel = tileir.compile(tileir.parse(SUM), backend="interpreter")
    array = numpy.zeros(20, "i4")
    threads = len(sys._current_frames())
    places = (FOLDER + "/execute/schedule.py",)

    def work() -> None:
        kernel.launch(20, (array, 2), schedule="interleaved")

    total = steps(work, places)
    assert total > 30
    for number in range(1, total + 1, 3):
        interrupted(work, number, places)
        # A thread that has left its tile block may still be on its way out.
        deadline = time.monotonic() + 30
        while len(sys._current_frames()) > threads and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(sys._current_frames()) == threads, number


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_what_a_handler_raises_comes_out_as_it_is(handled: Callable[[BaseException], None], backend: str) -> None:
    # Not a `BaseException`, as in most programs that set an alarm.
    handled(TimeoutError("too long"))
    folder = FOLDER + ("/execute/interpreter" if backend == "interpreter" else "/execute/cpu/codegen")
    kernel = tileir.compile(tileir.parse(SUM), backend=backend)

    def step(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            sys.setprofile(None)
            signal.raise_signal(signal.SIGUSR1)

    sys.setprofile(step)
    try:
        with pytest.raises(TimeoutError, match="too long"):
            kernel.launch(1, (numpy.zeros(1, "i4"), 3))
    finally:
        sys.setprofile(None)
    array = numpy.zeros(1, "i4")
    kernel.launch(1, (array, 3))
    assert (array == expected_sum(1, 3)).all()


def test_interrupt_leaves_no_context_behind() -> None:
    pytest.importorskip("cuda.tile")
    from tileir.bridge import contexts
    from tileir.execute.overlap import overlapped

    kernel = tileir.compile(tileir.parse("cuda_tile.module @m { entry @k() { return } }"))
    places = (FOLDER + "/bridge/emulate.py", FOLDER + "/bridge/contexts.py", FOLDER + "/execute/overlap.py")

    def work() -> None:
        with tileir.emulate(), tileir.kernels.overlap():
            kernel.launch(1)

    work()
    for number in range(1, steps(work, places) + 1):
        interrupted(work, number, places)
        assert contexts.active() is None and not contexts._everywhere and overlapped() is None, number


def test_launches_that_an_interrupt_kept_from_being_emulated_are_with_the_next_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tile = pytest.importorskip("cuda.tile")
    from tileir.bridge.hooks import Hook

    places = (FOLDER + "/bridge/emulate.py", FOLDER + "/bridge/hooks.py")

    def launch(*arguments: object) -> None:
        pass

    def work() -> None:
        with suppress(TypeError), tileir.emulate():
            pass

    # The last module that is looked at, and the function by another name.
    module = ModuleType("user_of_launch")
    monkeypatch.setitem(sys.modules, "user_of_launch", module)
    names = vars(module)
    monkeypatch.setattr(tile, "launch", launch)
    names["run"] = launch
    total = steps(work, places)
    for number in [*range(1, 40), *range(40, total, total // 10 + 1), *range(total - 20, total)]:
        monkeypatch.setattr(tile, "launch", launch)
        names["run"] = launch
        interrupted(work, number, places)
        work()
        assert isinstance(names["run"], Hook), number


def test_interrupt_ends_the_thread_that_tells_the_progress() -> None:
    kernel = tileir.compile(tileir.parse(SUM), backend="cpu")
    array = numpy.zeros(1, "i4")
    places = (FOLDER + "/execute/cpu/kernel.py",)
    telling: list[int] = []

    def work() -> None:
        kernel.launch(1, (array, 3), progress=lambda done, count: telling.append(1))

    work()
    for number in range(1, steps(work, places) + 1):
        interrupted(work, number, places)

    def running() -> bool:
        return "tell" in [frame.f_code.co_name for frame in sys._current_frames().values()]

    # One that was started when the launch was already interrupted ends as soon as it gets its turn.
    deadline = time.monotonic() + 60
    while running() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not running()
