"""Tables, for a terminal (columns as wide as they need to be, truncated where it ends) and for Markdown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tileir.ir.quoting import harmless

_GAP = "  "


@dataclass(slots=True, frozen=True)
class Column:
    title: str
    is_number: bool = False
    least: int = 0
    """How narrow it may become where the table is too wide; 0 if it is not truncated.  The middle is left out,
    so that both a directory and a name are seen."""
    most: int = 0
    """How wide it is at most where the table is too wide, before others are truncated."""
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
    """Rows below the titles of columns, no wider than `width` where columns may be truncated; 0 is any width."""
    titles = [column.title for column in columns]
    shown = [[harmless(cell) for cell in row] for row in rows]
    widths = [max(map(columns_of, cells)) for cells in zip(titles, *shown, strict=True)]
    _narrow(columns, widths, width)
    head = [_line(columns, widths, titles, None), _GAP.join(["-" * each for each in widths])]
    return "\n".join([*head, *[_line(columns, widths, row, paint) for row in shown]])


def shortened(text: str, width: int, *, at_end: bool = False) -> str:
    """A text of at most so many columns of a terminal; what is left out of it is its middle, or its end."""
    if columns_of(text) <= width:
        return text
    mark = ".." if at_end else "..."
    room = width - len(mark)
    if room <= 0:
        return mark[:width]
    head = room if at_end else room // 3
    return _taken(text, head) + mark + _taken(text[::-1], room - head)[::-1]


def columns_of(text: str) -> int:
    """How many columns a text takes: those of East Asia are wide, marks above others take none."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _taken(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    return text[: sum([end <= width for end in accumulate(map(_width, text))])]


def _narrow(columns: Sequence[Column], widths: list[int], width: int) -> None:
    """Narrow the widest of the columns that may be truncated until the table fits."""
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width if width else 0
    for number, column in enumerate(columns):
        if column.most and excess > 0:
            less = min(excess, max(0, widths[number] - column.most))
            widths[number] -= less
            excess -= less
    while excess > 0:
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
