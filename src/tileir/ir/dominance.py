"""Every use must be reached by its definition."""

from __future__ import annotations

from tileir.annotations import Callable
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import GRAPH_REGION, ISOLATED
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.location import Location
from tileir.ir.values import Value

Report = Callable[[str, str, Location, "list[Diagnostic] | None"], None]


class _Open:
    """An operation whose regions are being checked.

    `blocks` are those still to come, each with the other blocks that dominate it; `defined` is what the block at hand
    made visible, to be forgotten at its end, unless nobody asks afterwards: then it `forgets` nothing.
    """

    __slots__ = ("blocks", "defined", "forgets", "next", "owner", "unordered", "visible")

    def __init__(self, owner: Operation, visible: set[Value]) -> None:
        traits = owner.declaration.traits
        self.owner: Operation = owner
        self.visible: set[Value] = set() if traits & ISOLATED else visible
        self.unordered: bool = bool(traits & GRAPH_REGION) or owner.declaration.unregistered
        self.blocks: list[tuple[Block, list[Block]]] = []
        self.defined: list[Value] = []
        self.next: Operation | None = None
        for region in reversed(owner.regions):
            if len(region.blocks) == 1:
                self.blocks.append((region.blocks[0], []))
            elif region.blocks:
                self.blocks.extend(reversed(_with_dominators(region.blocks)))
        self.forgets: bool = not traits & ISOLATED or len(self.blocks) > 1

    def enter_block(self) -> bool:
        """Forget the block that is done and begin the next one; False if there is none."""
        if self.forgets:
            self.visible.difference_update(self.defined)
        if not self.blocks:
            return False
        block, dominators = self.blocks.pop()
        defined: list[Value] = list(block.arguments)
        for other in dominators:
            defined.extend(_definitions(other))
        if self.unordered:
            for operation in block:
                defined.extend(operation.results)
        self.visible.update(defined)
        self.defined = defined
        self.next = block.first
        return True


def verify_dominance(root: Operation, report: Report) -> None:
    """Report each operand that is used where its definition does not reach."""
    # An explicit stack, because programs may nest deeply.
    path: list[_Open] = [_Open(root, set())]
    while path:
        top = path[-1]
        inner = _check_row(top, report)
        if inner is not None:
            path.append(_Open(inner, top.visible))
        elif not top.enter_block():
            path.pop()
            if path:
                # What an operation gives is visible behind it, not inside it.
                _define(top.owner, path[-1])


def _check_row(top: _Open, report: Report) -> Operation | None:
    """Check the operations of a block from where it goes on up to the next one with regions, which is given back."""
    visible = top.visible
    defined = top.defined
    forgets = top.forgets
    unordered = top.unordered
    cursor = top.next
    while cursor is not None:
        for value in cursor.operands:
            if value not in visible:
                _report(cursor, value, report)
        if cursor.regions:
            top.next = cursor.next
            return cursor
        if not unordered:
            for result in cursor.results:
                visible.add(result)
                if forgets:
                    defined.append(result)
        cursor = cursor.next
    top.next = None
    return None


def _define(operation: Operation, top: _Open) -> None:
    if not top.unordered:
        top.visible.update(operation.results)
        top.defined.extend(operation.results)


def _with_dominators(blocks: list[Block]) -> list[tuple[Block, list[Block]]]:
    """Several blocks: only operations of other dialects have them.  A block sees what dominates it."""
    dominators = _dominators(blocks, {block: index for index, block in enumerate(blocks)})
    return [
        (block, [other for number, other in enumerate(blocks) if number != index and dominators[index] >> number & 1])
        for index, block in enumerate(blocks)
    ]


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
