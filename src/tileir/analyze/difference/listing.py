"""The lines of two programs in rows, matched lines beside each other; and rows as text: side by side, or unified."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

from tileir.analyze.difference.changes import ProgramChange
from tileir.analyze.difference.programs import MatchedPrograms, stated_location
from tileir.analyze.runs import in_order
from tileir.ir.core import Operation
from tileir.ir.quoting import harmless
from tileir.ir.traversal import is_function
from tileir.text.listing import PrintedLines, printed_lines

Mark = Literal["same", "changed", "removed", "added", "moved away", "moved here"]
_WORD: Final = re.compile(r"[%@#^]?[\w$.]+|\s+|->|.", re.DOTALL)
_MOST_WORDS: Final = 5_000
"""Longer lines, as with a large constant, get no marks of single words."""


class Row(NamedTuple):
    """A line of each program, or of one of them; lines are counted from 0.

    The `sign` between two columns: `|` changed, `<` removed, `>` added; of what was moved, `^` or `v` points to where
    it is in the other program.
    """

    mark: Mark
    sign: str
    left: str | None
    right: str | None
    left_number: int
    right_number: int


class Listing:
    """Both programs as rows."""

    def __init__(self, programs: MatchedPrograms, changes: list[ProgramChange]) -> None:
        self._programs: MatchedPrograms = programs
        self._left: PrintedLines = printed_lines(programs.left, programs.shown[0])
        self._right: PrintedLines = printed_lines(programs.right, programs.shown[1])
        if programs.count_locations:
            _locate(self._left)
            _locate(self._right)
        self._moved: set[Operation] = {each.operation for each in changes if each.kind == "moved"}
        self._changed: set[Operation] = {each.operation for each in changes if each.kind in ("changed", "renamed")}
        self.rows: list[Row] = self._rows()

    def _anchors(self) -> list[tuple[int, int]]:
        """The lines that go together, in order."""
        mine: dict[Operation, Operation] = {}
        theirs: dict[Operation, Operation] = {}
        for operation in self._programs.left.walk():
            partner = self._programs.partner(operation)
            # What is in something that was moved is shown where it was, and where it is.
            is_at_hand = operation is self._programs.left or operation.parent_operation in mine
            if partner is not None and operation not in self._moved and is_at_hand:
                mine[operation] = theirs[partner] = operation
        return in_order(_line_keys(self._left, mine), _line_keys(self._right, theirs))

    def _rows(self) -> list[Row]:
        left, right = self._left.lines, self._right.lines
        rows: list[Row] = []
        here = there = 0
        for line, other in [*self._anchors(), (len(left), len(right))]:
            for number in range(here, line):
                mark, sign = self._single(number, self._left, self._right, there, ("removed", "<", "moved away"))
                rows.append(Row(mark, sign, left[number], None, number, there))
            for number in range(there, other):
                mark, sign = self._single(number, self._right, self._left, line, ("added", ">", "moved here"))
                rows.append(Row(mark, sign, None, right[number], line, number))
            if line < len(left) and other < len(right):
                starts = self._left.operations[line][:1]
                is_start = bool(starts) and self._left.starts.get(starts[0]) == line
                changed = is_start and starts[0] in self._changed
                # Users of what was renamed have not changed, but read differently; a module may have no name at all.
                reads_differently = starts != [self._programs.left] and left[line] != right[other]
                changed |= self._programs.count_names and reads_differently
                mark, sign = ("changed", "|") if changed else ("same", " ")
                rows.append(Row(mark, sign, left[line], right[other], line, other))
            here, there = line + 1, other + 1
        return rows

    def _single(
        self, number: int, mine: PrintedLines, others: PrintedLines, passed: int, words: tuple[Mark, str, Mark]
    ) -> tuple[Mark, str]:
        """The mark and the sign of a line that has none beside it; so many lines of the other program came before."""
        operations = mine.operations[number]
        partner = self._programs.partner(operations[0]) if operations else None
        if partner is None:
            return words[:2]
        return words[2], "^" if others.starts.get(partner, passed) < passed else "v"

    def line(self, operation: Operation) -> str:
        """The line at which an operation of either program begins."""
        place = self.place(operation)
        return place["text"] if place is not None else operation.declaration.mnemonic

    def place(self, operation: Operation | None) -> dict[str, Any] | None:
        """The line at which an operation of either program begins, counted from 1, and its text."""
        for placed in (self._left, self._right):
            number = placed.starts.get(operation) if operation is not None else None
            if number is not None:
                return {"line": number + 1, "text": placed.lines[number].strip()}
        return None

    def function_of(self, row: Row) -> str:
        """The function that a row is in, as `entry @name`."""
        placed, number = (self._left, row.left_number) if row.left is not None else (self._right, row.right_number)
        around: Operation | None = next(iter(placed.operations[number]), None) if number < len(placed.lines) else None
        while around is not None:
            if is_function(around):
                return f"{around.declaration.mnemonic} @{around.symbol_name}"
            around = around.parent_operation
        return ""


def _line_keys(placed: PrintedLines, shown: Mapping[Operation, Operation]) -> list[object]:
    """For each line its operation in the first program, and its number among those lines; other lines have no equal."""
    counts: Counter[Operation] = Counter()
    keys: list[object] = []
    for number, operations in enumerate(placed.operations):
        owner = shown.get(operations[0]) if operations else None
        if owner is not None:
            counts[owner] += 1
        keys.append((placed, number) if owner is None else (owner, counts[owner]))
    return keys


def _locate(placed: PrintedLines) -> None:
    """Put the locations that the program states after its lines."""
    for operation, line in placed.starts.items():
        location = stated_location(operation.location)
        if location:
            placed.lines[line] += f" loc({location})"


MarkedText = tuple[str, bool]
"""A part of a line, and whether it is different from the other line."""


def marked_words(left: str, right: str) -> tuple[list[MarkedText], list[MarkedText]]:
    """The parts of two lines, marked if the other line lacks them."""
    words, others = _WORD.findall(left), _WORD.findall(right)
    if len(words) > _MOST_WORDS or len(others) > _MOST_WORDS:
        return [(left, True)], [(right, True)]
    pairs = in_order([word.strip() for word in words], [word.strip() for word in others])
    return _marked_parts(words, {place for place, _ in pairs}), _marked_parts(others, {place for _, place in pairs})


def _marked_parts(words: list[str], common: set[int]) -> list[MarkedText]:
    differs = [place not in common for place in range(len(words))]
    for place, word in enumerate(words):
        if not word.strip():
            # A space differs only between two differing words.
            differs[place] = 0 < place < len(words) - 1 and differs[place - 1] and differs[place + 1]
    return [
        ("".join([word for word, _ in together]), differ)
        for differ, together in groupby(zip(words, differs, strict=True), itemgetter(1))
    ]


# Nothing of a program reaches a terminal as it is: characters that a terminal would obey are escaped first.

_PLAIN: Final = "\033[0m"
_COLORS: Final[dict[Mark, str]] = {
    "changed": "\033[33m",
    "removed": "\033[31m",
    "added": "\033[32m",
    "moved away": "\033[36m",
    "moved here": "\033[36m",
}
_REVERSE: Final = "\033[7m"
"""For differing words, besides the color of their line."""
_LEAST_WIDTH: Final = 40


def _line_text(parts: list[MarkedText], mark: Mark, color: bool) -> str:
    """A line, in the color of its mark and with differing words in reverse if there are colors."""
    if not color or mark == "same":
        return "".join([text for text, _ in parts])
    # Each line ends its colors, so that a pager may begin with any.
    joined = [("".join([text for text, _ in each]), differs) for differs, each in groupby(parts, itemgetter(1))]
    return "".join([f"{_COLORS[mark]}{_REVERSE if differs else ''}{text}{_PLAIN}" for text, differs in joined])


def _bold(text: str, color: bool) -> str:
    return f"\033[1m{text}{_PLAIN}" if color and text else text


def hunks(rows: list[Row], context: int | None) -> Iterator[list[Row]]:
    """Rows that are different, with so many around them; None: all rows at once, if one is different."""
    around = len(rows) if context is None else context
    start = end = 0
    for place, row in enumerate(rows):
        if row.mark != "same":
            if place - around > end:
                if end:
                    yield rows[start:end]
                start = place - around
            end = place + around + 1
    if end:
        yield rows[start:end]


def _row_parts(row: Row) -> tuple[list[MarkedText], list[MarkedText]]:
    left, right = harmless(row.left or ""), harmless(row.right or "")
    return marked_words(left, right) if row.mark == "changed" else ([(left, False)], [(right, False)])


def side_by_side(listing: Listing, titles: tuple[str, str], width: int, color: bool, context: int | None) -> str:
    """Two columns with the signs of the rows between them."""
    column = max((width - 3) // 2, _LEAST_WIDTH // 2)
    left, right = [_cut(harmless(title), column) for title in titles]
    lines = [f"{_bold(left, color)}{' ' * (column - len(left))}   {_bold(right, color)}".rstrip()]
    for number, hunk in enumerate(hunks(listing.rows, context)):
        if number:
            lines.append(_bold("-" * (2 * column + 3), color))
        for row in hunk:
            lines.extend(_beside(row, column, color))
    return "".join([f"{line}\n" for line in lines]) if len(lines) > 1 else ""


def _beside(row: Row, column: int, color: bool) -> list[str]:
    lines: list[str] = []
    sign = row.sign
    for mine, theirs in zip_longest(*[_wrapped(parts, column) for parts in _row_parts(row)], fillvalue=[]):
        blank = " " * (column - sum([len(text) for text, _ in mine]))
        left, right = [_line_text(parts, row.mark, color) for parts in (mine, theirs)]
        lines.append(f"{left}{blank} {sign} {right}".rstrip(" "))
        sign = " "
    return lines


def _wrapped(parts: list[MarkedText], column: int) -> list[list[MarkedText]]:
    """A line in as many as it needs; those that follow are indented as the first, and a little more."""
    whole = "".join([text for text, _ in parts])
    indent = min(len(whole) - len(whole.lstrip(" ")) + 4, column // 2)
    differs = [differ for text, differ in parts for _ in text]
    rows = textwrap.wrap(whole, column, subsequent_indent=" " * indent, expand_tabs=False, break_on_hyphens=False)
    lines: list[list[MarkedText]] = []
    end = 0
    for number, row in enumerate(rows):
        line: list[MarkedText] = [(" " * indent, False)] if number else []
        text = row[indent:] if number else row
        # Blanks at the end of a line are in none.
        start = whole.index(text, end)
        end = start + len(text)
        line += [(character, differs[place]) for place, character in enumerate(whole[start:end], start)]
        lines.append(line)
    return lines or [[]]


def _cut(text: str, column: int) -> str:
    return text if len(text) <= column else f"{text[: column - 3]}..."


_PREFIXES: Final[dict[Mark, str]] = {"removed": "-", "added": "+", "moved away": "-", "moved here": "+"}


def unified(listing: Listing, titles: tuple[str, str], color: bool, context: int | None) -> str:
    """The form that `diff -u` writes, of the programs as they are printed."""
    lines = [_bold(f"--- {harmless(titles[0])}", color), _bold(f"+++ {harmless(titles[1])}", color)]
    for hunk in hunks(listing.rows, context):
        mine = sum([row.left is not None for row in hunk])
        theirs = sum([row.right is not None for row in hunk])
        first, second = hunk[0].left_number + 1, hunk[0].right_number + 1
        function = next((name for name in [listing.function_of(row) for row in hunk] if name), "")
        head = f"@@ -{first},{mine} +{second},{theirs} @@ {harmless(function)}".rstrip()
        lines.append(f"\033[36m{head}{_PLAIN}" if color else head)
        lines.extend(_below(hunk, color))
    return "".join([f"{line}\n" for line in lines]) if len(lines) > 2 else ""


def _below(hunk: list[Row], color: bool) -> Iterator[str]:
    # In consecutive changed rows, all lines of one program come first.
    for mark, together in groupby(hunk, lambda row: row.mark):
        waiting: list[str] = []
        for row in together:
            left, right = _row_parts(row)
            if mark == "same":
                yield f" {left[0][0]}"
            elif mark == "changed":
                yield _line_text([("-", False), *left], "removed", color)
                waiting.append(_line_text([("+", False), *right], "added", color))
            else:
                yield _line_text([(_PREFIXES[mark], False), *(left if row.left is not None else right)], mark, color)
        yield from waiting
