"""Numbers, indices and tile blocks as messages spell them."""

from __future__ import annotations

from typing import Any, Final

from tileir.execute.errors import BlockId
from tileir.ir.core import Operation

# What stands in a phrase for the operation it is about, the second one, the array that the first one accesses, and the
# symbol of its operator.
THIS: Final = "\1"
OTHER: Final = "\2"
ARRAY: Final = "\3"
SYMBOL: Final = "\4"


class Phrase(str):
    """A text about one or two operations of a tile program, and `script`: the same for the author of a cuTile script.

    `infix` is that of an operator in the script, `unchecked` that of an access with `check_bounds=False`.
    """

    script: str
    infix: str
    unchecked: str

    def __new__(cls, text: str, script: str, infix: str = "", unchecked: str = "") -> Phrase:
        found = super().__new__(cls, text)
        found.script, found.infix, found.unchecked = script, infix, unchecked
        return found

    def __reduce__(self) -> tuple[type[Phrase], tuple[str, str, str, str]]:
        return Phrase, (str(self), self.script, self.infix, self.unchecked)


def phrase(
    text: str,
    this: Operation | None = None,
    other: Operation | None = None,
    *,
    script: str | None = None,
    infix: str = "",
) -> str:
    """A `Phrase`: a text with marks, which are mnemonics in the tile program; `script` where cuTile has other terms."""
    plain = text.replace(THIS, this.declaration.mnemonic) if this is not None else text
    plain = plain.replace(OTHER, other.declaration.mnemonic) if other is not None else plain
    return Phrase(plain, text if script is None else script, infix)


def in_script(text: str) -> str:
    """The words of a text for the author of a script, with marks."""
    return text.script if isinstance(text, Phrase) else text


def parenthesized(block: BlockId) -> str:
    return f"({', '.join([str(number) for number in block])})"


def bracketed(index: tuple[int, ...]) -> str:
    return f"[{', '.join([str(number) for number in index])}]"


def python_shape(shape: tuple[int, ...]) -> str:
    """A shape as Python writes it: `(4,)`."""
    return f"({', '.join([str(extent) for extent in shape])}{',' if len(shape) == 1 else ''})"


def several(count: int, what: str) -> str:
    """A number with its noun: `1 byte`, `2 bytes`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def spelled_number(value: Any) -> str:
    """A number of a tile, to six digits."""
    # Imported here: the words of errors are to be had without it.
    import numpy

    if isinstance(value, (numpy.bool_, numpy.integer)):
        return str(int(value))
    return f"{float(value):.6g}"
