"""The columns of a recording in a file: NumPy arrays of one dimension, each with a type of its own.

docs/recording.md describes the file; `saving` writes it, `loading` reads it.
"""

from __future__ import annotations

import io
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import RecordingError

FORMAT: Final = "tileir recording"
VERSION: Final = 1
HEAD: Final = "recording.json"
PROGRAM: Final = "program.mlir"

COLUMNS: Final[dict[str, str]] = {
    "accesses/block": "<i4",
    "accesses/step": "<u4",
    "accesses/operation": "<i4",
    "accesses/array": "<i4",
    "accesses/kind": "|u1",
    "accesses/masked": "<i4",
    "accesses/approximate": "|u1",
    "accesses/box_start": "<i8",
    "accesses/box_first": "<i8",
    "accesses/box_form": "<i4",
    "forms/start": "<i8",
    "forms/extents": "<i8",
    "forms/strides": "<i8",
    "blocks/number": "<i4",
    "blocks/path": "<i4",
    "blocks/steps": "<u4",
    "blocks/began": "<i8",
    "paths/start": "<i8",
    "paths/decisions": "<i4",
    "paths/last": "<i4",
    "allowed/row": "<i8",
    "allowed/start": "<i8",
    "allowed/bits": "|u1",
}
WRITES: Final[dict[str, str]] = {
    "writes/row": "<i8",
    "writes/region": "<i4",
    "writes/size": "|u1",
    "writes/offset": "<i8",
    "writes/form": "<i4",
    "writes/place_start": "<i8",
    "writes/places": "<i8",
    "writes/data_start": "<i8",
    "writes/data": "|u1",
    "writes/form_start": "<i8",
    "writes/extents": "<i8",
    "writes/strides": "<i8",
}
"""What is there only if every write is kept."""


def column_bytes(column: Array, dtype: str) -> bytes:
    """A column as a file of NumPy's format."""
    file = io.BytesIO()
    numpy.lib.format.write_array(file, numpy.ascontiguousarray(column, dtype), allow_pickle=False)
    return file.getvalue()


def column_of(name: str, data: bytes, dtype: str) -> Array:
    """The column in a file of NumPy's format: of the type that is expected, of one dimension, and of the length that
    its head says."""
    file = io.BytesIO(data)
    try:
        version = numpy.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, found = numpy.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, found = numpy.lib.format.read_array_header_2_0(file)
        else:
            raise RecordingError(f"{name} is in version {version[0]}.{version[1]} of NumPy's format: 1.0 is expected")
    except RecordingError:
        raise
    except Exception:
        # NumPy reads the header with Python's own parser, whose exceptions are many.
        raise RecordingError(f"{name} is not a file of NumPy's format") from None
    wanted = numpy.dtype(dtype)
    rest = len(data) - file.tell()
    if found != wanted or len(shape) != 1 or shape[0] * wanted.itemsize != rest:
        raise RecordingError(f"{name} is not a column of {dtype} with {rest} bytes")
    return numpy.frombuffer(data, wanted, offset=file.tell())


def starts_of(lengths: list[int]) -> Array:
    """Where parts of these lengths start, one after the other, and where the last one ends."""
    return numpy.concatenate((numpy.zeros(1, numpy.int64), numpy.cumsum(numpy.array(lengths, numpy.int64))))


def joined(parts: list[Array], dtype: str) -> Array:
    return numpy.concatenate([numpy.zeros(0, dtype), *parts])
