"""Text from a file on its way to a terminal: characters that a terminal obeys instead of showing are written out.

A program may hold any bytes in its strings, names and comments, and its file any name.  What quotes them, quotes them
harmlessly: no colour, no cursor movement, no title, no reversed reading direction.
"""

from __future__ import annotations

from tileir.annotations import Final

# Where control characters stand in Unicode: C0, DEL and C1; separators of lines; marks that turn the direction of
# reading; bytes that are not UTF-8, as Python holds them.
_SEPARATORS: Final = "\u2028\u2029"
_DIRECTIONS: Final = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_REPLACEMENT: Final = "\ufffd"


def is_control(character: str) -> bool:
    """Whether a terminal may obey a character."""
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
        return True
    return character in _SEPARATORS or character in _DIRECTIONS


def harmless(text: str, keep: str = "") -> str:
    """A text with control characters spelled out, as in `\\x1b`, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join([_spelled(c) if is_control(c) and c not in keep else c for c in text])


def harmless_line(text: str) -> str:
    """A source line with one visible character for each control character, so that columns stay; tabs are kept."""
    if text.isprintable():
        return text
    return "".join([_picture(c) if is_control(c) and c != "\t" else c for c in text])


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code < 0xDD00:
        # A byte of the file.
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _picture(character: str) -> str:
    """U+2400 and after show C0."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else _REPLACEMENT
