"""Frames through a pipe: four bytes of length, and as many bytes, which are JSON where the writer is not trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

_LENGTH: Final = 4
MOST_BYTES: Final = 64 << 20
"""The limit of all frames of one child together."""
_MOST_FRAMES: Final = 10_000
_LARGEST_FRAME: Final = 4 << 20
"""A child could make the reader of its frames take far more memory than they have bytes."""


class BadMessage(Exception):
    """Bytes that are no frame, or a frame that a child may not send."""


def frame(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH, "little") + content


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it; a pipe takes as much at once as it has room for."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def send(descriptor: int, message: object) -> None:
    """Write a message as a frame of JSON."""
    write_all(descriptor, frame(json.dumps(message, separators=(",", ":")).encode()))


def read_frame(descriptor: int) -> bytes | None:
    """The next frame of a process that is trusted; None at the end."""
    head = _read(descriptor, _LENGTH)
    return None if head is None else _read(descriptor, int.from_bytes(head, "little"))


def _read(descriptor: int, count: int) -> bytes | None:
    parts = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class FrameReader:
    """The frames of a child that is not trusted, from what it has written so far."""

    def __init__(self) -> None:
        self._pending: bytearray = bytearray()
        self._count: int = 0
        self._frames: int = 0

    def add(self, data: bytes) -> Iterator[bytes]:
        """The frames that are complete with these bytes."""
        self._count += len(data)
        if self._count > MOST_BYTES:
            raise BadMessage(f"it wrote more than {MOST_BYTES >> 20} MiB into the pipe for verdicts")
        self._pending += data
        while len(self._pending) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._pending[:_LENGTH], "little")
            if end - _LENGTH > _LARGEST_FRAME or self._frames == _MOST_FRAMES:
                raise BadMessage("it wrote into the pipe for verdicts")
            if len(self._pending) < end:
                return
            self._frames += 1
            content = bytes(self._pending[_LENGTH:end])
            del self._pending[:end]
            yield content


def parsed(content: bytes) -> dict[str, Any]:
    """A JSON object of a process that is not trusted."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise BadMessage("what it wrote is no JSON") from None
    if not isinstance(found, dict):
        raise BadMessage("what it wrote is no object")
    return found


_hints = cache(get_type_hints)
_NOUNS: Final[dict[Any, str]] = {str: "text", float: "number", int: "whole number", bytes: "sequence of bytes"}


def checked(kind: Any, plain: Any, what: str = "message") -> Any:
    """A plain value as its type, a dataclass from its fields; raises `BadMessage` for what is not of the type."""
    arguments, origin = get_args(kind), get_origin(kind)
    if kind is Any or (origin is Literal and plain in arguments):
        return plain
    if origin is UnionType:
        return None if plain is None else checked(arguments[0], plain, what)
    if origin is list and isinstance(plain, list):
        return [checked(arguments[0], each, what) for each in plain]
    if origin is dict and isinstance(plain, dict):
        return {str(key): checked(arguments[1], value, what) for key, value in plain.items()}
    if hasattr(kind, "__dataclass_fields__") and isinstance(plain, dict):
        try:
            return kind(
                **{name: checked(hint, plain[name], name) for name, hint in _hints(kind).items() if name in plain}
            )
        except TypeError:
            raise BadMessage(f"its {what} lacks something") from None
    if kind is float and (isinstance(plain, float) or (isinstance(plain, int) and abs(plain) < 1 << 1000)):
        return float(plain)
    if kind is str and isinstance(plain, str):
        # A lone surrogate cannot be written to a table.
        return plain.encode("utf-8", "replace").decode()
    if kind in (int, bytes) and isinstance(plain, kind) and (kind is bytes or 0 <= plain < 1 << 63):
        return plain
    raise BadMessage(f"its {what} is no {_NOUNS.get(kind, 'such value')}")
