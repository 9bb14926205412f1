"""`forked`: work in a copy of this process, which writes where this one does and may crash without ending it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from tileir.processes.linux import end_with_parent
from tileir.processes.sandbox import limit_resource, may_fork

_SOON = 0.4
"""Seconds in which a child that Ctrl-C has reached ends."""

# Signals for this process that the child gets.
_FORWARDED = () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP)


def can_fork() -> bool:
    """Whether this process owns its streams, so that a copy of it writes where it would, and nothing else runs."""
    threading = sys.modules.get("threading")
    if not hasattr(os, "fork") or not may_fork() or (threading is not None and threading.active_count() > 1):
        return False
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def forked(work: Callable[[], int], seconds: float = 0) -> int | None:
    """The exit code of some work, negative for a signal; None if it was ended since it took longer than `seconds`."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Signals wait until both processes are ready for them.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_FORWARDED))
    child = os.fork()
    if child == 0:
        _be_child(work, mask)
    code = _wait(child, mask, time.monotonic() + seconds if seconds else None)
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return code


def _be_child(work: Callable[[], int], mask: set[signal.Signals | int]) -> None:
    """Do the work and end."""
    status = 1
    try:
        # No file with the memory of a crashed child, and no child that outlives its parent.
        limit_resource("RLIMIT_CORE", 0)
        end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = work()
    except BaseException:
        # A defect of the program: as it would look without a fork.
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
