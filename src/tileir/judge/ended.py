"""How a child process ended, and who starts one: what judging needs to know of children."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from tileir.judge.verdicts import Outcome

BeginStep: TypeAlias = Callable[[str], None]
"""Says which step begins: known to the parent even if the child dies in it."""
Task: TypeAlias = Callable[[BeginStep], object]
"""What a child does; its value, of JSON, goes to the parent."""


@dataclass(slots=True)
class Ended:
    """A child that is gone, with all that it started."""

    value: object
    """What its task gave; None if it did not come to that."""
    outcome: Outcome
    """`passed` if there is a value: then `value` is all that counts."""
    message: str = ""
    cause: str = ""
    step: str = ""
    """The last step that it began."""
    output: str = ""
    measured: dict[str, float] = field(default_factory=dict)


class InChild(Protocol):
    """Does a task in a child process with the limits of a plan."""

    def __call__(self, task: Task, *, scratch: str, is_foreign: bool) -> Ended:
        """`scratch` is where it may write; a task with foreign code may start no processes."""
        ...
