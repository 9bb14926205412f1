"""The garbage collector is paused while programs are read, and is afterwards as it was."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator

import pytest

import tileir
from tileir.collector import CollectorPaused

PROGRAM = "cuda_tile.module @m { entry @k() { %0 = constant <i32: 1> : tile<i32> return } }"


USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    was, thresholds = gc.isenabled(), gc.get_threshold()
    gc.enable()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*thresholds)
    if not was:
        gc.disable()


def is_paused() -> bool:
    """Whether the collector looks at objects only rarely."""
    now = gc.get_threshold()
    assert now[1:] == USUAL[1:]
    assert now[0] == USUAL[0] or now[0] > 100 * USUAL[0]
    return now != USUAL


def test_pauses_that_overlap_without_nesting_leave_the_collector_on() -> None:
    first, second = CollectorPaused(), CollectorPaused()
    first.__enter__()
    other = threading.Thread(target=second.__enter__)
    other.start()
    other.join()
    first.__exit__()
    assert is_paused()
    second.__exit__()
    assert not is_paused()


def test_collector_that_the_user_switched_off_stays_off() -> None:
    gc.disable()
    with CollectorPaused(), CollectorPaused():
        assert not gc.isenabled()
    assert not gc.isenabled()


@pytest.mark.parametrize("first", [0, 10**8])
def test_collector_that_the_user_has_look_never_or_rarely_stays_so(first: int) -> None:
    gc.set_threshold(first, *USUAL[1:])
    with CollectorPaused():
        assert gc.get_threshold()[0] == first
    assert gc.get_threshold()[0] == first


def test_what_the_user_sets_meanwhile_stays() -> None:
    with CollectorPaused():
        gc.set_threshold(1000, 20, 30)
    assert gc.get_threshold() == (1000, 20, 30)


def test_pauses_may_nest_and_end_by_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), CollectorPaused():
        with CollectorPaused():
            assert is_paused()
        assert is_paused()
        raise ZeroDivisionError
    assert not is_paused()


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
    assert not is_paused()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_process_has_no_pause() -> None:
    with CollectorPaused():
        child = os.fork()
        if child == 0:
            os._exit(1 if is_paused() else 0)
        assert os.waitpid(child, 0)[1] == 0
        assert is_paused()
