"""`--timeout`: work that takes too long is ended.

A timer of the system raises an exception in the work, which ends a launch as Ctrl-C does.  Steps that take no exception
before they are over, such as a compilation by LLVM, are ended by who guards the process (`guard`), if there is one.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tileir.tools.arguments import EXIT_TIMED_OUT, EXIT_USAGE, ToolFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE = 2.0
"""Seconds after which work that does not end by itself is ended from outside."""
_AGAIN = 0.5
"""Seconds between exceptions: one that is raised while Python cleans up is lost."""
_LONGEST = 1e8


class _TimedOut(BaseException):
    """Not an `Exception`, so that nobody takes it for a failure of the program."""


def seconds_of(text: str, option: str = "timeout") -> float:
    """The number of seconds that `--timeout` gives, or another option."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ToolFailure(f"'{text}' is no number of seconds: give one above 0, as in --{option} 2.5", EXIT_USAGE)
    return min(seconds, _LONGEST)


def told(seconds: float) -> int:
    """Say that the time is over; gives the exit status."""
    try:
        if sys.stderr.isatty():
            # A bar that shows the progress may be there.
            sys.stderr.write("\r\x1b[K")
        print(f"error: stopped after {seconds:g} seconds, as --timeout says", file=sys.stderr)
    except OSError:
        pass
    return EXIT_TIMED_OUT


def limited(seconds: float | None, work: Callable[[], int]) -> int:
    """The exit status of some work, which is ended after so many seconds."""
    if seconds is None:
        return work()
    try:
        with _timer(seconds):
            return work()
    except _TimedOut:
        # What was printed until then.
        sys.stdout.flush()
        return told(seconds)


@contextmanager
def _timer(seconds: float) -> Iterator[None]:
    is_over = False

    def end(number: int, frame: object) -> None:
        if not is_over:
            raise _TimedOut

    if not hasattr(signal, "setitimer"):
        with _simulated(seconds, end):
            yield
        return
    try:
        before = signal.signal(signal.SIGALRM, end)
    except ValueError:
        raise ToolFailure("--timeout can be had on the main thread of a process only", EXIT_USAGE) from None
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _simulated(seconds: float, end: Callable[[int, object], None]) -> Iterator[None]:
    """Where the system has no timer that interrupts: another thread makes this one believe in an interrupt."""
    import _thread
    import threading

    fired = threading.Event()

    def handler(number: int, frame: object) -> None:
        if not fired.is_set():
            raise KeyboardInterrupt
        end(number, frame)

    def fire() -> None:
        fired.set()
        _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
