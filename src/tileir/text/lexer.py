"""Text into tokens.

Tokens are plain strings from one `findall`, or from `scanned_tokens` in a compiled build.  A position is the number of
a token; it becomes a line and column only for a diagnostic (docs/internals/architecture.md, "Why the parser is fast").
A whole dialect type such as `tile<4x8xf32>` is one token, so reading a type is one dictionary lookup.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.ir.interning import IS_COMPILED

# The types of the dialect that have parameters in angle brackets.
TYPES_WITH_PARAMETERS: Final = ("tile", "ptr", "tensor_view", "partition_view", "strided_view", "gather_scatter_view")

# Up to two levels of angle brackets inside: partition_view<.., tensor_view<.., #cuda_tile.ptr_attr<none>>>.  No type
# contains the name of a value, so the search for the end of an unclosed type stops there.
_NESTED: Final = r'<[^<>"/%]*(?:<[^<>"/%]*(?:<[^<>"/%]*>[^<>"/%]*)*>[^<>"/%]*)*>'
# The same with comments in it, which may hold any bracket; tried only where the quick one fails.
_PLAIN: Final = r'[^<>"/%]*(?://[^\n]*\n[^<>"/%]*)*'
_COMMENTED: Final = f"<{_PLAIN}(?:<{_PLAIN}(?:<{_PLAIN}>{_PLAIN})*>{_PLAIN})*>"

# A comment is a match without a token, which is faster than skipping comments before every token.  Frequent tokens come
# first, and character sets are written out, which is faster than classes.  The trailing `\Z` matches any tail of blanks
# and so keeps the scan linear; so does the token for an unclosed string up to the end of its line, which `unescape`
# refuses.
TOKEN: Final = re.compile(
    r"[ \t\n\r\f\v]*(?:("
    r"%[A-Za-z0-9_$.\-]+(?:#[0-9]+)?"
    r"|[(){}\[\],=<>?*+|]|::?|->?|/(?!/)"
    r'|tile<[^<>"/%]*>'
    rf"|!?(?:cuda_tile\.)?(?:{'|'.join(TYPES_WITH_PARAMETERS)})[ \t]*(?:{_NESTED}|{_COMMENTED})"
    r"|[A-Za-z_][A-Za-z0-9_$.]*"
    r"|0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][+\-]?[0-9]+)?)?"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r'|@[A-Za-z_$][A-Za-z0-9_$.\-]*|@"(?:[^"\\\n]|\\.)*"?'
    r"|[#!][A-Za-z_][A-Za-z0-9_$.\-]*|#[0-9]+"
    r"|\^[A-Za-z0-9_$.\-]+"
    r"|(?!//)\S|\Z)|//[^\n]*)",
    re.ASCII,
)


def tokens_of(text: str) -> list[str]:
    if IS_COMPILED and text.isascii():
        return scanned_tokens(text)
    return matched_tokens(text)


def matched_tokens(text: str) -> list[str]:
    """All tokens of a text, found by the expression."""
    found: list[str] = TOKEN.findall(text)
    if "//" in text:
        # A comment is a match without a token.
        return [token for token in found if token]
    while found and not found[-1]:
        found.pop()
    return found


def tokenize(text: str) -> list[str]:
    """All tokens, with empty ones at the end for the parser's lookahead."""
    tokens = tokens_of(text)
    tokens.extend(["", "", ""])
    return tokens


class UnclosedString(ValueError):
    """A string literal without its closing quote."""


def unescape(literal: str) -> str:
    r"""The value of a string literal with its quotes: `\XX` is a byte, `\n`, `\t`, `\"` and `\\` are characters."""
    inner = literal[1:-1]
    if len(literal) < 2 or literal[-1] != '"' or (len(inner) - len(inner.rstrip("\\"))) % 2:
        raise UnclosedString("expected '\"' in string literal")
    if "\\" not in inner:
        return inner
    data = bytearray()
    index = 0
    raw = inner.encode("utf-8", "surrogateescape")
    simple = {0x6E: 0x0A, 0x74: 0x09, 0x22: 0x22, 0x5C: 0x5C}
    while index < len(raw):
        byte = raw[index]
        if byte != 0x5C:
            data.append(byte)
            index += 1
            continue
        pair = raw[index + 1 : index + 3]
        if len(pair) == 2 and all(c in b"0123456789abcdefABCDEF" for c in pair):
            data.append(int(pair, 16))
            index += 3
        elif pair and pair[0] in simple:
            data.append(simple[pair[0]])
            index += 2
        else:
            raise ValueError("unknown escape in string literal")
    return data.decode("utf-8", "surrogateescape")


# --- the scanner of a compiled build ---

# Classes of first characters of tokens.
_OTHER: Final = 0
_BLANK: Final = 1
_VALUE: Final = 2
_WORD: Final = 3
_SINGLE: Final = 4
_DIGIT: Final = 5
_STRING: Final = 6
_SYMBOL: Final = 7
_ALIAS: Final = 8
_COLON: Final = 9
_MINUS: Final = 10
_SLASH: Final = 11

# Classes of further characters.
_IN_NAME: Final = 1
_IN_WORD: Final = 2
_IN_STRING: Final = 4
_IN_TYPE: Final = 8
_IN_DIGITS: Final = 16
_IN_HEXADECIMAL: Final = 32

_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
_DIGITS: Final = b"0123456789"

# The most levels of brackets in a type.
_DEEPEST: Final = 3


def _classes(*rows: tuple[bytes, int]) -> bytes:
    """The class of each ASCII character."""
    kinds = bytearray(128)
    for characters, kind in rows:
        for character in characters:
            kinds[character] |= kind
    return bytes(kinds)


