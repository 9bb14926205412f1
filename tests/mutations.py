"""Files as strangers make them: valid ones, changed a little."""

from __future__ import annotations

import copy
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

PATIENCE = 120
"""Seconds until reading one small file counts as endless: machines of tests may be slow."""


class Endless(BaseException):
    """What was done did not end; no `except Exception` catches it."""


class Raw:
    """JSON that Python's own module does not write."""

    def __init__(self, text: str) -> None:
        self.text = text


DEEP = 100_000

WRONG: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    (1 << 31) - 1,
    1 << 31,
    1 << 53,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 64,
    10**400,
    0.5,
    -0.0,
    Raw("NaN"),
    Raw("Infinity"),
    Raw("-Infinity"),
    Raw("9e999"),
    Raw("9" * 5000),
    Raw("[" * DEEP + "]" * DEEP),
    "",
    "x",
    "\0",
    "\ud800",
    "x" * 100_000,
    [],
    [[]],
    {},
    {"": {}},
]
"""Values that are wrong almost everywhere."""


def json_bytes(document: Any) -> bytes:
    """A document with `Raw` in it."""
    raw: list[str] = []

    def replaced(value: Any) -> Any:
        if isinstance(value, Raw):
            raw.append(value.text)
            return f"raw value {len(raw) - 1} of a document"
        if isinstance(value, dict):
            return {key: replaced(one) for key, one in value.items()}
        return [replaced(one) for one in value] if isinstance(value, list) else value

    text = json.dumps(replaced(document))
    for number, one in enumerate(raw):
        text = text.replace(f'"raw value {number} of a document"', one)
    return text.encode()


def paths_of(document: Any) -> Iterator[tuple[Any, ...]]:
    """Where the values of a document are."""
    yield ()
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(value, (dict, list)):
            for path in paths_of(value):
                yield (key, *path)
        else:
            yield (key,)


def mutated_documents(document: Any, seed: int, count: int) -> Iterator[bytes]:
    """Documents with something else, or nothing, at each path; `count` of them are taken by chance."""
    chance = Random(seed)
    cases = [(path, value) for path in paths_of(document) for value in [*WRONG, paths_of]]
    for path, value in chance.sample(cases, min(count, len(cases))):
        if not path:
            if value is not paths_of:
                yield json_bytes(value)
            continue
        changed = copy.deepcopy(document)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        if value is paths_of:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        yield json_bytes(changed)


def mutated_bytes(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Bits flipped, bytes replaced, left out, repeated and put in, and beginnings alone."""
    chance = Random(seed)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            at = chance.randrange(len(changed) + 1)
            end = min(len(changed), at + chance.choice((1, 1, 2, 4, 8, 64)))
            how = chance.randrange(6)
            if how == 0 and at < len(changed):
                changed[at] ^= 1 << chance.randrange(8)
            elif how == 1:
                changed[at:end] = chance.choice((b"\0", b"\xff", b"\x7f", b"9", b"(", b"{")) * (end - at)
            elif how == 2:
                del changed[at:end]
            elif how == 3:
                changed[at:at] = changed[at:end]
            elif how == 4:
                changed[at:at] = chance.randbytes(chance.randrange(1, 9))
            elif chance.random() < 0.3:
                del changed[at:]
            else:
                changed[at:end] = chance.randbytes(end - at)
        yield bytes(changed)


@contextmanager
def soon() -> Iterator[None]:
    """Fail if what is done here does not end."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def endless(*_: object) -> None:
        raise Endless(f"not done after {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, endless)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcomes(cases: Iterator[Any], read: Callable[[Any], object], documented: type[Exception]) -> dict[str, int]:
    """How many cases are read and how many are refused by the error that is documented; others are raised."""
    found = {"read": 0, "refused": 0}
    for case in cases:
        with soon():
            try:
                read(case)
            except documented:
                found["refused"] += 1
            else:
                found["read"] += 1
    return found
