"""Everything that a report states about a file of results: counts, and kinds of failures.

A kind is what failed in the same step, in the same way, for the same cause.  The name of a step is a verb and what it
is done with: `compile sm_90` and `compile sm_100` fail for one reason if their causes are the same.  Where results
differ, the suspect operation is a part of the reason (suspects.py).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from tileir.judging.model import FINE, OUTCOMES, JudgeStage, Outcome, SweepInput, operations_in
from tileir.judging.report.suspects import blamed, features_of_item
from tileir.judging.results.results import ResultRow, Results, finite
from tileir.judging.verdicts.causes import DIFFERENT, reason_of

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
    name: str
    outcome: Outcome
    failures: list[StepFailure]
    step: str
    """The first step that did not pass; empty if all did."""
    message: str
    cause: str
    """The findings of that step."""
    steps: tuple[tuple[str, Outcome], ...]
    """All steps, with their outcomes; one object for all items with the same."""
    seconds: float
    peak: float
    """Bytes of memory at most; 0 where nobody knows."""
    operations: int
    """Of the program; 0 where nobody has counted."""
    speeds: tuple[KernelSpeed, ...]
    """Of kernels: estimated and measured."""
    clusters: list[int] = field(default_factory=list)
    """The numbers of the kinds of failures it shows."""

    @property
    def reproduced(self) -> StepFailure | None:
        """The failure that a reproducer of it shows: the first; of a Python module, the first of a kernel that it
        launched, which is a program."""
        launched = [failure for failure in self.failures if failure.is_of_launch] if self.kind == "kernels" else []
        return next(iter([*launched, *self.failures]), None)

    @property
    def extent(self) -> str:
        """How large it is, as text."""
        return size_of(self.operations, self.size)


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
    found = [_entry_of(row) for row in results.rows_as_written()]
    for entry in found:
        entry.steps = shared.setdefault(entry.steps, entry.steps)
    return sorted(found, key=lambda entry: (natural(entry.name), entry.digest))


def _entry_of(row: ResultRow) -> SweepEntry:
    verdict, steps = row.verdict, row.verdict.steps
    failures = [StepFailure(s.name, s.outcome, s.cause, s.message) for s in steps if s.outcome not in FINE]
    if not failures and verdict.outcome not in FINE:
        # A child that died before its first step.
        failures.append(StepFailure("", verdict.outcome, verdict.cause, verdict.cause))
    first = failures[0] if failures else StepFailure("", "passed", "", "")
    counted = steps[0].details.get("operations") if steps else None
    return SweepEntry(
        *(row.digest, row.kind, row.size, tuple(row.names), row.name, verdict.outcome, failures),
        *(first.step, first.message, first.cause),
        tuple([(step.name, step.outcome) for step in steps]),
        finite(verdict.measured.get("seconds")) or 0.0,
        finite(verdict.measured.get("peak_bytes")) or 0.0,
        counted if isinstance(counted, int) and 0 <= counted < 1 << 63 else 0,
        tuple([speed for speed in map(_speed, steps) if speed]) if row.kind == "kernels" else (),
    )


def _speed(step: JudgeStage) -> KernelSpeed | None:
    found = {**step.details, **step.measured}
    ratio, seconds, baseline = (finite(found.get(name)) for name in ("speedup", "seconds", "baseline_seconds"))
    return None if ratio is None else KernelSpeed(step.name, ratio, seconds, baseline)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Names in the order in which people count: `smith:9` is before `smith:10`."""
    found: list[tuple[int, str]] = []
    for text, digits in _COUNTED.findall(name):
        found += [(0, text), (int(digits[:_MOST_DIGITS]) if digits else -1, "")]
    return tuple(found)


