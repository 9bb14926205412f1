"""Everything that a report tells of a file of results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tileir.judge.report.clusters import FailureKind, clusters_of
from tileir.judge.report.entries import OUTCOMES, SweepEntry, entries_of
from tileir.judge.report.source import operations_in
from tileir.judge.results.results import Results
from tileir.judge.verdicts.verdict import FINE

_MOST = 5
"""Rows of the lists of what took longest and most."""


@dataclass(slots=True)
class StepCount:
    """How often a step came to which outcome."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.outcomes.total()


@dataclass(slots=True)
class Contents:
    """A file of results, looked at as a whole."""

    path: str
    plan: str
    settings: dict[str, object]
    entries: list[SweepEntry]
    clusters: list[FailureKind]
    steps: list[StepCount]
    counts: Counter[str]

    @property
    def names(self) -> int:
        """How many were given: items that are the same are judged once."""
        return sum([len(entry.names) for entry in self.entries])

    @property
    def failures(self) -> list[SweepEntry]:
        return [entry for entry in self.entries if entry.outcome not in FINE]

    @property
    def kernels(self) -> list[SweepEntry]:
        """The modules of kernels, those that are right and fast first."""
        found = [entry for entry in self.entries if entry.kind == "kernels"]
        return sorted(
            found, key=lambda entry: (entry.outcome not in FINE, -max([s.ratio for s in entry.speeds], default=0.0))
        )

    @property
    def is_fine(self) -> bool:
        return not self.clusters

    @property
    def seconds(self) -> float:
        """Of all items together."""
        return sum([entry.seconds for entry in self.entries])

    def slowest(self, count: int = _MOST) -> list[SweepEntry]:
        return sorted(self.entries, key=lambda entry: (-entry.seconds, entry.name))[:count]

    def largest(self, count: int = _MOST) -> list[SweepEntry]:
        """Those that took most memory."""
        known = [entry for entry in self.entries if entry.peak]
        return sorted(known, key=lambda entry: (-entry.peak, entry.name))[:count]


def contents_of(results: Results) -> Contents:
    """Read a file of results whole."""
    entries = entries_of(results)
    steps = _step_counts(entries)
    counts = Counter([str(entry.outcome) for entry in entries])
    clusters = clusters_of(entries, results.item, results.reproducers())
    for cluster in clusters:
        if cluster.reproducer:
            found = results.reproducer(cluster.reproducer)
            cluster.reproducer_operations = operations_in(found[0]) if found is not None and found[0] is not None else 0
    return Contents(results.path, results.plan, results.settings, entries, clusters, steps, counts)


def _step_counts(entries: list[SweepEntry]) -> list[StepCount]:
    """The steps in the order in which they are done: an item of which all were done tells that."""
    lists = Counter([entry.steps for entry in entries])
    found: dict[str, StepCount] = {}
    for steps, count in sorted(lists.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        for name, outcome in steps:
            found.setdefault(name, StepCount(name)).outcomes[outcome] += count
    return list(found.values())


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 program`, `10,000 programs`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def summary_of(contents: Contents) -> str:
    """`10,000 programs: 9,871 passed, 120 failed, 9 crashed; 3 kinds of failures`."""
    total = len(contents.entries)
    parts = [f"{contents.counts[name]:,} {name}" for name in OUTCOMES if contents.counts[name]]
    text = f"{counted(total, 'program')}: {', '.join(parts)}" if parts else "no programs"
    if contents.clusters:
        text += f"; {counted(len(contents.clusters), 'kind')} of failure{'' if len(contents.clusters) == 1 else 's'}"
    return text
