"""Everything that a text says without being understood: its tokens, its operations, and what is named where."""

from __future__ import annotations

from tileir.serve.language.names import Name, Names
from tileir.serve.language.structure import Structure, WrittenOperation, WrittenRegion, declaration_named
from tileir.text.token_text import TokenText

__all__ = ["Name", "Syntax", "WrittenOperation", "WrittenRegion", "declaration_named"]


class Syntax(Structure):
    """The structure of a text with its names."""

    def __init__(self, text: str, written: TokenText | None = None) -> None:
        super().__init__(text, written)
        self._names: Names | None = None

    @property
    def _found_names(self) -> Names:
        if self._names is None:
            self._names = Names(self)
        return self._names

    @property
    def names(self) -> list[Name]:
        """All names, in the order in which they first occur."""
        return self._found_names.all

    def name_at(self, token: int) -> Name | None:
        """What a token names, or refers to."""
        return self._found_names.by_token.get(token)

    def names_in_sight(self, token: int) -> list[Name]:
        """The values that may be used at a token: defined before it, here or around here."""
        return self._found_names.in_sight(token)
