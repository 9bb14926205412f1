"""Every use must be reached by its definition."""

from __future__ import annotations

from collections.abc import Callable

from tileir.ir.core import Block, Operation, Region, Value
from tileir.ir.declaration import GRAPH_REGION, ISOLATED
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.location import Location

Report = Callable[[str, str, Location, "list[Diagnostic] | None"], None]


def verify_dominance(root: Operation, report: Report) -> None:
    """Report each operand that is used where its definition does not reach."""
    _check_regions(root, set(), report)


def _check_regions(operation: Operation, visible: set[Value], report: Report) -> None:
    if operation.declaration.traits & ISOLATED:
        visible = set()
    for region in operation.regions:
        if len(region.blocks) == 1:
            _check_block(region.blocks[0], operation, visible, report)
        elif region.blocks:
            _check_graph_of_blocks(region, operation, visible, report)


def _check_block(block: Block, parent: Operation, visible: set[Value], report: Report) -> None:
    """Check a block and forget its definitions at the end."""
    defined: list[Value] = list(block.arguments)
    unordered = parent.declaration.traits & GRAPH_REGION or parent.declaration.unregistered
    if unordered:
        for operation in block:
            defined.extend(operation.results)
    visible.update(defined)
    cursor = block.first
    while cursor is not None:
        for value in cursor.operands:
            if value not in visible:
                _report(cursor, value, report)
        if cursor.regions:
            _check_regions(cursor, visible, report)
        if not unordered:
            for result in cursor.results:
                visible.add(result)
                defined.append(result)
        cursor = cursor.next
    visible.difference_update(defined)


def _check_graph_of_blocks(region: Region, parent: Operation, visible: set[Value], report: Report) -> None:
    """Several blocks: only operations of other dialects have them.  A block sees what dominates it."""
    blocks = region.blocks
    number = {block: index for index, block in enumerate(blocks)}
    dominators = _dominators(blocks, number)
    for index, block in enumerate(blocks):
        outer = [
            value
            for other, definitions in enumerate(blocks)
            if other != index and dominators[index] >> other & 1
            for value in _definitions(definitions)
        ]
        visible.update(outer)
        _check_block(block, parent, visible, report)
        visible.difference_update(outer)


def _definitions(block: Block) -> list[Value]:
    values: list[Value] = list(block.arguments)
    for operation in block:
        values.extend(operation.results)
    return values


def _dominators(blocks: list[Block], number: dict[Block, int]) -> list[int]:
    """For each block the set of blocks that dominate it, as a bit set; an unreachable block sees everything."""
    everything = (1 << len(blocks)) - 1
    predecessors: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        last = block.last
        if last is not None and last.successors is not None:
            for successor in last.successors:
                if successor in number:
                    predecessors[number[successor]].append(index)
    dominators = [1] + [everything] * (len(blocks) - 1)
    changed = True
    while changed:
        changed = False
        for index in range(1, len(blocks)):
            meet = everything
            for predecessor in predecessors[index]:
                meet &= dominators[predecessor]
            meet |= 1 << index
            if meet != dominators[index]:
                dominators[index] = meet
                changed = True
    return dominators


def _report(operation: Operation, value: Value, report: Report) -> None:
    index = operation.operands.index(value)
    definition = value.defining_operation
    notes: list[Diagnostic] = []
    if definition is not None:
        notes.append(note(f"operand defined here ({_relation(operation, definition)})", definition.location))
    report("error", f"operand #{index} does not dominate this use", operation.location, notes)


def _relation(use: Operation, definition: Operation) -> str:
    if use.parent is definition.parent:
        return "op in the same block"
    use_region = use.parent.parent if use.parent is not None else None
    definition_region = definition.parent.parent if definition.parent is not None else None
    if use_region is definition_region:
        return "op in the same region"
    if _contains(definition_region, use):
        return "op in a parent region"
    if _contains(use_region, definition):
        return "op in a child region"
    return "op is neither in a parent nor in a child region"


def _contains(region: Region | None, operation: Operation) -> bool:
    cursor: Operation | None = operation
    while cursor is not None and region is not None:
        if cursor.parent is not None and cursor.parent.parent is region:
            return True
        cursor = cursor.parent_operation
    return False
