"""What is judged: programs and Python modules, known by their contents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["program", "seed", "kernels", "launches", "unreadable"]
"""A program is text or bytecode; a seed is one of `tileir.smith`, made where it is judged; kernels are a Python module
with cuTile kernels, judged against a reference.  Launches are such a module too, of which a reduction wants to know
what it launches, as programs; they are in no table.  What cannot be read is a row of the table too, and judged by
nobody: its content is its name and the reason."""

MODULES: Final[tuple[Kind, ...]] = ("kernels", "launches")
"""The kinds whose content is a Python module."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge."""

    name: str
    """What a person calls it: the path as given, `archive.zip/path`, `smith:7`."""
    kind: Kind
    content: bytes
    """The bytes of the file; of a seed, the words that `tileir smith` would be given, as JSON."""
    reference: bytes = b""
    """Of kernels: the Python module they are judged against, where it is another one."""

    @property
    def digest(self) -> str:
        """Known by content alone: two files with the same bytes are judged once."""
        known = self.kind.encode() + b"\0" + self.content
        if self.reference:
            known += b"\0" + hashlib.blake2b(self.reference).digest()
        return hashlib.blake2b(known, digest_size=16).hexdigest()
