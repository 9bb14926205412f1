"""What is judged: programs and Python modules, known by their contents, and shown as text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final, Literal

from tileir.analyze.smith.program import SmithProgram
from tileir.analyze.smith.program import program as smith_program
from tileir.bytecode import is_bytecode
from tileir.interface import from_bytecode, load
from tileir.ir.diagnostics import OptionError, TileIRError

Kind = Literal["program", "seed", "kernels", "launches", "unreadable"]
"""A program is text or bytecode; a seed is one of `tileir.smith`, made where it is judged; kernels are a Python module
with cuTile kernels, judged against a reference.  Launches are such a module too, of which a reduction wants to know
what it launches, as programs; they are in no table.  What cannot be read is a row of the table too, and judged by
nobody: its content is its name and the reason."""

MODULES: Final[tuple[Kind, ...]] = ("kernels", "launches")
"""The kinds whose content is a Python module."""
_LARGEST_SEED: Final = 100_000


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

    @property
    def trouble(self) -> str:
        """Why it cannot be read, of one that cannot."""
        is_unreadable = self.kind == "unreadable"
        return self.content.rpartition(b"\0")[2].decode("utf-8", "surrogateescape") if is_unreadable else ""


def unreadable(name: str, why: str) -> Item:
    """What stands in the table for something that cannot be read."""
    reason = why.replace("\0", "\\0")
    return Item(name, "unreadable", f"{name}\0{reason}".encode("utf-8", "surrogateescape"))


def seed_program(content: bytes) -> SmithProgram:
    """The program of a seed, which may come from a stranger."""
    try:
        chosen = json.loads(content)
        size = chosen.get("size") if isinstance(chosen, dict) else None
        if size is not None and not (isinstance(size, int) and 0 <= size <= _LARGEST_SEED):
            raise ValueError(f"its size is no number from 0 to {_LARGEST_SEED:,}")
        return smith_program(**chosen)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(f"this is no seed of a program: {error}") from None


# --- as text, and as the contents of a file ---


TEXT, BYTECODE, PYTHON = ".mlir", ".tileirbc", ".py"


def content_of(item: Item) -> tuple[bytes, str]:
    """What a file of it holds, and how the file's name ends.  Of a seed that is its program, whole."""
    if item.kind == "kernels":
        return item.content, PYTHON
    if item.kind == "unreadable":
        return b"", TEXT
    if item.kind == "seed":
        return seed_program(item.content).text().encode(), TEXT
    return item.content, ending_of(item.content)


def ending_of(content: bytes) -> str:
    return BYTECODE if is_bytecode(content) else TEXT


def text_of(content: bytes) -> str:
    """A program or a module for people; bytecode as `tileir dis` prints it, where it can be read."""
    if is_bytecode(content):
        try:
            return from_bytecode(content, verify=False).text()
        except TileIRError as error:
            return f"// {len(content):,} bytes of bytecode that cannot be read: {error.message}"
    return content.decode("utf-8", "backslashreplace")


def operations_in(content: bytes) -> int:
    """How many operations a program has; 0 for what is none."""
    try:
        return sum(1 for _ in load(content).walk())
    except (TileIRError, ValueError):
        return 0
