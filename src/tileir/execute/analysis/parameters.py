"""What a kernel does with its parameters: through which it may write and read, and which decide how often loops run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tileir.dialect.ops import FOR, LOOP
from tileir.dialect.types import PointerType, TileType
from tileir.execute.errors import is_multimem
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors, is_memory_effect_free
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, Value


def may_write(entry: Operation, number: int) -> bool:
    return next(writers_of(entry, number), None) is not None


def accesses_several_devices(entry: Operation) -> bool:
    """Whether a kernel has multicast pointers as parameters, or multimem operations."""
    parameters = entry.regions[0].blocks[0].arguments
    return any(is_multicast(parameter.type) for parameter in parameters) or any(
        is_multimem(operation.declaration) for operation in entry.walk()
    )


def is_multicast(type: Type) -> bool:
    element = type.element if isinstance(type, TileType) else None
    return isinstance(element, PointerType) and element.attribute == "multicast"


def writers_of(entry: Operation, number: int) -> Iterator[Operation]:
    return (user for user, value in _accesses_of(entry, number) if _has(user, user.declaration.writes, value))


def readers_of(entry: Operation, number: int) -> Iterator[Operation]:
    return (user for user, value in _accesses_of(entry, number) if _has(user, user.declaration.reads, value))


def _has(operation: Operation, group: str | None, value: Value) -> bool:
    return group is not None and value in operation.operand_group(group)


def _accesses_of(entry: Operation, number: int) -> Iterator[tuple[Operation, Any]]:
    """Operations on memory, and what of a parameter they are given: every value that comes from it is followed."""
    work: list[Any] = [entry.regions[0].blocks[0].arguments[number]]
    seen = set(work)
    while work:
        value = work.pop()
        for user in value.users:
            declaration = user.declaration
            if declaration.accesses_memory:
                yield user, value
                continue
            reached: list[Any] = list(user.results)
            if declaration.is_terminator:
                around = ancestors(user)
                for each in around[: around.index(entry)]:
                    reached += [*each.results, *_block_arguments(each)]
            reached += _block_arguments(user)
            work += [result for result in dict.fromkeys(reached) if result not in seen]
            seen.update(reached)


def _block_arguments(operation: Operation) -> list[Any]:
    # An `if` without `else` has a region without a block.
    return [argument for region in operation.regions for block in region.blocks for argument in block.arguments]


def deciding_parameters(entry: Operation) -> list[int] | None:
    """The numbers of the parameters that decide, beside the grid, how often loops run; None if memory may."""
    found: set[int] = set()
    seen: set[Value] = set()
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is LOOP:
            return None
        if declaration is not FOR:
            continue
        pending: list[Value] = list(operation.operands[:3])
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if isinstance(value, BlockArgument):
                owner = value.block.parent_operation
                if owner is entry:
                    found.add(value.index)
                elif owner is None or owner.declaration is not FOR or value.index:
                    # What a loop carries; but its own number is one that its bounds decide, which are checked too.
                    return None
                continue
            maker = value.defining_operation
            if maker is None or maker.regions or not is_memory_effect_free(maker):
                return None
            pending.extend(maker.operands)
    return sorted(found)
