"""When a smaller grid removes an index outside of a view's index space.

It does where tile blocks beyond some extent of the grid do nothing but access tiles that are not there, and no other
tile block does.  A transposed index and a loop that runs once too often look alike at a single access, and a smaller
grid would hide them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tileir.dialect.ops import BREAK, CONTINUE, ENTRY, FOR, GET_TILE_BLOCK_ID, IF, LOOP, YIELD
from tileir.dialect.types import TokenType
from tileir.execute.errors import BlockId
from tileir.ir.core import Operation
from tileir.ir.values import Value

Outside = dict[Operation, set[BlockId]]
"""For each access the tile blocks in which it has an index outside."""


def smaller_grids(outside: Outside, grid: BlockId) -> dict[Operation, BlockId]:
    """For each access the grid without the tile blocks in which it has an index outside.

    It is left out if other tile blocks are wrong too, or if those do anything else.
    """
    found: dict[Operation, BlockId] = {}
    needless: dict[BlockId, bool] = {}
    for operation, blocks in outside.items():
        extents = (_first(blocks, 0, grid), _first(blocks, 1, grid), _first(blocks, 2, grid))
        if 0 in extents or len(blocks) != prod(grid) - prod(extents):
            continue
        if any(all(place < extent for place, extent in zip(block, extents, strict=True)) for block in blocks):
            continue
        if extents not in needless:
            needless[extents] = _does_nothing_beyond(extents, operation, outside, grid)
        if needless[extents]:
            found[operation] = extents
    return found


def _does_nothing_beyond(extents: BlockId, operation: Operation, outside: Outside, grid: BlockId) -> bool:
    """Whether tile blocks beyond a smaller grid access only tiles outside, apart from reads that others make too.

    An access in a loop may be outside in one iteration and inside in another.  It is outside in all of them if what
    depends on the tile block is the same in each.
    """
    entry = operation
    while entry.declaration is not ENTRY:
        parent = entry.parent_operation
        if parent is None:
            return False
        entry = parent
    accesses = [each for each in entry.walk() if each.declaration.accesses_memory]
    varying = _dependent_on_loops(entry)
    for axis, extent in enumerate(extents):
        if extent == grid[axis]:
            continue
        blocks = [each.results[axis] for each in entry.walk() if each.declaration is GET_TILE_BLOCK_ID]
        dependent = _dependents(entry, blocks)
        dropped = prod(grid) // grid[axis] * (grid[axis] - extent)
        for access in accesses:
            depends = any(operand in dependent for operand in access.operands)
            if any(operand in dependent and operand in varying.get(access, ()) for operand in access.operands):
                return False
            if depends or access.declaration.writes is not None:
                if sum(block[axis] >= extent for block in outside.get(access, ())) != dropped:
                    return False
    return True


def _first(blocks: set[BlockId], axis: int, grid: BlockId) -> int:
    """The first tile block along an axis of the grid that is among some."""
    on_axis = [block[axis] for block in blocks if sum(block) == block[axis]]
    return min(on_axis, default=grid[axis])


def _dependent_on_loops(entry: Operation) -> dict[Operation, set[Value]]:
    """For each access in a loop the values that may differ between iterations."""
    found: dict[Operation, set[Value]] = {}
    for loop in entry.walk():
        if loop.declaration.is_loop:
            varying = _dependents(entry, loop.regions[0].blocks[0].arguments)
            for each in loop.walk():
                if each.declaration.accesses_memory:
                    found.setdefault(each, set()).update(varying)
    return found


def _dependents(entry: Operation, values: Iterable[Value]) -> set[Value]:
    """Some values, and those that may differ with them."""
    found = {value for value in values if not isinstance(value.type, TokenType)}
    before = -1
    while len(found) != before:
        before = len(found)
        for operation in entry.walk():
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
    if not declaration.is_loop:
        inner = [argument for region in operation.regions for block in region.blocks for argument in block.arguments]
        return [*operation.results, *inner]
    bounds = 3 if declaration is FOR else 0
    arguments = operation.regions[0].blocks[0].arguments
    if chosen[0] < bounds:
        return [*operation.results, *arguments]
    carried = [number - bounds for number in chosen]
    entered: list[Value] = [arguments[number + (declaration is FOR)] for number in carried]
    # A `for` that runs no iteration passes them on.
    return [*entered, *[operation.results[number] for number in carried]] if declaration is FOR else entered
