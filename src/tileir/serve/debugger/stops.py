"""Where a debugged launch stands, and why it stopped there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Reason = Literal[
    "entry", "breakpoint", "data", "step", "goto", "failure", "sanitizer", "nan", "pause", "limit", "end", "beginning"
]
Event = Literal["failure", "sanitizer", "nan"]
"""What a launch may stop at beside breakpoints: errors, findings of the sanitizer, NaN and infinities."""


class Position(NamedTuple):
    """A tile block, by number, and how many steps it has executed."""

    block: int
    step: int


@dataclass
class Stop:
    """The launch stands at a position; `breakpoints` are the numbers of those that were hit there."""

    reason: Reason
    position: Position
    text: str = ""  # The message of a failure or of a finding; empty if there is none.
    breakpoints: tuple[int, ...] = ()

    def joined(self, other: Stop | None) -> Stop:
        """Two reasons to stop at one position."""
        if other is None:
            return self
        text = "\n".join([part for part in (self.text, other.text) if part])
        return Stop(self.reason, self.position, text, tuple(dict.fromkeys([*self.breakpoints, *other.breakpoints])))
