"""Native code in a child: what ends the process that a kernel runs in does not end the tool.

The work is done in a fork; if a signal ends it, this process reports that.  Where the system has no fork, or the
process is not the tool's own, the work is done here.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from tileir.processes.forked import can_fork, forked
from tileir.processes.time_limit import TimeIsOver, time_limit
from tileir.tools.arguments import EXIT_TIMED_OUT, EXIT_WRONG_INPUT, Arguments, ToolFailure
from tileir.tools.command import end_of_process, finish

GRACE = 2.0
"""Seconds after which work that does not end by itself is ended from outside."""
_WILD = (
    "error: the kernel accessed memory outside its arrays and was stopped\n"
    "help: run without --unchecked or TILEIR_UNCHECKED to see where"
)
_KILLED = "error: the system stopped the kernel, as it does when memory runs out\nhelp: use smaller arrays or tiles"
# What wild accesses end in: SIGABRT where they have destroyed what the C library keeps about memory.
_WILD_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGABRT", "SIGFPE")


def run_in_child(given: Arguments, work: Callable[[], int | None], seconds: float) -> int:
    """The exit status of a command's work, done in a child; `seconds` above 0 is its time limit."""
    return in_child(lambda: finish(given, lambda: limited(seconds, work)), seconds, given.program)


def in_child(work: Callable[[], int], seconds: float = 0, name: str = "tileir") -> int:
    """The exit status of some work that may crash.  It should end itself after `seconds`; it is killed soon after."""
    if not can_fork():
        return work()
    code = forked(lambda: end_of_process(name, work), seconds + GRACE if seconds else 0)
    if code is None:
        return report_timeout(seconds)
    if code >= 0:
        return code
    if -code not in [signal.SIGKILL, *[getattr(signal, name, 0) for name in _WILD_SIGNALS]]:
        return 128 - code
    print(_KILLED if -code == signal.SIGKILL else _WILD, file=sys.stderr)
    return EXIT_WRONG_INPUT


def report_timeout(seconds: float) -> int:
    """Report that the time is over; the exit status."""
    with suppress(OSError):
        # A bar that shows the progress may be there.
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}error: stopped after {seconds:g} seconds by --timeout", file=sys.stderr)
    return EXIT_TIMED_OUT


def limited(seconds: float, work: Callable[[], int | None]) -> int | None:
    """The exit status of some work, with a time limit if `seconds` is above 0."""
    if not seconds:
        return work()
    if threading.current_thread() is not threading.main_thread():
        raise ToolFailure("--timeout can be had on the main thread of a process only")
    try:
        with time_limit(seconds):
            return work()
    except TimeIsOver:
        # What was printed until then.
        sys.stdout.flush()
        return report_timeout(seconds)