class Contents:
    """A file of results as a whole."""

    def __init__(self, results: Results) -> None:
        self.path: str = results.path
        self.plan: str = results.plan
        self.settings: dict[str, object] = results.settings
        self.programs: list[SweepEntry] = entries_of(results)
        self.steps: dict[str, Counter[str]] = _step_counts(self.programs)
        """How often each step came to which outcome."""
        self.counts: Counter[str] = Counter([str(entry.outcome) for entry in self.programs])
        self.kinds: list[FailureKind] = _kinds_of(self.programs, results)
        self.duplicates: int = sum([len(entry.names) - 1 for entry in self.programs])
        """How many were given that are the same as others: they are judged once."""

    @property
    def kernels(self) -> list[SweepEntry]:
        """The modules of kernels, those that are right and fast first."""

        def rank(entry: SweepEntry) -> tuple[bool, float]:
            return entry.outcome not in FINE, -max([speed.ratio for speed in entry.speeds], default=0.0)

        return sorted([entry for entry in self.programs if entry.kind == "kernels"], key=rank)

    @property
    def summary(self) -> str:
        """`10,000 programs: 9,871 passed, 120 failed, 9 crashed; 3 kinds of failures`."""
        parts = [f"{self.counts[name]:,} {name}" for name in OUTCOMES if self.counts[name]]
        text = f"{counted(len(self.programs), 'program')}: {', '.join(parts)}" if parts else "no programs"
        if self.kinds:
            text += f"; {counted(len(self.kinds), 'kind')} of failure{'' if len(self.kinds) == 1 else 's'}"
        return text


