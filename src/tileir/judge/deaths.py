"""How a child ended that did not come to its end, as a step of the table."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.judge.causes import cause_of, cause_of_death
from tileir.judge.plans import Limits
from tileir.judge.verdicts import Step
from tileir.signal_names import signal_name

_OUT_OF_MEMORY: Final = (b"bad_alloc", b"out of memory", b"MemoryError", b"Out of memory", b"std::length_error")
_TAIL: Final = 1 << 16

OVER: Final = "over"
"""Of a child that said all it had to say."""


class Ending(NamedTuple):
    """How a child ended."""

    how: str
    """Why it was ended from outside; empty if it ended by itself."""
    status: int
    """Its exit status, negative for a signal."""
    peak: int
    """The most bytes of memory that it had."""

    @property
    def is_orderly(self) -> bool:
        """Whether it said all that it had to say."""
        return self.how == OVER


def ended_step(name: str, ending: Ending, output: bytes, limits: Limits) -> Step:
    """The step in which a child ended."""
    if ending.how == "timeout":
        return Step(name, "timeout", f"it was not over after {limits.seconds:g} seconds", "timeout")
    if ending.how == "closed":
        return Step(name, "forbidden", "it closed the pipe for verdicts", "it closed the pipe for verdicts")
    if ending.how:
        return Step(name, "forbidden", ending.how, cause_of(ending.how))
    if ending.status >= 0:
        words = f"the process ended with status {ending.status} in the middle of it"
        return Step(name, "crashed", words, cause_of(words))
    called = signal_name(-ending.status)
    tail = output[-_TAIL:]
    if called == "SIGXCPU":
        return Step(name, "timeout", "it used more processor time than it may", "timeout")
    if called == "SIGKILL":
        return Step(name, "memory", "the system ended the process, as it does when memory runs out", "memory")
    if called == "SIGABRT" and any(word in tail for word in _OUT_OF_MEMORY):
        return Step(name, "memory", "it needs more memory than its limit allows", "memory")
    return Step(
        name, "crashed", f"the process was ended by {called}", cause_of_death(called, tail.decode("utf-8", "replace"))
    )
