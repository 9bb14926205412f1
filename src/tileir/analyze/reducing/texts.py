"""What is no valid program, reduced as text or as bytes: lines, what braces hold, words; or any bytes.

So mistakes can be reduced that a program makes a reader or a verifier complain about, or crash on.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Callable, Sequence
from typing import Final

from tileir.analyze.reducing.search import Changed, Search
from tileir.bytecode import MAGIC, is_bytecode

_WORD: Final = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|[\w.$-]+|\s+|.", re.DOTALL)
_MOST_BYTES: Final = 1 << 14
"""Of longer files not every byte is tried by itself."""

Bytes = Sequence[Changed[bytes]]


class BytesKind:
    """What the search has to know about contents of files."""

    def digest(self, candidate: bytes) -> bytes:
        return blake2b(candidate, digest_size=20, person=b"tileir reduce").digest()

    def is_simpler(self, candidate: bytes, best: bytes) -> bool:
        return _weight(candidate) < _weight(best)

    def is_valid(self, candidate: bytes) -> bool:
        return bool(candidate)

    def data(self, candidate: bytes) -> bytes:
        return candidate


def _weight(data: bytes) -> tuple[int, int, int]:
    if is_bytecode(data):
        return (len(data), len(data) - data.count(0), 0)
    return (len(data.split()), len(data), 0)


def reduce_bytes(search: Search[bytes]) -> None:
    """Make a file as small as can be, whatever is in it."""
    while True:
        before = search.steps
        if is_bytecode(search.best):
            _remove_chunks(search, _byte_chunks)
            _remove_chunks(search, _zeroed_chunks)
        else:
            _remove_chunks(search, _line_chunks)
            search.exhaust(_braces)
            _remove_chunks(search, _word_chunks)
        if search.steps == before:
            return


def _remove_chunks(search: Search[bytes], chunks: Callable[[bytes, int], Bytes]) -> None:
    """Chunks of half of the file, a quarter, and so on; `chunks` gives none where the size is not worth it."""
    size = max(1, len(search.best) // 2)
    while size:
        search.exhaust(lambda data, s=size: chunks(data, s))  # type: ignore[misc]
        size //= 2


def _without(parts: list[bytes], start: int, end: int) -> Changed[bytes]:
    return lambda: b"".join(parts[:start] + parts[end:])


def _chunks(parts: list[bytes], size: int) -> Bytes:
    if size > len(parts):
        return []
    return [_without(parts, max(0, end - size), end) for end in range(len(parts), 0, -size)]


def _line_chunks(data: bytes, size: int) -> Bytes:
    return _chunks(data.splitlines(keepends=True), size)


def _word_chunks(data: bytes, size: int) -> Bytes:
    """Words with the blanks behind them."""
    parts: list[bytes] = []
    for word in _WORD.findall(data):
        if word.isspace() and parts:
            parts[-1] += word
        else:
            parts.append(word)
    return _chunks(parts, size) if size <= 64 else []


def _braces(data: bytes) -> Bytes:
    """What stands between two braces: away with it, with the line it begins in; or only the braces."""
    lines = data.splitlines(keepends=True)
    found: list[Changed[bytes]] = []
    open_lines: list[int] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(b"}") and open_lines:
            start = open_lines.pop()
            found.append(_without(lines, start, number + 1))
            found.append(lambda a=start, b=number: b"".join(lines[:a] + lines[a + 1 : b] + lines[b + 1 :]))  # type: ignore[misc]
        if text.endswith(b"{"):
            open_lines.append(number)
    found.reverse()
    return found


def _byte_chunks(data: bytes, size: int) -> Bytes:
    if size == 1 and len(data) > _MOST_BYTES:
        return []
    ends = range(len(data), len(MAGIC), -size)
    return [lambda e=end: data[: max(len(MAGIC), e - size)] + data[e:] for end in ends]  # type: ignore[misc]


def _zeroed_chunks(data: bytes, size: int) -> Bytes:
    if len(data) > _MOST_BYTES and size < 16:
        return []
    ends = range(len(data), len(MAGIC), -size)
    return [lambda e=end: _zeroed(data, max(len(MAGIC), e - size), e) for end in ends]  # type: ignore[misc]


def _zeroed(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + bytes(end - start) + data[end:]
