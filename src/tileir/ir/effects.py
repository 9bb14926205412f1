"""What executing an operation may touch: the two questions motion and clean-up ask."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.declaration import NO_MEMORY_EFFECT, PURE, REGION_EFFECTS


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
