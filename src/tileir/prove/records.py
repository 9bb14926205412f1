"""What `tileir prove` asks, claims and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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
    """What the proof says about one operation, or a pair of them, before anything has run.

    "proved" holds for every launch of the contract.  "refutable" means that `candidates` proposes launches, one of which
    may fail.  Of "unknown" `reason` names the value that could not be followed, with its line, and `settled_by` an
    assumption that would settle it.
    """

    question: str
    operation: Operation | None
    other: Operation | None = None
    verdict: Literal["proved", "refutable", "unknown"] = "unknown"
    reason: str = ""
    settled_by: str = ""
    candidates: Callable[[], Iterator[Candidate]] = no_candidates


@dataclass
class Answer:
    """One question about a kernel, after candidates have been run.

    `launch` and `finding` are the launch that refutes it and what the sanitizer reported there; `bound` says up to which
    sizes a question was checked that is not settled for all.
    """

    question: str
    verdict: Literal["proved", "refuted", "unknown"]
    claims: list[Claim]
    launch: Any = None
    finding: Any = None
    bound: str | None = None


@dataclass
class Proof:
    """All answers about a kernel: `proof["race"].verdict`."""

    kernel: str
    contract: tuple[Assumption, ...]
    answers: dict[str, Answer] = field(default_factory=dict)
    seconds: float = 0.0

    def __getitem__(self, question: str) -> Answer:
        return self.answers[question]