_BEGINNINGS: Final = _classes(
    (b" \t\n\r\f\v", _BLANK),
    (b"%", _VALUE),
    (_LETTERS, _WORD),
    (b"(){}[],=<>?*+|", _SINGLE),
    (_DIGITS, _DIGIT),
    (b'"', _STRING),
    (b"@", _SYMBOL),
    (b"#!", _ALIAS),
    (b":", _COLON),
    (b"-", _MINUS),
    (b"/", _SLASH),
)
_CONTINUATIONS: Final = _classes(
    (_LETTERS + _DIGITS + b"$.-", _IN_NAME),
    (_LETTERS + _DIGITS + b"$.", _IN_WORD),
    (bytes([each for each in range(1, 128) if each not in b'"\\\n']), _IN_STRING),
    (bytes([each for each in range(1, 128) if each not in b'<>"/%']), _IN_TYPE),
    (_DIGITS, _IN_DIGITS),
    (_DIGITS + b"abcdefABCDEF", _IN_HEXADECIMAL),
)

_TYPES: Final = frozenset(
    [f"{prefix}{name}" for name in TYPES_WITH_PARAMETERS for prefix in ("", "!", "cuda_tile.", "!cuda_tile.")]
)


def scanned_tokens(text: str) -> list[str]:
    """All tokens of a text of ASCII characters, as the expression defines them.

    Compiled, this takes a third of the time of the expression, which would be most of the time of parsing; as Python it
    would take many times as long.  The expression reads the rare and difficult tokens.
    """
    # A terminator that no token continues with.
    data = text.encode("ascii") + b"\0"
    length = len(text)
    beginnings, continuations = _BEGINNINGS, _CONTINUATIONS
    types = _TYPES
    tokens: list[str] = []
    position = 0
    while True:
        kind = beginnings[data[position]]
        while kind == _BLANK:
            position += 1
            kind = beginnings[data[position]]
        start = position
        position += 1
        if kind == _SINGLE:
            pass
        elif kind == _VALUE:
            while continuations[data[position]] & _IN_NAME:
                position += 1
            if data[position] == 35 and position > start + 1:
                position = _number_of_result_end(data, position)
        elif kind in (_WORD, _ALIAS):
            while continuations[data[position]] & _IN_WORD:
                position += 1
            following = data[position]
            end = position
            while following == 32 or following == 9:
                end += 1
                following = data[end]
            if following == 60 and text[start:position] in types:
                position = _type_end(data, end)
            elif kind == _ALIAS:
                position = _alias_end(data, start)
            if position == 0:
                position = _match(text, start, tokens)
                continue
        elif kind == _DIGIT:
            position = _number_end(data, start)
        elif kind == _COLON:
            if data[position] == 58:
                position += 1
        elif kind == _MINUS:
            if data[position] == 62:
                position += 1
        elif kind == _STRING:
            while continuations[data[position]] & _IN_STRING:
                position += 1
            if data[position] != 34:
                position = _match(text, start, tokens)
                continue
            position += 1
        elif kind == _SYMBOL and beginnings[data[position]] == _WORD:
            while continuations[data[position]] & _IN_NAME:
                position += 1
        elif kind == _SLASH:
            if data[position] == 47:
                position = text.find("\n", position)
                if position < 0:
                    return tokens
                continue
        elif start >= length:
            return tokens
        else:
            position = _match(text, start, tokens)
            continue
        tokens.append(text[start:position])


def _number_of_result_end(data: bytes, position: int) -> int:
    """Where a name ends whose `#` may be followed by the number of a result."""
    end = position + 1
    while _CONTINUATIONS[data[end]] & _IN_DIGITS:
        end += 1
    return end if end > position + 1 else position


def _match(text: str, start: int, tokens: list[str]) -> int:
    """Match a token with the expression; return where it ends."""
    match = TOKEN.match(text, start)
    assert match is not None
    token: str = match[1]
    tokens.append(token)
    return match.end()


def _type_end(data: bytes, start: int) -> int:
    """Where a type ends whose first bracket is at `start`; 0 if the expression must decide."""
    continuations = _CONTINUATIONS
    position = start
    depth = 0
    while True:
        while continuations[data[position]] & _IN_TYPE:
            position += 1
        character = data[position]
        position += 1
        if character == 60:
            depth += 1
            if depth > _DEEPEST:
                return 0
        elif character == 62:
            depth -= 1
            if depth == 0:
                return position
        else:
            return 0


def _alias_end(data: bytes, start: int) -> int:
    """Where a token ends that begins with `#` or `!`; 0 if the expression must decide."""
    position = start + 1
    kind = _BEGINNINGS[data[position]]
    if kind == _DIGIT and data[start] == 35:
        while _CONTINUATIONS[data[position]] & _IN_DIGITS:
            position += 1
        return position
    if kind != _WORD:
        return 0
    while _CONTINUATIONS[data[position]] & _IN_NAME:
        position += 1
    return position


def _number_end(data: bytes, start: int) -> int:
    continuations = _CONTINUATIONS
    position = start + 1
    if data[start] == 48 and data[position] == 120 and continuations[data[position + 1]] & _IN_HEXADECIMAL:
        position += 1
        while continuations[data[position]] & _IN_HEXADECIMAL:
            position += 1
        return position
    while continuations[data[position]] & _IN_DIGITS:
        position += 1
    if data[position] != 46:
        return position
    position += 1
    while continuations[data[position]] & _IN_DIGITS:
        position += 1
    if data[position] in b"eE":
        end = position + 1
        if data[end] in b"+-":
            end += 1
        if continuations[data[end]] & _IN_DIGITS:
            while continuations[data[end]] & _IN_DIGITS:
                end += 1
            position = end
    return position
