"""Locations in the user's code: `file:line:column`, with the name of the variable that a value is assigned to.

Calls into Triton's own library are left out.  Triton counts columns from 1 since version 3.6, and from 0 before; here
they count from 0, as cuTile's do.
"""

from __future__ import annotations

from tileir.ir.diagnostics import position_of
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    Location,
    NameLocation,
    call_site_location,
    file_location,
    name_location,
)

_LIBRARY = "triton/language/"


class UserLocations:
    """The locations of a module, each converted once."""

    def __init__(self, function: Location) -> None:
        """`function` is the location of a function, which begins in the first column."""
        found = position_of(function)
        self._first_column: int = 1 if found is not None and found.column > 0 else 0
        self._converted: dict[Location, Location] = {}

    def of(self, location: Location) -> Location:
        found = self._converted.get(location)
        if found is None:
            found = self._converted[location] = self._convert(location)
        return found

    def _convert(self, location: Location) -> Location:
        if isinstance(location, FileLocation):
            return file_location(location.file, location.line, max(location.column - self._first_column, 0))
        if isinstance(location, NameLocation):
            child = self.of(location.child)
            # The innermost name is that of the assignment; others are of what it is passed on as.
            return child if isinstance(child, NameLocation) else name_location(location.name, child)
        if isinstance(location, CallSiteLocation):
            callee, caller = self.of(location.callee), self.of(location.caller)
            position = position_of(callee.child if isinstance(callee, NameLocation) else callee)
            if position is None or _LIBRARY in position.file.replace("\\", "/"):
                return caller
            return call_site_location(callee, caller)
        return location
