"""Cleanup that needs no rules: dead code, and one copy of each constant at the start of the kernel."""

from __future__ import annotations

from collections.abc import Callable

from tileir.dialect.ops import CONSTANT
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import UNKNOWN, Location, joined_location
from tileir.ir.traits import ISOLATED, NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, SYMBOL, TERMINATOR
from tileir.ir.types import Type
from tileir.ir.values import Value


def is_isolated(declaration: OperationDeclaration) -> bool:
    """Whether constants stay inside such an operation; of an undeclared one nothing is known."""
    return bool(declaration.traits & ISOLATED) or declaration.unregistered


def is_removable(declaration: OperationDeclaration) -> bool:
    """Whether an unused operation of this kind may be erased, if its regions have no effects.

    As in MLIR, terminators and symbols stay, and so does every operation without declared effects: assumptions,
    assertions, and all token-ordered operations, loads included.
    """
    if declaration.unregistered or declaration.traits & (TERMINATOR | SYMBOL):
        return False
    return bool(declaration.traits & (PURE | NO_MEMORY_EFFECT | REGION_EFFECTS))


class DeadCode:
    """Finds dead operations; caches which operations contain an effect, so that nests are not searched again.

    The cache is stale when an effect has moved out of an operation.
    """

    def __init__(self) -> None:
        self._effectful: set[Operation] = set()

    def is_dead(self, operation: Operation) -> bool:
        """Whether a removable operation is unused and has no effect."""
        if not operation.is_unused:
            return False
        return bool(operation.declaration.traits & (PURE | NO_MEMORY_EFFECT)) or not self._has_effects(operation)

    def _has_effects(self, root: Operation) -> bool:
        known = self._effectful
        if root in known:
            return True
        pending: list[Operation] = [root]
        while pending:
            holder = pending.pop()
            for region in holder.regions:
                for block in region.blocks:
                    cursor = block.first
                    while cursor is not None:
                        traits = cursor.declaration.traits
                        if not traits & (PURE | NO_MEMORY_EFFECT):
                            if not traits & REGION_EFFECTS or cursor in known:
                                self._mark_around(cursor, root)
                                return True
                            pending.append(cursor)
                        cursor = cursor.next
        return False

    def _mark_around(self, effect: Operation, root: Operation) -> None:
        """Mark every operation around an effect, up to the root."""
        cursor = effect.parent_operation
        while cursor is not None:
            self._effectful.add(cursor)
            if cursor is root:
                return
            cursor = cursor.parent_operation


def remove_dead(
    root: Operation, dead: DeadCode | None = None, erase: Callable[[Operation], None] = Operation.erase
) -> int:
    """Erase dead operations inside `root`; return their number, not counting what they contain.

    Operations are visited in reverse program order, so users come before definitions and one visit is enough.
    """
    if dead is None:
        dead = DeadCode()
    removed = 0
    pending: list[Operation | None] = [block.last for region in root.regions for block in region.blocks]
    while pending:
        cursor = pending.pop()
        while cursor is not None:
            previous = cursor.previous
            if is_removable(cursor.declaration) and dead.is_dead(cursor):
                erase(cursor)
                removed += 1
            elif cursor.regions:
                pending.append(previous)
                pending.extend([block.last for region in cursor.regions for block in region.blocks])
                break
            cursor = previous
    return removed


class ConstantBlocks:
    """Finds the block for the constants of a block: the entry block of the innermost isolated operation around it."""

    def __init__(self) -> None:
        self._found: dict[Block, Block] = {}
        # By block, the constants that it begins with.
        self._leading: dict[Block, dict[DenseAttribute, Value]] = {}

    def block_for(self, block: Block) -> Block:
        # Blocks on the way have the same result, so a deep nest is climbed once and not from every level.
        way: list[Block] = []
        found = self._found.get(block)
        while found is None:
            way.append(block)
            region = block.parent
            parent = region.parent if region is not None else None
            outer = parent.parent if parent is not None else None
            if region is None:
                found = block
            elif parent is None or outer is None or is_isolated(parent.declaration):
                found = region.blocks[0]
            else:
                block = outer
                found = self._found.get(block)
        for inner in way:
            self._found[inner] = found
        return found

    def constant(self, elements: DenseAttribute, type: Type, block: Block, location: Location) -> Value:
        """Return an equal constant that the block for constants begins with, or a new one there."""
        block = self.block_for(block)
        known = self._leading.get(block)
        if known is None:
            known = self._leading[block] = {}
            cursor = block.first
            while cursor is not None and cursor.declaration is CONSTANT:
                if len(cursor.attributes) == 1:
                    known.setdefault(cursor.value_attribute, cursor.results[0])
                cursor = cursor.next
        found = known.get(elements)
        if found is None:
            constant = Operation(CONSTANT, [], [type], {"value": elements}, location=location)
            block.insert_before(constant, block.first)
            found = known[elements] = constant.results[0]
        return found


class ConstantPool:
    """Merges and moves constants, in program order, as MLIR's folder does.

    Equal constants (same value, same type) of one isolated operation become the first of them.  A constant stays where
    it is if it begins the entry block or follows one that stays; any other moves to the front of that block.  A
    constant that was moved or merged has an unknown location; with `keep_locations`, those of all merged constants.
    """

    def __init__(self, keep_locations: bool = False) -> None:
        self._keep_locations: bool = keep_locations
        self.merged: int = 0
        self.moved: int = 0
        self._seen: dict[tuple[Block, Attribute, Type], Operation] = {}
        self._placed: set[Operation] = set()
        self._blocks: ConstantBlocks = ConstantBlocks()

    def place(self, constant: Operation) -> bool:
        """Move or merge a constant; False if it was merged into an equal one and erased."""
        block = constant.parent
        value = constant.attributes.get("value")
        if block is None or value is None or len(constant.attributes) != 1:
            # A merge would lose the other attributes.
            return True
        target = self._blocks.block_for(block)
        result = constant.results[0]
        key = (target, value, result.type)
        first = self._seen.get(key)
        if first is not None:
            result.replace_all_uses_with(first.results[0])
            constant.erase()
            keep = self._keep_locations
            first.location = joined_location(first.location, constant.location) if keep else UNKNOWN
            self.merged += 1
            return False
        previous = constant.previous
        if block is not target or not (previous is None or previous in self._placed):
            constant.detach()
            target.insert_before(constant, target.first)
            if not self._keep_locations:
                constant.location = UNKNOWN
            self.moved += 1
        self._seen[key] = constant
        self._placed.add(constant)
        return True
