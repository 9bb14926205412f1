"""What was judged, as text and as the contents of a file."""

from __future__ import annotations

from tileir.bytecode import is_bytecode
from tileir.interface import from_bytecode, load
from tileir.ir.diagnostics import TileIRError
from tileir.judge.items import Item, seed_program

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
