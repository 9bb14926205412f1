"""What a candidate does, observed in a child process: whatever ends that process is only an answer.

A question is a function of a program that answers in words.  The child has a time and an amount of memory, writes
nowhere but to a pipe, and is killed with all its processes when its time is over.
"""

from __future__ import annotations

import faulthandler
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic

from tileir.analyze.reducing.search import Cancelled, Subject
from tileir.processes.child import CAN_FORK, Child, report
from tileir.processes.exit_status import TIMED_OUT
from tileir.processes.messages import parsed
from tileir.processes.sandbox import limit_resource

Question = Callable[[Subject], str]

DIED: Final = "died: "
TOOK_TOO_LONG: Final = "took too long"
RAISED: Final = "raised: "
"""What the answers begin with that no question gives."""
_MEMORY: Final = 16 << 30
_LONGEST: Final = 1 << 16


class ObservationTest(Generic[Subject]):
    """The test of a search: a question is asked in a child, and `judge` says whether the answer is interesting."""

    def __init__(self, question: Question[Subject], judge: Callable[[str], bool], timeout: float | None) -> None:
        self._question: Question[Subject] = question
        self._judge: Callable[[str], bool] = judge
        self._timeout: float | None = timeout
        self._lock: threading.Lock = threading.Lock()
        self._running: set[Child] = set()

    def __call__(self, candidate: Subject) -> bool:
        return self._judge(self.observe(candidate))

    def observe(self, candidate: Subject) -> str:
        """The answer for a candidate."""
        if not CAN_FORK:
            return _asked(self._question, candidate)
        answers: list[str] = []

        def handle(content: bytes) -> bool:
            answers.append(str(parsed(content).get("answer")))
            return True

        deadline = math.inf if self._timeout is None else time.perf_counter() + self._timeout
        with self._lock:
            child = Child(partial(_answer, self._question, candidate))
            self._running.add(child)
        reason = ""
        try:
            reason = child.wait(handle, deadline)
        finally:
            status = child.end(reason)
            with self._lock:
                self._running.discard(child)
        if child.is_cancelled:
            raise Cancelled
        if reason == TIMED_OUT:
            return TOOK_TOO_LONG
        return answers[0] if answers else DIED + (status.signal or f"status {status.code}")

    def cancel(self) -> None:
        with self._lock:
            for child in self._running:
                child.cancel()


def _answer(question: Callable[[Any], str], candidate: object) -> None:
    """Ask the question, in the child, and report the answer."""
    # Less memory than the machine has.
    limit_resource("RLIMIT_AS", _MEMORY)
    faulthandler.disable()
    report({"answer": _asked(question, candidate)[:_LONGEST]})


def _asked(question: Callable[[Any], str], candidate: object) -> str:
    try:
        return question(candidate)
    except Exception as error:
        return f"{RAISED}{type(error).__name__}: {error}"
