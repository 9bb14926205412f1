"""The garbage collector is paused while programs are read, and is afterwards as it was."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator

import pytest

import tileir
from tileir.ir.collector import CollectorPaused

PROGRAM = "cuda_tile.module @m { entry @k() { %0 = constant <i32: 1> : tile<i32> return } }"


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    was = gc.isenabled()
    gc.enable()
    yield
    if not was:
        gc.disable()


def test_pauses_that_overlap_without_nesting_leave_the_collector_on() -> None:
    first, second = CollectorPaused(), CollectorPaused()
    first.__enter__()
    other = threading.Thread(target=second.__enter__)
    other.start()
    other.join()
    first.__exit__()
    assert not gc.isenabled()
    second.__exit__()
    assert gc.isenabled()


def test_collector_that_the_user_switched_off_stays_off() -> None:
    gc.disable()
    with CollectorPaused(), CollectorPaused():
        pass
    assert not gc.isenabled()


def test_pauses_may_nest_and_end_by_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), CollectorPaused():
        with CollectorPaused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_pause_whose_end_was_interrupted_ends_with_it() -> None:
    paused = CollectorPaused()
    paused.__enter__()
    assert not gc.isenabled()
    del paused
    assert gc.isenabled()


def test_reading_in_threads_leaves_the_collector_on() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:

        def read() -> None:
            for _ in range(40):
                tileir.parse(PROGRAM)
                with pytest.raises(tileir.ParseError):
                    tileir.parse("cuda_tile.module @m {")

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("own", [False, True])
def test_forked_process_has_the_pauses_of_its_own_thread_only(own: bool) -> None:
    entered, leave = threading.Event(), threading.Event()

    def pause() -> None:
        with CollectorPaused():
            entered.set()
            leave.wait(60)

    other = threading.Thread(target=pause)
    other.start()
    entered.wait(60)
    mine = CollectorPaused()
    if own:
        mine.__enter__()
    child = os.fork()
    if child == 0:
        right = gc.isenabled() != own
        mine.__exit__()
        right = right and gc.isenabled()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not gc.isenabled()
    leave.set()
    other.join()
    mine.__exit__()
    assert gc.isenabled()
