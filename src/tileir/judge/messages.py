"""What goes through the pipes between who has a program judged, the server that starts children, and a child.

    owner  -> server   pickled requests: the owner is trusted, as it started the server
    child  -> server   frames of JSON: a child ran foreign code, and whatever it writes is checked
    server -> owner    verdicts as JSON

A frame is a letter, four bytes of length, and as many bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final, get_args

from tileir.judge.verdicts import Outcome, Step, Verdict

_HEAD: Final = 5
_OUTCOMES: Final = frozenset(get_args(Outcome))

BEGIN: Final = b"B"
"""The name of a step that begins now: what is known of a child that dies in it."""
STEP: Final = b"S"
"""A step that is over."""
HAND_OVER: Final = b"H"
"""Bytes for the next child of the same program."""
END: Final = b"E"
"""The child has nothing more to say; how many seconds its work took."""

REQUEST: Final = b"R"
VERDICT: Final = b"V"

MOST_BYTES: Final = 64 << 20
"""Of all frames of one child: more is not taken."""
_MOST_FRAMES: Final = 10_000
_MOST_OF_ONE: Final = {BEGIN: 1 << 10, STEP: 4 << 20, HAND_OVER: MOST_BYTES, END: 1 << 10}
"""A child could make who reads its frames take far more memory than they have bytes."""


class Garbage(Exception):
    """Bytes that are no frame, or a frame that says nothing that a child may say."""


def frame(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(4, "little") + content


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of it; a pipe takes as much at once as it has place for."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int) -> tuple[bytes, bytes] | None:
    """The next frame of a process that is trusted; None at the end."""
    head = _read_whole(descriptor, _HEAD)
    if head is None:
        return None
    content = _read_whole(descriptor, int.from_bytes(head[1:], "little"))
    return None if content is None else (head[:1], content)


def _read_whole(descriptor: int, count: int) -> bytes | None:
    parts = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Frames:
    """What a child wrote so far, as frames; nothing is believed of it."""

    def __init__(self) -> None:
        self._pending: bytearray = bytearray()
        self._count: int = 0
        self._frames: int = 0

    def add(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The frames that are complete with these bytes."""
        self._count += len(data)
        if self._count > MOST_BYTES:
            raise Garbage(f"it wrote more than {MOST_BYTES >> 20} MiB into the pipe for verdicts")
        self._pending += data
        while len(self._pending) >= _HEAD:
            kind = bytes(self._pending[:1])
            if kind not in _MOST_OF_ONE:
                raise Garbage("it wrote into the pipe for verdicts")
            end = _HEAD + int.from_bytes(self._pending[1:_HEAD], "little")
            if end - _HEAD > _MOST_OF_ONE[kind] or self._frames == _MOST_FRAMES:
                raise Garbage("it wrote into the pipe for verdicts")
            if len(self._pending) < end:
                return
            self._frames += 1
            content = bytes(self._pending[_HEAD:end])
            del self._pending[:end]
            yield kind, content


# --- steps and verdicts ---


def encoded(value: Step | Verdict) -> bytes:
    plain = asdict(value)
    if isinstance(value, Verdict) and value.reproducer is not None:
        plain["reproducer"] = value.reproducer.hex()
    return json.dumps(plain, separators=(",", ":")).encode()


def read_name(content: bytes) -> str:
    """The name of a step, as a child gives it."""
    return _text(content, "name")[:200]


def read_seconds(content: bytes) -> float:
    try:
        seconds = float(_text(content, "time"))
    except ValueError:
        raise Garbage("its time is no number") from None
    return seconds if math.isfinite(seconds) else 0.0


def read_step(content: bytes) -> Step:
    """A step, as a child or the server tells it."""
    return _step(_object(_value(content)))


def read_verdict(content: bytes) -> Verdict:
    """A verdict, as the server tells it."""
    plain = _object(_value(content))
    steps = plain.get("steps")
    reproducer = plain.get("reproducer")
    return Verdict(
        _string(plain, "digest"),
        _outcome(plain),
        _string(plain, "cause"),
        [_step(_object(each)) for each in steps] if isinstance(steps, list) else [],
        _string(plain, "output"),
        _numbers(plain, "measured"),
        bytes.fromhex(reproducer) if isinstance(reproducer, str) else None,
    )


def _step(plain: dict[str, Any]) -> Step:
    return Step(
        _string(plain, "name"),
        _outcome(plain),
        _string(plain, "message"),
        _string(plain, "cause"),
        _object(plain.get("details", {})),
        _numbers(plain, "measured"),
    )


def _text(content: bytes, what: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Garbage(f"its {what} is no text") from None


def _value(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Garbage("what it wrote is no JSON") from None


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Garbage("what it wrote is no object")
    return value


def _string(plain: dict[str, Any], name: str) -> str:
    value = plain.get(name, "")
    if not isinstance(value, str):
        raise Garbage(f"its {name} is no text")
    # A lone surrogate cannot be written to the table.
    return value.encode("utf-8", "replace").decode()


def _outcome(plain: dict[str, Any]) -> Outcome:
    value: Any = plain.get("outcome")
    if value not in _OUTCOMES:
        raise Garbage("its outcome is none")
    found: Outcome = value
    return found


def _numbers(plain: dict[str, Any], name: str) -> dict[str, float]:
    value = _object(plain.get(name, {}))
    if not all(isinstance(each, (int, float)) for each in value.values()):
        raise Garbage(f"its {name} are no numbers")
    return value
