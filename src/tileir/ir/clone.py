"""Copies of operations."""

from __future__ import annotations

from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.values import Value


def clone(operation: Operation, mapping: dict[Value, Value] | None = None) -> Operation:
    """A deep copy, in no block, with the same locations.

    An operand found in `mapping` is replaced by what it maps to, one defined inside the operation by its copy, and any
    other is shared.  The results and block arguments of the operation and of all inside it are added to `mapping`.
    """
    values: dict[Value, Value] = {} if mapping is None else mapping
    blocks: dict[Block, Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    copy = _copy_without_operands(operation, values, blocks, pairs)
    # `pairs` grows while it is read: an explicit worklist, because programs may nest deeper than Python's stack.
    # Operands come last, because a use may stand before its definition.
    index = 0
    while index < len(pairs):
        source, target = pairs[index]
        for old, new in zip(source.regions, target.regions, strict=True):
            _copy_blocks(old, new, values, blocks, pairs)
        index += 1
    for source, target in pairs:
        operands: list[Value] = [values.get(value, value) for value in source.operands]
        target.set_operands(operands, source.segments)
        if source.successors is not None:
            target.successors = [blocks.get(block, block) for block in source.successors]
    return copy


def _copy_without_operands(
    source: Operation,
    values: dict[Value, Value],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> Operation:
    target = Operation(
        source.declaration,
        [],
        [result.type for result in source.results],
        dict(source.attributes) if source.attributes else NO_ATTRIBUTES,
        [Region() for _ in source.regions] if source.regions else NO_REGIONS,
        source.location,
    )
    for old, new in zip(source.results, target.results, strict=True):
        values[old] = new
    pairs.append((source, target))
    return target


def _copy_blocks(
    source: Region,
    target: Region,
    values: dict[Value, Value],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> None:
    for block in source.blocks:
        new_block = Block()
        blocks[block] = new_block
        target.append(new_block)
        for argument in block.arguments:
            values[argument] = new_block.add_argument(argument.type, argument.location)
        for operation in block:
            new_block.append(_copy_without_operands(operation, values, blocks, pairs))
