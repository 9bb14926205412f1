"""Everything that a text says without being understood: its tokens, its operations, and what is named where."""

from __future__ import annotations

from collections.abc import Iterator

from tileir.serve.language.lookup import nearest, symbols, value_at, visible
from tileir.serve.language.names import Name, Names
from tileir.serve.language.structure import Structure, WrittenOperation, WrittenRegion, declaration_named
from tileir.text.edits import TokenText

# As many names are looked up one by one.
_FEW = 8

__all__ = ["Name", "Syntax", "WrittenOperation", "WrittenRegion", "declaration_named"]


class Syntax(Structure):
    """The structure of a text with its names."""

    def __init__(self, text: str, written: TokenText | None = None) -> None:
        super().__init__(text, written)
        self._names: Names | None = None
        self._asked: int = 0

    @property
    def _found_names(self) -> Names:
        if self._names is None:
            self._names = Names(self)
        return self._names

    @property
    def names(self) -> list[Name]:
        """All names, in the order in which they first occur."""
        return self._found_names.all

    @property
    def symbols(self) -> list[Name]:
        """The names of kernels, globals and modules."""
        return list(symbols(self))

    def name_at(self, token: int) -> Name | None:
        """What a token names, or refers to."""
        if self._names is None and self.tokens[token][:1] == "%":
            # Who asks about many names is answered from all of them.
            self._asked += 1
            found = value_at(self, token) if self._asked <= _FEW else None
            if found is not None:
                return found
        return self._found_names.by_token.get(token)

    def names_in_sight(self, token: int) -> list[Name]:
        """The values that may be used at a token: defined before it, here or around here."""
        return list(nearest(self, token))

    def nearest_names(self, token: int) -> Iterator[Name]:
        """The same, the nearest first."""
        return nearest(self, token)

    def value_named(self, text: str, token: int) -> Name | None:
        """The value that a name means at a token."""
        return visible(self, text, token)
