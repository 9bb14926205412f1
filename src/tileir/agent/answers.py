"""Short answers: one page of what a command printed, and the next useful step."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

_PAGE: Final = 6_000
"""Characters of a page: about 1,500 tokens."""
_KEPT: Final = 64
"""Answers whose later pages can still be requested."""
_LONGEST: Final = 40
"""Characters of the name of a page."""


@dataclass(frozen=True)
class Answer:
    """What a tool answers."""

    status: int
    """The exit status of the command: 0 is fine, 1 has findings, 2 is a wrong call, 124 took too long."""
    text: str
    """What the command printed, or its first page."""
    next: str
    """The next useful step."""
    more: str = ""
    """The name of the next page, for the tool `page`; empty at the end."""


@dataclass(slots=True)
class Pages:
    """The pages of long answers, by name."""

    _kept: OrderedDict[str, list[str]] = field(default_factory=OrderedDict)
    _count: int = 0

    def answer(self, status: int, text: str, following: str) -> Answer:
        """The first page of a text."""
        parts = _split(text.strip())
        if len(parts) == 1:
            return Answer(status, parts[0], following)
        self._count += 1
        self._kept[str(self._count)] = parts
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return Answer(status, parts[0], following, f"{self._count}.2")

    def page(self, name: str) -> Answer:
        """A later page, by its name in `more`."""
        answer, _, number = name.partition(".")
        parts = self._kept.get(answer, [])
        # Python refuses to read very long numbers.
        place = int(number) if number.isdecimal() and len(number) < _LONGEST else 0
        if not 1 <= place <= len(parts):
            return Answer(
                2, f"error: no page is called '{name[:_LONGEST]}'", "Repeat the call that the page belongs to."
            )
        more = f"{answer}.{place + 1}" if place < len(parts) else ""
        return Answer(0, parts[place - 1], f"This is page {place} of {len(parts)}.", more)


def _split(text: str) -> list[str]:
    """Parts of at most a page, which end at line ends where lines are shorter than half a page."""
    parts: list[str] = []
    while len(text) > _PAGE:
        end = text.rfind("\n", _PAGE // 2, _PAGE)
        end = _PAGE if end < 0 else end + 1
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]