def _step_counts(entries: list[SweepEntry]) -> dict[str, Counter[str]]:
    """The steps in the order in which they are done, which items show of which all were done."""
    lists = Counter([entry.steps for entry in entries])
    found: dict[str, Counter[str]] = {}
    for steps, count in sorted(lists.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        for name, outcome in steps:
            found.setdefault(name, Counter())[outcome] += count
    return found


def counted(number: int, thing: str) -> str:
    """`1 program`, `10,000 programs`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


OPTIMIZED = "compare optimized"
"""The step that compares a program with itself, optimized."""

_MOST_FAILING = 2000
_MOST_PASSING = 400
"""Programs that are read to find out what is to blame."""


@dataclass(slots=True)
class FailureKind:
    verb: str
    outcome: Outcome
    cause: str
    suspect: str = ""
    """The feature that is to blame, as `mulf f16`; empty where the cause suffices, or none is known."""
    steps: list[str] = field(default_factory=list)
    """The steps in which it shows, in the order of their names."""
    entries: list[SweepEntry] = field(default_factory=list)
    """The items that show it, the smallest first."""
    message: str = ""
    """The findings of the smallest."""
    reproducer: str = ""
    """The digest of the item whose reproducer shows it; empty if there is none."""
    reproducer_size: int = 0
    reproducer_operations: int = 0
    note: str = ""
    """Why there is no reproducer, or a remark about it."""

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
        """How large the reproducer is, as text; empty if there is none."""
        return size_of(self.reproducer_operations, self.reproducer_size) if self.reproducer else ""

    @property
    def title(self) -> str:
        """The cause as text, with what is suspect."""
        words = self.cause or self.outcome
        return f"{words}, with {self.suspect}" if self.suspect else words


def verb_of(step: str) -> str:
    """What is done; the optimizer and engines do not go wrong for the same reason."""
    return step if step == OPTIMIZED else step.partition(" ")[0]


def _kinds_of(entries: list[SweepEntry], results: Results) -> list[FailureKind]:
    """All kinds of failures, the most frequent first; entries get the numbers of theirs."""
    found: dict[tuple[str, str, str, str], FailureKind] = {}
    suspects = _suspects(entries, results.item)
    for entry in entries:
        shown: dict[tuple[str, str], FailureKind] = {}
        for failure in entry.failures:
            reason = reason_of(failure.cause)
            suspect = suspects.get((entry.digest, failure.step), "")
            key = (verb_of(failure.step), failure.outcome, reason, suspect)
            # What fails for the same reason in a later step of the same program is the same failure.
            kind = found.get(key) or (shown.get((failure.outcome, reason)) if reason != DIFFERENT else None)
            if kind is None:
                kind = found[key] = FailureKind(key[0], failure.outcome, reason, suspect)
            shown.setdefault((failure.outcome, reason), kind)
            if not kind.entries or kind.entries[-1] is not entry:
                kind.entries.append(entry)
            if failure.step not in kind.steps:
                kind.steps.append(failure.step)
    reproducers = results.reproducers()
    for kind in found.values():
        _finish(kind, results, reproducers)
    ordered = sorted(found.values(), key=lambda each: (-each.count, each.verb, each.outcome, each.cause, each.suspect))
    for number, kind in enumerate(ordered):
        for entry in kind.entries:
            entry.clusters.append(number)
    return ordered


def failure_in(kind: FailureKind, entry: SweepEntry) -> StepFailure:
    for failure in entry.failures:
        way = (verb_of(failure.step), failure.outcome, reason_of(failure.cause))
        if way == (kind.verb, kind.outcome, kind.cause):
            return failure
    raise KeyError(entry.digest)


def _finish(kind: FailureKind, results: Results, reproducers: dict[str, tuple[int, str]]) -> None:
    """Fill in what is known of all of its programs together; `reproducers` are sizes and notes."""
    kind.entries.sort(key=lambda entry: (entry.operations or entry.size, entry.size, entry.name, entry.digest))
    kind.steps.sort()
    smallest = failure_in(kind, kind.smallest)
    kind.message = smallest.message
    tried = [entry for entry in kind.entries if entry.digest in reproducers]
    known = [entry.digest for entry in tried if entry.reproduced is failure_in(kind, entry)]
    programs = [(reproducers[digest][0], digest) for digest in known if reproducers[digest][0] >= 0]
    if programs:
        kind.reproducer_size, kind.reproducer = min(programs)
        content, _ = results.reproducer(kind.reproducer) or (None, "")
        kind.reproducer_operations = operations_in(content or b"")
    if known:
        kind.note = reproducers[kind.reproducer or known[0]][1]
    elif len(tried) == kind.count and all(
        entry.kind == "kernels" and not failure_in(kind, entry).is_of_launch for entry in tried
    ):
        kind.note = of_module(smallest.step)


def of_module(step: str) -> str:
    """Why the failure of a Python module has no reproducer."""
    return f"a Python module, which is not reduced: it fails in '{step}', not in a kernel that it launched"


def _suspects(entries: list[SweepEntry], item: Callable[[str], SweepInput]) -> dict[tuple[str, str], str]:
    """What is to blame for results that differ, by item and step."""
    failing: dict[str, list[SweepEntry]] = {}
    for entry in entries:
        for failure in entry.failures:
            if reason_of(failure.cause) == DIFFERENT:
                failing.setdefault(failure.step, []).append(entry)
    found: dict[tuple[str, str], str] = {}

    @cache
    def features(digest: str) -> frozenset[str]:
        return features_of_item(item(digest))

    for step, failed in failing.items():
        # By digest, which has nothing to do with what is in a program: the same ones each time, and no special ones.
        chosen = sorted([entry.digest for entry in failed])[:_MOST_FAILING]
        all_passed = sorted([entry.digest for entry in entries if (step, "passed") in entry.steps])
        passed = all_passed[:_MOST_PASSING]
        scale = len(all_passed) / len(passed) * len(chosen) / len(failed) if passed else 1.0
        suspects = blamed({digest: features(digest) for digest in chosen}, list(map(features, passed)), scale)
        # Those that were not read have the suspect of the kind that most have, if there is one alone.
        named = set(suspects.values())
        other = named.pop() if len(named) == 1 else ""
        for entry in failed:
            found[entry.digest, step] = suspects.get(entry.digest, other)
    return found
