"""A report as text, for a terminal."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from tileir.ir.quoting import harmless
from tileir.judging.model import OUTCOMES
from tileir.judging.report.contents import Contents, FailureKind, SweepEntry, counted
from tileir.judging.report.tables import Column, Table, shortened, table

if TYPE_CHECKING:
    from tileir.judging.executor.scheduler import SweepProgress

Paint = Callable[[str, str], str]
"""A text in the color of an outcome, or in bold for `title`."""

_MESSAGE_LINES = 6
_MOST_LISTED = 5
_INDENT = "    "
_KIND_COLUMNS = (
    *(Column("kind"), Column("count", is_number=True), Column("step", least=8, most=18), Column("outcome")),
    *(Column("cause", least=16, cut_at_end=True), Column("smallest", least=10, most=26)),
    *(Column("size", is_number=True), Column("reduced", is_number=True)),
)


def plain(text: str, _: str) -> str:
    return text


def text_report(
    contents: Contents, width: int = 0, paint: Paint = plain, most: int = 20, *, measured: bool = True
) -> str:
    """The report for a terminal of some width; 0 is any width.  At most `most` kinds of failures are described."""
    kinds = contents.kinds
    parts = [paint(harmless(f"{os.path.basename(contents.path)}: {contents.summary}"), "title")]
    if contents.duplicates:
        parts[0] += f"\n{contents.duplicates:,} more had the same contents as another"
    if kinds:
        parts.append(_shown(kinds_table(contents, most), width, paint))
        parts += [_message(kind, width, paint) for kind in kinds[:most]]
    if len(kinds) > most:
        parts.append(f"and {counted(len(kinds) - most, 'more kind')} (--limit {len(kinds)} shows all)")
    tables = [kernels_table(contents, most), steps_table(contents)]
    if measured:
        tables.append(_listed("Slowest", "seconds", contents, lambda entry: entry.seconds, ".2f"))
        tables.append(_listed("Most memory", "MiB", contents, lambda entry: entry.peak / (1 << 20), ",.0f"))
    return "\n\n".join([*parts, *[_shown(each, width, paint) for each in tables if each.rows]])


def _message(kind: FailureKind, width: int, paint: Paint) -> str:
    """The findings of the smallest program."""
    head = f"{kind.key}  {harmless(kind.smallest.name)}, {steps_of(kind)}"
    lines = [paint(harmless(shortened(head, width or len(head))), kind.outcome)]
    message = (kind.message or kind.cause).splitlines()
    for line in message[:_MESSAGE_LINES]:
        shown = harmless(line.expandtabs())
        room = max(20, width - len(_INDENT)) if width else len(shown)
        lines.append((_INDENT + shortened(shown, room, at_end=True)).rstrip())
    if len(message) > _MESSAGE_LINES:
        lines.append(f"{_INDENT}and {counted(len(message) - _MESSAGE_LINES, 'more line')}")
    return "\n".join([*lines, *([_INDENT + harmless(kind.note)] if kind.note else [])])


def _shown(shown: Table, width: int, paint: Paint) -> str:
    def painter(text: str, column: int, cell: str) -> str:
        is_outcome = shown.columns[column].title in ("outcome", "verdict") and cell in OUTCOMES
        return paint(text, cell) if is_outcome else text

    return f"{paint(shown.title, 'title')}\n{table(shown.columns, shown.rows, width, painter)}"


def kinds_table(contents: Contents, most: int) -> Table:
    def row(kind: FailureKind) -> list[str]:
        about = [kind.key, f"{kind.count:,}", steps_of(kind), kind.outcome, kind.title]
        return [*about, kind.smallest.name, kind.smallest.extent, kind.reduced or "-"]

    return Table("Kinds of failures", _KIND_COLUMNS, list(map(row, contents.kinds[:most])))


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
    shown = [outcome for outcome in OUTCOMES if any(counts[outcome] for counts in steps.values())]
    rows = [[name, *[f"{counts[each]:,}" if counts[each] else "-" for each in shown]] for name, counts in steps.items()]
    return Table("Steps", [Column("step", least=12), *[Column(outcome, is_number=True) for outcome in shown]], rows)


def _listed(title: str, unit: str, contents: Contents, figure: Callable[[SweepEntry], float], form: str) -> Table:
    """The programs with the largest figures."""
    known = [entry for entry in contents.programs if figure(entry) > 0]
    largest = sorted(known, key=lambda entry: (-figure(entry), entry.name))[:_MOST_LISTED]
    columns = [Column(unit, is_number=True), Column("outcome"), Column("program", least=12)]
    return Table(title, columns, [[f"{figure(entry):{form}}", entry.outcome, entry.name] for entry in largest])


def steps_of(cluster: FailureKind) -> str:
    """`compile sm_90, sm_100`."""
    found: dict[str, list[str]] = {}
    for step in cluster.steps:
        verb, _, about = step.partition(" ")
        found.setdefault(verb or "start", []).append(about)
    return "; ".join([f"{verb} {', '.join(filter(None, abouts))}".rstrip() for verb, abouts in found.items()])


# --- a sweep that goes on ---


def progress_line(progress: SweepProgress) -> str:
    """`1,204 of 10,000: 1,190 passed, 9 failed, 5 timeout; 84 a second, 2 minutes left`"""
    total = f" of {progress.total:,}" if progress.total is not None else ""
    left = progress.seconds_left
    words = f"{progress.done:,}{total}: {_outcomes(progress) or 'none judged yet'}"
    if progress.judged:
        rate = progress.rate
        words += f"; {rate * 60:.1f} a minute" if rate < 1 else f"; {rate:.{0 if rate >= 10 else 1}f} a second"
    return words if left is None else f"{words}, {duration(left)} left"


def progress_summary(progress: SweepProgress) -> str:
    """`10,000 programs: 9,871 passed, 129 failed; 9,000 judged in 2 minutes, 1,000 known before, ..`"""
    words = f"{counted(progress.done, 'program')}: {_outcomes(progress) or 'nothing'}"
    parts = [f"{progress.judged:,} judged in {duration(progress.seconds)}"] if progress.judged else []
    parts += [f"{progress.known:,} judged before"] if progress.known else []
    parts += [f"{progress.duplicates:,} the same as another one"] if progress.duplicates else []
    parts += [f"{counted(progress.lost, 'chunk')} lost and judged again"] if progress.lost else []
    return f"{words}; {', '.join(parts)}" if parts else words


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _outcomes(progress: SweepProgress) -> str:
    order = sorted(progress.outcomes.items(), key=lambda each: (each[0] != "passed", -each[1], each[0]))
    return ", ".join([f"{count:,} {outcome}" for outcome, count in order if count])
