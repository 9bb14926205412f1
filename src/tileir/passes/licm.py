"""Loop-invariant code motion: computes once, in front of a loop, what is the same in every iteration.

An operation directly in the body of a `for` or `loop` moves in front of that loop if

1. it may be executed speculatively (a loop may have no iteration): it is pure, which `divi` and the operations that
   read a view's shape are not (docs/reference/conflicts.md C21).  The dialect calls `remi` pure, but its remainder by
   zero is undefined, so it moves only with a divisor that is known not to be zero.  As in MLIR, a broken promise about
   wrapping spoils only the result, which is unused then;
2. it is no terminator and has no regions;
3. no operand is defined in the body.

A moved operation may move on out of the next loop, as far as loops are directly nested; code does not move out of an
`if`.  Constants move like everything else.

Operations are visited in program order, so operands are already in their final position and one visit finds that of
their user: the body of the loop that defines the innermost operand.  Moved operations keep their order.  The result is
that of MLIR's pass, which moves one loop at a time, innermost first.  NVIDIA's pipeline names that pass too, but it
moves nothing there: the public dialect does not declare `for` and `loop` as loops to MLIR (docs/reference/conflicts.md
H12).
"""

from __future__ import annotations

from tileir.dialect.ops import REMI
from tileir.ir.core import Block, Operation
from tileir.ir.traits import PURE, TERMINATOR
from tileir.rewrite.facts import Facts
from tileir.rewrite.rewriter import Rewriter


class _Visited:
    """A block being visited: its depth, and that of the outermost block that its operations may move to."""

    def __init__(self, first: Operation | None, depth: int, outermost: int) -> None:
        self.next: Operation | None = first
        self.depth: int = depth
        self.outermost: int = outermost


def run(root: Operation) -> int:
    """Move invariant operations out of every loop in `root`; return their number."""
    moved = 0
    depths: dict[Block, int] = {}
    for region in root.regions:
        for block in region.blocks:
            moved += _visit(root, block, depths)
    return moved


def _visit(root: Operation, start: Block, depths: dict[Block, int]) -> int:
    moved = 0
    depths[start] = 0
    path: list[_Visited] = [_Visited(start.first, 0, 0)]
    # The operation around the blocks at each depth of the path.
    owners: list[Operation] = [root]
    rewriter = Rewriter()
    while path:
        visited = path[-1]
        operation = visited.next
        if operation is None:
            path.pop()
            continue
        visited.next = operation.next
        if operation.regions:
            depth = visited.depth + 1
            outermost = visited.outermost if operation.declaration.is_loop else depth
            del owners[depth:]
            owners.append(operation)
            for region in reversed(operation.regions):
                for block in reversed(region.blocks):
                    depths[block] = depth
                    path.append(_Visited(block.first, depth, outermost))
        elif visited.outermost < visited.depth and _is_movable(operation):
            target = max(visited.outermost, _depth_of_operands(operation, depths))
            if target < visited.depth:
                rewriter.move_before(operation, owners[target + 1])
                moved += 1
    return moved


def _is_movable(operation: Operation) -> bool:
    """Rules 1 and 2, for operations without regions."""
    if operation.declaration.traits & (PURE | TERMINATOR) != PURE:
        return False
    return operation.declaration is not REMI or Facts().range(operation.operands[1], signed=False)[0] > 0


def _depth_of_operands(operation: Operation, depths: dict[Block, int]) -> int:
    """Return the depth of the innermost block that defines an operand; 0 if all come from outside."""
    blocks = [value.parent_block for value in operation.operands]
    return max([depths.get(block, 0) for block in blocks if block is not None], default=0)
