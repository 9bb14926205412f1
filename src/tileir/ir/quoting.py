"""How strings and names are spelled: quoted where they have to be; and what messages call arguments of Python."""

from __future__ import annotations

from tileir.annotations import Iterable


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


def symbol_text(name: str) -> str:
    return f"@{name}" if is_bare_identifier(name) else f"@{quote(name)}"


def type_words(value: object) -> str:
    """The type of a Python value in a message: `an int`, `a str`, or `None`."""
    if value is None:
        return "None"
    name = type(value).__name__
    # `ndarray` begins with the name of a letter.
    vowel = name[:1] in "aeiouAEIO" or name.startswith("nd")
    return f"an {name}" if vowel else f"a {name}"


def names_given(argument: str, value: object) -> tuple[str, ...]:
    """The names that an argument of Python gives: one, or a list of them."""
    if isinstance(value, str):
        return (value,)
    names: list[str] = []
    if isinstance(value, Iterable):
        names = [each if isinstance(each, str) else "" for each in value]
    if "" in names or not isinstance(value, Iterable):
        raise TypeError(f"{argument} is a name or a list of names, not {repr(value)[:60]}")
    return tuple(names)
