"""What is judged: programs and Python modules, known by their contents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["program", "seed", "kernels"]
"""A program is text or bytecode; a seed is one of `tileir.smith`, made where it is judged; kernels are a Python module
with cuTile kernels, judged against a reference."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge."""

    name: str
    """What a person calls it: the path as given, `archive.zip/path`, `smith:7`."""
    kind: Kind
    content: bytes
    """The bytes of the file; of a seed, the words that `tileir smith` would be given, as JSON."""

    @property
    def digest(self) -> str:
        """Known by content alone: two files with the same bytes are judged once."""
        return hashlib.blake2b(self.kind.encode() + b"\0" + self.content, digest_size=16).hexdigest()
