"""Bytecode: programs to bytes and back, in the public layout and in the documented one (docs/reference/bytecode.md).

Begin with `layouts.py`: `from_bytes`, `to_bytes`, and what bytecode cannot hold.  Below it, from the bytes up:

- here: how a file begins, so that telling text from bytecode imports no reader
- `primitives.py`: numbers as bytes, errors, the trace of a reader; `container.py`: header and sections
- `entry_tables.py`: strings, constants and tables of entries; `types.py`; `debug.py`; `tables.py`: all of a file
- `records.py`: how an operation is laid out, derived from its declaration; `attributes.py`
- `region_reader.py`, `body_reader.py`, `body_writer.py`: operations; `reader.py`, `writer.py`: modules
- `annotated.py`, `annotated_values.py`: every byte of a file explained, from the trace of the reader
- `documented/`: what the documented layout does otherwise
"""

from __future__ import annotations

from tileir.annotations import Final

MAGIC: Final = b"\x7fTileIR\x00"


def is_bytecode(data: bytes) -> bool:
    return data[: len(MAGIC)] == MAGIC


def is_text(data: bytes) -> bool:
    """Whether bytes may be a text; UTF-8 is not checked."""
    return not (b"\x00" in data or data[:1] == MAGIC[:1])
