"""Where a module read from bytecode came from, kept so that it can be written back byte for byte."""

from __future__ import annotations

from tileir.bytecode.container import Container
from tileir.ir.core import Operation
from tileir.ir.location import UnknownLocation


class BytecodeOrigin(UnknownLocation):
    """The location of a module that was read from a file; it prints as unknown."""

    __slots__ = ("file",)

    def __init__(self, file: Container) -> None:
        self.file: Container = file


def origin_of(module: Operation) -> Container | None:
    """The file a module was read from, if it was."""
    location = module.location
    return location.file if isinstance(location, BytecodeOrigin) else None
