"""A finding in a text, with what stands where it is: what remedies are made from (`remedies`)."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tileir.ir.types import Type
from tileir.serve.language.analysis import Analysis, PlacedDiagnostic
from tileir.serve.language.layout import Edit
from tileir.serve.language.names import Name
from tileir.serve.language.syntax import Syntax, WrittenOperation


class Remedy(NamedTuple):
    """What an editor offers, and the edits it makes, in order of the text."""

    title: str
    edits: tuple[Edit, ...]


class Problem:
    """A finding, and the token and the operation at its place."""

    def __init__(self, syntax: Syntax, analysis: Analysis, diagnostic: PlacedDiagnostic) -> None:
        self.syntax = syntax
        self.analysis = analysis
        self.diagnostic = diagnostic
        self.code, self.values = diagnostic.finding, diagnostic.values
        index = bisect_right(syntax.starts, diagnostic.start, 0, syntax.count) - 1
        self.token = max(index, 0)
        """The token at the place, or the last before it."""
        self.operation: WrittenOperation | None = syntax.operation_at(diagnostic.start)

    @property
    def text(self) -> str:
        """The token at the place."""
        return self.syntax.tokens[self.token]

    def replace(self, token: int, new: str) -> Edit:
        start = self.syntax.starts[token]
        return Edit(start, start + len(self.syntax.tokens[token]), new)

    def end(self, token: int) -> int:
        return self.syntax.end(token)

    def insert(self, offset: int, new: str) -> Edit:
        return Edit(offset, offset, new)

    def delete(self, token: int) -> Edit:
        """A token away, with the blanks before it."""
        start = self.end(token - 1) if token else 0
        if "\n" in self.syntax.text[start : self.syntax.starts[token]]:
            start = self.syntax.starts[token]
        return Edit(start, self.end(token), "")

    def head(self) -> range:
        """The tokens of the operation before its first region, from its name on."""
        operation = self.operation
        if operation is None or operation.name < 0:
            return range(0)
        last = operation.regions[0].opening if operation.regions else operation.last + 1
        return range(operation.name, last)

    def operands(self) -> list[int]:
        """The tokens that name values in the head."""
        return [token for token in self.head() if self.syntax.tokens[token][:1] == "%"]

    def type_of(self, token: int) -> Type | None:
        """The type of the value that a token names."""
        name = self.syntax.name_at(token)
        return self.analysis.type_of(name) if name is not None else None

    def values_in_sight(self) -> list[Name]:
        """The values that are defined before the place, and visible there."""
        return self.syntax.names_in_sight(self.token)

    def fresh(self, stem: str) -> str:
        """A name of a value that no other has: `%a_0` for `%a`."""
        taken = {name.text for name in self.syntax.names}
        number = 0
        while f"{stem}_{number}" in taken:
            number += 1
        return f"{stem}_{number}"

    def indentation(self, token: int) -> str:
        """The blanks before the first token of the line of a token."""
        start = self.syntax.text.rfind("\n", 0, self.syntax.starts[token]) + 1
        line = self.syntax.text[start:]
        return line[: len(line) - len(line.lstrip(" \t"))]


def close(word: str, words: Iterable[str], most: int = 3, alike: float = 0.6) -> list[str]:
    """Words that are spelled nearly so, the nearest first."""
    known = list(dict.fromkeys(words))
    found = difflib.get_close_matches(word, known, most, alike)
    # What differs only in the case of its letters is meant, however short it is.
    lower = [other for other in known if other.lower() == word.lower() and other not in found]
    return [other for other in [*lower, *found] if other != word][:most]


def same_type(written: str, shown: str) -> bool:
    """Whether a token is a type that a message shows."""
    return _plain(written) == _plain(shown)


def _plain(type: str) -> str:
    return type.replace("!cuda_tile.", "").replace("cuda_tile.", "").replace(" ", "").removeprefix("!")
