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
from tileir.ir.attributes import quote
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Invalid
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    TextLocation,
    UnknownLocation,
)
from tileir.ir.verifier import operation_name

if TYPE_CHECKING:
    from tileir.ir.verifier import VerifyContext


def scoped_location(location: Location) -> DILocation | None:
    """The location with a scope that an operation's location holds; of a call site the caller's side counts."""
    if isinstance(location, (TextLocation, UnknownLocation, FileLocation)):
        return None
    if isinstance(location, DILocation):
        return location
    if isinstance(location, CallSiteLocation):
        return scoped_location(location.caller)
    if isinstance(location, NameLocation):
        return scoped_location(location.child)
    if isinstance(location, FusedLocation):
        for part in location.locations:
            found = scoped_location(part)
            if found is not None:
                return found
    if isinstance(location, OpaqueLocation):
        return scoped_location(location.fallback)
    return None


def subprogram_of(scope: LocalScope) -> DISubprogram | None:
    """The subprogram a scope lies in."""
    while isinstance(scope, DILexicalBlock):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogram) else None


def _subprogram_at(location: Location) -> DISubprogram | None:
    found = scoped_location(location)
    return subprogram_of(found.scope) if found is not None else None


def verify_function_scope(function: Operation) -> None:
    """Rules 1 to 3."""
    location = function.location
    if isinstance(location, CallSiteLocation):
        raise Invalid(
            f"invalid function debug info location: {location.text}. Function location must not be a CallSiteLoc."
        )
    found = scoped_location(location)
    if found is None:
        return
    scope = found.scope
    if not isinstance(scope, DISubprogram):
        raise Invalid(
            f"invalid function debug info scope: {scope.text}. "
            "Function location must have cuda_tile.di_subprogram debug info scope."
        )
    if scope.linkage_name != function.symbol_name:
        raise Invalid(
            f'invalid function debug info scope: {scope.text}. Function name "{function.symbol_name}" does not match '
            f"subprogram scope linkage name {quote(scope.linkage_name)}."
        )


def verify_body_scopes(function: Operation, context: VerifyContext) -> None:
    """Rule 4, for the operations in post-order; the first one that breaks it is reported."""
    expected = _subprogram_at(function.location)
    # An explicit stack, because programs may nest deeply: blocks to come, and operations whose contents are done.
    pending: list[Block | Operation] = _blocks_of(function)
    while pending:
        place = pending.pop()
        if isinstance(place, Block):
            cursor = place.first
        else:
            if not isinstance(place.location, TextLocation):
                _verify_scope(place, expected, context)
            cursor = place.next
        while cursor is not None:
            if cursor.regions:
                pending.append(cursor)
                pending.extend(_blocks_of(cursor))
                break
            # Nearly all locations are plain text positions: ask them nothing.
            if not isinstance(cursor.location, TextLocation):
                _verify_scope(cursor, expected, context)
            cursor = cursor.next


def _blocks_of(operation: Operation) -> list[Block | Operation]:
    """The blocks of an operation, the last one first."""
    return [block for region in reversed(operation.regions) for block in reversed(region.blocks)]


def _verify_scope(operation: Operation, expected: DISubprogram | None, context: VerifyContext) -> None:
    found = _subprogram_at(operation.location)
    if found is None or found is expected:
        return
    message = f"invalid operation debug info scope: {found.text}. "
    if expected is None:
        name = operation_name(operation, context.version)
        raise Invalid(
            f"'{name}' op {message}Operation has debug info scope, but function debug info scope is undefined.",
            operation.location,
            bare=True,
        )
    raise Invalid(
        f"{message}Operation debug info scope does not match function debug info scope: {expected.text}.",
        operation.location,
        bare=True,
    )


def verify_module_scopes(module: Operation, context: VerifyContext) -> None:
    """Rule 5."""
    for region in module.regions:
        for block in region.blocks:
            for operation in block:
                if "function_type" in operation.declaration.inherent:
                    continue
                found = scoped_location(operation.location)
                if found is not None:
                    name = operation_name(operation, context.version)
                    raise Invalid(
                        f"'{name}' op invalid operation debug info scope: {found.text}. "
                        "Global variables must not have scope.",
                        operation.location,
                        bare=True,
                    )
