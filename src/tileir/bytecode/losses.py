"""What a program has that its bytecode does not (docs/bytecode.md section 6)."""

from __future__ import annotations

from tileir.ir.attributes import StringAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import CallSiteLocation, FileLocation, Location, TextLocation, UnknownLocation
from tileir.ir.traversal import is_function


def is_private(operation: Operation) -> bool:
    """Whether a function is private: MLIR's visibility, of which bytecode has a flag for this one."""
    visibility = operation.attributes.get("sym_visibility")
    return isinstance(visibility, StringAttribute) and visibility.value == "private"


def losses(module: Operation, layout: str) -> list[Diagnostic]:
    """A warning for everything that writing a module would drop: nothing is dropped in silence."""
    found: list[Diagnostic] = _lost_locations(module)
    name = module.symbol_name
    if name is not None and name != "kernels":
        message = f"the name of the module, @{name}, has no place in bytecode; it reads back as @kernels"
        found.append(Diagnostic("warning", message, module.location))
    for operation in module.walk():
        if operation is not module and layout != "public":
            continue
        for attribute in operation.attributes:
            if attribute == "sym_visibility" and is_private(operation) and is_function(operation):
                continue
            if attribute not in operation.declaration.inherent:
                message = f"attribute '{attribute}' has no place in {layout} bytecode and is dropped"
                found.append(Diagnostic("warning", message, operation.location))
    return found


def _lost_locations(module: Operation) -> list[Diagnostic]:
    """A warning for each reason why locations are dropped, at the first of them.

    Positions in the text that was read are nobody's wish, and what stands beside functions has no place for them.
    """
    without_scope: list[Operation] = []
    outside: list[Operation] = []
    for region in module.regions:
        for block in region.blocks:
            for top in block:
                if not is_function(top):
                    outside += [top] if _was_given(top.location) else []
                    continue
                without_scope += [operation for operation in top.walk() if _is_lost(operation.location)]
    found: list[Diagnostic] = []
    if without_scope:
        message = (
            f"the location{_of(without_scope)} no debug scope and no place in bytecode: 'tileir as -g' or the pass "
            "'synthesize-debug-info-scopes' makes the scopes"
        )
        found.append(Diagnostic("warning", message, without_scope[0].location))
    if outside:
        message = f"the location{_of(outside)} no place in bytecode: only functions and what is in them have one"
        found.append(Diagnostic("warning", message, outside[0].location))
    return found


def _of(operations: list[Operation]) -> str:
    return " of 1 operation has" if len(operations) == 1 else f"s of {len(operations)} operations have"


def _was_given(location: Location) -> bool:
    return not isinstance(location, (TextLocation, UnknownLocation))


def _is_lost(location: Location) -> bool:
    """Whether a location, or a part of it, is a position without a scope."""
    waiting = [location]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FileLocation):
            return True
        if isinstance(part, CallSiteLocation):
            waiting += [part.callee, part.caller]
    return False
