"""The file of a recording, checked while it is read: JSON by type, columns by dtype, length and range.

A file may come from anywhere: what is wrong with it is a `RecordingError`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, BinaryIO, Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import RecordingError
from tileir.execute.recording.file_writer import DTYPES, HEAD, PROGRAM

LARGEST: Final = 1 << 62
_TEXT_GROWS: Final = 16
"""So many times its size a text takes when it is read: a program, or JSON."""
_TEXT: Final = 1 << 24
"""Texts that are read whatever the limit is."""


class JsonObject:
    """An object of JSON, whose members are asked for by type."""

    def __init__(self, members: object, name: str = HEAD) -> None:
        if not isinstance(members, dict):
            raise RecordingError(f"{name} is not an object")
        self._members: dict[str, Any] = members
        self._name: str = name

    def _get(self, name: str, is_valid: Callable[[Any], bool], expected: str) -> Any:
        found = self._members.get(name)
        if not is_valid(found):
            raise RecordingError(f"'{name}' of {self._name} {expected}")
        return found

    def has(self, name: str) -> bool:
        return self._members.get(name) is not None

    def number(self, name: str, least: int = 0, most: int = LARGEST) -> int:
        expected = f"is not a whole number from {least} to {most}"
        return int(self._get(name, lambda found: _is_number(found, least, most), expected))

    def numbers(self, name: str, least: int = 0, most: int = LARGEST) -> list[int]:
        expected = f"is not a list of whole numbers from {least} to {most}"
        return list(self._get(name, _list_of(lambda one: _is_number(one, least, most)), expected))

    def text(self, name: str) -> str:
        return str(self._get(name, lambda found: isinstance(found, str), "is not a text"))

    def texts(self, name: str) -> list[str]:
        return list(self._get(name, _list_of(lambda one: isinstance(one, str)), "is not a list of texts"))

    def is_all(self, name: str) -> bool:
        return bool(self._members.get(name) == "all")

    def flag(self, name: str) -> bool:
        return bool(self._get(name, lambda found: isinstance(found, bool), "is neither true nor false"))

    def part(self, name: str) -> JsonObject:
        return JsonObject(self._members.get(name), f"'{name}' of {self._name}")

    def parts(self, name: str) -> list[JsonObject]:
        found = self._get(name, lambda found: isinstance(found, list), "is not a list")
        return [JsonObject(one, f"'{name}' of {self._name}") for one in found]

    def numbers_by_name(self, name: str, most: int) -> dict[str, int]:
        def is_valid(found: Any) -> bool:
            return isinstance(found, dict) and all(_is_number(one, 0, most) for one in found.values())

        return dict(self._get(name, is_valid, f"does not have whole numbers from 0 to {most}"))


def _is_number(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, list) and all(is_valid(one) for one in found)


class Archive:
    """The members of a zip file, of at most `limit` bytes in all."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        try:
            self._file = zipfile.ZipFile(stream)
        except Exception:
            # `zipfile` raises whatever comes of numbers and names that make no sense.
            raise RecordingError("it is not a zip file") from None
        self._names: set[str] = set(self._file.namelist())
        self._limit: int = limit
        self._left: int = limit
        self._columns: dict[str, Array] = {}

    def read(self, name: str) -> bytes:
        if name not in self._names:
            raise RecordingError(f"{name} is missing")
        size = self._file.getinfo(name).file_size
        # Objects that are made of text take many times as much.
        if size > self._left or (name in (HEAD, PROGRAM) and size > max(self._limit // _TEXT_GROWS, _TEXT)):
            raise RecordingError(f"it takes more than {self._limit} bytes: load it with a larger limit")
        try:
            with self._file.open(name) as member:
                # Not more than it says, whatever it is compressed from.
                data = member.read(size + 1)
        except Exception:
            # What is compressed is damaged, or in a way that `zipfile` does not know.
            raise RecordingError(f"{name} cannot be read") from None
        if len(data) != size:
            raise RecordingError(f"{name} is not of the size that it says")
        self._left -= size
        return data

    def column(self, name: str) -> Array:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = _column_of(name, self.read(f"{name}.npy"), DTYPES.get(name, "|u1"))
        return found

    def table(self, prefix: str, names: Iterable[str], message: str) -> dict[str, Array]:
        """Columns of one length, by name."""
        found = {name: self.column(f"{prefix}/{name}") for name in names}
        require(len({len(column) for column in found.values()}) == 1, message)
        return found

    def forms(self, start: str, prefix: str, message: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Extents and strides, one after the other in columns."""
        extents, strides = self.table(prefix, ("extents", "strides"), message).values()
        starts = self.starts(start, len(self.column(start)) - 1, len(extents)).tolist()
        return [
            (tuple(extents[low:high].tolist()), tuple(strides[low:high].tolist())) for low, high in pairwise(starts)
        ]

    def head(self) -> JsonObject:
        try:
            return JsonObject(json.loads(self.read(HEAD)))
        except (ValueError, RecursionError):
            raise RecordingError(f"{HEAD} is not JSON") from None

    def starts(self, name: str, count: int, end: int) -> Array:
        """A column that says where each of some parts starts, and where the last one ends."""
        starts = self.column(name)
        good = len(starts) == count + 1 >= 1 and int(starts[0]) == 0 and int(starts[-1]) == end
        require(good and bool((numpy.diff(starts) >= 0).all()), f"{name} does not lead from 0 to {end}")
        return starts


def _column_of(name: str, data: bytes, dtype: str) -> Array:
    """The column in a file of NumPy's format: of the expected type, of one dimension, as long as its header says."""
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
    expected = numpy.dtype(dtype)
    rest = len(data) - file.tell()
    if found != expected or len(shape) != 1 or shape[0] * expected.itemsize != rest:
        raise RecordingError(f"{name} is not a column of {dtype} with {rest} bytes")
    return numpy.frombuffer(data, expected, offset=file.tell())


def require(holds: bool, message: str) -> None:
    if not holds:
        raise RecordingError(message)


def within(name: str, column: Array, least: int, most: int) -> None:
    if len(column) and not (least <= int(column.min()) and int(column.max()) <= most):
        raise RecordingError(f"{name} has numbers that are not from {least} to {most}")
