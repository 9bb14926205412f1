"""The lines of two programs in rows, matched lines beside each other; and rows as text: side by side, or unified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, Literal, NamedTuple

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
"""Of a line that is longer, as with a large constant, the differing words are not marked."""


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
        found: list[tuple[int, int]] = []
        closers, others = _closers(self._left), _closers(self._right)
        hidden: set[Operation] = set()
        for operation in self._programs.left.walk():
            parent = operation.parent_operation
            partner = self._programs.partner(operation)
            # What is in something that was moved is shown where it was, and where it is.
            if partner is None or operation in self._moved or parent in hidden:
                hidden.add(operation)
                continue
            start, there = self._left.starts.get(operation), self._right.starts.get(partner)
            if start is not None and there is not None:
                found.append((start, there))
            found += zip(closers.get(operation, ()), others.get(partner, ()), strict=False)
        found.sort()
        # Lines that would cross are those of programs that are nested in another way.
        kept: list[tuple[int, int]] = []
        for pair in found:
            if not kept or (pair[0] > kept[-1][0] and pair[1] > kept[-1][1]):
                kept.append(pair)
        return kept

    def _rows(self) -> list[Row]:
        left, right = self._left.lines, self._right.lines
        rows: list[Row] = []
        here = there = 0
        for line, other in [*self._anchors(), (len(left), len(right))]:
            while here < line:
                partner = self._partner(self._left.operations[here])
                place = self._right.starts.get(partner, there) if partner is not None else -1
                mark: Mark = "removed" if partner is None else "moved away"
                sign = "<" if partner is None else "^" if place < there else "v"
                rows.append(Row(mark, sign, left[here], None, here, there))
                here += 1
            while there < other:
                partner = self._partner(self._right.operations[there])
                place = self._left.starts.get(partner, here) if partner is not None else -1
                mark = "added" if partner is None else "moved here"
                sign = ">" if partner is None else "^" if place < here else "v"
                rows.append(Row(mark, sign, None, right[there], here, there))
                there += 1
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

    def _partner(self, operations: list[Operation]) -> Operation | None:
        return self._programs.partner(operations[0]) if operations else None

    def line(self, operation: Operation) -> str:
        """The line at which an operation of either program begins."""
        for placed in (self._left, self._right):
            number = placed.starts.get(operation)
            if number is not None:
                return placed.lines[number].strip()
        return operation.declaration.mnemonic

    def lines_of(self, change: ProgramChange) -> tuple[dict[str, object] | None, dict[str, object] | None]:
        """The lines at which an operation begins on either side, counted from 1, and what they say."""
        return _line(self._left, change.left), _line(self._right, change.right)

    def function_of(self, row: Row) -> str:
        """The function that a row is in, as `entry @name`."""
        placed, number = (self._left, row.left_number) if row.left is not None else (self._right, row.right_number)
        around: Operation | None = next(iter(placed.operations[number]), None) if number < len(placed.lines) else None
        while around is not None:
            if is_function(around):
                return f"{around.declaration.mnemonic} @{around.symbol_name}"
            around = around.parent_operation
        return ""


def _line(placed: PrintedLines, operation: Operation | None) -> dict[str, object] | None:
    number = placed.starts.get(operation) if operation is not None else None
    return None if number is None else {"line": number + 1, "text": placed.lines[number].strip()}


def _closers(placed: PrintedLines) -> dict[Operation, list[int]]:
    """The lines that an operation has besides its first: what closes its regions or stands between them."""
    found: dict[Operation, list[int]] = {}
    for line, operations in enumerate(placed.operations):
        if operations and placed.starts.get(operations[0]) != line:
            found.setdefault(operations[0], []).append(line)
    return found


def _locate(placed: PrintedLines) -> None:
    """Put the locations that the program states behind its lines."""
    for operation, line in placed.starts.items():
        location = stated_location(operation.location)
        if location:
            placed.lines[line] += f" loc({location})"


Piece = tuple[str, bool]
"""A part of a line, and whether it is different from the other line."""


def marked_words(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Two lines in pieces, those marked that only one of them has."""
    words, others = _WORD.findall(left), _WORD.findall(right)
    if len(words) > _MOST_WORDS or len(others) > _MOST_WORDS:
        return [(left, True)], [(right, True)]
    pairs = in_order([word.strip() for word in words], [word.strip() for word in others])
    return _pieces(words, {place for place, _ in pairs}), _pieces(others, {place for _, place in pairs})


def _pieces(words: list[str], common: set[int]) -> list[Piece]:
    pieces: list[Piece] = []
    for place, word in enumerate(words):
        differs = place not in common
        if not word.strip():
            # A space is different only between words that are.
            differs = place - 1 not in common and place + 1 not in common and 0 < place < len(words) - 1
        if pieces and pieces[-1][1] == differs:
            pieces[-1] = (pieces[-1][0] + word, differs)
        else:
            pieces.append((word, differs))
    return pieces


