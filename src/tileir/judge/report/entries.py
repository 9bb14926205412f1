"""Each item of a file of results, as much of it as a report needs: a hundred thousand of them are held at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tileir.judge.results.results import Results, Row, finite
from tileir.judge.verdicts.verdict import FINE, Outcome, Step

_COUNTED = re.compile(r"([^0-9]*)([0-9]*)")
_MOST_DIGITS = 1000
"""Of a number in a name: Python reads no longer ones than some thousand."""


@dataclass(slots=True)
class StepFailure:
    """A step of an item that did not pass."""

    step: str
    outcome: Outcome
    cause: str
    message: str

    @property
    def is_of_launch(self) -> bool:
        """Of a Python module: whether it is a kernel that it launched which fails, and not the module itself."""
        verb, _, about = self.step.partition(" ")
        if verb == "cost":
            # Being slow is no failure of a program.
            return self.outcome not in ("failed", "refused")
        return verb in ("optimize", "compare", "sanitize") or (verb == "compile" and about != "")


@dataclass(slots=True, frozen=True)
class KernelSpeed:
    """How fast kernels are against what they are measured by: `time cpu` measured, `cost h200` estimated."""

    step: str
    ratio: float
    seconds: float | None
    baseline: float | None


@dataclass(slots=True)
class SweepEntry:
    """One item."""

    digest: str
    kind: str
    size: int
    names: tuple[str, ...]
    outcome: Outcome
    failures: list[StepFailure]
    steps: tuple[tuple[str, Outcome], ...]
    """All steps, with their outcomes; one object for all items with the same."""
    seconds: float
    peak: float
    """Bytes of memory at most; 0 where nobody knows."""
    operations: int = 0
    """Of the program; 0 where nobody has counted."""
    speeds: tuple[KernelSpeed, ...] = ()
    """Of kernels: estimated and measured."""
    clusters: list[int] = field(default_factory=list)
    """The numbers of the kinds of failures it shows."""

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def step(self) -> str:
        """The first step that did not pass; empty if all did."""
        return self.failures[0].step if self.failures else ""

    @property
    def reproduced(self) -> StepFailure | None:
        """The failure that a reproducer of it shows: the first; of a Python module, the first of a kernel that it
        launched, which is a program."""
        launched = [failure for failure in self.failures if failure.is_of_launch] if self.kind == "kernels" else []
        return next(iter([*launched, *self.failures]), None)

    @property
    def extent(self) -> str:
        """How large it is, in words."""
        return size_of(self.operations, self.size)

    def has_passed(self, step: str) -> bool:
        return (step, "passed") in self.steps

    @property
    def message(self) -> str:
        return self.failures[0].message if self.failures else ""

    @property
    def cause(self) -> str:
        return self.failures[0].cause if self.failures else ""


class Figure(NamedTuple):
    """A number that is known of each program: a column of JSON, CSV and the page, whose table writes it by its unit."""

    name: str
    title: str
    unit: str
    """`count`, `seconds` or `bytes`."""
    of: Callable[[SweepEntry], float]


FIGURES: Final = (
    Figure("operations", "Operations", "count", lambda entry: entry.operations),
    Figure("bytes", "Bytes", "count", lambda entry: entry.size),
    Figure("seconds", "Time", "seconds", lambda entry: entry.seconds),
    Figure("peak_bytes", "Memory", "bytes", lambda entry: entry.peak),
)


def size_of(operations: int, size: int) -> str:
    """`12 ops`, or bytes where nobody has counted."""
    return f"{operations:,} ops" if operations else f"{size:,} B"


def entries_of(results: Results) -> list[SweepEntry]:
    """All items, in the order of their names."""
    shared: dict[tuple[tuple[str, Outcome], ...], tuple[tuple[str, Outcome], ...]] = {}
    found = []
    for row in results.rows_as_written():
        entry = entry_of(row)
        entry.steps = shared.setdefault(entry.steps, entry.steps)
        found.append(entry)
    return sorted(found, key=lambda entry: (natural(entry.name), entry.digest))


def entry_of(row: Row) -> SweepEntry:
    verdict = row.verdict
    failures = [StepFailure(s.name, s.outcome, s.cause, s.message) for s in verdict.steps if s.outcome not in FINE]
    if not failures and verdict.outcome not in FINE:
        # A child that died before its first step.
        failures.append(StepFailure("", verdict.outcome, verdict.cause, verdict.cause))
    return SweepEntry(
        row.digest,
        row.kind,
        row.size,
        tuple(row.names),
        verdict.outcome,
        failures,
        tuple([(step.name, step.outcome) for step in verdict.steps]),
        finite(verdict.measured.get("seconds")) or 0.0,
        finite(verdict.measured.get("peak_bytes")) or 0.0,
        _operations(row),
        tuple([speed for speed in map(_speed, verdict.steps) if speed]) if row.kind == "kernels" else (),
    )


def _operations(row: Row) -> int:
    found = row.verdict.steps[0].details.get("operations") if row.verdict.steps else None
    return found if isinstance(found, int) and 0 <= found < 1 << 63 else 0


def _speed(step: Step) -> KernelSpeed | None:
    found = {**step.details, **step.measured}
    ratio, seconds, baseline = (finite(found.get(name)) for name in ("speedup", "seconds", "baseline_seconds"))
    return None if ratio is None else KernelSpeed(step.name, ratio, seconds, baseline)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Names in the order in which people count: `smith:9` is before `smith:10`."""
    found: list[tuple[int, str]] = []
    for text, digits in _COUNTED.findall(name):
        found += [(0, text), (int(digits[:_MOST_DIGITS]) if digits else -1, "")]
    return tuple(found)
