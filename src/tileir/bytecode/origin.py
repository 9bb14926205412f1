"""Where a module read from bytecode came from, kept so that it can be written back byte for byte."""

from __future__ import annotations

from tileir.bytecode.container import Container
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.location import UnknownLocation


class Spellings:
    """How a file writes its attributes, where there is a choice: the tag of a boolean, the order of a dictionary.

    Each attribute has the bytes of its occurrences in file order; a writer takes them back in the same order.
    """

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes: dict[Attribute, list[bytes]] = {}

    def note(self, attribute: Attribute, data: bytes) -> None:
        self._bytes.setdefault(attribute, []).append(data)

    def take(self, attribute: Attribute) -> bytes | None:
        """The next spelling of an attribute; the last one is used again when there are no more."""
        found = self._bytes.get(attribute)
        if not found:
            return None
        return found.pop(0) if len(found) > 1 else found[0]


class BytecodeOrigin(UnknownLocation):
    """The location of a module that was read from a file; it prints as unknown."""

    __slots__ = ("file",)

    def __init__(self, file: Container) -> None:
        self.file: Container = file


def origin_of(module: Operation) -> Container | None:
    """The file a module was read from, if it was."""
    location = module.location
    return location.file if isinstance(location, BytecodeOrigin) else None
