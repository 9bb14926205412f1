"""The call that a place in a text is in, found in the text alone: while a call is typed, it is no Python yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[\w.]+\Z")
_KEYWORD = re.compile(r"\s*(\w+)\s*=(?!=)")
_FARTHEST = 4000
"""Characters that are looked through; calls are not longer."""
_CLOSING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class WrittenCall:
    """A call around a place."""

    name: str
    """As written: "ct.load"."""
    argument: int
    """The number of the argument that the place is in."""
    keyword: str
    """Its name, where it has one."""
    keywords: tuple[str, ...]
    """Those that the call has before the place."""


def call_at(text: str, offset: int) -> WrittenCall | None:
    """The innermost call around a place."""
    open_at = _opening(text, offset)
    while open_at is not None:
        name = _NAME.search(text, max(0, open_at - 200), open_at)
        if text[open_at] == "(" and name is not None:
            pieces = _arguments(text[open_at + 1 : offset])
            written = [match[1] if (match := _KEYWORD.match(piece)) else "" for piece in pieces]
            return WrittenCall(name[0], len(pieces) - 1, written[-1], tuple([each for each in written[:-1] if each]))
        open_at = _opening(text, open_at)
    return None


def _opening(text: str, offset: int) -> int | None:
    """The bracket before a place that is not closed before it."""
    waiting: list[str] = []
    for place in range(offset - 1, max(offset - _FARTHEST, -1), -1):
        character = text[place]
        if character in _CLOSING:
            waiting.append(_CLOSING[character])
        elif character in "([{":
            if not waiting:
                return place
            if waiting.pop() != character:
                return None
    return None


def _arguments(text: str) -> list[str]:
    """What stands between the commas of a call, those in brackets and strings not counted."""
    pieces, depth, quote, start = [], 0, "", 0
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]
