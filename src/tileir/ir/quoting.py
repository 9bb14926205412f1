"""Strings and names as they are written: quoted in programs, harmless on a terminal; Python's types in messages.

A program may hold any bytes in its strings, names and comments, and its file may have any name.  On a terminal,
characters that it would obey are spelled out: no color, no cursor movement, no title, no reversed reading direction.
"""

from __future__ import annotations

from tileir.annotations import Final, Iterable


def quote(value: str) -> str:
    r"""A string literal: `"` is `\22`, `\` is doubled, bytes outside 0x20..0x7E are `\XX`."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    parts = []
    for byte in value.encode("utf-8", "surrogateescape"):
        if byte == 0x5C:
            parts.append("\\\\")
        elif byte == 0x22 or not 0x20 <= byte <= 0x7E:
            parts.append(f"\\{byte:02X}")
        else:
            parts.append(chr(byte))
    return '"' + "".join(parts) + '"'


def is_bare_identifier(name: str) -> bool:
    """`[A-Za-z_][A-Za-z0-9_$.]*`."""
    if not name or not name.isascii() or not (name[0].isalpha() or name[0] == "_"):
        return False
    return name.replace("_", "x").replace("$", "x").replace(".", "x").isalnum()


def key_text(name: str) -> str:
    """A name in a dictionary."""
    return name if is_bare_identifier(name) else quote(name)


def symbol_text(name: str) -> str:
    return f"@{name}" if is_bare_identifier(name) else f"@{quote(name)}"


def type_text(value: object) -> str:
    """The type of a Python value in a message: `an int`, `a str`, or `None`."""
    if value is None:
        return "None"
    name = type(value).__name__
    # `ndarray` begins with the name of a letter.
    vowel = name[:1] in "aeiouAEIO" or name.startswith("nd")
    return f"an {name}" if vowel else f"a {name}"


def several(count: int, noun: str) -> str:
    """A number with its noun: `1 byte`, `2 bytes`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def close_names(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names that a misspelled one may stand for, the closest first."""
    # Imported here: few names are misspelled.
    from difflib import get_close_matches

    return get_close_matches(name, list(known), most, cutoff)


# Control characters of Unicode: C0, DEL and C1; line separators; marks of reading direction; bytes that are not UTF-8,
# as surrogate escapes.
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
