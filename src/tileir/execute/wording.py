"""Numbers, indices and tile blocks as messages spell them."""

from __future__ import annotations

from typing import Any

from tileir.execute.errors import BlockId


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
