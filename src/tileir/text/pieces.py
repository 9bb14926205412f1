"""The pieces of a text: what stands between the names of its values.

A program says few things with many names: ` = addf `, `, ` and ` : tile<4xf32>` come in it again and again.  The tokens
of each piece are found once; those of the whole text are put together from them.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.ir.interning import IS_COMPILED
from tileir.text.lexer import tokens_of

NAME: Final = re.compile(r"(%[A-Za-z0-9_$.\-]+(?:#[0-9]+)?)", re.ASCII)
# What may have the name of a value in it that is none; and such a name.
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*("?)')
_HIDING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|(%)[A-Za-z0-9_$.\-]', re.ASCII)

# Stands between pieces where the tokens of many are found at once.  No type goes on behind it, and no comment.
_BETWEEN: Final = "\n%\n"

# In a piece with more tokens statements are not looked for: it has many that no name stands between.
_MANY_TOKENS: Final = 64


class Piece:
    """The tokens between two names, and how many there are.

    `rests` stands for what is left of it behind so many tokens, where a statement begins.  It `is_constant` if it
    begins as `= constant <type: number>` does.
    """

    __slots__ = ("count", "is_constant", "rests", "tokens")

    def __init__(self, tokens: list[str]) -> None:
        self.tokens: list[str] = tokens
        self.count: int = len(tokens)
        self.is_constant: bool = self.count > 7 and _is_constant(tokens)
        self.rests: dict[int, Piece] | None = None

    def rest(self, offset: int) -> Piece | None:
        """What stands for the tokens from one on; None in a piece with many."""
        if self.rests is None:
            if self.count > _MANY_TOKENS:
                return None
            self.rests = {}
        found = self.rests.get(offset)
        if found is None:
            found = self.rests[offset] = Piece([])
        return found


def _is_constant(tokens: list[str]) -> bool:
    return tokens[0] == "=" and tokens[2] == "<" and tokens[4] == ":" and tokens[7 if tokens[5] == "-" else 6] == ">"


class PiecedText:
    """A text as a piece, a name, a piece, .. and a piece; and its tokens, with empty ones at the end."""

    __slots__ = ("names", "pieces", "tokens")

    def __init__(self, parts: list[str], known: dict[str, Piece]) -> None:
        names = parts[1::2]
        pieces: list[Piece] = []
        tokens: list[str] = []
        for index, name in enumerate(names):
            piece = known[parts[2 * index]]
            pieces.append(piece)
            tokens.extend(piece.tokens)
            tokens.append(name)
        piece = known[parts[-1]]
        pieces.append(piece)
        tokens.extend(piece.tokens)
        tokens.extend(["", "", ""])
        self.names: list[str] = names
        self.pieces: list[Piece] = pieces
        self.tokens: list[str] = tokens


def pieces_of(text: str) -> PiecedText:
    """The pieces of a text."""
    parts = _parts_of(text)
    different = set(parts[::2])
    if '"' in text or "//" in text:
        odd = {part for part in different if ('"' in part or "//" in part) and _ends_hidden(part)}
        if odd:
            parts = _mended(text, parts, odd)
            different = set(parts[::2])
    return PiecedText(parts, _pieces(list(different)))


def _parts_of(text: str) -> list[str]:
    if IS_COMPILED and text.isascii():
        from tileir.text.scanner import split_at_names

        return split_at_names(text)
    return NAME.split(text)


def _pieces(texts: list[str]) -> dict[str, Piece]:
    """Pieces by their texts."""
    together = _BETWEEN.join(texts)
    if together.count("%") >= len(texts):
        # Some have a character that is no name: not to be told from one between two.
        return {text: Piece(tokens_of(text)) for text in texts}
    tokens = tokens_of(together)
    known: dict[str, Piece] = {}
    start = 0
    for text in texts[:-1]:
        end = tokens.index("%", start)
        known[text] = Piece(tokens[start:end])
        start = end + 1
    known[texts[-1]] = Piece(tokens[start:])
    return known


def _ends_hidden(part: str) -> bool:
    """Whether a name behind a part would be in a string or in a comment."""
    for match in _HIDING.finditer(part):
        if part[match.start()] == "/":
            if match.end() == len(part):
                return True
        elif part[match.start()] == '"':
            string = _STRING.match(part, match.start())
            assert string is not None
            # A backslash at the end would take what follows with it.
            if not string[1] and part[string.end() :] in ("", "\\"):
                return True
    return False


def _mended(text: str, parts: list[str], odd: set[str]) -> list[str]:
    """The parts of a text with each name that is in a string or in a comment in the part before it."""
    found: list[str] = []
    index = 0
    # Where in the text one of the parts begins: the last one of which this was asked.
    counted = offset = 0
    while index < len(parts):
        part = parts[index]
        if index % 2 or part not in odd:
            found.append(part)
            index += 1
            continue
        offset += sum([len(each) for each in parts[counted:index]])
        end = _name_behind(text, offset)
        found.append(text[offset:end])
        if end == len(text):
            break
        while offset < end:
            offset += len(parts[index])
            index += 1
        counted = index
    return found


def _name_behind(text: str, start: int) -> int:
    """Where the next name of a value begins that is in no string and no comment."""
    for match in _HIDING.finditer(text, start):
        if match[1]:
            return match.start()
    return len(text)
