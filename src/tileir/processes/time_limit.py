"""End work on the main thread when its time is over."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

_AGAIN = 0.5
"""Seconds between exceptions: one that is raised while Python cleans up is lost."""


class TimeIsOver(BaseException):
    """Not an `Exception`, so that no handler takes it for a failure of the program."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsOver` in the block after `seconds`, and again until it is left.

    Where the system has no signal for it, Ctrl-C is simulated, once.  Other threads than the main one get no signals:
    there it raises `ValueError`.  Steps that take no exception, such as a compilation by LLVM, take longer.
    """
    number, deadline, is_left = getattr(signal, "SIGALRM", signal.SIGINT), time.monotonic() + seconds, False

    def end(_: int, frame: object) -> None:
        if not is_left:
            raise TimeIsOver if time.monotonic() >= deadline else KeyboardInterrupt

    before = signal.signal(number, end)
    stop: Callable[[], object]
    if hasattr(signal, "setitimer"):
        stop = partial(signal.setitimer, signal.ITIMER_REAL, *signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN))
    else:
        import _thread
        import threading

        timer = threading.Timer(seconds, _thread.interrupt_main, (number,))
        timer.start()
        stop = timer.cancel
    try:
        yield
    finally:
        is_left = True
        stop()
        signal.signal(number, before)
