"""How often a tile block waits for memory: loads one after the other, of which each needs what the one before gave.

Loads that do not depend on each other are under way together.  Those of a loop that go into matrix products are not
waited for: compilers for GPUs start them some iterations ahead, as their places are known.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.ops import BROADCAST, FOR, FTOF, MMAF, MMAF_SCALED, MMAI, PERMUTE, RESHAPE
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value

_PRODUCTS: Final = (MMAF, MMAF_SCALED, MMAI)
_PASSED_ON: Final = (BROADCAST, FTOF, PERMUTE, RESHAPE)


def waits_of(block: Block) -> int:
    """How often one execution of a block waits for its own loads, those of blocks within it left out."""
    owner = block.parent_operation
    in_loop = owner is not None and owner.declaration is FOR
    depths: dict[Value, int] = {}
    longest = 0
    for operation in block:
        depth = 0
        for operand in operation.operands:
            depth = max(depth, depths.get(operand, 0))
        if operation.declaration.reads and _is_waited_for(operation, in_loop):
            depth += 1
            longest = max(longest, depth)
        if depth:
            for result in operation.results:
                depths[result] = depth
    return longest


def _is_waited_for(operation: Operation, in_loop: bool) -> bool:
    """Whether anything of what is read is used, and not only by products some iterations later."""
    loaded = operation.results[0]
    return loaded.has_uses and not (in_loop and _goes_into_products(loaded))


def _goes_into_products(value: Value) -> bool:
    pending = [value]
    while pending:
        for user in pending.pop().users:
            if user.declaration in _PASSED_ON:
                pending.extend(user.results)
            elif user.declaration not in _PRODUCTS:
                return False
    return True
