"""Synthesize debug scopes: enough debug information for line tables, where a frontend gave only file positions.

The model, for each `cuda_tile.module`:

1. One compile unit: the file of the module's location, or `<unknown>` in "".
2. A function that has a scope anywhere in its location is left alone, with all inside it.
3. Every other function gets a subprogram: the file and line of its location, or the file of the compile unit and line
   1; both names are the function's symbol; the scope begins on the same line.
4. The function and every operation in it get a location in that subprogram: at their own file position, or at the
   function's where they have none.

The file position of a location is itself, that of its child (a name), of its fallback (opaque), of its caller (a call
site), or the first file position directly among its parts (fused).
"""

from __future__ import annotations

from tileir.dialect.debug_info import (
    DICompileUnit,
    DIFile,
    DILocation,
    di_compile_unit,
    di_file,
    di_location,
    di_subprogram,
)
from tileir.dialect.ops import MODULE
from tileir.ir.core import Operation
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    TextLocation,
    file_location,
)
from tileir.ir.traversal import is_function, pre_order


def run(root: Operation) -> int:
    """Give scopes to the functions of every module in `root`; gives the number of functions that got one."""
    count = 0
    unscoped: set[Location] = set()
    for operation in pre_order(root):
        if operation.declaration is MODULE:
            unit = _compile_unit(operation.location)
            for region in operation.regions:
                for block in region.blocks:
                    for function in block:
                        if is_function(function) and not _has_scope(function.location, unscoped):
                            _scope_function(function, unit)
                            count += 1
    return count


def _scope_function(function: Operation, unit: DICompileUnit) -> None:
    """Rules 3 and 4."""
    name = function.symbol_name or ""
    position = file_position(function.location)
    if position is None:
        file = unit.file
        position = file_location(file.name, 1, 1)
    else:
        file = _file(position)
    subprogram = di_subprogram(file, position.line, name, name, unit, position.line)
    known: dict[Location, FileLocation | None] = {}
    for operation in pre_order(function):
        own = file_position(operation.location, known)
        operation.location = di_location(own if own is not None else position, subprogram)


def _compile_unit(location: Location) -> DICompileUnit:
    """Rule 1."""
    position = file_position(location)
    return di_compile_unit(_file(position) if position is not None else di_file("<unknown>", ""))


def _has_scope(location: Location, unscoped: set[Location]) -> bool:
    """Rule 2; both sides of a call site count.  `unscoped` remembers what was looked at in vain."""
    # An explicit stack, because locations may nest deeply; they share their parts.
    seen: set[Location] = set()
    pending: list[Location] = [location]
    while pending:
        part = pending.pop()
        if isinstance(part, DILocation):
            return True
        if part in unscoped or part in seen:
            continue
        if isinstance(part, NameLocation):
            pending.append(part.child)
        elif isinstance(part, OpaqueLocation):
            pending.append(part.fallback)
        elif isinstance(part, CallSiteLocation):
            pending.append(part.callee)
            pending.append(part.caller)
        elif isinstance(part, FusedLocation):
            pending.extend(part.locations)
        else:
            continue
        seen.add(part)
    unscoped.update(seen)
    return False


def file_position(location: Location, known: dict[Location, FileLocation | None] | None = None) -> FileLocation | None:
    """The file position a location stands for; `known` remembers those of the locations on the way."""
    path: list[Location] = []
    found: FileLocation | None = None
    while True:
        if isinstance(location, TextLocation):
            found = location.resolve()
            break
        if isinstance(location, FileLocation):
            found = location
            break
        if known is not None and location in known:
            found = known[location]
            break
        path.append(location)
        if isinstance(location, NameLocation):
            location = location.child
        elif isinstance(location, OpaqueLocation):
            location = location.fallback
        elif isinstance(location, CallSiteLocation):
            location = location.caller
        else:
            found = _first_position(location) if isinstance(location, FusedLocation) else None
            break
    if known is not None:
        for place in path:
            known[place] = found
    return found


def _first_position(location: FusedLocation) -> FileLocation | None:
    for part in location.locations:
        if isinstance(part, TextLocation):
            return part.resolve()
        if isinstance(part, FileLocation):
            return part
    return None


def _file(position: FileLocation) -> DIFile:
    """The file of a position, as name and directory."""
    directory, slash, name = position.file.rpartition("/")
    # The directory of `/k.py` is the root; of `a//k.py` it is `a`.
    return di_file(name, directory.rstrip("/") or slash)
