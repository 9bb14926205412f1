"""The lexer of a compiled build: text into tokens, character by character.

Compiled, it takes a third of the time of the lexer's regular expression, which would be most of the time of parsing; as
Python it would take many times as long.  The expression defines the tokens and reads the rare and difficult ones;
`tests/text/test_scanner.py` compares the two.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import re

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


def _beginnings() -> bytes:
    kinds = bytearray(128)
    for characters, kind in (
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
    ):
        for character in characters:
            kinds[character] = kind
    return bytes(kinds)


def _continuations() -> bytes:
    kinds = bytearray(128)
    for character in range(1, 128):
        kinds[character] = (0 if character in b'"\\\n' else _IN_STRING) | (0 if character in b'<>"/%' else _IN_TYPE)
    for characters, kind in (
        (_LETTERS + _DIGITS + b"$.-", _IN_NAME),
        (_LETTERS + _DIGITS + b"$.", _IN_WORD),
        (_DIGITS, _IN_DIGITS),
        (_DIGITS + b"abcdefABCDEF", _IN_HEXADECIMAL),
    ):
        for character in characters:
            kinds[character] |= kind
    return bytes(kinds)


_BEGINNINGS: Final = _beginnings()
_CONTINUATIONS: Final = _continuations()

_TYPES: Final = frozenset(
    [
        f"{prefix}{name}"
        for name in ("tile", "ptr", "tensor_view", "partition_view", "strided_view", "gather_scatter_view")
        for prefix in ("", "!", "cuda_tile.", "!cuda_tile.")
    ]
)


def scanned_tokens(text: str, expression: re.Pattern[str]) -> list[str]:
    """All tokens of a text of ASCII characters, as the lexer's expression defines them."""
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
                position = _match(text, start, expression, tokens)
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
                position = _match(text, start, expression, tokens)
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
            position = _match(text, start, expression, tokens)
            continue
        tokens.append(text[start:position])


def _number_of_result_end(data: bytes, position: int) -> int:
    """Where a name ends that may be followed by the number of a result."""
    if data[position] != 35:
        return position
    end = position + 1
    while _CONTINUATIONS[data[end]] & _IN_DIGITS:
        end += 1
    return end if end > position + 1 else position


def _match(text: str, start: int, expression: re.Pattern[str], tokens: list[str]) -> int:
    """Match a token with the lexer's expression; return where it ends."""
    match = expression.match(text, start)
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
