"""Whether a loop may load what later iterations need before earlier ones have stored.

Triton's pipelines do so and do not ask whether memory is shared.  Tile programs say by tokens what is ordered: a load
waits for a store of an iteration before only if a token that the loop carries leads from one to the other.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import TOKEN
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.ir.values import BlockArgument, Value

_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)
_STORES: Final = (
    ops.STORE_VIEW_TKO, ops.STORE_PTR_TKO, ops.ATOMIC_RMW_TKO, ops.ATOMIC_CAS_TKO, ops.ATOMIC_RED_VIEW_TKO,
)  # fmt: skip


def may_load_early(loop: Operation) -> bool:
    """Whether no load in a loop waits for what an earlier iteration writes, and none is more than a plain access."""
    inside = [each for each in pre_order(loop) if each is not loop]
    if any(each.declaration in _LOADS and _ordering(each) != "weak" for each in inside):
        return False
    if not any(each.declaration in _STORES for each in inside):
        return True
    carried = _carried_from_stores(loop)
    return not any(_reached(token, carried) for each in inside if each.declaration in _LOADS for token in _tokens(each))


def _ordering(operation: Operation) -> str:
    return operation.keyword("memory_ordering_semantics")


def _tokens(operation: Operation) -> list[Value]:
    return [each for each in operation.operands if each.type is TOKEN]


def _carried_from_stores(loop: Operation) -> set[Value]:
    """The tokens that a loop carries around and that a store in it leads to."""
    block = loop.regions[0].blocks[0]
    last = block.last
    if last is None:
        return set()
    arguments = block.arguments[len(block.arguments) - len(last.operands) :]
    return {
        argument
        for argument, given in zip(arguments, last.operands, strict=True)
        if argument.type is TOKEN and _comes_from_store(given)
    }


def _comes_from_store(token: Value) -> bool:
    return any(
        maker.declaration in _STORES or any(each.declaration in _STORES for each in pre_order(maker))
        for maker in _makers(token)
    )


def _reached(token: Value, carried: set[Value]) -> bool:
    """Whether what a load waits for is one of those."""
    if token in carried:
        return True
    return any(source in carried for maker in _makers(token) for source in _tokens(maker))


def _makers(token: Value) -> list[Operation]:
    """The operations that a token comes from."""
    found: list[Operation] = []
    pending, seen = [token], {token}
    while pending:
        value = pending.pop()
        # What a loop inside carries comes from what it is given.
        maker = value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation
        if maker is None:
            continue
        found.append(maker)
        fresh = [each for each in _tokens(maker) if each not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return found
