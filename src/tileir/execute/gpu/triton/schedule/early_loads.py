"""Whether a loop may load what later iterations need before earlier ones have stored.

Triton's pipelines do so and do not ask whether memory is shared.  Tile programs say by tokens what is ordered: a load
waits for a store of its own or of an earlier iteration only if tokens in the loop lead from one to the other.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.rewrite.token_order import OTHERS, TokenOrder

_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)


def may_load_early(loop: Operation) -> bool:
    """Whether no load in a loop waits for a write or a fence of the loop, and none is more than a plain access."""
    loads = [each for each in pre_order(loop) if each.declaration in _LOADS]
    if any(load.keyword("memory_ordering_semantics") != "weak" for load in loads):
        return False
    order = TokenOrder(loop)
    return not any(order.after(token) & OTHERS for load in loads for token in load.operand_group("token"))
