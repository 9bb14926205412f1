"""When a smaller grid removes an index outside of a view's index space.

It does where tile blocks beyond some extent of the grid do nothing but access tiles that are not there, and no other
tile block does.  A transposed index and a loop that runs once too often look alike at a single access, and a smaller
grid would hide them.
"""

from __future__ import annotations

from math import prod

from tileir.dialect.ops import BREAK, CONTINUE, ENTRY, FOR, GET_TILE_BLOCK_ID, IF, LOOP, YIELD
from tileir.dialect.types import TokenType
from tileir.execute.errors import BlockId
from tileir.ir.core import Operation
from tileir.ir.values import Value

Outside = dict[Operation, set[BlockId]]
"""For each access the tile blocks in which it has an index outside."""


def smaller_grid(operation: Operation, outside: Outside, grid: BlockId) -> BlockId | None:
    """The grid without the tile blocks in which an access has an index outside; None if the others are wrong too, or if
    those do anything else."""
    blocks = outside[operation]
    extents = [_first(blocks, axis, extent) for axis, extent in enumerate(grid)]
    if 0 in extents or len(blocks) != prod(grid) - prod(extents):
        return None
    if any(all(place < extent for place, extent in zip(block, extents, strict=True)) for block in blocks):
        return None
    entry = operation
    while entry.declaration is not ENTRY:
        parent = entry.parent_operation
        if parent is None:
            return None
        entry = parent
    accesses = [each for each in entry.walk() if each.declaration.accesses_memory]
    for axis, extent in enumerate(extents):
        if extent == grid[axis]:
            continue
        dependent = _dependent_on_block(entry, axis)
        dropped = prod(grid) // grid[axis] * (grid[axis] - extent)
        for access in accesses:
            depends = any(operand in dependent for operand in access.operands)
            if depends or access.declaration.writes is not None:
                if sum(block[axis] >= extent for block in outside.get(access, ())) != dropped:
                    return None
    x, y, z = extents
    return x, y, z


def _first(blocks: set[BlockId], axis: int, extent: int) -> int:
    """The first tile block along an axis of the grid that is among some."""
    for place in range(extent):
        block = [0, 0, 0]
        block[axis] = place
        if tuple(block) in blocks:
            return place
    return extent


def _dependent_on_block(entry: Operation, axis: int) -> set[Value]:
    """The values that may differ between tile blocks along an axis of the grid."""
    found: set[Value] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for operation in entry.walk():
            if operation.declaration is GET_TILE_BLOCK_ID:
                found.add(operation.results[axis])
            else:
                found.update(each for each in _affected(operation, found) if not isinstance(each.type, TokenType))
    return found


def _affected(operation: Operation, known: set[Value]) -> list[Value]:
    """What depends on known values through one operation."""
    chosen = [number for number, operand in enumerate(operation.operands) if operand in known]
    if not chosen:
        return []
    declaration, parent = operation.declaration, operation.parent_operation
    while declaration in (CONTINUE, BREAK) and parent is not None and parent.declaration is IF:
        parent = parent.parent_operation
    if declaration in (CONTINUE, BREAK, YIELD) and parent is not None and parent.declaration in (FOR, LOOP, IF):
        # A loop's counter comes first among its arguments.
        arguments = parent.regions[0].blocks[0].arguments[parent.declaration is FOR :]
        to_results = [] if parent.declaration is LOOP and declaration is CONTINUE else parent.results
        to_arguments = arguments if declaration is CONTINUE else []
        return [values[number] for values in (to_results, to_arguments) for number in chosen if number < len(values)]
    if declaration not in (FOR, LOOP):
        inner = [argument for region in operation.regions for block in region.blocks for argument in block.arguments]
        return [*operation.results, *inner]
    bounds = 3 if declaration is FOR else 0
    arguments = operation.regions[0].blocks[0].arguments
    if chosen[0] < bounds:
        return [*operation.results, *arguments]
    carried = [number - bounds for number in chosen]
    entered = [arguments[number + (declaration is FOR)] for number in carried]
    # A `for` that runs no round passes them on.
    return [*entered, *[operation.results[number] for number in carried]] if declaration is FOR else entered