# --- rows as text ---
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
"""Of words that are different in a changed line, besides the color of the line."""
_LEAST_WIDTH: Final = 40
_SPACED_WORD: Final = re.compile(r" *[^ ]*")
"""What is not broken between two lines, with the spaces before it."""


def _line_text(pieces: list[Piece], mark: Mark, color: bool) -> str:
    """A line, in the color of its mark and with differing words in reverse if there are colors."""
    if not color or mark == "same":
        return "".join([text for text, _ in pieces])
    # Each line ends its colors, so that a pager may begin with any.
    parts: list[str] = []
    for differs, together in groupby(pieces, lambda piece: piece[1]):
        text = "".join([text for text, _ in together])
        parts.append(f"{_COLORS[mark]}{_REVERSE if differs else ''}{text}{_PLAIN}")
    return "".join(parts)


def _bold(text: str, color: bool) -> str:
    return f"\033[1m{text}{_PLAIN}" if color and text else text


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


def _row_pieces(row: Row) -> tuple[list[Piece], list[Piece]]:
    left = harmless(row.left) if row.left is not None else ""
    right = harmless(row.right) if row.right is not None else ""
    if row.mark == "changed":
        return marked_words(left, right)
    return [(left, False)], [(right, False)]


# --- side by side ---


def side_by_side(listing: Listing, titles: tuple[str, str], width: int, color: bool, context: int | None) -> str:
    """Two columns with the signs of the rows between them."""
    column = max((width - 3) // 2, _LEAST_WIDTH // 2)
    lines: list[str] = []
    for hunk in hunks(listing.rows, context):
        if lines:
            lines.append(_bold("-" * (2 * column + 3), color))
        else:
            heads = [_cut(harmless(title), column) for title in titles]
            lines.append(
                f"{_bold(heads[0], color)}{' ' * (column - len(heads[0]))}   {_bold(heads[1], color)}".rstrip()
            )
        for row in hunk:
            lines.extend(_beside(row, column, color))
    return "".join([f"{line}\n" for line in lines])


def _beside(row: Row, column: int, color: bool) -> list[str]:
    left, right = [_wrapped(pieces, column) for pieces in _row_pieces(row)]
    count = max(len(left), len(right))
    lines: list[str] = []
    for number in range(count):
        mine = left[number] if number < len(left) else []
        theirs = right[number] if number < len(right) else []
        length = sum([len(text) for text, _ in mine])
        sign = row.sign if number == 0 else " "
        text = (
            f"{_line_text(mine, row.mark, color)}{' ' * (column - length)} {sign} {_line_text(theirs, row.mark, color)}"
        )
        lines.append(text.rstrip(" "))
    return lines


def _wrapped(pieces: list[Piece], column: int) -> list[list[Piece]]:
    """A line in as many as it needs; those that follow are indented as the first, and a little more."""
    whole = "".join([text for text, _ in pieces])
    indent = min(len(whole) - len(whole.lstrip(" ")) + 4, column // 2)
    lines: list[list[Piece]] = [[]]
    room = column
    for text, differs in pieces:
        for word in _SPACED_WORD.findall(text):
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
    lines: list[str] = []
    for hunk in hunks(listing.rows, context):
        if not lines:
            lines += [_bold(f"--- {harmless(titles[0])}", color), _bold(f"+++ {harmless(titles[1])}", color)]
        mine = sum([1 for row in hunk if row.left is not None])
        theirs = sum([1 for row in hunk if row.right is not None])
        first, second = hunk[0].left_number + 1, hunk[0].right_number + 1
        function = next((name for name in [listing.function_of(row) for row in hunk] if name), "")
        head = f"@@ -{first},{mine} +{second},{theirs} @@ {harmless(function)}".rstrip()
        lines.append(f"\033[36m{head}{_PLAIN}" if color else head)
        lines.extend(_below(hunk, color))
    return "".join([f"{line}\n" for line in lines])


def _below(hunk: list[Row], color: bool) -> Iterator[str]:
    # Of rows that are changed one after the other, all lines of one program come first.
    waiting: list[str] = []
    for row in hunk:
        left, right = _row_pieces(row)
        if row.mark == "changed":
            yield _line_text([("-", False), *left], "removed", color)
            waiting.append(_line_text([("+", False), *right], "added", color))
            continue
        yield from waiting
        waiting = []
        if row.mark == "same":
            yield f" {left[0][0]}"
        else:
            pieces = left if row.left is not None else right
            yield _line_text([(_PREFIXES[row.mark], False), *pieces], row.mark, color)
    yield from waiting
