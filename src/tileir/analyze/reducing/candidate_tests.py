"""Tests of candidates: a command runs on them, or a question is answered in a child process.

A question is a function from a candidate to a text.  If it ends its process, that is an answer as well.
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
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, NamedTuple

from tileir.analyze.reducing.program import Program, arguments_of, launch_of
from tileir.analyze.reducing.search import Cancelled, Subject
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.errors import InternalError
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traversal import clone
from tileir.ir.verifier import verify_operation
from tileir.processes.child import CAN_FORK, Child, report
from tileir.processes.command import Command
from tileir.processes.exit_status import TIMED_OUT, ExitStatus
from tileir.processes.messages import parsed
from tileir.processes.sandbox import address_space, limit_resource, may_fork

PLACE = "{}"
"""What stands for the path of the candidate in a command."""

# The most characters of a command's output that are kept, for the error about an original that is not interesting.
_SHOWN = 4000


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: ExitStatus
    output: str


@dataclass(eq=False)
class CommandTest(Generic[Subject]):
    """The test of a search: a command runs on every candidate, and `judge` decides whether its end is interesting.

    `write` returns the contents of a file, or None for what cannot be written.  Any number of threads may test.
    """

    words: list[str]
    timeout: float | None
    extension: str
    write: Callable[[Subject], bytes | None]
    judge: Callable[[Ended], bool]
    _running: set[Command] = field(default_factory=set)

    def __call__(self, candidate: Subject) -> bool:
        data = self.write(candidate)
        if data is None:
            return False
        with tempfile.TemporaryDirectory(prefix="tileir-reduce-") as directory:
            path = os.path.join(directory, "candidate" + self.extension)
            with open(path, "wb") as file:
                file.write(data)
            with open(os.path.join(directory, "output"), "w+b") as output:
                words = self.words if any(PLACE in word for word in self.words) else [*self.words, PLACE]
                words = [word.replace(PLACE, path) for word in words]
                with Command(words, stdout=output, stderr=output) as command:
                    self._running.add(command)
                    status = command.wait(self.timeout)
                if command not in self._running:
                    raise Cancelled
                self._running.discard(command)
                output.seek(0, os.SEEK_END)
                output.seek(max(0, output.tell() - _SHOWN))
                return self.judge(Ended(status, output.read().decode("utf-8", "replace")))

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


Question = Callable[[Subject], str]

DIED: Final = "died: "
TOOK_TOO_LONG: Final = "took too long"
RAISED: Final = "raised: "
"""Prefixes of answers that no question returns."""
_MEMORY: Final = 16 << 30
"""Address space beyond that of this process: a GPU's driver reserves more than that."""
_LONGEST: Final = 1 << 16


@dataclass(eq=False)
class ObservationTest(Generic[Subject]):
    """The test of a search: a child answers a question, and `judge` decides whether the answer is interesting."""

    question: Question[Subject]
    judge: Callable[[str], bool]
    timeout: float | None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: set[Child] = field(default_factory=set)

    def __call__(self, candidate: Subject) -> bool:
        return self.judge(self.observe(candidate))

    def observe(self, candidate: Subject) -> str:
        if not (CAN_FORK and may_fork()):
            return _answer_of(self.question, candidate)
        answers: list[str] = []

        def handle(content: bytes) -> bool:
            answers.append(str(parsed(content).get("answer")))
            return True

        deadline = math.inf if self.timeout is None else time.perf_counter() + self.timeout
        with self._lock:
            child = Child(partial(_answer, self.question, candidate))
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
    """Compute the answer, in the child, and report it."""
    limit_resource("RLIMIT_AS", address_space() + _MEMORY)
    faulthandler.disable()
    report({"answer": _answer_of(question, candidate)[:_LONGEST]})


def _answer_of(question: Callable[[Any], str], candidate: object) -> str:
    try:
        return question(candidate)
    except Exception as error:
        return f"{RAISED}{type(error).__name__}: {error}"


# --- ready-made questions: what a check reports about a program, what passes and engines do with it ---

FINE: Final = "fine"
REPORTS: Final = "reports: "
"""A reported error, which is no crash."""
CRASHED: Final = "crashed: "
"""An exception that no user should see."""
DIFFERENT: Final = "results differ"
GONE: Final = "there is no such kernel"


