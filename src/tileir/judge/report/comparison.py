"""What is better and what is worse than in an older file of results: the question of a nightly run.

Programs are compared by their names: one that was changed is still the same program.  Kinds of failures are compared
by step, outcome and cause.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tileir.judge.report.clusters import FailureKind
from tileir.judge.report.contents import Contents, counted
from tileir.judge.report.entries import FINE, SweepEntry


@dataclass(slots=True)
class SweepChange:
    """A program whose verdict is another one."""

    name: str
    before: SweepEntry
    after: SweepEntry


@dataclass(slots=True)
class SweepComparison:
    broken: list[SweepChange] = field(default_factory=list)
    """Passed before, fail now."""
    fixed: list[SweepChange] = field(default_factory=list)
    changed: list[SweepChange] = field(default_factory=list)
    """Failed before and fail now, otherwise."""
    new_kinds: list[FailureKind] = field(default_factory=list)
    gone_kinds: list[FailureKind] = field(default_factory=list)
    added: int = 0
    """Programs that the older file does not have."""
    removed: int = 0
    same: int = 0
    has_other_plan: bool = False

    @property
    def is_worse(self) -> bool:
        """Whether something fails that did not, or in a way that was not there."""
        return bool(self.broken or self.new_kinds)

    @property
    def summary(self) -> str:
        parts = [
            f"{len(self.broken):,} broken",
            f"{len(self.fixed):,} fixed",
            f"{len(self.changed):,} fail otherwise",
            counted(len(self.new_kinds), "new kind") + " of failures",
            f"{len(self.gone_kinds):,} gone",
        ]
        if self.added or self.removed:
            parts.append(f"{counted(self.added, 'program')} more, {self.removed:,} fewer")
        return ", ".join(parts)


def compared(old: Contents, new: Contents) -> SweepComparison:
    """What became of the programs of an older file, and of its kinds of failures."""
    found = SweepComparison(has_other_plan=old.plan != new.plan)
    before = {name: entry for entry in old.entries for name in entry.names}
    after = {name: entry for entry in new.entries for name in entry.names}
    for name, entry in after.items():
        was = before.get(name)
        if was is None:
            found.added += 1
        elif was.outcome in FINE and entry.outcome not in FINE:
            found.broken.append(SweepChange(name, was, entry))
        elif was.outcome not in FINE and entry.outcome in FINE:
            found.fixed.append(SweepChange(name, was, entry))
        elif _ways(was) != _ways(entry):
            found.changed.append(SweepChange(name, was, entry))
        else:
            found.same += 1
    found.removed = len(before.keys() - after.keys())
    known, shown = _kinds(old), _kinds(new)
    found.new_kinds = [cluster for kind, cluster in shown.items() if kind not in known]
    found.gone_kinds = [cluster for kind, cluster in known.items() if kind not in shown]
    return found


def _ways(entry: SweepEntry) -> set[tuple[str, str, str]]:
    return {(failure.step, failure.outcome, failure.cause) for failure in entry.failures}


def _kinds(contents: Contents) -> dict[tuple[str, str, str], FailureKind]:
    """One of each kind; which operation is suspect is found by chance, too."""
    found: dict[tuple[str, str, str], FailureKind] = {}
    for cluster in contents.clusters:
        found.setdefault((cluster.verb, cluster.outcome, cluster.cause), cluster)
    return found
