"""A report in words, for a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tileir.ir.quoting import harmless
from tileir.judge.report.contents import Contents, FailureKind, counted, summary_of
from tileir.judge.report.entries import SweepEntry
from tileir.judge.report.tables import Column, Table, shortened, table
from tileir.judge.verdicts.verdict import OUTCOMES

Paint = Callable[[str, str], str]
"""A text in the color of an outcome, or in bold for `title`."""

_MESSAGE_LINES = 6
_INDENT = "    "
_KIND_COLUMNS = (
    Column("kind"),
    Column("count", is_number=True),
    Column("step", least=8, most=18),
    Column("outcome"),
    Column("cause", least=16, cut_at_end=True),
    Column("smallest", least=10, most=26),
    Column("size", is_number=True),
    Column("reduced", is_number=True),
)


def plain(text: str, _: str) -> str:
    return text


@dataclass(slots=True)
class TextReport:
    """The report for a terminal of some width; 0 is any width.  At most `most` kinds of failures are described."""

    contents: Contents
    width: int = 0
    paint: Paint = plain
    most: int = 20
    measured: bool = True

    def render(self) -> str:
        contents, most = self.contents, self.most
        parts = [self._summary()]
        if contents.clusters:
            parts.append(self._shown(kinds_table(contents, most)))
            parts += [self._message(cluster) for cluster in contents.clusters[:most]]
        left = len(contents.clusters) - most
        if left > 0:
            parts.append(f"and {counted(left, 'more kind')} (--limit {len(contents.clusters)} shows all)")
        tables = [kernels_table(contents, most), steps_table(contents)]
        if self.measured:
            slowest = [(entry, f"{entry.seconds:.2f}") for entry in contents.slowest() if entry.seconds > 0]
            largest = [(entry, f"{entry.peak / (1 << 20):,.0f}") for entry in contents.largest()]
            tables += [_listed("Slowest", "seconds", slowest), _listed("Most memory", "MiB", largest)]
        return "\n\n".join([*parts, *[self._shown(each) for each in tables if each.rows]])

    def _summary(self) -> str:
        contents = self.contents
        text = harmless(f"{os.path.basename(contents.path)}: {summary_of(contents)}")
        again = contents.names - len(contents.entries)
        return self.paint(text, "title") + (f"\n{again:,} more had the same contents as another" if again else "")

    def _message(self, cluster: FailureKind) -> str:
        """What is said of the smallest program."""
        head = f"{cluster.key}  {harmless(cluster.smallest.name)}, {steps_of(cluster)}"
        lines = [self.paint(harmless(shortened(head, self.width or len(head))), cluster.outcome)]
        message = (cluster.message or cluster.cause).splitlines()
        for line in message[:_MESSAGE_LINES]:
            shown = harmless(line.expandtabs())
            room = max(20, self.width - len(_INDENT)) if self.width else len(shown)
            lines.append((_INDENT + shortened(shown, room, at_end=True)).rstrip())
        if len(message) > _MESSAGE_LINES:
            lines.append(f"{_INDENT}and {counted(len(message) - _MESSAGE_LINES, 'more line')}")
        if cluster.note:
            lines.append(_INDENT + harmless(cluster.note))
        return "\n".join(lines)

    def _shown(self, shown: Table) -> str:
        def paint(text: str, column: int, cell: str) -> str:
            is_outcome = shown.columns[column].title in ("outcome", "verdict") and cell in OUTCOMES
            return self.paint(text, cell) if is_outcome else text

        return f"{self.paint(shown.title, 'title')}\n{table(shown.columns, shown.rows, self.width, paint)}"


def kinds_table(contents: Contents, most: int) -> Table:
    rows = [
        [
            *[cluster.key, f"{cluster.count:,}", steps_of(cluster), cluster.outcome, cluster.title],
            *[cluster.smallest.name, cluster.smallest.extent, cluster.reduced or "-"],
        ]
        for cluster in contents.clusters[:most]
    ]
    return Table("Kinds of failures", _KIND_COLUMNS, rows)


def kernels_table(contents: Contents, most: int) -> Table:
    """The modules of kernels, and how many times as fast as its baseline each is, by the steps that measure it."""
    steps = list(dict.fromkeys([speed.step for entry in contents.kernels for speed in entry.speeds]))
    rows = []
    for entry in contents.kernels[:most]:
        known = {speed.step: f"{speed.ratio:.2f}x" for speed in entry.speeds}
        rows.append([entry.name, entry.outcome, *[known.get(step, "-") for step in steps]])
    columns = [Column("kernels", least=12), Column("verdict"), *[Column(step, is_number=True) for step in steps]]
    return Table("Kernels", columns, rows)


def steps_table(contents: Contents) -> Table:
    steps = contents.steps
    shown = [outcome for outcome in OUTCOMES if any(step.outcomes[outcome] for step in steps)]
    rows = [
        [step.name, *[f"{step.outcomes[each]:,}" if step.outcomes[each] else "-" for each in shown]] for step in steps
    ]
    return Table("Steps", [Column("step", least=12), *[Column(outcome, is_number=True) for outcome in shown]], rows)


def _listed(title: str, unit: str, rows: Sequence[tuple[SweepEntry, str]]) -> Table:
    columns = [Column(unit, is_number=True), Column("outcome"), Column("program", least=12)]
    return Table(title, columns, [[value, entry.outcome, entry.name] for entry, value in rows])


def steps_of(cluster: FailureKind) -> str:
    """`compile sm_90, sm_100`."""
    found: dict[str, list[str]] = {}
    for step in cluster.steps:
        verb, _, about = step.partition(" ")
        found.setdefault(verb or "start", []).append(about)
    return "; ".join([f"{verb} {', '.join(filter(None, abouts))}".rstrip() for verb, abouts in found.items()])
