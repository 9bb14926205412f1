"""Rows as text: side by side, as wide as a terminal, or one below the other.

Nothing of a program reaches a terminal as it is: characters that a terminal would obey are escaped first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from tileir.analyze.difference.listing import Listing, Mark, Piece, Row, marked_words
from tileir.ir.quoting import harmless

_PLAIN: Final = "\033[0m"
_COLOURS: Final[dict[Mark, str]] = {
    "changed": "\033[33m",
    "removed": "\033[31m",
    "added": "\033[32m",
    "moved away": "\033[36m",
    "moved here": "\033[36m",
}
_STRONG: Final = "\033[7m"
"""Of words that are different in a changed line, besides the colour of the line."""
_LEAST_WIDTH: Final = 40
_WORD: Final = re.compile(r" *[^ ]*")
"""What is not broken between two lines, with the spaces before it."""


class Style:
    """Colours, or none."""

    def __init__(self, color: bool) -> None:
        self.color: bool = color

    def line(self, pieces: list[Piece], mark: Mark) -> str:
        """A line in the colour of its mark, its differing words stressed."""
        if not self.color or mark == "same":
            return "".join([text for text, _ in pieces])
        colour = _COLOURS[mark]
        # Each line ends its colours, so that a pager may begin with any.
        parts: list[str] = []
        for differs, together in groupby(pieces, lambda piece: piece[1]):
            text = "".join([text for text, _ in together])
            parts.append(f"{colour}{_STRONG if differs else ''}{text}{_PLAIN}")
        return "".join(parts)

    def head(self, text: str) -> str:
        return f"\033[1m{text}{_PLAIN}" if self.color and text else text


def hunks(rows: list[Row], context: int | None) -> Iterator[list[Row]]:
    """Rows that are different, with so many around them; None: all rows at once, if one is different."""
    places = [place for place, row in enumerate(rows) if row.mark != "same"]
    if not places:
        return
    if context is None:
        yield rows
        return
    start, end = places[0] - context, places[0] + context + 1
    for place in places[1:]:
        if place - context > end:
            yield rows[max(start, 0) : end]
            start = place - context
        end = place + context + 1
    yield rows[max(start, 0) : end]


def _pieces(row: Row) -> tuple[list[Piece], list[Piece]]:
    left = harmless(row.left) if row.left is not None else ""
    right = harmless(row.right) if row.right is not None else ""
    if row.mark == "changed":
        return marked_words(left, right)
    return [(left, False)], [(right, False)]


# --- side by side ---


def side_by_side(listing: Listing, titles: tuple[str, str], width: int, color: bool, context: int | None) -> str:
    """Two columns with the signs of the rows between them."""
    column = max((width - 3) // 2, _LEAST_WIDTH // 2)
    style = Style(color)
    lines: list[str] = []
    for hunk in hunks(listing.rows, context):
        if lines:
            lines.append(style.head("-" * (2 * column + 3)))
        else:
            heads = [_cut(harmless(title), column) for title in titles]
            lines.append(f"{style.head(heads[0])}{' ' * (column - len(heads[0]))}   {style.head(heads[1])}".rstrip())
        for row in hunk:
            lines.extend(_beside(row, column, style))
    return "".join([f"{line}\n" for line in lines])


def _beside(row: Row, column: int, style: Style) -> list[str]:
    left, right = [_wrapped(pieces, column) for pieces in _pieces(row)]
    count = max(len(left), len(right))
    lines: list[str] = []
    for number in range(count):
        mine = left[number] if number < len(left) else []
        theirs = right[number] if number < len(right) else []
        length = sum([len(text) for text, _ in mine])
        sign = row.sign if number == 0 else " "
        text = f"{style.line(mine, row.mark)}{' ' * (column - length)} {sign} {style.line(theirs, row.mark)}"
        lines.append(text.rstrip(" "))
    return lines


def _wrapped(pieces: list[Piece], column: int) -> list[list[Piece]]:
    """A line in as many as it needs; those that follow are indented as the first, and a little more."""
    whole = "".join([text for text, _ in pieces])
    indent = min(len(whole) - len(whole.lstrip(" ")) + 4, column // 2)
    lines: list[list[Piece]] = [[]]
    room = column
    for text, differs in pieces:
        for word in _WORD.findall(text):
            if len(word) > room and room < column - indent:
                # A new line, which does not begin with a space; a word that is longer than one goes over several.
                lines.append([(" " * indent, False)])
                room = column - indent
                word = word.lstrip(" ")
            while len(word) > room:
                lines[-1].append((word[:room], differs))
                word, room = word[room:], column - indent
                lines.append([(" " * indent, False)])
            if word:
                lines[-1].append((word, differs))
                room -= len(word)
    return lines


def _cut(text: str, column: int) -> str:
    return text if len(text) <= column else f"{text[: column - 3]}..."


# --- one below the other ---

_PREFIXES: Final[dict[Mark, str]] = {"removed": "-", "added": "+", "moved away": "-", "moved here": "+"}


def unified(listing: Listing, titles: tuple[str, str], color: bool, context: int | None) -> str:
    """The form that `diff -u` writes, of the programs as they are printed."""
    style = Style(color)
    lines: list[str] = []
    for hunk in hunks(listing.rows, context):
        if not lines:
            lines += [style.head(f"--- {harmless(titles[0])}"), style.head(f"+++ {harmless(titles[1])}")]
        mine = sum([1 for row in hunk if row.left is not None])
        theirs = sum([1 for row in hunk if row.right is not None])
        first, second = hunk[0].left_number + 1, hunk[0].right_number + 1
        function = next((name for name in [listing.function_of(row) for row in hunk] if name), "")
        head = f"@@ -{first},{mine} +{second},{theirs} @@ {harmless(function)}".rstrip()
        lines.append(f"\033[36m{head}{_PLAIN}" if color else head)
        lines.extend(_below(hunk, style))
    return "".join([f"{line}\n" for line in lines])


def _below(hunk: list[Row], style: Style) -> Iterator[str]:
    # Of rows that are changed one after the other, all lines of one program come first.
    waiting: list[str] = []
    for row in hunk:
        left, right = _pieces(row)
        if row.mark == "changed":
            yield style.line([("-", False), *left], "removed")
            waiting.append(style.line([("+", False), *right], "added"))
            continue
        yield from waiting
        waiting = []
        if row.mark == "same":
            yield f" {left[0][0]}"
        else:
            yield style.line([(_PREFIXES[row.mark], False), *(left if row.left is not None else right)], row.mark)
    yield from waiting
