"""Operations that nothing needs: unused results and no effect on memory."""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.ops import ASSUME, ASSUME_COND
from tileir.ir.core import Operation
from tileir.ir.declaration import NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, SYMBOL, TERMINATOR, OperationDeclaration

# They declare nothing, as in NVIDIA's dialect: a promise holds where it stands, whoever uses the value.
WITHOUT_EFFECTS: Final[dict[OperationDeclaration, str]] = {
    ASSUME: "a promise holds where it stands",
    ASSUME_COND: "a promise holds where it stands",
}


def is_removable(declaration: OperationDeclaration) -> bool:
    """Whether an unused operation of this kind may be erased, what is inside it permitting.

    As in MLIR, terminators and symbols stay, and so does what declares no effects: assumptions and assertions, and
    everything ordered by tokens, loads included.
    """
    if declaration.unregistered or declaration.traits & (TERMINATOR | SYMBOL):
        return False
    return bool(declaration.traits & (PURE | NO_MEMORY_EFFECT | REGION_EFFECTS))


class DeadCode:
    """Answers whether an operation is dead; remembers which ones hold an effect, so that nests are not searched again.

    A remembered answer may be out of date when what was inside has moved away; `forget` starts anew.
    """

    __slots__ = ("_effectful",)

    def __init__(self) -> None:
        self._effectful: set[Operation] = set()

    def forget(self) -> None:
        self._effectful = set()

    def is_dead(self, operation: Operation) -> bool:
        """Whether a removable operation is unused and has no effect."""
        if not operation.is_unused:
            return False
        traits = operation.declaration.traits
        if traits & (PURE | NO_MEMORY_EFFECT):
            return True
        return not self._has_effects(operation)

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
                                self._remember(cursor, root)
                                return True
                            pending.append(cursor)
                        cursor = cursor.next
        return False

    def _remember(self, culprit: Operation, root: Operation) -> None:
        """Everything around the culprit, up to the root, holds an effect."""
        cursor = culprit.parent_operation
        while cursor is not None:
            self._effectful.add(cursor)
            if cursor is root:
                return
            cursor = cursor.parent_operation


def remove_dead(root: Operation, dead: DeadCode, erase: Callable[[Operation], None] | None = None) -> int:
    """Erase what is dead inside `root`; gives the number of operations erased, not counting what they contain.

    Operations are visited against program order, so users come before what they use and one visit is enough.  `erase`
    is called instead of the operation's own.
    """
    removable: dict[OperationDeclaration, bool] = {}
    removed = 0
    pending: list[Operation | None] = [block.last for region in root.regions for block in region.blocks]
    while pending:
        cursor = pending.pop()
        while cursor is not None:
            previous = cursor.previous
            declaration = cursor.declaration
            known = removable.get(declaration)
            if known is None:
                known = removable[declaration] = is_removable(declaration)
            if known and cursor.is_unused and dead.is_dead(cursor):
                if erase is None:
                    cursor.erase()
                else:
                    erase(cursor)
                removed += 1
            elif cursor.regions:
                pending.append(previous)
                for region in cursor.regions:
                    for block in region.blocks:
                        pending.append(block.last)
                break
            cursor = previous
    return removed
