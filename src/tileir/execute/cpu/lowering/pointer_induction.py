"""Tiles of pointers that a loop carries and moves by as much in every turn, as what they are: places in an array.

    for .. iter_values(%p = offset(%base, %index)) { load %p; continue offset(%p, %step) }
->
    for .. iter_values(%moved = 0) { load offset(offset(%base, %moved), %index); continue %moved + %step }

where %base and %step have the same value in all elements.  A carried tile would be a buffer of addresses, loaded for
every access and known for nothing.  Of an offset from the pointer of an argument it is known which array it is meant
for, between which addresses it lies and which elements are neighbours.  Addresses are sums modulo 2^64, so that the
order in which they are added up does not matter.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.ops import ADDI, BROADCAST, CONSTANT, EXTI, FOR, MULI, OFFSET, RESHAPE, SUBI
from tileir.dialect.types import PointerType, scalar_tile
from tileir.execute.analysis.pointer_origins import is_moved_at_end, may_end_early
from tileir.execute.analysis.values import is_tile, tile_of
from tileir.ir.core import Block, Operation
from tileir.ir.dense import dense_attribute
from tileir.ir.types import I1, I64
from tileir.ir.values import Value
from tileir.rewrite.rewriter import Rewriter

_LONGEST: Final = 12
"""How many operations are looked through on the way to a pointer or a step."""
_ARITHMETIC: Final = (ADDI, SUBI, MULI, EXTI)


def run(entry: Operation) -> int:
    """Rewrite the loops of a kernel; gives how many tiles are carried no more."""
    loops = [operation for operation in entry.walk() if operation.declaration is FOR]
    return sum([_rewrite(loop) for loop in loops])


def _rewrite(loop: Operation) -> int:
    block = loop.regions[0].blocks[0]
    moved = [
        number
        for number, argument in enumerate(block.arguments[1:])
        if is_tile(argument) and isinstance(tile_of(argument).element, PointerType) and is_moved_at_end(argument)
    ]
    if not moved or may_end_early(block):
        return 0
    count = 0
    for number in moved:
        end = block.last
        following = end.operands[number].defining_operation if end is not None else None
        assert following is not None
        way = _way_to_base(loop.operands[3 + number])
        if way is None:
            continue
        rewriter = Rewriter()
        rewriter.location = loop.location
        rewriter.insert_before(loop)
        step = _scalar(rewriter, following.operands[1], loop)
        if step is None or tile_of(step).element is I1:
            continue
        _carry_distance(rewriter, loop, number, way, _widened(rewriter, step))
        count += 1
    return count


def _way_to_base(pointers: Value) -> list[Operation] | None:
    """What makes a tile of pointers from one, from that one on; None if it is made in another way."""
    way: list[Operation] = []
    value = pointers
    while tile_of(value).shape:
        operation = value.defining_operation
        if operation is None or operation.declaration not in (OFFSET, BROADCAST, RESHAPE) or len(way) == _LONGEST:
            return None
        way.append(operation)
        value = operation.operands[0]
    way.reverse()
    return way


def _scalar(rewriter: Rewriter, value: Value, loop: Operation, depth: int = 0) -> Value | None:
    """The integer that all elements of a tile from outside of a loop are, computed in front of it; None if unknown."""
    operation = value.defining_operation
    block = value.parent_block
    if depth == _LONGEST or block is None or _is_within(block, loop):
        return None
    if not tile_of(value).shape:
        return value
    if operation is None:
        return None
    declaration = operation.declaration
    element = tile_of(value).element
    if declaration is CONSTANT:
        constant = operation.value_attribute
        if not constant.is_splat:
            return None
        return rewriter.constant(dense_attribute(scalar_tile(element), (), element, constant.data))
    if declaration in (BROADCAST, RESHAPE):
        return _scalar(rewriter, operation.operands[0], loop, depth + 1)
    if declaration not in _ARITHMETIC:
        return None
    operands = []
    for operand in operation.operands:
        scalar = _scalar(rewriter, operand, loop, depth + 1)
        if scalar is None:
            return None
        operands.append(scalar)
    return rewriter.create(declaration, operands, [scalar_tile(element)], operation.attributes).results[0]


def _is_within(block: Block, loop: Operation) -> bool:
    owner = block.parent_operation
    return owner is not None and (owner is loop or loop.is_ancestor_of(owner))


def _widened(rewriter: Rewriter, step: Value) -> Value:
    """An integer as `offset` takes it, signed, in 64 bits."""
    if tile_of(step).element is I64:
        return step
    return rewriter.create(EXTI, [step], [scalar_tile(I64)], {"signedness": SIGNEDNESS["signed"]}).results[0]


def _carry_distance(rewriter: Rewriter, loop: Operation, number: int, way: list[Operation], step: Value) -> None:
    block = loop.regions[0].blocks[0]
    end = block.last
    assert end is not None
    argument, result = block.arguments[1 + number], loop.results[number]
    distance = scalar_tile(I64)
    start = rewriter.constant(dense_attribute(distance, (), I64, bytes(8)))
    loop.set_operand(3 + number, start)

    def at_distance(of: Value) -> Value:
        """The tile of pointers, a distance from where it was."""
        base = way[0].operands[0]
        found = rewriter.create(OFFSET, [base, of], [base.type]).results[0]
        for operation in way:
            operands = [found, *operation.operands[1:]]
            types = [each.type for each in operation.results]
            found = rewriter.create(operation.declaration, operands, types, operation.attributes).results[0]
        return found

    for carried, place in ((argument, None), (result, loop)):
        users = list(carried.users)
        carried.type = distance
        if not users:
            continue
        if place is None:
            rewriter.insert_at_start(block)
        else:
            rewriter.insert_after(place)
        pointers = at_distance(carried)
        for user in users:
            for position, operand in enumerate(user.operands):
                if operand is carried:
                    user.set_operand(position, pointers)
    rewriter.insert_before(end)
    end.set_operand(number, rewriter.create(ADDI, [argument, step], [distance]).results[0])
