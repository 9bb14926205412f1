"""A report in words, for a terminal; and tables, for a terminal (columns as wide as they need to be, cut where it ends)
and for Markdown."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tileir.ir.quoting import harmless
from tileir.judge.report.contents import Contents, FailureKind, counted, summary_of
from tileir.judge.report.entries import SweepEntry
from tileir.judge.verdicts.verdict import OUTCOMES

_GAP = "  "


@dataclass(slots=True, frozen=True)
class Column:
    title: str
    is_number: bool = False
    least: int = 0
    """How narrow it may become where the table is too wide; 0 if it is not cut.  Cut in the middle, so that both a
    directory and a name are seen."""
    most: int = 0
    """How wide it is at most where the table is too wide, before others are cut."""
    cut_at_end: bool = False
    """Sentences are read from their beginning."""


_MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_{}[]<>()#+-.!|~&@:"}
_MARKS |= {ord(blank): " " for blank in "\n\r\t"}

Painter = Callable[[str, int, str], str]
"""Colors for a cell: its text as shown, the number of its column, and its whole text."""


@dataclass(slots=True)
class Table:
    """Rows below the titles of columns."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> list[str]:
        """Its lines, without the title."""
        rule = "|".join(["--:" if column.is_number else "---" for column in self.columns])
        return [markdown_row([c.title for c in self.columns]), f"|{rule}|", *[markdown_row(row) for row in self.rows]]


def markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join([markdown_text(cell) for cell in cells])} |"


def markdown_text(text: str) -> str:
    """A text that is nothing else in Markdown: no markup, no end of a cell, nobody's name, no address."""
    return harmless(text, keep="\n\r\t").translate(_MARKS)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, paint: Painter | None = None) -> str:
    """Rows below the titles of columns, no wider than `width` where columns may be cut; 0 is any width."""
    shown = [[harmless(cell) for cell in row] for row in rows]
    widths = [
        max([columns_of(column.title), *[columns_of(row[number]) for row in shown]])
        for number, column in enumerate(columns)
    ]
    _narrow(columns, widths, width)
    lines = [
        _line(columns, widths, [column.title for column in columns], None),
        _GAP.join(["-" * each for each in widths]),
        *[_line(columns, widths, row, paint) for row in shown],
    ]
    return "\n".join(lines)


def shortened(text: str, width: int, *, at_end: bool = False) -> str:
    """A text of at most so many columns of a terminal; what is left out of it is its middle, or its end."""
    if columns_of(text) <= width:
        return text
    mark = ".." if at_end else "..."
    room = width - len(mark)
    if room <= 0:
        return mark[:width]
    if at_end:
        return _taken(text, room) + mark
    head = room // 3
    return _taken(text, head) + mark + _taken(text[::-1], room - head)[::-1]


def columns_of(text: str) -> int:
    """How many columns a text takes: those of East Asia are wide, marks above others take none."""
    if text.isascii():
        return len(text)
    return sum([_width(character) for character in text])


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _taken(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:place]
    return text


def _narrow(columns: Sequence[Column], widths: list[int], width: int) -> None:
    """Take what is too much from the widest of the columns that may be cut."""
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for number, column in enumerate(columns):
        if column.most and width and excess > 0:
            less = min(excess, max(0, widths[number] - column.most))
            widths[number] -= less
            excess -= less
    while width and excess > 0:
        wide = [number for number, column in enumerate(columns) if column.least and widths[number] > column.least]
        if not wide:
            return
        # By one: columns that are as wide as each other stay so.
        widths[max(wide, key=lambda number: widths[number])] -= 1
        excess -= 1


def _line(columns: Sequence[Column], widths: list[int], cells: Sequence[str], paint: Painter | None) -> str:
    parts = []
    last = len(columns) - 1
    for number, (column, width, cell) in enumerate(zip(columns, widths, cells, strict=True)):
        text = shortened(cell, width, at_end=column.cut_at_end)
        blanks = " " * (width - columns_of(text))
        painted = paint(text, number, cell) if paint is not None else text
        # Nothing follows the last one.
        parts.append(blanks + painted if column.is_number else painted + ("" if number == last else blanks))
    return _GAP.join(parts).rstrip()


# --- the report ---

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
