"""Loop-invariant code motion: what computes the same in every iteration is computed once, in front of the loop.

The model.  An operation that stands directly in the body of a `for` or `loop` moves in front of that loop if

1. it may be executed although the program would not (a loop may run no iteration at all): it is pure, which `divi` and
   the operations that read a view's shape are not (docs/conflicts.md C21).  The dialect calls `remi` pure, but its
   remainder by zero is undefined all the same, so it moves only with a divisor that is known not to be zero.  A broken
   promise about wrapping is taken as MLIR takes it: it spoils the result, which nobody uses, and nothing else;
2. it is neither a terminator nor something with regions of its own;
3. none of its operands is defined in the body.

What was moved may move on out of the next loop around, as far as loop stands directly in loop; an `if` in between
ends the way, because code does not move out of a branch.  Constants move like everything else.

Operations are visited in program order, so operands stand where they will stay when their user is looked at, and one
visit finds the final place: the body of the loop that defines the innermost operand.  The order of what moves in front
of a loop is the order it had.  This is the result of MLIR's pass, which moves one loop at a time, innermost first.
NVIDIA's own pipeline names that pass as well, but it moves nothing there: the public dialect does not tell MLIR that
`for` and `loop` are loops (docs/conflicts.md H12).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import FOR, LOOP, REMI
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import PURE, TERMINATOR
from tileir.rewrite.facts import Facts

_LOOPS: Final = (FOR, LOOP)


class _Place:
    """A block being visited: how deep it lies, and the depth of the outermost block its contents may move to."""

    __slots__ = ("depth", "next", "outermost")

    def __init__(self, first: Operation | None, depth: int, outermost: int) -> None:
        self.next: Operation | None = first
        self.depth: int = depth
        self.outermost: int = outermost


def run(root: Operation) -> int:
    """Move what is invariant out of every loop in `root`; gives the number of operations moved."""
    moved = 0
    depths: dict[Block, int] = {}
    for region in root.regions:
        for block in region.blocks:
            moved += _visit(block, depths)
    return moved


def _visit(start: Block, depths: dict[Block, int]) -> int:
    moved = 0
    depths[start] = 0
    path: list[_Place] = [_Place(start.first, 0, 0)]
    # The operation around the blocks at each depth of the path; none is around the outermost one.
    owners: list[Operation | None] = [None]
    while path:
        place = path[-1]
        operation = place.next
        if operation is None:
            path.pop()
            continue
        place.next = operation.next
        if operation.regions:
            depth = place.depth + 1
            outermost = place.outermost if operation.declaration in _LOOPS else depth
            del owners[depth:]
            owners.append(operation)
            for region in reversed(operation.regions):
                for block in reversed(region.blocks):
                    depths[block] = depth
                    path.append(_Place(block.first, depth, outermost))
        elif place.outermost < place.depth and _is_movable(operation):
            target = max(place.outermost, _depth_of_operands(operation, depths))
            if target < place.depth:
                _move_before(operation, owners[target + 1])
                moved += 1
    return moved


def _is_movable(operation: Operation) -> bool:
    """Rules 1 and 2; operations with regions were told apart before."""
    if operation.declaration.traits & (PURE | TERMINATOR) != PURE:
        return False
    return operation.declaration is not REMI or Facts().range(operation.operands[1], signed=False)[0] > 0


def _depth_of_operands(operation: Operation, depths: dict[Block, int]) -> int:
    """The depth of the innermost block that defines an operand; what comes from outside counts as outermost."""
    deepest = 0
    for value in operation.operands:
        block = value.parent_block
        if block is not None:
            deepest = max(deepest, depths.get(block, 0))
    return deepest


def _move_before(operation: Operation, loop: Operation | None) -> None:
    if loop is None or loop.parent is None:
        raise ValueError("there is no place in front of the loop")
    operation.detach()
    loop.parent.insert_before(operation, loop)
