"""A text that is edited, and its tokens: after an edit only those around it are looked for again."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.location import TokenStarts
from tileir.text.lexer import TOKEN
from tileir.text.types import DIALECT_TYPES

# How many tokens before an edit may become others by it: `1.5e+` and what follows are four.
_BEFORE: Final = 5
# Behind the last token, so that looking ahead never runs out.
_EMPTY: Final = 3


class TokenChange:
    """What an edit did: the tokens from `first` to `old_end` became those from `first` to `new_end`.

    `characters` is how much longer the text became.
    """

    __slots__ = ("characters", "first", "new_end", "old_end")

    def __init__(self, first: int, old_end: int, new_end: int, characters: int) -> None:
        self.first: int = first
        self.old_end: int = old_end
        self.new_end: int = new_end
        self.characters: int = characters

    def then(self, other: TokenChange) -> TokenChange:
        """Both as one edit: this one, and another after it."""
        middle = max(self.new_end, other.old_end)
        return TokenChange(
            min(self.first, other.first),
            self.old_end + middle - self.new_end,
            other.new_end + middle - other.old_end,
            self.characters + other.characters,
        )


class TokenText:
    """A text, its tokens with empty ones at the end, where each begins, and how many there are."""

    __slots__ = ("_open_types", "count", "starts", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text: str = text
        tokens: list[str] = []
        starts: list[int] = []
        for match in TOKEN.finditer(text):
            if match.start(1) >= 0:
                tokens.append(match[1])
                starts.append(match.start(1))
        while tokens and not tokens[-1]:
            tokens.pop()
            starts.pop()
        self.count: int = len(tokens)
        tokens.extend([""] * _EMPTY)
        starts.extend([len(text)] * _EMPTY)
        self.tokens: list[str] = tokens
        self.starts: TokenStarts = TokenStarts(starts, len(text))
        # Names of types whose bracket is not closed: anything behind one may become part of it.
        self._open_types: list[int] = [
            index for index, token in enumerate(tokens) if token == "<" and _is_type(tokens, index - 1)
        ]

    def replace(self, start: int, end: int, new: str) -> TokenChange:
        """Put other characters in the place of those between two offsets."""
        difference = len(new) - (end - start)
        text = self.text[:start] + new + self.text[end:]
        starts, tokens = self.starts, self.tokens
        first = max(starts.before(start, self.count) - _BEFORE, 0)
        if self._open_types:
            first = min(first, max(self._open_types[0] - 1, 0))
        position = starts[first - 1] + len(tokens[first - 1]) if first else 0
        # The first old token that begins behind the edit: from where both agree on, all do.
        old = starts.before(end, self.count)
        found: list[str] = []
        places: list[int] = []
        for match in TOKEN.finditer(text, position):
            place = match.start(1)
            if place < 0:
                continue
            token = match[1]
            if place >= start + len(new):
                while old < self.count and starts[old] + difference < place:
                    old += 1
                if old < self.count and starts[old] + difference == place:
                    break
            if not token:
                old = self.count
                break
            found.append(token)
            places.append(place)
        change = TokenChange(first, old, first + len(found), difference)
        tokens[first:old] = found
        starts.replace(first, old, places, len(text))
        self.text = text
        self.count = len(tokens) - _EMPTY
        shift = len(found) - (old - first)
        kept = [index for index in self._open_types if index < first]
        kept.extend([first + at for at, token in enumerate(found) if token == "<" and _is_type(tokens, first + at - 1)])
        # The bracket behind the last new token may be that of a type now, or no longer be.
        behind = first + len(found)
        if tokens[behind] == "<" and _is_type(tokens, behind - 1):
            kept.append(behind)
        kept.extend([index + shift for index in self._open_types if index > old])
        self._open_types = kept
        return change


def _is_type(tokens: list[str], index: int) -> bool:
    return index >= 0 and tokens[index].lstrip("!").removeprefix("cuda_tile.") in DIALECT_TYPES
