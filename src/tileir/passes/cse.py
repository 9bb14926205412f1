"""Common subexpression elimination, as in MLIR.

1. Two operations are equal if they have the same name, attributes, result types and operands in the same order, and
   equal regions.  Locations do not count; operands of commutative operations are not reordered.
2. An operation with no effect on memory is replaced by an equal one that dominates it: an earlier one of its block, or
   of a block around it, up to the next isolated operation.
3. Dead code is removed first, so regions are compared without it.  MLIR removes it on the way and leaves what only it
   used to the next run; here a second run changes nothing.

The remaining operation takes the location of the other one if its own is unknown; with `keep_locations`, both, fused.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Block, Operation
from tileir.ir.location import UnknownLocation, joined_location
from tileir.ir.traits import GRAPH_REGION, NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, SYMBOL, TERMINATOR
from tileir.ir.traversal import structurally_equal
from tileir.ir.values import Value
from tileir.rewrite.cleanup import is_isolated, remove_dead

_NO_EFFECT: Final = PURE | NO_MEMORY_EFFECT

_Key = tuple[object, ...]
_Known = dict[_Key, Operation]


class _Scope:
    """The blocks of one operation, one after the other; the entries of a block are removed at its end."""

    def __init__(self, owner: Operation, known: _Known) -> None:
        self.owner: Operation = owner
        self.known: _Known = known
        self.blocks: list[Block] = [block for region in reversed(owner.regions) for block in reversed(region.blocks)]
        self.next: Operation | None = None
        self.added: list[_Key] = []
        self.has_effects: bool = False
        # Without dominance: uses may come before definitions, or control flow is unknown.
        self.unordered: bool = bool(owner.declaration.traits & GRAPH_REGION) or owner.declaration.unregistered


def run(root: Operation, keep_locations: bool = False) -> int:
    """Remove repeated computations inside `root`; return the number of operations removed."""
    return remove_dead(root) + _Elimination(keep_locations).run(root)


class _Elimination:
    def __init__(self, keep_locations: bool) -> None:
        self._keep_locations: bool = keep_locations
        self._removed: list[Operation] = []
        # Users come later in program order and are updated when they are visited.
        self._replacements: dict[Value, Value] = {}
        self._shapes: dict[Operation, int] = {}

    def run(self, root: Operation) -> int:
        replacements = self._replacements
        scopes: list[_Scope] = [_Scope(root, {})]
        while scopes:
            scope = scopes[-1]
            operation = scope.next
            if operation is not None:
                scope.next = operation.next
                if replacements:
                    for index, value in enumerate(operation.operands):
                        other = replacements.get(value)
                        if other is not None:
                            operation.set_operand(index, other)
                if operation.regions:
                    scopes.append(_Scope(operation, {} if is_isolated(operation.declaration) else scope.known))
                else:
                    self._visit(operation, scope, not operation.declaration.traits & _NO_EFFECT)
                continue
            for key in scope.added:
                del scope.known[key]
            scope.added = []
            if scope.blocks:
                scope.next = scope.blocks.pop().first
                continue
            scopes.pop()
            if scopes:
                traits = scope.owner.declaration.traits
                has_effects = scope.has_effects if traits & REGION_EFFECTS else not traits & _NO_EFFECT
                self._visit(scope.owner, scopes[-1], has_effects)
        # Erased at the end: until then an operation keeps its operands in use.
        for operation in reversed(self._removed):
            operation.erase()
        return len(self._removed)

    def _visit(self, operation: Operation, scope: _Scope, has_effects: bool) -> None:
        if has_effects:
            scope.has_effects = True
            return
        declaration = operation.declaration
        if scope.unordered or declaration.unregistered or declaration.traits & (TERMINATOR | SYMBOL):
            return
        key = _key(operation, self._shapes)
        numbered, number = key, 0
        known = scope.known.get(key)
        while known is not None:
            if not operation.regions or structurally_equal(known, operation):
                self._replace(operation, known)
                return
            # Another operation with this key.
            number += 1
            numbered = (key, number)
            known = scope.known.get(numbered)
        scope.known[numbered] = operation
        scope.added.append(numbered)

    def _replace(self, operation: Operation, known: Operation) -> None:
        self._removed.append(operation)
        for result, other in zip(operation.results, known.results, strict=True):
            self._replacements[result] = other
        if self._keep_locations:
            # Their contents are equal as well.
            for one, equal in zip(known.walk(), operation.walk(), strict=True):
                one.location = joined_location(one.location, equal.location)
        elif isinstance(known.location, UnknownLocation) and not isinstance(operation.location, UnknownLocation):
            known.location = operation.location


def _key(operation: Operation, shapes: dict[Operation, int]) -> _Key:
    """Return a key of rule 1, except for nested regions; equal operations have equal keys."""
    attributes = operation.attributes
    # One flat tuple, since a long block has many: names, attributes, values and types cannot be taken for each other.
    key: list[object] = [operation.declaration, operation.segments]
    if operation.regions:
        key.append(_contents(operation, shapes))
    for name in sorted(attributes):
        key.append(name)
        key.append(attributes[name])
    key.extend(operation.operands)
    for result in operation.results:
        key.append(result.type)
    return tuple(key)


def _contents(owner: Operation, shapes: dict[Operation, int]) -> int:
    """Return a hash of the operations directly in an operation.

    Without it each of many adjacent `if`s would be compared with all before it.  Deeper operations count through their
    shape, which omits operands, so that everything is hashed once at any depth.
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
