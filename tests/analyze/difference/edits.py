"""Single edits of programs, each with what a difference must say of it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute, EnumAttribute, integer_attribute
from tileir.ir.core import Operation
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.types import I64

Edit = Callable[[Operation, Random], Operation | None]
"""Changes a program in one place and gives the operation; None where there is nothing to change."""


def _inside(module: Operation) -> list[Operation]:
    """Operations of functions that are no terminators."""
    found = []
    for operation in module.walk():
        block = operation.parent
        if block is not None and block.last is not operation and operation.symbol_name is None:
            if operation.parent_operation is not module and operation is not module:
                found.append(operation)
    return found


def remove(module: Operation, rng: Random) -> Operation | None:
    """Take away an operation whose results nobody uses."""
    unused = [each for each in _inside(module) if each.is_unused and not each.regions]
    if not unused:
        return None
    chosen = rng.choice(unused)
    chosen.erase()
    return chosen


def bypass(module: Operation, rng: Random) -> Operation | None:
    """Take away an operation and let its users take one of its operands."""
    able = [
        each
        for each in _inside(module)
        if len(each.results) == 1
        and not each.is_unused
        and not each.regions
        and any(value.type is each.results[0].type for value in each.operands)
    ]
    if not able:
        return None
    chosen = rng.choice(able)
    value = next(value for value in chosen.operands if value.type is chosen.results[0].type)
    chosen.replace_with([value])
    return chosen


def move_up(module: Operation, rng: Random) -> Operation | None:
    """Let an operation go before others of its block that it does not need."""
    able: list[tuple[Operation, Operation]] = []
    for operation in _inside(module):
        target, cursor = None, operation.previous
        while cursor is not None and not _depends(operation, cursor):
            target, cursor = cursor, cursor.previous
        # Past its like, nobody could tell.
        if target is not None and not _alike(operation, target):
            able.append((operation, target))
    if not able:
        return None
    operation, target = rng.choice(able)
    block = operation.parent
    assert block is not None
    operation.detach()
    block.insert_before(operation, target)
    return operation


def _depends(operation: Operation, other: Operation) -> bool:
    return any(value.defining_operation is other for each in operation.walk() for value in each.operands)


def _alike(operation: Operation, target: Operation) -> bool:
    cursor: Operation | None = target
    while cursor is not None and cursor is not operation:
        if cursor.declaration is operation.declaration:
            return True
        cursor = cursor.next
    return False


def set_attribute(module: Operation, rng: Random) -> Operation | None:
    """Give an operation another keyword."""
    able: list[tuple[Operation, str, Attribute]] = []
    for operation in _inside(module):
        for declared in operation.declaration.attributes:
            value = operation.attribute(declared.name)
            if isinstance(value, EnumAttribute):
                others = [case for case in value.kind.cases.values() if case is not value]
                able += [(operation, declared.name, case) for case in others[:1]]
    if not able:
        return None
    operation, name, value = rng.choice(able)
    operation.set_attribute(name, value)
    return operation


def add_attribute(module: Operation, rng: Random) -> Operation | None:
    """Give an operation an attribute that nobody declared."""
    able = _inside(module)
    if not able:
        return None
    operation = rng.choice(able)
    operation.set_attribute("a_number_of_mine", integer_attribute(I64, rng.randrange(100)))
    return operation


def set_operand(module: Operation, rng: Random) -> Operation | None:
    """Let an operation take another value of the same type that is at hand."""
    able: list[tuple[Operation, int, Operation]] = []
    for operation in _inside(module):
        for place, value in enumerate(operation.operands):
            cursor = operation.previous
            while cursor is not None:
                if cursor.results and cursor.results[0].type is value.type and cursor.results[0] is not value:
                    if isinstance(value.type, TileType):
                        able.append((operation, place, cursor))
                    break
                cursor = cursor.previous
    if not able:
        return None
    operation, place, source = rng.choice(able)
    operation.set_operand(place, source.results[0])
    return operation


def duplicate(module: Operation, rng: Random) -> Operation | None:
    """Put a copy behind an operation."""
    from tileir.ir.traversal import clone

    able = [each for each in _inside(module) if not each.regions and is_memory_effect_free(each)]
    if not able:
        return None
    operation = rng.choice(able)
    copy = clone(operation)
    block = operation.parent
    assert block is not None
    if operation.next is None:
        block.append(copy)
    else:
        block.insert_before(copy, operation.next)
    return copy


EDITS: dict[str, Edit] = {
    "remove": remove,
    "bypass": bypass,
    "move_up": move_up,
    "set_attribute": set_attribute,
    "add_attribute": add_attribute,
    "set_operand": set_operand,
    "duplicate": duplicate,
}
