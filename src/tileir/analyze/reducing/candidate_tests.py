"""Tests of candidates: a command is run on them, or a question is asked in a child process.

A command says with exit status 0 that a candidate is interesting.  It runs in a process group of its own, which is
killed as a whole when its time is over or its answer is not needed any more.

A question is a function of a candidate that answers in words.  Whatever ends its process is only an answer: the child
has a time and an amount of memory, writes nowhere but to a pipe, and is killed with all its processes when its time is
over.
"""

from __future__ import annotations

import faulthandler
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, NamedTuple

from tileir.analyze.reducing.search import Cancelled, Subject
from tileir.processes.child import CAN_FORK, Child, report
from tileir.processes.command import Command
from tileir.processes.exit_status import TIMED_OUT, ExitStatus
from tileir.processes.messages import parsed
from tileir.processes.sandbox import limit_resource

PLACE = "{}"
"""What stands for the path of the candidate in a command."""

# Of what a command prints so much is kept, to be shown when the original is not interesting.
_SHOWN = 4000


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: ExitStatus
    output: str


class CommandTest(Generic[Subject]):
    """The test of a search: a command is run on every candidate, and `judge` says of its end whether it is one.

    `write` gives the contents of a file, or None for what cannot be written.  Any number of threads may test.
    """

    def __init__(
        self,
        words: list[str],
        timeout: float | None,
        extension: str,
        write: Callable[[Subject], bytes | None],
        judge: Callable[[Ended], bool],
    ) -> None:
        self._words: list[str] = words if any(PLACE in word for word in words) else [*words, PLACE]
        self._timeout: float | None = timeout
        self._name: str = "candidate" + extension
        self._write: Callable[[Subject], bytes | None] = write
        self._judge: Callable[[Ended], bool] = judge
        self._running: set[Command] = set()

    def __call__(self, candidate: Subject) -> bool:
        data = self._write(candidate)
        return data is not None and self._judge(self._run(data))

    def _run(self, data: bytes) -> Ended:
        with tempfile.TemporaryDirectory(prefix="tileir-reduce-") as directory:
            path = os.path.join(directory, self._name)
            with open(path, "wb") as file:
                file.write(data)
            with open(os.path.join(directory, "output"), "w+b") as output:
                words = [word.replace(PLACE, path) for word in self._words]
                with Command(words, stdout=output, stderr=output) as command:
                    self._running.add(command)
                    status = command.wait(self._timeout)
                if command not in self._running:
                    raise Cancelled
                self._running.discard(command)
                output.seek(0, os.SEEK_END)
                output.seek(max(0, output.tell() - _SHOWN))
                return Ended(status, output.read().decode("utf-8", "replace"))

    def cancel(self) -> None:
        """End what runs now."""
        for command in tuple(self._running):
            self._running.discard(command)
            command.kill()


def shell_words(line: str) -> list[str]:
    """A command line for the shell, which finds the path where `{}` stands, or at the end."""
    if sys.platform == "win32":
        return ["cmd", "/c", line if PLACE in line else f"{line} {PLACE}"]
    script = line.replace(PLACE, '"$1"') if PLACE in line else f'{line} "$1"'
    return ["/bin/sh", "-c", script, "sh", PLACE]


def succeeds(ended: Ended) -> bool:
    """Whether a command ended with status 0."""
    return not ended.status.reason and ended.status.code == 0


# --- questions ---

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