def ask_check(program: Program) -> str:
    """The messages of the verifier."""
    context = VerifyContext()
    verify_operation(program.module, context)
    messages = [diagnostic.message for diagnostic in context.diagnostics]
    return REPORTS + "\n".join(messages) if messages else FINE


def ask_contents(data: bytes) -> str:
    """The findings of a file when it is checked."""
    from tileir.interface import load

    return _outcome(lambda: load(data))[0]


def ask_passes(pipeline: str) -> Question[Program]:
    """How a pipeline of passes ends."""

    def question(program: Program) -> str:
        from tileir.passes.pipeline import run_passes

        return _outcome(lambda: run_passes(clone(program.module), pipeline.split(",")))[0]

    return question


def ask_engine(engine: str, words: LaunchDescription) -> Question[Program]:
    """How a launch on an engine ends."""
    # Exact: otherwise engines may sum in different orders, which is no difference.
    return lambda program: _outcome(lambda: _launch(program, engine, words, exact=True))[0]


def ask_difference(first: str, second: str, words: LaunchDescription) -> Question[Program]:
    """Whether a launch returns other bits on another engine, and the sanitizer's findings then."""

    def question(program: Program) -> str:
        import numpy

        from tileir.execute.array_difference import same_bits

        def launched(engine: str) -> tuple[str, list[Any]]:
            return _outcome(lambda: _launch(program, engine, words, exact=True))

        (expected, before), (found, after) = launched(first), launched(second)
        if GONE in (expected, found) or expected == found != FINE:
            return FINE
        if expected != found:
            # How they ended, without what depends on the program.
            outcomes = ["runs" if ended == FINE else ended.partition(":")[0] for ended in (expected, found)]
            return f"{first} {outcomes[0]}, {second} {outcomes[1]}"
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if isinstance(a, numpy.ndarray)]
        if all(same_bits(a, b).all() for a, b in pairs):
            return FINE
        return f"{DIFFERENT}; findings: {','.join(_findings(program, words))}"

    return question


def same_difference(answer: str, original: str) -> bool:
    """Whether an answer is the same as the original one, with no findings that the original has not."""
    head, _, findings = answer.partition("; findings: ")
    original_head, _, original_findings = original.partition("; findings: ")
    return head == original_head != FINE and set(findings.split(",")) <= {"", *original_findings.split(",")}


def is_crash(answer: str) -> bool:
    """Whether an answer is none that a user should ever get."""
    return not answer.startswith((FINE, REPORTS, DIFFERENT, GONE))


def kind_of_crash(answer: str) -> str:
    """A crash without the parts that depend on the program."""
    return ":".join(answer.split(":")[:2])


def _outcome(work: Callable[[], Any]) -> tuple[str, Any]:
    """How some work ended, as an answer, and its result."""
    try:
        return FINE, work()
    except _Gone:
        return GONE, None
    except InternalError as error:
        cause = error.__cause__
        return f"{CRASHED}{type(cause).__name__}: {cause}", None
    except TileIRError as error:
        return REPORTS + str(error), None
    except Exception as error:
        return f"{CRASHED}{type(error).__name__}: {error}", None


class _Gone(Exception):
    """There is no such kernel."""


def _launch(
    program: Program, engine: str, words: LaunchDescription, exact: bool = False, sanitize: bool = False
) -> list[Any]:
    """The arguments after a launch."""
    from tileir.execute.launching.kernel import compile

    chosen = launch_of(words, program)
    if chosen is None:
        raise _Gone
    launch, entry = chosen
    kernel = compile(program.module, entry=entry.symbol_name, backend=engine, exact=exact)
    given = arguments_of(launch, entry)
    kernel.launch(launch.grid, given, sanitize=sanitize, output=lambda text: None)
    return given


def _findings(program: Program, words: LaunchDescription) -> list[str]:
    """The kinds of errors that the sanitizer finds in a launch."""
    from tileir.execute.sanitizer.report import SanitizerError

    try:
        _launch(program, "interpreter", words, sanitize=True)
    except SanitizerError as error:
        return sorted(set(error.report.kinds))
    except TileIRError as error:
        return [type(error).__name__]
    return []
