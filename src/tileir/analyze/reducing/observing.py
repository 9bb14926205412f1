"""What a candidate does, observed in a child process: whatever ends that process is only an answer.

A question is a function of a program that answers in words.  The child has a time and an amount of memory, writes
nowhere but to a pipe, and is killed with all its processes when its time is over.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Generic

from tileir.analyze.reducing.search import Asked, Cancelled
from tileir.processes.signals import signal_name

Question = Callable[[Asked], str]

DIED: Final = "died: "
TIMED_OUT: Final = "took too long"
RAISED: Final = "raised: "
"""What the answers begin with that no question gives."""
_MEMORY: Final = 16 << 30
_LONGEST: Final = 1 << 16


class ObservationTest(Generic[Asked]):
    """The test of a search: a question is asked in a child, and `judge` says whether the answer is interesting."""

    def __init__(self, question: Question[Asked], judge: Callable[[str], bool], timeout: float | None) -> None:
        self._question: Question[Asked] = question
        self._judge: Callable[[str], bool] = judge
        self._timeout: float | None = timeout
        self._lock: threading.Lock = threading.Lock()
        self._running: set[int] = set()
        self._cancelled: set[int] = set()

    def __call__(self, candidate: Asked) -> bool:
        return self._judge(self.observe(candidate))

    def observe(self, candidate: Asked) -> str:
        """The answer for a candidate."""
        if not hasattr(os, "fork"):
            return _asked(self._question, candidate)
        # All of it at once: a child that another thread forks off must not have the end that this one writes to, or
        # the answer is over only when that one is.
        with self._lock:
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                _be_child(self._question, candidate, writing)
            os.close(writing)
            self._running.add(child)
        try:
            text, over = _read(reading, self._timeout)
        finally:
            os.close(reading)
            _kill(child)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with self._lock:
                self._running.discard(child)
                cancelled = child in self._cancelled
                self._cancelled.discard(child)
        if cancelled:
            raise Cancelled
        if over:
            return TIMED_OUT
        # An answer ends in a full stop of its own: what a child had no time to finish is none.
        if text.endswith("\0"):
            return text[:-1]
        return DIED + (signal_name(-status) if status < 0 else f"status {status}")

    def cancel(self) -> None:
        with self._lock:
            for child in self._running:
                self._cancelled.add(child)
                _kill(child)


def _kill(child: int) -> None:
    for end in (os.killpg, os.kill):
        try:
            end(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _read(pipe: int, timeout: float | None) -> tuple[str, bool]:
    """What comes through a pipe until it is closed, and whether the time was over first."""
    deadline = None if timeout is None else time.monotonic() + timeout
    parts: list[bytes] = []
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([pipe], [], [], left)[0]:
            return "", True
        data = os.read(pipe, _LONGEST)
        if not data:
            return b"".join(parts).decode("utf-8", "replace"), False
        parts.append(data)


def _be_child(question: Callable[[Any], str], candidate: object, writing: int) -> None:
    """Ask the question, write the answer, and end."""
    try:
        os.setsid()
        _limit()
        faulthandler.disable()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        answer = _asked(question, candidate).encode("utf-8", "replace")[: _LONGEST - 1] + b"\0"
        os.write(writing, answer)
    finally:
        os._exit(0)


def _asked(question: Callable[[Any], str], candidate: object) -> str:
    try:
        return question(candidate)
    except Exception as error:
        return f"{RAISED}{type(error).__name__}: {error}"


def _limit() -> None:
    """Less memory than the machine has, no core files, and an end with the process that waits for it."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard == resource.RLIM_INFINITY or hard > _MEMORY:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, hard))
    except (ImportError, OSError, ValueError):
        pass
    if sys.platform == "linux":
        try:
            import ctypes

            # PR_SET_PDEATHSIG
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        except (ImportError, OSError, AttributeError):
            pass
