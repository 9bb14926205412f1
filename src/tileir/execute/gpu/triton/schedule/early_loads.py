"""Whether a loop may load what later iterations need before earlier ones have stored.

Triton's pipelines do so and do not ask whether memory is shared.  Tile programs say by tokens what is ordered: a load
waits for a store of its own or of an earlier iteration only if tokens in the loop lead from one to the other.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.rewrite.token_order import TokenOrder

_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)


def may_load_early(loop: Operation) -> bool:
    """Whether no load in a loop waits for what the loop writes, and none is more than a plain access."""
    inside = [each for each in pre_order(loop) if each is not loop]
    if any(each.declaration in _LOADS and _ordering(each) != "weak" for each in inside):
        return False
    stores = [each for each in inside if each.declaration.writes]
    waiting = TokenOrder(loop).gathered(dict.fromkeys(stores, 1))
    return not any(waiting.get(token) for each in inside if each.declaration in _LOADS for token in each.operands)


def _ordering(operation: Operation) -> str:
    return operation.keyword("memory_ordering_semantics")
