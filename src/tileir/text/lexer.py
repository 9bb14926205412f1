"""Text into tokens.

Tokens are plain strings from one `findall`, or from `text/scanner.py` in a compiled build.  A position is the number of
a token; it becomes a line and column only for a diagnostic (docs/architecture.md, "Why the parser is fast").  A whole
dialect type such as `tile<4x8xf32>` is one token, so reading a type is one dictionary look-up.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.ir.interning import IS_COMPILED

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
    r"|!?(?:cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)[ \t]*"
    + f"(?:{_NESTED}|{_COMMENTED})"
    + r"|[A-Za-z_][A-Za-z0-9_$.]*"
    r"|0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][+\-]?[0-9]+)?)?"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r'|@[A-Za-z_$][A-Za-z0-9_$.\-]*|@"(?:[^"\\\n]|\\.)*"?'
    r"|[#!][A-Za-z_][A-Za-z0-9_$.\-]*|#[0-9]+"
    r"|\^[A-Za-z0-9_$.\-]+"
    r"|(?!//)\S|\Z)|//[^\n]*)",
    re.ASCII,
)

_COMMENT: Final = re.compile(r"//[^\n]*")


def tokens_of(text: str) -> list[str]:
    """All tokens of a text."""
    if IS_COMPILED and text.isascii():
        from tileir.text.scanner import scanned_tokens

        return scanned_tokens(text, TOKEN)
    return matched_tokens(text)


def matched_tokens(text: str) -> list[str]:
    """All tokens of a text, found by the expression."""
    code = text
    if "//" in text:
        # Without comments there are fewer matches.  A string may contain what looks like one.
        code = text if '"' in text else _COMMENT.sub("", text)
    found: list[str] = TOKEN.findall(code)
    if code is not text and "\n" in "".join(found):
        # A type over several lines may contain a comment.
        code = text
        found = TOKEN.findall(text)
    if code is text and "//" in text:
        return [token for token in found if token]
    while found and not found[-1]:
        found.pop()
    return found


def tokenize(text: str) -> list[str]:
    """All tokens, with empty ones at the end so that looking ahead never runs out."""
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
