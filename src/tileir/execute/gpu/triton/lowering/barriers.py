"""Before which accesses the threads of a tile block have to wait for each other.

In a tile program only tokens order accesses.  The threads that a tile block becomes run apart from each other, so what
one has written another may not see, or may overwrite before it is read.  A barrier is needed before an access if

1. its token comes, by whatever way, from another access,
2. one of the two writes, and they may reach the same memory,
3. no barrier stands between them on some way from the one to the other.

Two accesses may reach the same memory unless they are known not to: an allocation of the tile block's own is reached by
pointers from it alone.  Arguments may share memory.  Around a loop, an access is no trouble to itself where each
element is always written by the same thread: through a partition view, whose tiles do not overlap, at an index that
each of the loops around it changes.

Sets of accesses are the bits of numbers.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, PartitionViewType
from tileir.execute.analysis.aliasing import UNKNOWN, Origins
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ENDS_ITERATION, TOKEN_ORDERED
from tileir.ir.traversal import pre_order
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.token_order import TokenOrder


def barriers_of(entry: Operation) -> frozenset[Operation]:
    """The accesses that a barrier has to stand before."""
    accesses = [each for each in pre_order(entry) if _is_access(each)]
    if not any(operation.declaration.writes for operation in accesses):
        return frozenset()
    return frozenset(_Search(entry, accesses).found)


def _is_access(operation: Operation) -> bool:
    declaration = operation.declaration
    return declaration.has_trait(TOKEN_ORDERED) and bool(declaration.reads or declaration.writes)


class _Search:
    """Walks a kernel in the order in which it runs, with the accesses since the last barrier."""

    def __init__(self, entry: Operation, accesses: list[Operation]) -> None:
        self.found: Final[set[Operation]] = set()
        self._bits: Final = {operation: 1 << number for number, operation in enumerate(accesses)}
        self._after: Final = TokenOrder(entry).gathered(self._bits)
        """By token, the accesses that it comes after."""
        self._origins: Final = Origins(entry, overlapping=True)
        self._reads: Final[dict[frozenset[object], int]] = {}
        self._writes: Final[dict[frozenset[object], int]] = {}
        for operation, bit in self._bits.items():
            origin = self._origin(operation)
            if operation.declaration.writes:
                self._writes[origin] = self._writes.get(origin, 0) | bit
            else:
                self._reads[origin] = self._reads.get(origin, 0) | bit
        self._ended: int = 0
        """The accesses since a barrier where some iteration of the loop around ends early."""
        self._block(entry.regions[0].blocks[0], 0)

    def _block(self, block: Block, since: int) -> int:
        for operation in block:
            since = self._operation(operation, since)
        return since

    def _operation(self, operation: Operation, since: int) -> int:
        bit = self._bits.get(operation)
        if bit is not None:
            if self._before(operation) & since & self._conflicts(operation):
                self.found.add(operation)
                since = 0
            return since | bit
        if operation.declaration is ops.MEMORY_FENCE_ALIAS_TKO:
            # A barrier itself.
            return 0
        if operation.declaration.has_trait(ENDS_ITERATION):
            self._ended |= since
        elif operation.declaration.is_loop:
            outer, self._ended = self._ended, 0
            inside = self._accesses_in(operation)
            # Any of them may come before the first, an iteration earlier.
            ended = self._block(operation.regions[0].blocks[0], since | inside)
            since |= ended | self._ended
            self._ended = outer
        elif operation.declaration is ops.IF:
            ends = [self._block(block, since) for region in operation.regions for block in region.blocks]
            for end in ends:
                since |= end
        return since

    def _before(self, operation: Operation) -> int:
        """The accesses that an access comes after."""
        found = 0
        for operand in operation.operands:
            found |= self._after.get(operand, 0)
        return found

    def _accesses_in(self, loop: Operation) -> int:
        found = 0
        for operation in pre_order(loop):
            found |= self._bits.get(operation, 0)
        return found

    def _conflicts(self, operation: Operation) -> int:
        """The accesses that may reach what this one does, of which one writes."""
        origin = self._origin(operation)
        found = 0
        for of, accesses in self._writes.items():
            if self._may_meet(origin, of):
                found |= accesses
        if operation.declaration.writes:
            for of, accesses in self._reads.items():
                if self._may_meet(origin, of):
                    found |= accesses
        if _is_no_trouble_to_itself(operation):
            found &= ~self._bits[operation]
        return found

    def _origin(self, operation: Operation) -> frozenset[object]:
        declaration = operation.declaration
        name = declaration.reads or declaration.writes
        assert name is not None
        return self._origins.provenance(operation.operand_group(name)[0])

    def _may_meet(self, first: frozenset[object], second: frozenset[object]) -> bool:
        return UNKNOWN in first or UNKNOWN in second or bool(first & second)


def _is_no_trouble_to_itself(operation: Operation) -> bool:
    if operation.declaration is not ops.STORE_VIEW_TKO:
        return False
    view = operation.view
    if not isinstance(view.type, PartitionViewType):
        return False
    # What the tensor memory accelerator has under way it may overtake: then the tile has to be another each time.
    indices = operation.index
    return all(any(_varies(index, loop) for index in indices) for loop in _loops_around(operation))


def _loops_around(operation: Operation) -> list[Operation]:
    found = []
    parent = operation.parent_operation
    while parent is not None:
        if parent.declaration.is_loop:
            found.append(parent)
        parent = parent.parent_operation
    return found


def _varies(value: Value, loop: Operation) -> bool:
    """Whether a value is computed of what a loop counts, carries or reads: else it is the same in each iteration."""
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        maker = each.block.parent_operation if isinstance(each, BlockArgument) else each.defining_operation
        if maker is None or not loop.is_ancestor_of(maker):
            continue
        if maker is loop or maker.declaration.reads:
            return True
        inner = [operand for end in pre_order(maker) if end.declaration.is_terminator for operand in end.operands]
        sources = [source for source in (*maker.operands, *inner) if source not in seen and source.type is not TOKEN]
        seen.update(sources)
        pending.extend(sources)
    return False
