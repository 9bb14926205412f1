"""Whether two operations say the same."""

from __future__ import annotations

from tileir.ir.core import Block, Operation, Region
from tileir.ir.location import Location, resolved
from tileir.ir.values import Value


def structurally_equal(left: Operation, right: Operation, *, locations: bool = False) -> bool:
    """Whether two operations agree in everything but the identity of what they contain.

    Names, attributes, types, regions and blocks must be the same and operands must correspond; values from outside
    must be the very same ones.  With `locations` the operations' locations must agree too (those of block arguments
    are not compared: most custom syntax has no place for them).
    """
    values: dict[Value, Value] = {}
    blocks: dict[Block, Block] = {}
    # An explicit worklist, because programs may nest deeper than Python's stack.  Operands are compared at the end,
    # when every definition has met its counterpart: a use may stand before its definition.
    pairs: list[tuple[Operation, Operation]] = [(left, right)]
    index = 0
    while index < len(pairs):
        one, other = pairs[index]
        index += 1
        if not _same_head(one, other, locations):
            return False
        for mine, theirs in zip(one.results, other.results, strict=True):
            values[mine] = theirs
        for inner, counterpart in zip(one.regions, other.regions, strict=True):
            if not _pair_blocks(inner, counterpart, values, blocks, pairs):
                return False
    for one, other in pairs:
        for used, expected in zip(one.operands, other.operands, strict=True):
            if values.get(used, used) is not expected:
                return False
        for target, wanted in zip(one.successors or [], other.successors or [], strict=True):
            if blocks.get(target, target) is not wanted:
                return False
    return True


def _same_head(one: Operation, other: Operation, locations: bool) -> bool:
    """Everything about two operations except which operands they take and what is inside."""
    return (
        one.declaration is other.declaration
        and one.attributes == other.attributes
        and len(one.operands) == len(other.operands)
        and one.segment_lengths() == other.segment_lengths()
        and [result.type for result in one.results] == [result.type for result in other.results]
        and len(one.regions) == len(other.regions)
        and len(one.successors or []) == len(other.successors or [])
        and (not locations or same_location(one.location, other.location))
    )


def same_location(one: Location, other: Location) -> bool:
    """Locations are interned, except positions in a text, which are compared by file, line and column."""
    return one is other or resolved(one) is resolved(other)


def _pair_blocks(
    one: Region,
    other: Region,
    values: dict[Value, Value],
    blocks: dict[Block, Block],
    pairs: list[tuple[Operation, Operation]],
) -> bool:
    """Let the blocks, arguments and operations of two regions meet; False where they do not fit."""
    if len(one.blocks) != len(other.blocks):
        return False
    for block, counterpart in zip(one.blocks, other.blocks, strict=True):
        if [a.type for a in block.arguments] != [a.type for a in counterpart.arguments]:
            return False
        blocks[block] = counterpart
        for argument, theirs in zip(block.arguments, counterpart.arguments, strict=True):
            values[argument] = theirs
        mine = block.first
        yours = counterpart.first
        while mine is not None and yours is not None:
            pairs.append((mine, yours))
            mine = mine.next
            yours = yours.next
        if mine is not None or yours is not None:
            return False
    return True
