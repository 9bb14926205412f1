"""Common subexpressions: what was computed already is not computed again.

The model, as in MLIR.

1. Two operations are equal if they have the same name, attributes, result types and operands in the same order, and
   equal regions.  Locations do not count; operands of commutative operations are not reordered.
2. An operation with no effect on memory is replaced by an equal one that dominates it: an earlier one of its block, or
   of a block around it, up to the next isolated operation.
3. Operations that nothing uses and that have no effect are removed before: regions are compared without them.  MLIR
   does so on the way and leaves what only they used to its next run; here a second run changes nothing.

The one that stays takes over the location of the other if its own is unknown; where all are kept, it has both, fused.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import (
    GRAPH_REGION,
    ISOLATED,
    NO_MEMORY_EFFECT,
    PURE,
    REGION_EFFECTS,
    SYMBOL,
    TERMINATOR,
)
from tileir.ir.equality import structurally_equal
from tileir.ir.location import UnknownLocation, joined_location
from tileir.ir.values import Value
from tileir.rewrite.cleanup import remove_dead

_NO_EFFECT: Final = PURE | NO_MEMORY_EFFECT

_Key = tuple[object, ...]
_Known = dict[_Key, list[Operation]]


class _Scope:
    """The blocks of one operation, one after the other; what a block made known is forgotten at its end."""

    __slots__ = ("added", "blocks", "has_effects", "known", "next", "owner", "unordered")

    def __init__(self, owner: Operation, known: _Known) -> None:
        self.owner: Operation = owner
        self.known: _Known = known
        self.blocks: list[Block] = [block for region in reversed(owner.regions) for block in reversed(region.blocks)]
        self.next: Operation | None = None
        self.added: list[_Key] = []
        self.has_effects: bool = False
        # Where uses may come before definitions, or control may jump, nothing is known to dominate.
        self.unordered: bool = bool(owner.declaration.traits & GRAPH_REGION) or owner.declaration.unregistered


def run(root: Operation, keep_locations: bool = False) -> int:
    """Remove what is computed twice inside `root`; gives the number of operations removed.

    With `keep_locations` what stays has the locations of all that it stands for.
    """
    dead = remove_dead(root)
    removed: list[Operation] = []
    # Users come later in program order and take what stays when they are met.
    instead: dict[Value, Value] = {}
    shapes: dict[Operation, int] = {}
    scopes: list[_Scope] = [_Scope(root, {})]
    while scopes:
        scope = scopes[-1]
        operation = scope.next
        if operation is not None:
            scope.next = operation.next
            if instead:
                for index, value in enumerate(operation.operands):
                    other = instead.get(value)
                    if other is not None:
                        operation.set_operand(index, other)
            if operation.regions:
                isolated = operation.declaration.traits & ISOLATED or operation.declaration.unregistered
                scopes.append(_Scope(operation, {} if isolated else scope.known))
            else:
                effects = not operation.declaration.traits & _NO_EFFECT
                _visit(operation, scope, effects, removed, instead, shapes, keep_locations)
            continue
        for key in scope.added:
            entry = scope.known[key]
            entry.pop()
            if not entry:
                del scope.known[key]
        scope.added = []
        if scope.blocks:
            scope.next = scope.blocks.pop().first
            continue
        scopes.pop()
        if scopes:
            traits = scope.owner.declaration.traits
            effects = scope.has_effects if traits & REGION_EFFECTS else not traits & _NO_EFFECT
            _visit(scope.owner, scopes[-1], effects, removed, instead, shapes, keep_locations)
    # Erased at the end: until then an operation keeps what it uses in use.
    for operation in reversed(removed):
        operation.erase()
    return dead + len(removed)


def _visit(
    operation: Operation,
    scope: _Scope,
    has_effects: bool,
    removed: list[Operation],
    instead: dict[Value, Value],
    shapes: dict[Operation, int],
    keep_locations: bool,
) -> None:
    if has_effects:
        scope.has_effects = True
        return
    traits = operation.declaration.traits
    if traits & (TERMINATOR | SYMBOL) or operation.declaration.unregistered:
        return
    if scope.unordered:
        return
    key = _key(operation, shapes)
    entry = scope.known.get(key)
    if entry is None:
        scope.known[key] = [operation]
        scope.added.append(key)
        return
    for known in entry:
        if not operation.regions or structurally_equal(known, operation):
            _replace(operation, known, instead, keep_locations)
            removed.append(operation)
            return
    entry.append(operation)
    scope.added.append(key)


def _key(operation: Operation, shapes: dict[Operation, int]) -> _Key:
    """Rule 1, but for what is deeper inside; equal operations have equal keys."""
    attributes = operation.attributes
    known = frozenset(attributes.items()) if attributes else None
    results = operation.results
    types: object = results[0].type if len(results) == 1 else tuple([result.type for result in results])
    if not operation.regions:
        return (operation.declaration, types, tuple(operation.operands), known, operation.segments)
    inside = _contents(operation, shapes)
    return (operation.declaration, types, tuple(operation.operands), known, operation.segments, inside)


def _contents(owner: Operation, shapes: dict[Operation, int]) -> int:
    """A number for what stands directly in an operation, the same for equal ones and rarely for others.

    Without it each `if` of a long row would be compared with all that went before.  What stands deeper counts through
    its shape, which leaves operands out: so everything is looked at once, however deep it lies.
    """
    numbers: dict[Value, object] = {}
    for region in owner.regions:
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            for operation in block:
                for result in operation.results:
                    numbers[result] = len(numbers)
    shape: list[object] = []
    found: list[object] = []
    for region in owner.regions:
        shape.append(len(region.blocks))
        for block in region.blocks:
            shape.append(tuple([argument.type for argument in block.arguments]))
            for operation in block:
                shape.append(operation.declaration)
                shape.append(tuple([result.type for result in operation.results]))
                shape.append(frozenset(operation.attributes.items()))
                shape.append(shapes.get(operation, 0))
                found.append(tuple([numbers.get(value, value) for value in operation.operands]))
    shapes[owner] = hash(tuple(shape))
    return hash((shapes[owner], tuple(found)))


def _replace(operation: Operation, known: Operation, instead: dict[Value, Value], keep_locations: bool) -> None:
    for result, other in zip(operation.results, known.results, strict=True):
        instead[result] = other
    if keep_locations:
        # What is inside them is equal as well.
        for one, equal in zip(known.walk(), operation.walk(), strict=True):
            one.location = joined_location(one.location, equal.location)
    elif isinstance(known.location, UnknownLocation) and not isinstance(operation.location, UnknownLocation):
        known.location = operation.location
