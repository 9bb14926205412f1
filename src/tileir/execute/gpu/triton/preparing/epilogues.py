"""Results of products, stored in parts: columns are taken out of the sums, converted and stored, some after the others.

What is stored goes through shared memory, which the loads of the next tile need too; a part of a result takes a part of
it.  Every element is computed as before.
"""

from __future__ import annotations

from typing import cast

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, TileType
from tileir.execute.gpu.triton.preparing.cutting import Cut, Uncut
from tileir.execute.gpu.triton.preparing.parts import Parts, Place, Writing
from tileir.execute.gpu.triton.preparing.token_order import check_order
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import I32
from tileir.ir.values import Value


def store_in_parts(entry: Operation, parts: int) -> None:
    """Store the results of loops with products in so many parts, where they can be."""
    if parts < 2:
        return
    sums = frozenset([result for loop in features_of(entry).loops for result in loop.operation.results])
    for operation in pre_order(entry):
        if operation.declaration is not ops.STORE_VIEW_TKO:
            continue
        shape = cast(TileType, operation.tile.type).shape
        cut = Cut(parts, sums, follows=False)
        try:
            cut.store(operation, len(shape) - 1)
            chain = _chain(cut, operation)
        except Uncut:
            continue
        if any(value in sums for value in cut.axes):
            _write(cut, operation, chain)


def _chain(cut: Cut, store: Operation) -> list[Operation]:
    """The operations between the sums and the store, which nothing else uses."""
    assert store.parent is not None
    makers = {value.defining_operation for value in cut.axes if value not in cut.ends}
    found = [each for each in store.parent if each in makers]
    if cut.loops or len(found) != len(makers):
        raise Uncut
    for each in found:
        if any(user is not store and user not in makers for result in each.results for user in result.users):
            raise Uncut
    check_order(cut, store.parent, found)
    return found


def _write(cut: Cut, store: Operation, chain: list[Operation]) -> None:
    block = store.parent
    assert block is not None
    tokens: list[Value] = []
    views: dict[tuple[Value, int], Value] = {}
    for number in range(cut.parts):
        writing = Writing(block, store, store.location)
        mapping: dict[Value, Value] = {}
        parts = Parts(cut, _placing(cut.parts, number, mapping, store), mapping, views)
        for value, axis in cut.axes.items():
            if value in cut.ends:
                rank = len(cast(TileType, value.type).shape)
                index = [writing.constant(number if place == axis else 0, I32) for place in range(rank)]
                mapping[value] = writing.operation(ops.EXTRACT, [value, *index], parts.type_of(value))
        for each in chain:
            parts.write(each, block, store)
        tokens.append(parts.write(store, block, store).results[0])
    joined = Operation(ops.JOIN_TOKENS, tokens, [TOKEN], {}, [], store.location)
    if store.results[0].users:
        block.insert_before(joined, store)
        store.replace_with([joined.results[0]])
    else:
        joined.drop_all_references()
        store.erase()
    for each in reversed(chain):
        each.erase()


def _placing(parts: int, number: int, mapping: dict[Value, Value], store: Operation) -> Place:
    def place(index: Value, at: Block, before: Operation | None) -> Value:
        writing = Writing(at, before, store.location)
        first = writing.binary(ops.MULI, mapping.get(index, index), writing.constant(parts, I32))
        return writing.binary(ops.ADDI, first, writing.constant(number, I32))

    return place
