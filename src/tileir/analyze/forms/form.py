"""One form of a program: lines of text, each with the operations of the program that it comes from."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

MOST_LINES: Final = 20_000
"""Lines of a form that are kept: more, nobody reads, and a page of them is slow to show."""


class Removed(NamedTuple):
    """A line that the step before had and this one has not, and the line before which it stood."""

    line: int
    text: str


class Form:
    """A program in one of its forms.

    `links` has for each line the numbers of the operations that it comes from, in order.  Of a step of the optimizer
    `changed` says for each line whether it is new or not as it was before, and `removed` has the lines that went.
    """

    __slots__ = ("changed", "id", "language", "lines", "links", "notes", "removed", "title")

    def __init__(
        self,
        id: str,
        title: str,
        language: str,
        lines: list[str],
        links: list[list[int]],
        changed: list[bool] | None = None,
        removed: list[Removed] | None = None,
        notes: list[str] | None = None,
    ) -> None:
        self.id: str = id
        self.title: str = title
        self.language: str = language
        self.lines: list[str] = lines
        self.links: list[list[int]] = links
        self.changed: list[bool] | None = changed
        self.removed: list[Removed] | None = removed
        self.notes: list[str] = [] if notes is None else notes
        self.trim()

    def __repr__(self) -> str:
        return f"<Form {self.id}: {len(self.lines)} lines>"

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])

    def lines_of(self, operation: int) -> list[int]:
        """The lines that come from an operation, by its number."""
        return [line for line, numbers in enumerate(self.links) if operation in numbers]

    def answer(self) -> dict[str, Any]:
        """The form as the explorer's page asks for it."""
        return {
            "id": self.id,
            "title": self.title,
            "language": self.language,
            "lines": self.lines,
            "links": self.links,
            "changed": None if self.changed is None else [int(each) for each in self.changed],
            "removed": None if self.removed is None else [each._asdict() for each in self.removed],
            "notes": self.notes,
        }

    def trim(self) -> None:
        """Keep what can be read, and say what is left out."""
        total = len(self.lines)
        if total > MOST_LINES:
            self.lines, self.links = self.lines[:MOST_LINES], self.links[:MOST_LINES]
            if self.changed is not None:
                self.changed = self.changed[:MOST_LINES]
            self.notes.append(f"The first {MOST_LINES:,} of {total:,} lines are shown.")
        if self.removed is not None:
            inside = [each for each in self.removed if each.line <= len(self.lines)][:MOST_LINES]
            if len(inside) < len(self.removed):
                self.notes.append(f"{len(inside):,} of {len(self.removed):,} removed lines are shown.")
                self.removed = inside
