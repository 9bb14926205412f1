"""Guards for tests that feed hostile input: the test fails instead of taking the machine with it."""

from __future__ import annotations

import contextlib
import signal
import tracemalloc
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def cpu_limit(seconds: float, what: str) -> Iterator[None]:
    """Fail when the block computes for longer; other processes on the machine do not count. Windows has no such timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {seconds} s: {what}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def memory_limit(megabytes: float, what: str) -> Iterator[None]:
    """Fail when the block needs more memory at once than this."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= megabytes * (1 << 20), f"{peak / (1 << 20):.1f} MB for {what}"
