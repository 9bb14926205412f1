"""Contents of files that are no valid programs, reduced as text (lines, braces, words) or as bytes.

So errors can be reduced that a reader or a verifier reports, or on which it crashes.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tileir.analyze.reducing.search import Change, Kind, Search
from tileir.bytecode import MAGIC, is_bytecode

_WORD: Final = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"\s*|[\w.$-]+\s*|\s+|.\s*", re.DOTALL)
"""A word with the blanks after it."""
_MOST_BYTES: Final = 1 << 14
"""The longest file of which every single byte is tried."""
_MOST_WORDS: Final = 64
"""The largest chunk of words to remove; whole lines come before."""

Changes = Sequence[Change[bytes]]


def _digest(candidate: bytes) -> bytes:
    return blake2b(candidate, digest_size=20, person=b"tileir reduce").digest()


def _weight(candidate: bytes) -> tuple[int, ...]:
    if is_bytecode(candidate):
        return (len(candidate), len(candidate) - candidate.count(0))
    return (len(candidate.split()), len(candidate))


CONTENTS: Final[Kind[bytes]] = Kind(_digest, _weight, bool, bytes)


def reduce_contents(search: Search[bytes]) -> None:
    """Make the contents of a file as small as possible."""
    before = -1
    while search.steps != before:
        before = search.steps
        if is_bytecode(search.best):
            for zeroed in (False, True):
                _halve(search, partial(_byte_chunks, zeroed=zeroed))
        else:
            _halve(search, lambda data, size: _chunks(data.splitlines(keepends=True), size))
            search.exhaust(_braces)
            _halve(search, lambda data, size: _chunks(_WORD.findall(data), size) if size <= _MOST_WORDS else [])


def _halve(search: Search[bytes], chunks: Callable[[bytes, int], Changes]) -> None:
    """Try chunks of half of the file, a quarter, and so on."""
    size = max(1, len(search.best) // 2)
    while size:
        search.exhaust(lambda data, size=size: chunks(data, size))  # type: ignore[misc]
        size //= 2


def _without(parts: list[bytes], *ranges: tuple[int, int]) -> bytes:
    return b"".join([part for place, part in enumerate(parts) if not any(a <= place < b for a, b in ranges)])


def _chunks(parts: list[bytes], size: int) -> Changes:
    if size > len(parts):
        return []
    return [partial(_without, parts, (end - size, end)) for end in range(len(parts), 0, -size)]


def _braces(data: bytes) -> Changes:
    """Lines from one that ends in a brace to the one that closes it, or only these two; the outermost first."""
    lines = data.splitlines(keepends=True)
    found: list[Change[bytes]] = []
    open_lines: list[int] = []
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(b"}") and open_lines:
            start = open_lines.pop()
            found.append(partial(_without, lines, (start, start + 1), (number, number + 1)))
            found.append(partial(_without, lines, (start, number + 1)))
        if text.endswith(b"{"):
            open_lines.append(number)
    found.reverse()
    return found


def _byte_chunks(data: bytes, size: int, zeroed: bool) -> Changes:
    """Chunks of bytecode, removed or set to zero."""
    if len(data) > _MOST_BYTES and size < (16 if zeroed else 2):
        return []
    return [
        partial(_cut, data, max(len(MAGIC), end - size), end, zeroed) for end in range(len(data), len(MAGIC), -size)
    ]


def _cut(data: bytes, start: int, end: int, zeroed: bool) -> bytes:
    return data[:start] + bytes(end - start if zeroed else 0) + data[end:]
