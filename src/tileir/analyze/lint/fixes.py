"""What would remove a finding, as changes of the text it was read from.

A fix names operations; `text_edits` finds their text, unless their location is elsewhere (`loc(..)`).  Every fix is
safe: the program does the same with it, or what its author meant according to the finding.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tileir.ir.core import Operation
from tileir.ir.location import CharacterLocation, SourceText, TextLocation

TextEdit = tuple[int, int, str]
"""From a character on, up to another one, with what stands there instead."""


@dataclass(slots=True, eq=False)
class LintFix:
    """Operations to delete, keywords of operations to replace, and operations to order.

    A replacement is an operation, a keyword in its text, and the text that replaces the first such keyword after the
    operation's name.  `orders` are pairs: the first takes the token of the second.
    """

    title: str
    """What it does, as an editor offers it: "Delete this operation"."""
    deletions: Sequence[Operation] = ()
    replacements: Sequence[tuple[Operation, str, str]] = ()
    orders: Sequence[tuple[Operation, Operation]] = ()


class FixesTogether:
    """Fixes that can be made at once: none deletes what another one changes, or takes a token of."""

    def __init__(self) -> None:
        self._deleted: set[Operation] = set()
        self._needed: set[Operation] = set()

    def take(self, fix: LintFix) -> bool:
        """Take one more; return whether it goes with those before it."""
        needed = {operation for operation, _, _ in fix.replacements}
        needed.update([operation for pair in fix.orders for operation in pair])
        if not self._deleted.isdisjoint(needed) or not self._needed.isdisjoint(fix.deletions):
            return False
        self._deleted.update(fix.deletions)
        self._needed.update(needed)
        return True


class WrittenText:
    """The tokens of a text and where each begins."""

    def __init__(self, source: SourceText) -> None:
        self.source: SourceText = source
        self.tokens: list[tuple[str, int]] = source.written_tokens()

    def _first_token(self, operation: Operation | None) -> int | None:
        """Where an operation begins: at its first result, or its name."""
        location = operation.location if operation is not None else None
        if not isinstance(location, TextLocation) or isinstance(location, CharacterLocation):
            return None
        if location.source is not self.source or not 0 < location.token < len(self.tokens):
            return None
        words, first = self.tokens, location.token
        if words[first - 1][0] != "=":
            return first
        cursor = first - 2
        while True:
            if cursor >= 2 and words[cursor][0].isdigit() and words[cursor - 1][0] == ":":
                cursor -= 2
            if not words[cursor][0].startswith("%"):
                return first
            if words[cursor - 1][0] != ",":
                return cursor
            cursor -= 2

    def _tokens_of(self, operation: Operation) -> range:
        """The tokens of an operation without regions, up to the operation after it; none if they are not known."""
        first = self._first_token(operation)
        last = self._first_token(operation.next) if not operation.regions else None
        return range(0) if first is None or last is None else range(first, last)

    def _end(self, token: int) -> int:
        word, start = self.tokens[token]
        return start + len(word)

    def deletion(self, operation: Operation) -> TextEdit | None:
        """An operation away, with its lines where nothing else stands there."""
        tokens = self._tokens_of(operation)
        if not tokens:
            return None
        text = self.source.text
        start, end = self.tokens[tokens[0]][1], self._end(tokens[-1])
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        rest = text[end:line_end].strip()
        if not text[line_start:start].strip() and (not rest or rest.startswith("//")):
            return line_start, min(line_end + 1, len(text)), ""
        return start, end, ""

    def replacement(self, operation: Operation, old: str, new: str) -> TextEdit | None:
        words = [self.tokens[token] for token in self._behind_name(operation)]
        return next(((start, start + len(old), new) for word, start in words if word == old), None)

    def order(self, later: Operation, earlier: Operation) -> TextEdit | None:
        """An access that takes no token yet takes that of another one before it in its block."""
        name = self._token_name(earlier)
        if name is None or later.parent is not earlier.parent or later.token is not None:
            return None
        for token in self._behind_name(later):
            word, _ = self.tokens[token]
            if word in ("{", "optimization_hints", "inbounds"):
                # A token stands before these; few have them, and they can be written in more than one way.
                return None
            if word == ":":
                return self._end(token - 1), self._end(token - 1), f" token={name}"
        return None

    def _behind_name(self, operation: Operation) -> range:
        tokens, location = self._tokens_of(operation), operation.location
        return range(location.token + 1, tokens.stop) if tokens and isinstance(location, TextLocation) else tokens

    def _token_name(self, operation: Operation) -> str | None:
        first, location = self._first_token(operation), operation.location
        if first is None or not isinstance(location, TextLocation) or first == location.token:
            return None
        names = [word for word, _ in self.tokens[first : location.token - 1]]
        if len(names) == 3 and names[1] == ":":
            return f"{names[0]}#{len(operation.results) - 1}"
        return names[-1] if names[-1].startswith("%") else None


def text_edits(fix: LintFix, written: WrittenText) -> list[TextEdit] | None:
    """The edits of a fix, from the start of the text to its end; None where they cannot all be made."""
    edits: list[TextEdit | None] = [written.deletion(operation) for operation in fix.deletions]
    edits.extend([written.replacement(*replacement) for replacement in fix.replacements])
    edits.extend([written.order(*pair) for pair in fix.orders])
    found = sorted([edit for edit in edits if edit is not None])
    if not found or len(found) != len(edits) or _overlap(found):
        return None
    return found


def applied(text: str, fixes: Sequence[list[TextEdit]]) -> tuple[str, int]:
    """A text with fixes made, as many as do not touch each other; how many there were."""
    taken: list[TextEdit] = []
    count = 0
    for edits in fixes:
        if not _overlap(edits) and not any(_touches(taken, edit) for edit in edits):
            for edit in edits:
                insort(taken, edit)
            count += 1
    parts: list[str] = []
    position = 0
    for start, end, new in taken:
        parts.extend([text[position:start], new])
        position = end
    parts.append(text[position:])
    return "".join(parts), count


def _touches(taken: list[TextEdit], edit: TextEdit) -> bool:
    """Whether an edit touches what one of others changes, which are in order and do not touch each other."""
    place = bisect_left(taken, edit)
    return _overlap([*taken[max(place - 1, 0) : place], edit, *taken[place : place + 1]])


def _overlap(edits: list[TextEdit]) -> bool:
    """Whether edits, in order, touch the same characters."""
    return any(later[0] < earlier[1] or later[:2] == earlier[:2] for earlier, later in pairwise(edits))
