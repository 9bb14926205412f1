"""Everything that a report says about a file of results: counts, and kinds of failures.

A kind is what failed in the same step, in the same way, for the same cause.  The name of a step is a verb and what it
is done with: `compile sm_90` and `compile sm_100` fail for one reason if their causes are the same.  Where results
differ, the suspect operation is a part of the reason (suspects.py).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tileir.judge.items import Item, operations_in
from tileir.judge.report.entries import StepFailure, SweepEntry, entries_of, size_of
from tileir.judge.report.suspects import blamed, features_of_item
from tileir.judge.results.results import Results
from tileir.judge.verdicts.causes import DIFFERENT, reason_of
from tileir.judge.verdicts.verdict import FINE, OUTCOMES, Outcome

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
    """The steps in the order in which they are done, which items show of which all were done."""
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


# --- kinds of failures ---


OPTIMIZED = "compare optimized"
"""The step that compares a program with itself, optimized."""

_MOST_FAILING = 2000
_MOST_PASSING = 400
"""Programs that are read to find out what is to blame."""


@dataclass(slots=True)
class FailureKind:
    """One kind of failure."""

    verb: str
    outcome: Outcome
    cause: str
    suspect: str = ""
    """The feature that is to blame, as `mulf f16`; empty where the cause says it all, or nobody knows."""
    steps: list[str] = field(default_factory=list)
    """The steps in which it shows, in the order of their names."""
    entries: list[SweepEntry] = field(default_factory=list)
    """The items that show it, the smallest first."""
    message: str = ""
    """What is said of the smallest."""
    reproducer: str = ""
    """The digest of the item whose reproducer shows it; empty if there is none."""
    reproducer_size: int = 0
    reproducer_operations: int = 0
    note: str = ""
    """Why there is no reproducer, or what is to be said of it."""

    @property
    def key(self) -> str:
        """What it is known by from one sweep to the next."""
        words = "\0".join([self.verb, self.outcome, self.cause, self.suspect])
        return hashlib.blake2b(words.encode("utf-8", "backslashreplace"), digest_size=4).hexdigest()

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def smallest(self) -> SweepEntry:
        return self.entries[0]

    @property
    def reduced(self) -> str:
        """How large the reproducer is, in words; empty if there is none."""
        return size_of(self.reproducer_operations, self.reproducer_size) if self.reproducer else ""

    @property
    def title(self) -> str:
        """The cause in words, with what is suspect."""
        words = self.cause or self.outcome
        return f"{words}, with {self.suspect}" if self.suspect else words


def verb_of(step: str) -> str:
    """What is done; the optimizer and engines do not go wrong for the same reason."""
    return step if step == OPTIMIZED else step.partition(" ")[0]


def clusters_of(
    entries: Iterable[SweepEntry], item: Callable[[str], Item], reproducers: dict[str, tuple[int, str]]
) -> list[FailureKind]:
    """All kinds of failures, the most frequent first; entries get the numbers of theirs.

    `item` gives an item by its digest, `reproducers` are the sizes and notes of those that are there.
    """
    entries = list(entries)
    found: dict[tuple[str, str, str, str], FailureKind] = {}
    suspects = _suspects(entries, item)
    for entry in entries:
        shown: dict[tuple[str, str], FailureKind] = {}
        for failure in entry.failures:
            reason = reason_of(failure.cause)
            suspect = suspects.get((entry.digest, failure.step), "")
            key = (verb_of(failure.step), failure.outcome, reason, suspect)
            # What fails for the same reason in a later step of the same program is the same failure.
            cluster = found.get(key) or shown.get((failure.outcome, reason)) if reason != DIFFERENT else found.get(key)
            if cluster is None:
                cluster = found[key] = FailureKind(key[0], failure.outcome, reason, suspect)
            shown.setdefault((failure.outcome, reason), cluster)
            if not cluster.entries or cluster.entries[-1] is not entry:
                cluster.entries.append(entry)
            if failure.step not in cluster.steps:
                cluster.steps.append(failure.step)
    for cluster in found.values():
        _finish(cluster, reproducers)
    ordered = sorted(found.values(), key=lambda each: (-each.count, each.verb, each.outcome, each.cause, each.suspect))
    for number, cluster in enumerate(ordered):
        for entry in cluster.entries:
            entry.clusters.append(number)
    return ordered


def failure_in(cluster: FailureKind, entry: SweepEntry) -> StepFailure:
    """How an entry shows a kind of failure."""
    for failure in entry.failures:
        way = (verb_of(failure.step), failure.outcome, reason_of(failure.cause))
        if way == (cluster.verb, cluster.outcome, cluster.cause):
            return failure
    raise KeyError(entry.digest)


def _finish(cluster: FailureKind, reproducers: dict[str, tuple[int, str]]) -> None:
    cluster.entries.sort(key=lambda entry: (entry.operations or entry.size, entry.size, entry.name, entry.digest))
    cluster.steps.sort()
    cluster.message = failure_in(cluster, cluster.smallest).message
    known = [
        (reproducers[entry.digest][0], entry.digest)
        for entry in cluster.entries
        if entry.digest in reproducers and entry.reproduced is failure_in(cluster, entry)
    ]
    programs = [(size, digest) for size, digest in known if size >= 0]
    if programs:
        cluster.reproducer_size, cluster.reproducer = min(programs)
    if known:
        cluster.note = reproducers[cluster.reproducer or known[0][1]][1]
    elif all(_is_of_module(entry, cluster) and entry.digest in reproducers for entry in cluster.entries):
        cluster.note = of_module(failure_in(cluster, cluster.smallest).step)


def of_module(step: str) -> str:
    """Why the failure of a Python module has no reproducer."""
    return f"a Python module, which is not reduced: it fails in '{step}', not in a kernel that it launched"


def _is_of_module(entry: SweepEntry, cluster: FailureKind) -> bool:
    return entry.kind == "kernels" and not failure_in(cluster, entry).is_of_launch


def _suspects(entries: list[SweepEntry], item: Callable[[str], Item]) -> dict[tuple[str, str], str]:
    """What is to blame for results that differ, by item and step."""
    failing: dict[str, list[SweepEntry]] = {}
    for entry in entries:
        for failure in entry.failures:
            if reason_of(failure.cause) == DIFFERENT:
                failing.setdefault(failure.step, []).append(entry)
    found: dict[tuple[str, str], str] = {}
    known: dict[str, frozenset[str]] = {}

    def features(entry: SweepEntry) -> frozenset[str]:
        if entry.digest not in known:
            known[entry.digest] = features_of_item(item(entry.digest))
        return known[entry.digest]

    for step, failed in failing.items():
        # By digest, which has nothing to do with what is in a program: the same ones each time, and no special ones.
        chosen = sorted(failed, key=lambda entry: entry.digest)[:_MOST_FAILING]
        all_passed = sorted([entry for entry in entries if entry.has_passed(step)], key=lambda entry: entry.digest)
        passed = all_passed[:_MOST_PASSING]
        scale = len(all_passed) / len(passed) * len(chosen) / len(failed) if passed else 1.0
        suspects = blamed(
            {entry.digest: features(entry) for entry in chosen}, [features(entry) for entry in passed], scale
        )
        # Those that were not read have the suspect of the kind that most have, if there is one alone.
        named = set(suspects.values())
        other = named.pop() if len(named) == 1 else ""
        for entry in failed:
            found[entry.digest, step] = suspects.get(entry.digest, other)
    return found
