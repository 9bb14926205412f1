"""Bytecode: programs to bytes and back, in the public layout and in the documented one (docs/bytecode.md).

Begin with `layouts.py`: `from_bytes`, `to_bytes`, and what bytecode cannot hold.  Below it, from the bytes up:

- `magic.py`, `primitives.py`: numbers as bytes, errors, the trace of a reader; `container.py`: header and sections
- `entry_tables.py`: strings, constants and tables of entries; `types.py`; `debug.py`; `tables.py`: all of a file
- `records.py`: how an operation is laid out, derived from its declaration; `attributes.py`
- `region_reader.py`, `body_reader.py`, `body_writer.py`: operations; `reader.py`, `writer.py`: modules
- `annotated.py`, `annotated_values.py`: every byte of a file explained, from the trace of the reader
- `documented/`: what the documented layout does otherwise
"""
