"""Products made by two threads are those of one, whatever happens to either."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from tests.execute.interrupting import interrupted, steps

from tileir.execute.interpreter import second_thread
from tileir.execute.interpreter.second_thread import together


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with processors to spare."""
    monkeypatch.setattr(second_thread, "_is_alone", False)
    yield
    becomes_free()


def becomes_free() -> None:
    """A call that was taken back lies there until the thread has seen it."""
    for _ in range(6000):
        if second_thread._second is None or second_thread._second.is_free:
            return
        time.sleep(0.01)
    raise AssertionError("the second thread is not free again")


def stacks() -> tuple[Any, Any, Any]:
    rng = numpy.random.default_rng(1)
    left, right = (rng.standard_normal((8, 64, 64)).astype(numpy.float32) for _ in range(2))
    return left, right, numpy.zeros((8, 64, 64), numpy.float32)


def test_both_halves_are_made() -> None:
    left, right, room = stacks()
    for _ in range(3):
        room[...] = 0
        together(numpy.matmul, (left[:4], right[:4], room[:4]), (left[4:], right[4:], room[4:]))
        numpy.testing.assert_array_equal(room, numpy.matmul(left, right))


def test_the_two_calls_are_made_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=60)
    threads: list[int] = []

    def meet(_: object) -> None:
        both.wait()  # Passed by two at a time only.
        threads.append(threading.get_ident())

    together(meet, (1,), (2,))
    assert len(set(threads)) == 2


def test_nobody_is_warned_of_infinities() -> None:
    infinite, zero = numpy.full((1, 4, 4), numpy.inf, numpy.float32), numpy.zeros((1, 4, 4), numpy.float32)
    one, two = numpy.empty_like(zero), numpy.empty_like(zero)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("error")
        together(numpy.matmul, (infinite, zero, one), (infinite, zero, two))
    assert numpy.isnan(one).all() and numpy.isnan(two).all()


@pytest.mark.parametrize("failing", [1, 2])
def test_what_a_call_raises_is_the_callers(failing: int) -> None:
    def call(number: int) -> None:
        if number == failing:
            raise MemoryError(f"call {number}")

    for _ in range(2):
        with pytest.raises(MemoryError, match=f"call {failing}"):
            together(call, (1,), (2,))
    together(call, (3,), (4,))


def test_an_interrupt_waits_for_the_other_half() -> None:
    began, go_on = threading.Event(), threading.Event()
    done: list[int] = []

    def call(number: int) -> None:
        if number == 2:
            began.set()
            assert go_on.wait(60)
            done.append(2)
        else:
            assert began.wait(60)
            threading.Timer(0.2, go_on.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        together(call, (1,), (2,))
    assert done == [2]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers for processes")
def test_an_interrupt_while_waiting_waits_all_the_same() -> None:
    go_on = threading.Event()
    done: list[int] = []

    def call(number: int) -> None:
        if number == 2:
            assert go_on.wait(60)
            done.append(2)

    def interrupt(*_: object) -> None:
        threading.Timer(0.2, go_on.set).start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            together(call, (1,), (2,))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done == [2]


def test_an_interrupt_at_any_step_leaves_the_next_products_right() -> None:
    file = (second_thread.__file__,)
    left, right, room = stacks()

    def work() -> None:
        together(numpy.matmul, (left[:4], right[:4], room[:4]), (left[4:], right[4:], room[4:]))

    work()
    for number in range(1, steps(work, file) + 1):
        interrupted(work, number, file)
        for _ in range(2):
            room[...] = 0
            work()
            numpy.testing.assert_array_equal(room, numpy.matmul(left, right), err_msg=f"after step {number}")
        becomes_free()
    test_the_two_calls_are_made_at_the_same_time()


def test_a_thread_that_comes_meanwhile_does_both_itself() -> None:
    inner: list[int] = []
    began, done = threading.Event(), threading.Event()

    def call(number: int) -> None:
        if number == 1:
            assert began.wait(60)
            together(lambda each: inner.append(each), (10,), (20,))
            done.set()
        else:
            began.set()
            assert done.wait(60)

    together(call, (1,), (2,))
    assert inner == [10, 20]


def test_without_a_thread_to_be_had_one_does_both(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(second_thread, "_second", None)
    monkeypatch.setattr(threading.Thread, "start", none)
    done: list[int] = []
    together(done.append, (1,), (2,))
    together(done.append, (3,), (4,))
    assert done == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "TILEIR_NUM_THREADS"])
def test_who_wants_one_thread_gets_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_thread, "_is_alone", None)
    monkeypatch.setattr(second_thread, "processors", lambda: 16)
    monkeypatch.setenv(name, "1")
    threads: list[int] = []
    together(lambda _: threads.append(threading.get_ident()), (1,), (2,))
    assert set(threads) == {threading.get_ident()}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_a_thread_of_its_own() -> None:
    left, right, room = stacks()
    together(numpy.matmul, (left[:4], right[:4], room[:4]), (left[4:], right[4:], room[4:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            second_thread._is_alone = False
            both = threading.Barrier(2, timeout=30)
            together(lambda _: both.wait(), (1,), (2,))
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
