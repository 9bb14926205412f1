"""What would remove a finding, as changes of the text it was read from.

A fix names operations, not places: where they stand is found when it is asked for (`text_edits`), from the tokens of
the text.  A program that was not read from a text, or whose operations say that they come from elsewhere (`loc(..)`),
has no edits.  Every fix is safe: the program does the same with it, or what the finding says it was meant to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tileir.ir.core import Operation
from tileir.ir.location import CharacterLocation, SourceText, TextLocation

TextEdit = tuple[int, int, str]
"""From a character on, up to another one, with what stands there instead."""


class LintFix:
    """Operations to be deleted, and tokens of operations to be replaced.

    `replacements` are an operation, one of its tokens as it is written, and what takes the place of the first of them
    behind the operation's name.  With an empty text a token goes, and the comma before it.
    """

    __slots__ = ("deletions", "replacements", "title")

    def __init__(
        self,
        title: str,
        deletions: Sequence[Operation] = (),
        replacements: Sequence[tuple[Operation, str, str]] = (),
    ) -> None:
        self.title: str = title
        """What it does, as an editor offers it: "Delete this operation"."""
        self.deletions: list[Operation] = list(deletions)
        self.replacements: list[tuple[Operation, str, str]] = list(replacements)


class WrittenText:
    """The tokens of a text and where each begins."""

    __slots__ = ("source", "starts", "tokens")

    def __init__(self, source: SourceText) -> None:
        self.source: SourceText = source
        self.tokens: list[str] = []
        self.starts: list[int] = []
        for match in source.token_pattern.finditer(source.text):
            self.tokens.append(match.group(1))
            self.starts.append(match.start(1))

    def first_token(self, operation: Operation) -> int | None:
        """Where an operation begins: at its first result, or its name."""
        location = operation.location
        if not isinstance(location, TextLocation) or isinstance(location, CharacterLocation):
            return None
        if location.source is not self.source or not 0 < location.token < len(self.tokens):
            return None
        tokens, first = self.tokens, location.token
        if tokens[first - 1] != "=":
            return first
        cursor = first - 2
        while True:
            if cursor >= 2 and tokens[cursor].isdigit() and tokens[cursor - 1] == ":":
                cursor -= 2
            if not tokens[cursor].startswith("%"):
                return first
            if tokens[cursor - 1] != ",":
                return cursor
            cursor -= 2

    def last_token(self, operation: Operation) -> int | None:
        """Where an operation without regions ends: before the one behind it."""
        following = operation.next
        if following is None or operation.regions:
            return None
        start = self.first_token(following)
        return None if start is None else start - 1

    def deletion(self, operation: Operation) -> TextEdit | None:
        """An operation away, with its lines where nothing else stands there."""
        first, last = self.first_token(operation), self.last_token(operation)
        if first is None or last is None or last < first:
            return None
        text = self.source.text
        start, end = self.starts[first], self.starts[last] + len(self.tokens[last])
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        rest = text[end:line_end].strip()
        if not text[line_start:start].strip() and (not rest or rest.startswith("//")):
            return line_start, min(line_end + 1, len(text)), ""
        return start, end, ""

    def replacement(self, operation: Operation, old: str, new: str) -> TextEdit | None:
        """One token of an operation replaced."""
        first, last = self.first_token(operation), self.last_token(operation)
        if first is None or last is None:
            return None
        location = operation.location
        name = location.token if isinstance(location, TextLocation) else first
        for token in range(name + 1, last + 1):
            if self.tokens[token] == old:
                start, end = self.starts[token], self.starts[token] + len(old)
                if not new and self.tokens[token - 1] == ",":
                    start = self.starts[token - 1]
                return start, end, new
        return None


def source_of(operation: Operation | None) -> SourceText | None:
    """The text that an operation was read from."""
    location = operation.location if operation is not None else None
    return location.source if isinstance(location, TextLocation) else None


def text_edits(fix: LintFix, written: WrittenText) -> list[TextEdit] | None:
    """The edits of a fix, from the start of the text to its end; None where they cannot all be made."""
    edits: list[TextEdit | None] = [written.deletion(operation) for operation in fix.deletions]
    edits.extend([written.replacement(*replacement) for replacement in fix.replacements])
    found = sorted([edit for edit in edits if edit is not None])
    if not found or len(found) != len(edits) or _overlap(found):
        return None
    return found


def applied(text: str, fixes: Sequence[list[TextEdit]]) -> tuple[str, int]:
    """A text with fixes made, as many as do not touch each other; how many there were."""
    taken: list[TextEdit] = []
    count = 0
    for edits in fixes:
        together = sorted([*taken, *edits])
        if not _overlap(together):
            taken = together
            count += 1
    pieces: list[str] = []
    position = 0
    for start, end, new in taken:
        pieces.extend([text[position:start], new])
        position = end
    pieces.append(text[position:])
    return "".join(pieces), count


def _overlap(edits: list[TextEdit]) -> bool:
    """Whether edits, in order, touch the same characters."""
    return any(later[0] < earlier[1] or later[:2] == earlier[:2] for earlier, later in pairwise(edits))
