"""The rules about debug scopes (docs/conflicts.md F).

1. A function's location is not a call site.
2. If it has a scope, the scope is a subprogram,
3. and the subprogram's linkage name is the function's name.
4. An operation inside has a scope only if the function has one, and then one of the same subprogram.
5. What stands in a module beside the functions has no scope.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.attributes import DILexicalBlock, DILocation, DISubprogram, LocalScope
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Invalid, shown
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    TextLocation,
    UnknownLocation,
)
from tileir.ir.quoting import quote
from tileir.ir.verify_context import operation_name

if TYPE_CHECKING:
    from tileir.ir.verify_context import VerifyContext


def scoped_location(location: Location, known: dict[Location, DILocation | None] | None = None) -> DILocation | None:
    """The location with a scope that an operation's location holds; of a call site the caller's side counts.

    `known` remembers what was found, for callers that ask about many locations with parts in common.
    """
    if isinstance(location, (TextLocation, UnknownLocation, FileLocation)):
        return None
    if isinstance(location, DILocation):
        return location
    if known is None:
        known = {}
    # An explicit stack, because locations may nest deeply: what is open, and how many of its parts were looked at.
    path: list[Location] = [location] if location not in known else []
    positions: list[int] = [0]
    while path:
        parts = _parts_with_scope(path[-1])
        found: DILocation | None = None
        position = positions[-1]
        part: Location | None = None
        while position < len(parts) and found is None:
            part = parts[position]
            if isinstance(part, DILocation):
                found = part
            elif part in known:
                found = known[part]
            elif not isinstance(part, (TextLocation, UnknownLocation, FileLocation)):
                break
            position += 1
        if found is None and position < len(parts) and part is not None:
            positions[-1] = position
            path.append(part)
            positions.append(0)
            continue
        known[path.pop()] = found
        positions.pop()
    return known[location]


def _parts_with_scope(location: Location) -> tuple[Location, ...]:
    """The parts of a location that may give it its scope, the first one that has one decides."""
    if isinstance(location, CallSiteLocation):
        return (location.caller,)
    if isinstance(location, NameLocation):
        return (location.child,)
    if isinstance(location, FusedLocation):
        return location.locations
    if isinstance(location, OpaqueLocation):
        return (location.fallback,)
    return ()


def subprogram_of(scope: LocalScope) -> DISubprogram | None:
    """The subprogram a scope lies in."""
    while isinstance(scope, DILexicalBlock):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogram) else None


class _Subprograms:
    """The subprograms that locations lie in; each location and scope is followed once."""

    __slots__ = ("_locations", "_scopes")

    def __init__(self) -> None:
        self._locations: dict[Location, DILocation | None] = {}
        self._scopes: dict[LocalScope, DISubprogram | None] = {}

    def at(self, location: Location) -> DISubprogram | None:
        found = scoped_location(location, self._locations)
        if found is None:
            return None
        path: list[LocalScope] = []
        scope = found.scope
        while scope not in self._scopes and isinstance(scope, DILexicalBlock):
            path.append(scope)
            scope = scope.scope
        result = self._scopes[scope] if scope in self._scopes else subprogram_of(scope)
        for inner in path:
            self._scopes[inner] = result
        return result


def verify_function_scope(function: Operation) -> None:
    """Rules 1 to 3."""
    location = function.location
    if isinstance(location, CallSiteLocation):
        raise Invalid(
            f"invalid function debug info location: {shown(location)}. Function location must not be a CallSiteLoc."
        )
    found = scoped_location(location)
    if found is None:
        return
    scope = found.scope
    if not isinstance(scope, DISubprogram):
        raise Invalid(
            f"invalid function debug info scope: {shown(scope)}. "
            "Function location must have cuda_tile.di_subprogram debug info scope."
        )
    if scope.linkage_name != function.symbol_name:
        raise Invalid(
            f'invalid function debug info scope: {shown(scope)}. Function name "{function.symbol_name}" does not match '
            f"subprogram scope linkage name {quote(scope.linkage_name)}."
        )


def verify_body_scopes(function: Operation, context: VerifyContext) -> None:
    """Rule 4, for the operations in post-order; the first one that breaks it is reported."""
    subprograms = _Subprograms()
    expected = subprograms.at(function.location)
    # The location looked at last: those of a program without debug information are all one, neighbours often share.
    settled: Location = UNKNOWN
    # An explicit stack, because programs may nest deeply: blocks to come, and operations whose contents are done.
    pending: list[Block | Operation] = _blocks_of(function)
    while pending:
        place = pending.pop()
        if isinstance(place, Block):
            cursor = place.first
        else:
            if not isinstance(place.location, TextLocation):
                _verify_scope(place, expected, subprograms, context)
            cursor = place.next
        while cursor is not None:
            if cursor.regions:
                pending.append(cursor)
                pending.extend(_blocks_of(cursor))
                break
            location = cursor.location
            # Nearly all other locations are plain text positions: ask them nothing.
            if location is not settled and not isinstance(location, TextLocation):
                _verify_scope(cursor, expected, subprograms, context)
                settled = location
            cursor = cursor.next


def _blocks_of(operation: Operation) -> list[Block | Operation]:
    """The blocks of an operation, the last one first."""
    return [block for region in reversed(operation.regions) for block in reversed(region.blocks)]


def _verify_scope(
    operation: Operation, expected: DISubprogram | None, subprograms: _Subprograms, context: VerifyContext
) -> None:
    location = operation.location
    if isinstance(location, DILocation) and location.scope is expected:
        return
    found = subprograms.at(location)
    if found is None or found is expected:
        return
    message = f"invalid operation debug info scope: {shown(found)}. "
    if expected is None:
        name = operation_name(operation, context.version)
        raise Invalid(
            f"'{name}' op {message}Operation has debug info scope, but function debug info scope is undefined.",
            operation.location,
            bare=True,
        )
    raise Invalid(
        f"{message}Operation debug info scope does not match function debug info scope: {shown(expected)}.",
        operation.location,
        bare=True,
    )


def verify_module_scopes(module: Operation, context: VerifyContext) -> None:
    """Rule 5."""
    known: dict[Location, DILocation | None] = {}
    for region in module.regions:
        for block in region.blocks:
            for operation in block:
                if "function_type" in operation.declaration.inherent:
                    continue
                found = scoped_location(operation.location, known)
                if found is not None:
                    name = operation_name(operation, context.version)
                    raise Invalid(
                        f"'{name}' op invalid operation debug info scope: {shown(found)}. "
                        "Global variables must not have scope.",
                        operation.location,
                        bare=True,
                    )
