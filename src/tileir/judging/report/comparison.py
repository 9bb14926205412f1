"""What is better and what is worse than in an older file of results: the question of a nightly run.

Programs are compared by their names: one that was changed is still the same program.  Kinds of failures are compared
by step, outcome and cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tileir.judging.model import FINE
from tileir.judging.report.contents import Contents, FailureKind, SweepEntry, counted
from tileir.judging.report.documents import cluster_object
from tileir.judging.report.tables import Column, Table, table
from tileir.judging.report.text import Paint, plain, steps_of

_KIND_COLUMNS = (
    Column("programs", is_number=True),
    Column("step"),
    Column("outcome"),
    Column("cause", least=24, cut_at_end=True),
    Column("smallest", least=12),
)
_CHANGE_COLUMNS = (
    Column("program", least=12),
    Column("before", least=12, cut_at_end=True),
    Column("now", least=20, cut_at_end=True),
)


@dataclass(slots=True)
class SweepChange:
    """A program whose verdict is another one."""

    name: str
    before: SweepEntry
    after: SweepEntry


@dataclass(slots=True)
class SweepComparison:
    """What is different between two sweeps; made by `SweepReport.compare`."""

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
        text = f"{len(self.broken):,} broken, {len(self.fixed):,} fixed, {len(self.changed):,} fail otherwise"
        text += f", {counted(len(self.new_kinds), 'new kind')} of failures, {len(self.gone_kinds):,} gone"
        more = f", {counted(self.added, 'program')} more, {self.removed:,} fewer"
        return text + (more if self.added or self.removed else "")

    @property
    def changes(self) -> dict[str, list[SweepChange]]:
        return {"broken": self.broken, "fixed": self.fixed, "changed": self.changed}


def compared(old: Contents, new: Contents) -> SweepComparison:
    """What became of the programs of an older file, and of its kinds of failures."""
    found = SweepComparison(has_other_plan=old.plan != new.plan)
    before = {name: entry for entry in old.programs for name in entry.names}
    after = {name: entry for entry in new.programs for name in entry.names}
    for name, entry in after.items():
        was = before.get(name)
        if was is None:
            found.added += 1
        elif (was.outcome in FINE) != (entry.outcome in FINE):
            (found.broken if was.outcome in FINE else found.fixed).append(SweepChange(name, was, entry))
        elif _ways(was) != _ways(entry):
            found.changed.append(SweepChange(name, was, entry))
        else:
            found.same += 1
    found.removed = len(before.keys() - after.keys())
    known, shown = _kinds(old), _kinds(new)
    found.new_kinds = [kind for way, kind in shown.items() if way not in known]
    found.gone_kinds = [kind for way, kind in known.items() if way not in shown]
    return found


def _ways(entry: SweepEntry) -> set[tuple[str, str, str]]:
    return {(failure.step, failure.outcome, failure.cause) for failure in entry.failures}


def _kinds(contents: Contents) -> dict[tuple[str, str, str], FailureKind]:
    """The first of each kind; which operation is suspect is found by chance, too."""
    found: dict[tuple[str, str, str], FailureKind] = {}
    for kind in contents.kinds:
        found.setdefault((kind.verb, kind.outcome, kind.cause), kind)
    return found


# --- the comparison as text, JSON and Markdown ---


def _tables(found: SweepComparison) -> list[Table]:
    def of_kinds(title: str, kinds: list[FailureKind]) -> Table:
        rows = [[f"{k.count:,}", steps_of(k), k.outcome, k.title, k.smallest.name] for k in kinds]
        return Table(title, _KIND_COLUMNS, rows)

    tables = [of_kinds("New kinds of failures", found.new_kinds)]
    tables.append(of_kinds("Kinds of failures that are gone", found.gone_kinds))
    for title, held in zip(("Broken", "Fixed", "Failing otherwise"), found.changes.values(), strict=True):
        changes = [[change.name, state_of(change.before), state_of(change.after)] for change in held]
        tables.append(Table(title, _CHANGE_COLUMNS, changes))
    return [each for each in tables if each.rows]


def changes_text(found: SweepComparison, most: int, width: int = 0, paint: Paint = plain) -> str:
    parts = [paint(found.summary, "failed" if found.is_worse else "passed")]
    if found.has_other_plan:
        parts.append("The two sweeps did not do the same: their plans are different.")
    for each in _tables(found):
        left = len(each.rows) - most
        rest = f"\nand {counted(left, 'other')}" if left > 0 else ""
        parts.append(f"{paint(each.title, 'title')}\n{table(each.columns, each.rows[:most], width)}{rest}")
    return "\n\n".join(parts)


def changes_object(found: SweepComparison) -> str:
    def plain_entry(entry: SweepEntry) -> dict[str, str]:
        return {name: getattr(entry, name) for name in ("digest", "outcome", "step", "cause")}

    plain_object = {
        "summary": found.summary,
        "worse": found.is_worse,
        "other_plan": found.has_other_plan,
        "new_kinds": [cluster_object(kind) for kind in found.new_kinds],
        "gone_kinds": [cluster_object(kind) for kind in found.gone_kinds],
        **change_objects(found, plain_entry),
        **{name: getattr(found, name) for name in ("added", "removed", "same")},
    }
    return json.dumps(plain_object, indent=1)


def change_objects(found: SweepComparison, of_entry: Callable[[SweepEntry], object]) -> dict[str, object]:
    """The programs whose verdicts are others, by how they changed."""
    return {
        name: [{"name": one.name, "before": of_entry(one.before), "now": of_entry(one.after)} for one in held]
        for name, held in found.changes.items()
    }


def markdown_changes(found: SweepComparison, most: int) -> str:
    lines = [f"**{'Worse' if found.is_worse else 'Not worse'}**: {found.summary}"]
    for each in _tables(found):
        lines += ["", f"**{each.title}**", "", *Table(each.title, each.columns, each.rows[:most]).markdown()]
    return "\n".join(lines)


def state_of(entry: SweepEntry) -> str:
    """`compare cpu: failed: results of cpu differ from interpreter`."""
    if not entry.failures:
        return entry.outcome
    failure = entry.failures[0]
    return ": ".join([part for part in (failure.step, failure.outcome, failure.cause) if part])
