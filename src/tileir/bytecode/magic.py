"""How a bytecode file begins.  A file of its own, so that telling text from bytecode costs no import of the readers."""

from __future__ import annotations

from tileir.annotations import Final

MAGIC: Final = b"\x7fTileIR\x00"


def is_bytecode(data: bytes) -> bool:
    return data[: len(MAGIC)] == MAGIC


def is_text(data: bytes) -> bool:
    """Whether bytes may be a text; UTF-8 is not checked."""
    return not (b"\x00" in data or data[:1] == MAGIC[:1])
