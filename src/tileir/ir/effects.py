"""What executing an operation may touch: the questions motion, clean-up and the engines ask."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.declaration import NO_MEMORY_EFFECT, PURE, REGION_EFFECTS, TOKEN_ORDERED


def is_pure(operation: Operation) -> bool:
    """No memory effect, and executing it where the program would not is harmless."""
    return bool(operation.declaration.traits & PURE)


def is_memory_effect_free(operation: Operation) -> bool:
    """Neither it nor anything inside it reads, writes or allocates; an operation nobody declared might."""
    traits = operation.declaration.traits
    if traits & (PURE | NO_MEMORY_EFFECT):
        return True
    if not traits & REGION_EFFECTS:
        return False
    # An explicit list, because programs may nest deeply: operations that are what they contain.
    pending: list[Operation] = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                cursor = block.first
                while cursor is not None:
                    traits = cursor.declaration.traits
                    if not traits & (PURE | NO_MEMORY_EFFECT):
                        if not traits & REGION_EFFECTS:
                            return False
                        pending.append(cursor)
                    cursor = cursor.next
    return True


def memory_changes(root: Operation) -> set[Operation]:
    """The operations within `root` after which memory may have other contents than before them.

    It, or something inside it, writes; or is ordered by tokens without being an access, such as a fence, behind which
    the writes of others can be seen; or is an operation nobody declared.
    """
    found: set[Operation] = set()
    for operation in root.walk():
        declaration = operation.declaration
        if (
            declaration.writes is not None
            or declaration.unregistered
            or (declaration.traits & TOKEN_ORDERED and declaration.reads is None)
        ):
            cursor: Operation | None = operation
            while cursor is not None and cursor not in found:
                found.add(cursor)
                cursor = cursor.parent_operation if cursor is not root else None
    return found
