"""Native code in a child: what ends the process that a kernel runs in does not end the tool.

The tool's work is done in a process made by a fork; this one waits for it, and reports in words what the system reports
with a signal.  Where the system has no fork, or the process is not the tool's own, the work is done here.  The modules
of `tileir.processes` are not used: they read a child's output, and this child writes where the tool does.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from tileir.tools.arguments import EXIT_TIMED_OUT, EXIT_WRONG_INPUT, Arguments, ToolFailure
from tileir.tools.command import end_of_process, finish

GRACE = 2.0
"""Seconds after which work that does not end by itself is ended from outside."""
_AGAIN = 0.5
"""Seconds between exceptions: one that is raised while Python cleans up is lost."""
_SOON = 0.4
"""Seconds in which a child that Ctrl-C has reached ends."""

_WILD = (
    "error: the kernel accessed memory outside its arrays and was stopped: "
    "run without --unchecked or TILEIR_UNCHECKED to see where"
)
_KILLED = "error: the system stopped the kernel, as it does when memory runs out: use smaller arrays or tiles"

# What wild accesses end in: SIGABRT where they have destroyed what the C library keeps about memory.
_WILD_SIGNALS = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP", "SIGABRT", "SIGFPE")

# Signals for the tool that the child gets.
_FORWARDED = () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP)


def run_in_child(given: Arguments, work: Callable[[], int | None], seconds: float) -> int:
    """The exit status of a command's work, done in a child; with `seconds` above 0 it is ended after so many."""
    return in_child(lambda: finish(given, lambda: limited(seconds, work)), seconds, given.program)


def in_child(work: Callable[[], int], seconds: float = 0, name: str = "tileir") -> int:
    """The exit status of some work that may crash.  It should end after so many seconds, and is ended soon after."""
    if not _can_fork():
        return work()
    sys.stdout.flush()
    sys.stderr.flush()
    # Signals wait until both processes are ready for them.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_FORWARDED))
    child = os.fork()
    if child == 0:
        _be_child(name, work, mask)
    code = _wait(child, mask, time.monotonic() + seconds + GRACE if seconds else None)
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return report_timeout(seconds)
    if code >= 0:
        return code
    if -code not in [signal.SIGKILL, *[getattr(signal, name, 0) for name in _WILD_SIGNALS]]:
        return 128 - code
    print(_KILLED if -code == signal.SIGKILL else _WILD, file=sys.stderr)
    return EXIT_WRONG_INPUT


def _can_fork() -> bool:
    """Whether this process is the tool's own, so that a copy of it writes where it would, and nothing else runs."""
    threading = sys.modules.get("threading")
    if not hasattr(os, "fork") or (threading is not None and threading.active_count() > 1):
        return False
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def _be_child(name: str, work: Callable[[], int], mask: set[signal.Signals | int]) -> None:
    """Do the work and end."""
    status = EXIT_WRONG_INPUT
    try:
        from tileir.processes.linux import end_with_parent
        from tileir.processes.sandbox import limit_resource

        # No file with the memory of a crashed child, and no child that outlives the tool.
        limit_resource("RLIMIT_CORE", 0)
        end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = end_of_process(name, work)
    except BaseException:
        # A defect of the tool: as it would look without a guard.
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        # Not sys.exit: what is on the stack belongs to the parent.
        os._exit(status)


def _wait(child: int, mask: set[signal.Signals | int], deadline: float | None) -> int | None:
    """The exit code of a child, negative for a signal; None if it does not end in time.

    Signals for this process are forwarded to it; Ctrl-C in a terminal reaches the child as well.
    """
    before = {number: signal.signal(number, lambda number, _: os.kill(child, number)) for number in _FORWARDED}
    try:
        while True:
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                return _ended(child, deadline)
            except KeyboardInterrupt:
                with suppress(KeyboardInterrupt):
                    code = _ended(child, time.monotonic() + _SOON)
                    if code is not None:
                        return code
                os.kill(child, signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(child: int, deadline: float | None) -> int | None:
    """The exit code of a child; None if it runs on after the deadline."""
    pause = 0.001
    while True:
        ended, code = os.waitpid(child, 0 if deadline is None else os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(code)
        if deadline is not None and time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


# --- time limits ---

# A signal raises an exception in the work, which ends a launch as Ctrl-C does.  Steps that take no exception, such as
# a compilation by LLVM, are ended from outside where there is a child.


class _TimedOut(BaseException):
    """Not an `Exception`, so that no handler takes it for a failure of the program."""


def report_timeout(seconds: float) -> int:
    """Report that the time is over; the exit status."""
    with suppress(OSError):
        # A bar that shows the progress may be there.
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""
        print(f"{clear}error: stopped after {seconds:g} seconds, as --timeout says", file=sys.stderr)
    return EXIT_TIMED_OUT


def limited(seconds: float, work: Callable[[], int | None]) -> int | None:
    """The exit status of some work, which is ended after so many seconds, if there are any."""
    if not seconds:
        return work()
    try:
        with _timer(seconds):
            return work()
    except _TimedOut:
        # What was printed until then.
        sys.stdout.flush()
        return report_timeout(seconds)


@contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """Interrupt this thread after so many seconds, and again until the block is left.

    Where the system has no signal for it, Ctrl-C is simulated, once.
    """
    number, deadline, is_over = getattr(signal, "SIGALRM", signal.SIGINT), time.monotonic() + seconds, False

    def end(_: int, frame: object) -> None:
        if not is_over:
            raise _TimedOut if time.monotonic() >= deadline else KeyboardInterrupt

    try:
        before = signal.signal(number, end)
    except ValueError:
        raise ToolFailure("--timeout can be had on the main thread of a process only") from None
    stop: Callable[[], object]
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        stop = partial(signal.setitimer, signal.ITIMER_REAL, 0)
    else:
        import _thread
        import threading

        timer = threading.Timer(seconds, _thread.interrupt_main, (number,))
        timer.start()
        stop = timer.cancel
    try:
        yield
    finally:
        is_over = True
        stop()
        signal.signal(number, before)
