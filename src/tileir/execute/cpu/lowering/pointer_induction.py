"""Loops that carry tiles of pointers and move them by as much in every iteration carry the distance instead.

    for .. iter_values(%p = offset(%base, %index)) { load %p; continue offset(%p, %step) }
->
    for .. iter_values(%moved = 0) { load offset(offset(%base, %moved), %index); continue %moved + %step }

where all elements of %base and of %step are the same.  A carried tile would be a buffer of addresses about which
nothing is known.  An offset from an argument has an array, bounds and neighbors.  Addresses are sums modulo 2^64, so
the order of additions does not matter.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.ops import ADDI, BROADCAST, CONSTANT, EXTI, FOR, MULI, OFFSET, RESHAPE, SUBI
from tileir.dialect.types import PointerType, scalar_tile
from tileir.execute.analysis.pointer_origins import is_moved_at_end, may_end_early
from tileir.execute.analysis.values import is_inside, is_tile, tile_of
from tileir.ir.core import Operation
from tileir.ir.dense import dense_attribute
from tileir.ir.types import I1, I64
from tileir.ir.values import Value
from tileir.rewrite.rewriter import Rewriter

_LONGEST: Final = 12  # How many operations are followed on the way to a pointer or a step.
_ARITHMETIC: Final = (ADDI, SUBI, MULI, EXTI)


def run(entry: Operation) -> int:
    """Rewrite the loops of a kernel; returns how many tiles are not carried any more."""
    return sum([_rewrite(operation) for operation in list(entry.walk()) if operation.declaration is FOR])


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
        path = _path_from_base(loop.operands[3 + number])
        if path is None:
            continue
        rewriter = Rewriter()
        rewriter.location = loop.location
        rewriter.insert_before(loop)
        step = _uniform(rewriter, following.operands[1], loop)
        if step is None or tile_of(step).element is I1:
            continue
        if tile_of(step).element is not I64:
            # As `offset` takes it.
            extended = rewriter.create(EXTI, [step], [scalar_tile(I64)], {"signedness": SIGNEDNESS["signed"]})
            step = extended.results[0]
        _carry_distance(rewriter, loop, number, path, step)
        count += 1
    return count


def _path_from_base(pointers: Value) -> list[Operation] | None:
    """The operations that make a tile of pointers from one pointer, in order; None if it is made in another way."""
    path: list[Operation] = []
    value = pointers
    while tile_of(value).shape:
        operation = value.defining_operation
        if operation is None or operation.declaration not in (OFFSET, BROADCAST, RESHAPE) or len(path) == _LONGEST:
            return None
        path.insert(0, operation)
        value = operation.operands[0]
    return path


def _uniform(rewriter: Rewriter, value: Value, loop: Operation, depth: int = 0) -> Value | None:
    """The integer that all elements of a tile from outside of a loop are, computed in front of it; None if unknown."""
    if depth == _LONGEST or value.parent_block is None or is_inside(value, loop):
        return None
    if not tile_of(value).shape:
        return value
    operation = value.defining_operation
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
        return _uniform(rewriter, operation.operands[0], loop, depth + 1)
    if declaration not in _ARITHMETIC:
        return None
    operands = []
    for operand in operation.operands:
        scalar = _uniform(rewriter, operand, loop, depth + 1)
        if scalar is None:
            return None
        operands.append(scalar)
    return rewriter.create(declaration, operands, [scalar_tile(element)], operation.attributes).results[0]


def _carry_distance(rewriter: Rewriter, loop: Operation, number: int, path: list[Operation], step: Value) -> None:
    block = loop.regions[0].blocks[0]
    end = block.last
    assert end is not None
    argument, result = block.arguments[1 + number], loop.results[number]
    distance = scalar_tile(I64)
    loop.set_operand(3 + number, rewriter.constant(dense_attribute(distance, (), I64, bytes(8))))
    for carried in (argument, result):
        users = list(carried.users)
        carried.type = distance
        if not users:
            continue
        if carried is argument:
            rewriter.insert_at_start(block)
        else:
            rewriter.insert_after(loop)
        # The tile of pointers, this far from where it was.
        base = path[0].operands[0]
        pointers = rewriter.create(OFFSET, [base, carried], [base.type]).results[0]
        for operation in path:
            operands = [pointers, *operation.operands[1:]]
            types = [each.type for each in operation.results]
            pointers = rewriter.create(operation.declaration, operands, types, operation.attributes).results[0]
        for user in users:
            for position, operand in enumerate(user.operands):
                if operand is carried:
                    user.set_operand(position, pointers)
    rewriter.insert_before(end)
    end.set_operand(number, rewriter.create(ADDI, [argument, step], [distance]).results[0])
