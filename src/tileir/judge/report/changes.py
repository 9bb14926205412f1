"""What is better and worse, in words, JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tileir.judge.report.clusters import FailureKind
from tileir.judge.report.columns import Column, table
from tileir.judge.report.comparison import SweepChange, SweepComparison
from tileir.judge.report.contents import counted
from tileir.judge.report.documents import cluster_object, markdown_row
from tileir.judge.report.entries import SweepEntry
from tileir.judge.report.text import Paint, plain, steps_of

_CHANGES = (("Broken", "broken"), ("Fixed", "fixed"), ("Failing otherwise", "changed"))
_COLUMNS = (
    Column("program", least=12),
    Column("before", least=12, cut_at_end=True),
    Column("now", least=20, cut_at_end=True),
)


def changes_text(found: SweepComparison, most: int, width: int = 0, paint: Paint = plain) -> str:
    parts = [paint(found.summary, "failed" if found.is_worse else "passed")]
    if found.has_other_plan:
        parts.append("The two sweeps did not do the same: their plans are different.")
    kinds = (("New kinds of failures", found.new_kinds), ("Kinds of failures that are gone", found.gone_kinds))
    for title, clusters in kinds:
        if clusters:
            columns = [Column("programs", is_number=True), Column("step"), Column("outcome")]
            columns += [Column("cause", least=24, cut_at_end=True), Column("smallest", least=12)]
            rows = [_kind_cells(cluster) for cluster in clusters[:most]]
            parts.append(f"{paint(title, 'title')}\n{table(columns, rows, width)}{_rest(clusters, most)}")
    for title, name in _CHANGES:
        changes: list[SweepChange] = getattr(found, name)
        if changes:
            rows = [[change.name, words_for(change.before), words_for(change.after)] for change in changes[:most]]
            parts.append(f"{paint(title, 'title')}\n{table(_COLUMNS, rows, width)}{_rest(changes, most)}")
    return "\n\n".join(parts)


def changes_object(found: SweepComparison) -> str:
    return json.dumps(
        {
            "summary": found.summary,
            "worse": found.is_worse,
            "other_plan": found.has_other_plan,
            "new_kinds": [cluster_object(cluster) for cluster in found.new_kinds],
            "gone_kinds": [cluster_object(cluster) for cluster in found.gone_kinds],
            **{
                name: [
                    {"name": change.name, "before": _object(change.before), "now": _object(change.after)}
                    for change in getattr(found, name)
                ]
                for _, name in _CHANGES
            },
            "added": found.added,
            "removed": found.removed,
            "same": found.same,
        },
        indent=1,
    )


def markdown_changes(found: SweepComparison, most: int) -> str:
    lines = [f"**{'Worse' if found.is_worse else 'Not worse'}**: {found.summary}"]
    for title, clusters in (("New kinds of failures", found.new_kinds), ("Gone", found.gone_kinds)):
        if clusters:
            lines += ["", f"| {title}: programs | step | outcome | cause | smallest |", "|--:|---|---|---|---|"]
            lines += [markdown_row(_kind_cells(cluster)) for cluster in clusters[:most]]
    for title, name in _CHANGES:
        changes: list[SweepChange] = getattr(found, name)
        if changes:
            lines += ["", f"| {title} | before | now |", "|---|---|---|"]
            lines += [markdown_row([c.name, words_for(c.before), words_for(c.after)]) for c in changes[:most]]
    return "\n".join(lines)


def words_for(entry: SweepEntry) -> str:
    """`compare cpu: failed: results of cpu differ from interpreter`."""
    if not entry.failures:
        return entry.outcome
    failure = entry.failures[0]
    parts = [failure.step, failure.outcome, failure.cause]
    return ": ".join([part for part in parts if part])


def _kind_cells(cluster: FailureKind) -> list[str]:
    name, outcome = cluster.smallest.name, cluster.outcome
    return [f"{cluster.count:,}", steps_of(cluster), outcome, cluster.title, name]


def _object(entry: SweepEntry) -> dict[str, str]:
    return {"digest": entry.digest, "outcome": entry.outcome, "step": entry.step, "cause": entry.cause}


def _rest(things: Sequence[object], most: int) -> str:
    return f"\nand {counted(len(things) - most, 'other')}" if len(things) > most else ""
