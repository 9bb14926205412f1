"""The questions, assumptions and claims of `tileir prove`, and the launches that a solver proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from tileir.ir.core import Operation

QUESTIONS: Final = ("bounds", "race", "tokens", "coverage", "termination", "overflow", "division", "asserts")

Source = Literal["stated", "assume", "constraint", "script", "inferred"]


@dataclass(frozen=True)
class Assumption:
    """One line of a contract.

    `source` is "stated" (by the caller), "assume" (an operation of the program), "constraint" (a compiler wrote it into
    the kernel's name), "script" (read where the kernel is launched) or "inferred" (from how the kernel uses a value).
    """

    text: str
    source: Source


@dataclass(frozen=True)
class Memory:
    """The array of one pointer argument of a candidate: how many elements, and what they are if that matters."""

    count: int
    contents: tuple[int | float, ...] | None = None


@dataclass(frozen=True)
class Candidate:
    """A launch that the solver proposes and nobody has run: `values` by the number of the entry's parameter."""

    grid: tuple[int, int, int]
    values: dict[int, int | float | Memory]


def no_candidates() -> Iterator[Candidate]:
    return iter(())


@dataclass
class Claim:
    """What the proof states about one operation, or a pair of them, before anything has run.

    "proved" holds for every launch of the contract.  "refutable" means that `candidates` proposes launches that may
    fail.  Of "unknown" `reason` names the value that could not be followed, with its line, and `settled_by` an
    assumption that would settle it.
    """

    question: str
    operation: Operation | None
    other: Operation | None = None
    verdict: Literal["proved", "refutable", "unknown"] = "unknown"
    reason: str = ""
    settled_by: str = ""
    candidates: Callable[[], Iterator[Candidate]] = no_candidates
    settle: Callable[[], str] = str
    """Finds `settled_by`, which takes a while."""
