"""What a child is given, how it reports what comes of it, and what exceptions and ends of processes mean.

Each step is announced before it begins and reported when it is over: where the child dies, what was done before is
known, and in which step it died.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from tileir.execute.errors import InternalError, LaunchError, SearchTimeout
from tileir.execute.gpu.errors import AssemblerCrash, AssemblerTimeout
from tileir.ir.diagnostics import TileIRError
from tileir.judging.model import JudgePlan, JudgeStage, Outcome, SweepInput
from tileir.judging.verdicts.causes import cause_of, cause_of_crash, cause_of_exception
from tileir.processes.child import flush_output, report
from tileir.processes.exit_status import CLOSED, TIMED_OUT, ExitStatus
from tileir.processes.sandbox import last_attempt

_MOST_MESSAGE: Final = 4000
"""Characters of a message: a paragraph, and not a program's worth of diagnostics."""


@dataclass(slots=True)
class Work:
    """One item to judge in this process."""

    item: SweepInput
    plan: JudgePlan
    scratch: str
    """The one directory that this process may write to; it is the current one."""
    send: Callable[[Any], None] = report
    steps: dict[str, JudgeStage] = field(default_factory=dict)
    finished: list[dict[str, Any]] = field(default_factory=list)
    """Steps that are over, and are reported with the next message."""
    _begun: str = ""
    """The step that is under way, or was the last."""

    def do(self, task: Task) -> None:
        """Do all of it, whatever it raises, and report the end."""
        begun, value = time.perf_counter(), None
        try:
            value = task(self)
        except BaseException as error:
            step = JudgeStage(self._begun or "start", "crashed")
            failed_step(step, error)
            self._report(step)
        flush_output()
        # In one message: for each the parent is woken.
        self.send({"value": value, "end": time.perf_counter() - begun})

    def begin(self, name: str) -> None:
        """Report which step begins, and the outcomes of those before it."""
        self._begun = name
        self.send({"begin": name, "steps": self.finished})
        self.finished = []

    def attempt(self, name: str, function: Callable[[JudgeStage], None], needs: tuple[str, ...] = ()) -> JudgeStage:
        """Do a step: `function` completes it, or raises; skipped where a step that it needs did not pass."""
        step = JudgeStage(name, "passed")
        missing = [each for each in needs if each not in self.steps or self.steps[each].outcome != "passed"]
        if missing:
            step.outcome, step.message = "skipped", f"'{missing[0]}' did not pass"
        else:
            self.begin(name)
            begun = time.perf_counter()
            try:
                function(step)
            except Exception as error:
                failed_step(step, error)
            step.measured["seconds"] = time.perf_counter() - begun
        self._report(step)
        return step

    def _report(self, step: JudgeStage) -> None:
        # Where a child works is different each time.
        message = step.message.replace(self.scratch, ".")
        step.message = message if len(message) <= _MOST_MESSAGE else message[:_MOST_MESSAGE] + " .."
        self.steps[step.name] = step
        self.send({"step": asdict(step)})


Task: TypeAlias = Callable[[Work], object]
"""What a child does; a value, of JSON, goes to the parent."""


class Part(NamedTuple):
    """What one child does for an item."""

    task: Task
    processes: bool = False
    """Whether it may start other processes: NVIDIA's assembler is one."""
    needs: tuple[str, ...] = ()
    """Steps of children before without which there is nothing to do for it."""


# --- what exceptions and ends of processes mean for a step ---


_MOST_DIAGNOSTICS: Final = 5

_OUT_OF_MEMORY: Final = (b"bad_alloc", b"out of memory", b"MemoryError", b"Out of memory", b"std::length_error")
_TAIL: Final = 1 << 16
_NO_MEMORY: Final = "it needs more memory than its limit allows"

_FORBIDDEN: Final = frozenset((errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG, errno.EDQUOT, errno.EXDEV))
"""Errors with which the system refuses what a confined process may not do, and files that grow too large."""


_OUTCOMES: Final[tuple[tuple[tuple[type[BaseException], ...], Outcome], ...]] = (
    ((MemoryError,), "memory"),
    ((AssemblerCrash, InternalError), "crashed"),
    ((AssemblerTimeout, SearchTimeout), "timeout"),
    ((LaunchError,), "refused"),
    ((TileIRError,), "failed"),
)


def failed_step(step: JudgeStage, error: BaseException) -> None:
    """Complete a step from the exception that ended it."""
    if isinstance(error, InternalError) and error.__cause__ is not None:
        failed_step(step, error.__cause__)
        return
    step.outcome = outcome_of(error)
    if step.outcome == "memory":
        step.message, step.cause = _NO_MEMORY, "memory"
    elif isinstance(error, TileIRError) and not isinstance(error, InternalError):
        errors = [each for each in error.diagnostics if each.severity == "error"] or error.diagnostics
        more = len(errors) - _MOST_DIAGNOSTICS
        step.message = "\n".join([each.render() for each in errors[:_MOST_DIAGNOSTICS]])
        step.message += f"\nand {more} more" if more > 0 else ""
        step.cause = cause_of(errors[0].message if errors else type(error).__name__)
    else:
        step.message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if step.outcome == "forbidden":
            tried = last_attempt()
            step.message += f" ({tried})" if tried else ""
            step.cause = cause_of(step.message)
        else:
            step.cause = cause_of_exception(error)


def outcome_of(error: BaseException) -> Outcome:
    if isinstance(error, TileIRError) and any(each.code == "out-of-memory" for each in error.diagnostics):
        return "memory"
    for kinds, outcome in _OUTCOMES:
        if isinstance(error, kinds):
            return outcome
    return "forbidden" if is_forbidden(error) else "crashed"


def is_forbidden(error: BaseException) -> bool:
    """Whether an exception is how the confinement of this process shows: files, network, processes, threads."""
    is_of_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    return is_of_thread or (isinstance(error, OSError) and error.errno in _FORBIDDEN)


def step_of_exit(name: str, status: ExitStatus, output: bytes, seconds: float) -> JudgeStage:
    """The step in which a child ended that did not come to its end; `seconds` was its limit."""
    if status.reason == TIMED_OUT:
        return JudgeStage(name, "timeout", f"it was not over after {seconds:g} seconds", "timeout")
    if status.reason:
        message = "it closed the pipe for verdicts" if status.reason == CLOSED else status.reason
        return JudgeStage(name, "forbidden", message, cause_of(message))
    if not status.signal:
        message = f"the process ended with status {status.code} in the middle of it"
        return JudgeStage(name, "crashed", message, cause_of(message))
    tail = output[-_TAIL:]
    if status.signal == "SIGXCPU":
        return JudgeStage(name, "timeout", "it used more processor time than it may", "timeout")
    if status.signal == "SIGKILL":
        return JudgeStage(name, "memory", "the system ended the process, as it does when memory runs out", "memory")
    if status.signal == "SIGABRT" and any(text in tail for text in _OUT_OF_MEMORY):
        return JudgeStage(name, "memory", _NO_MEMORY, "memory")
    cause = cause_of_crash(status.signal, tail.decode("utf-8", "replace"))
    return JudgeStage(name, "crashed", f"the process was ended by {status.signal}", cause)
