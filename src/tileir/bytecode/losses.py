"""What a program has that its bytecode does not (docs/bytecode.md section 6)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.debug_info import DILocation
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

    Positions in the text that was read are nobody's wish, and only functions and operations have a place for others.
    """
    without_scope: list[Location] = []
    outside: list[Location] = []
    arguments: list[Location] = []
    for region in module.regions:
        for block in region.blocks:
            for top in block:
                if not is_function(top):
                    outside += [top.location] if _was_given(top.location) else []
                    continue
                for operation in top.walk():
                    if _is_lost(operation.location):
                        without_scope.append(operation.location)
                    arguments += _lost_with_arguments(operation)
    found: list[Diagnostic] = []
    if without_scope:
        message = (
            f"{_of(without_scope, 'operation')} no debug scope and no place in bytecode: 'tileir as -g' or the pass "
            "'synthesize-debug-info-scopes' makes the scopes"
        )
        found.append(Diagnostic("warning", message, without_scope[0]))
    for lost, kind in ((arguments, "block argument"), (outside, "operation")):
        if lost:
            found.append(Diagnostic("warning", f"{_of(lost, kind)} no place in bytecode: {_WHO_HAS}", lost[0]))
    if _was_given(module.location):
        message = f"the location of the module has no place in bytecode: {_WHO_HAS}"
        found.append(Diagnostic("warning", message, module.location))
    return found


_WHO_HAS: Final = "only functions and the operations in them have one"


def _lost_with_arguments(operation: Operation) -> list[Location]:
    """The locations of the arguments of an operation's blocks, but for those that say no more than the operation's."""
    owner = operation.location
    position = owner.source if isinstance(owner, DILocation) else owner
    return [
        argument.location
        for region in operation.regions
        for block in region.blocks
        for argument in block.arguments
        if _was_given(argument.location) and argument.location is not owner and argument.location is not position
    ]


def _of(locations: list[Location], kind: str) -> str:
    count = len(locations)
    return f"the location of 1 {kind} has" if count == 1 else f"the locations of {count} {kind}s have"


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
