"""Each item of a file of results, as much of it as a report needs: a hundred thousand of them are held at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileir.judge.results import Results, Row
from tileir.judge.verdicts import Outcome

FINE: tuple[Outcome, ...] = ("passed", "skipped")
"""Outcomes of a step that are no failure."""

OUTCOMES: tuple[Outcome, ...] = (
    "passed",
    "failed",
    "crashed",
    "timeout",
    "memory",
    "forbidden",
    "refused",
    "skipped",
)
"""All of them, in the order in which a report names them."""


@dataclass(slots=True)
class Failure:
    """A step of an item that did not pass."""

    step: str
    outcome: Outcome
    cause: str
    message: str


@dataclass(slots=True)
class Speed:
    """How long a module of kernels took, and what it is measured against."""

    seconds: float
    baseline: float

    @property
    def ratio(self) -> float:
        """How many times as fast."""
        return self.baseline / self.seconds if self.seconds > 0 else 0.0


@dataclass(slots=True)
class Entry:
    """One item."""

    digest: str
    kind: str
    size: int
    names: tuple[str, ...]
    outcome: Outcome
    failures: list[Failure]
    steps: tuple[tuple[str, Outcome], ...]
    """All steps, with their outcomes; one object for all items with the same."""
    seconds: float
    peak: float
    """Bytes of memory at most; 0 where nobody knows."""
    speed: Speed | None = None
    """Of kernels that were timed."""
    clusters: list[int] = field(default_factory=list)
    """The numbers of the kinds of failures it shows."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def step(self) -> str:
        """The first step that did not pass; empty if all did."""
        return self.failures[0].step if self.failures else ""

    def has_passed(self, step: str) -> bool:
        return (step, "passed") in self.steps

    @property
    def message(self) -> str:
        return self.failures[0].message if self.failures else ""

    @property
    def cause(self) -> str:
        return self.failures[0].cause if self.failures else ""


def entries_of(results: Results) -> list[Entry]:
    """All items, in the order of their names."""
    shared: dict[tuple[tuple[str, Outcome], ...], tuple[tuple[str, Outcome], ...]] = {}
    found = []
    for row in results.rows_as_written():
        entry = entry_of(row)
        entry.steps = shared.setdefault(entry.steps, entry.steps)
        found.append(entry)
    return sorted(found, key=lambda entry: (_natural(entry.name), entry.digest))


def entry_of(row: Row) -> Entry:
    verdict = row.verdict
    failures = [Failure(s.name, s.outcome, s.cause, s.message) for s in verdict.steps if s.outcome not in FINE]
    if not failures and verdict.outcome not in FINE:
        # A child that died before its first step.
        failures.append(Failure("", verdict.outcome, verdict.cause, verdict.cause))
    return Entry(
        row.digest,
        row.kind,
        row.size,
        tuple(row.names),
        verdict.outcome,
        failures,
        tuple([(step.name, step.outcome) for step in verdict.steps]),
        verdict.measured.get("seconds", 0.0),
        verdict.measured.get("peak_bytes", 0.0),
        _speed(row) if row.kind == "kernels" else None,
    )


def _speed(row: Row) -> Speed | None:
    found: dict[str, float] = {}
    for step in row.verdict.steps:
        for name in ("seconds", "baseline_seconds"):
            if name in step.measured:
                found[name] = step.measured[name]
    return Speed(found["seconds"], found["baseline_seconds"]) if len(found) == 2 else None


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """Names in the order in which people count: `smith:9` is before `smith:10`."""
    parts: list[tuple[int, str]] = []
    digits = ""
    words = ""
    for character in name:
        if "0" <= character <= "9":
            digits += character
            continue
        if digits:
            parts.append((int(digits), words))
            digits = words = ""
        words += character
    parts.append((int(digits) if digits else -1, words))
    return tuple([part for number, text in parts for part in ((0, text), (number, ""))])
