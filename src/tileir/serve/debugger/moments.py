"""Where a debugged launch is, and why it stopped there."""

from __future__ import annotations

from typing import Literal, NamedTuple

Reason = Literal[
    "entry", "breakpoint", "data", "step", "goto", "failure", "sanitizer", "nan", "pause", "limit", "end", "beginning"
]
Event = Literal["failure", "sanitizer", "nan"]
"""What a launch may stop at beside breakpoints: errors, what the sanitizer finds, NaN and infinities."""


class Moment(NamedTuple):
    """A tile block, by number, and how many steps it has executed: the next one has not happened yet."""

    block: int
    step: int


class Stop:
    """The launch stands at a moment; `breakpoints` are the numbers of those that were hit there."""

    __slots__ = ("breakpoints", "moment", "reason", "text")

    def __init__(self, reason: Reason, moment: Moment, text: str = "", breakpoints: tuple[int, ...] = ()) -> None:
        self.reason: Reason = reason
        self.moment: Moment = moment
        self.text: str = text
        """What is to be said about it: the message of a failure or of a finding; empty if there is nothing."""
        self.breakpoints: tuple[int, ...] = breakpoints

    def __repr__(self) -> str:
        return f"Stop({self.reason!r}, {self.moment!r}, {self.text!r}, {self.breakpoints!r})"
