"""What tokens order among the accesses that are written in parts.

A program in parts stores the first part before it loads the second.  Where a store waits for a load, they may reach the
same memory, and the first part would change what the second is made of: unless both are of one tile, and cut alike.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.preparing.cutting import Cut, Uncut
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.rewrite.token_order import TokenOrder

_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)


def check_order(cut: Cut, block: Block, written: list[Operation]) -> None:
    """`Uncut` where a store in parts waits for a load in parts of other elements, or a load for such a store.

    `block`: the one that parts are written in; what comes from an earlier run of it is done.
    """
    loads = {each for operation in written for each in pre_order(operation) if each.declaration in _LOADS}
    stores = set(cut.stores)
    for store in stores:
        if any(not _is_of_one_tile(cut, each, store) for each in _waited_for(store, block) & loads):
            raise Uncut
    if any(_waited_for(load, block) & stores for load in loads):
        raise Uncut


def _waited_for(operation: Operation, block: Block) -> set[Operation]:
    """All that an operation waits for by tokens, since a block was entered."""
    tokens = TokenOrder(operation).all_before(operation, since=block)
    return {maker for token in tokens if (maker := token.defining_operation) is not None}


def _is_of_one_tile(cut: Cut, load: Operation, store: Operation) -> bool:
    """Whether the same elements are loaded for a part as are stored."""
    if load.declaration is not ops.LOAD_VIEW_TKO:
        return False
    accessed = [[each.view, *each.index] for each in (load, store)]
    axes = [cut.axes.get(each) for each in (load.results[0], store.tile)]
    return accessed[0] == accessed[1] and axes[0] is not None and axes[0] == axes[1]
