"""What may be different in another tile block: values, and what is done or not done.

Values vary that come from the number of the tile block, and from atomics, which give each tile block what the ones
before it left.  So does what such a value chooses: the results of an `if`, the rounds of a loop.
"""

from __future__ import annotations

from tileir.dialect.ops import ALLOCA, CONTINUE, GET_TILE_BLOCK_ID, IF, YIELD
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ATOMIC, ENDS_ITERATION
from tileir.ir.values import Value


class Varying:
    """What varies in a kernel.

    `values` may differ between tile blocks (pointers of an `alloca` do); `branching` are the `if`s and loops whose
    regions not all tile blocks run, or not as often.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.values: set[Value] = set()
        self.branching: set[Operation] = set()
        self._chosen: dict[Block, bool] = {}
        self._pending: list[Value] = []
        for operation in operations:
            declaration = operation.declaration
            if declaration in (GET_TILE_BLOCK_ID, ALLOCA) or declaration.traits & ATOMIC:
                self._pending.extend(operation.results)
        while self._pending:
            value = self._pending.pop()
            if value not in self.values:
                self.values.add(value)
                for user in value.users:
                    self._visit(user, value)

    def _visit(self, user: Operation, value: Value) -> None:
        declaration = user.declaration
        if declaration.is_terminator:
            self._pass_on(user)
        elif declaration.is_control_flow:
            if declaration is IF or value in user.operands[:3]:
                self._branch(user)
            else:
                self._vary(user)
        else:
            self._vary(user)

    def _vary(self, operation: Operation) -> None:
        self._pending.extend(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                self._pending.extend(block.arguments)

    def _branch(self, operation: Operation) -> None:
        """Not all tile blocks do what is in an operation: nor what leaves a loop from there."""
        if operation in self.branching:
            return
        self.branching.add(operation)
        self._vary(operation)
        if operation.declaration is not IF:
            return
        for inner in operation.walk():
            if inner.declaration.has_trait(ENDS_ITERATION):
                loop = _receiver(inner)
                if loop is not None and loop.is_ancestor_of(operation):
                    self._branch(loop)

    def _pass_on(self, terminator: Operation) -> None:
        owner = _receiver(terminator)
        if owner is not None:
            self._pending.extend(owner.results)
            if terminator.declaration is CONTINUE:
                self._pending.extend(owner.regions[0].block.arguments)

    def chooses(self, operation: Operation) -> bool:
        """Whether some tile blocks may not get to an operation, or not as often as others."""
        path: list[Block] = []
        block, found = operation.parent, False
        while block is not None:
            known = self._chosen.get(block)
            owner = block.parent_operation
            found = known if known is not None else owner in self.branching
            if known is not None or found:
                break
            path.append(block)
            block = owner.parent if owner is not None else None
        for each in path:
            self._chosen[each] = found
        return found


def _receiver(terminator: Operation) -> Operation | None:
    """The operation that a terminator gives values to: the `if` of a `yield`, the loop of a `break` or `continue`."""
    owner = terminator.parent_operation
    if terminator.declaration is YIELD:
        return owner
    while owner is not None and owner.declaration is IF:
        owner = owner.parent_operation
    return owner
