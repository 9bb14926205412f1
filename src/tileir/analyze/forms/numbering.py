"""Operations by number, and how a later form of the program knows the numbers.

The operations of a kernel are numbered in program order, each before what it contains; 0 is the first one inside the
kernel.  A copy of the program has the number of each operation as its location.  Passes, engines and LLVM carry
locations to whatever they make of an operation, and here they are read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tileir.dialect.debug_info import DILocation
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    file_location,
)
from tileir.ir.traversal import clone, pre_order

_FILE: Final = "operation of the tile program"
"""The file of locations that are numbers; the line is the number, counted from 1."""


def operations_of(entry: Operation) -> list[Operation]:
    """The operations of a kernel, each at its number."""
    return pre_order(entry)[1:]


def numbered(module: Operation, entry: Operation) -> tuple[Operation, Operation]:
    """A copy of a module and of a kernel in it, whose operations are at their numbers; nothing else is located."""
    copy = clone(module)
    chosen = select_entry(copy, entry.symbol_name)
    for operation in copy.walk():
        operation.location = UNKNOWN
    for number, operation in enumerate(operations_of(chosen), 1):
        operation.location = file_location(_FILE, number, 1)
    return copy, chosen


class Numbers:
    """Reads numbers from locations."""

    def __init__(self) -> None:
        self._known: dict[Location, list[int]] = {}

    def of(self, locations: Iterable[Location]) -> list[int]:
        """The numbers that some locations have, in order, each once."""
        found = [self._of(location) for location in locations]
        if len(found) == 1:
            return found[0]
        return sorted({number for numbers in found for number in numbers})

    def _of(self, location: Location) -> list[int]:
        if isinstance(location, FileLocation):
            return [location.line - 1] if location.file == _FILE else []
        known = self._known.get(location)
        if known is None:
            known = self._known[location] = self._read(location)
        return known

    def _read(self, root: Location) -> list[int]:
        found: set[int] = set()
        seen: set[Location] = {root}
        # An explicit stack: what stands for many operations has locations that nest as deeply.
        pending = [root]
        while pending:
            location = pending.pop()
            known = self._known.get(location)
            if known is not None:
                found.update(known)
                continue
            inner: tuple[Location, ...] = ()
            if isinstance(location, FileLocation):
                if location.file == _FILE:
                    found.add(location.line - 1)
            elif isinstance(location, FusedLocation):
                inner = location.locations
            elif isinstance(location, DILocation):
                inner = (location.source,)
            elif isinstance(location, CallSiteLocation):
                inner = (location.callee, location.caller)
            elif isinstance(location, NameLocation):
                inner = (location.child,)
            elif isinstance(location, OpaqueLocation):
                inner = (location.fallback,)
            for part in inner:
                if part not in seen:
                    seen.add(part)
                    pending.append(part)
        return sorted(found)
