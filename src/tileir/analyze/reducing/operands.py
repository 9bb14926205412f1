"""Single operands: dropped where they are optional, otherwise replaced by a value that is simpler to come by."""

from __future__ import annotations

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import Edit, remove_unused
from tileir.analyze.reducing.replacing import constant, drop_operand
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import is_function
from tileir.ir.types import Type
from tileir.ir.values import Value

_MOST = 4
"""Of the values there are, so many are tried for an operand."""
_NUMBERS = (0, 1, -1)
"""The last has a sign, and all bits set."""


def operand_changes(program: Program) -> list[Edit]:
    """For each operand, from the last operation to the first: away with it, then other values, then small numbers."""
    edits: list[Edit] = []
    early = _early_values(program)
    for position in reversed(range(len(program.operations))):
        operation = program.operations[position]
        for index in reversed(range(len(operation.operands))):
            edits.append(_dropped(position, index))
            for turn in range(min(_MOST, len(_others(operation, index, early)))):
                edits.append(_replaced(position, index, turn))
            for number in _NUMBERS:
                edits.append(_made_constant(position, index, number))
    return edits


def _early_values(program: Program) -> dict[Block, dict[Type, list[Value]]]:
    """The first values of each type in the bodies of functions."""
    found: dict[Block, dict[Type, list[Value]]] = {}
    for function in program.operations:
        if is_function(function) and function.regions and function.regions[0].blocks:
            body = function.regions[0].blocks[0]
            known: dict[Type, list[Value]] = {}
            for argument in body.arguments:
                known.setdefault(argument.type, []).append(argument)
            for operation in body:
                for result in operation.results:
                    values = known.setdefault(result.type, [])
                    if len(values) < _MOST:
                        values.append(result)
            found[body] = known
    return found


def _others(operation: Operation, index: int, early: dict[Block, dict[Type, list[Value]]]) -> list[Value]:
    """Values that may take the place of an operand: early ones, arguments of the blocks around, other operands."""
    old = operation.operands[index]
    found: dict[Value, None] = {}
    block = operation.parent
    outermost = operation
    while block is not None:
        around = block.parent_operation
        if around is None or is_function(around):
            break
        for argument in block.arguments:
            if argument.type is old.type:
                found[argument] = None
        outermost, block = around, around.parent
    if block is not None:
        for value in early.get(block, {}).get(old.type, []):
            definition = value.defining_operation
            if definition is None or definition.is_before(outermost):
                found[value] = None
    for value in operation.operands:
        if value.type is old.type:
            found[value] = None
    found.pop(old, None)
    return list(found)


def _set(operation: Operation, index: int, value: Value) -> bool:
    definition = operation.operands[index].defining_operation
    operation.set_operand(index, value)
    if definition is not None:
        remove_unused([definition])
    return True


def _dropped(position: int, index: int) -> Edit:
    def edit(program: Program) -> bool:
        operation = program.operations[position]
        definition = operation.operands[index].defining_operation
        if not drop_operand(operation, index):
            return False
        if definition is not None:
            remove_unused([definition])
        return True

    return edit


def _replaced(position: int, index: int, turn: int) -> Edit:
    def edit(program: Program) -> bool:
        operation = program.operations[position]
        others = _others(operation, index, _early_values(program))
        return turn < len(others) and _set(operation, index, others[turn])

    return edit


def _made_constant(position: int, index: int, number: int) -> Edit:
    def edit(program: Program) -> bool:
        operation = program.operations[position]
        made = constant(operation.operands[index].type, number)
        body = _body_around(operation)
        if made is None or body is None:
            return False
        body.insert_before(made, body.first)
        return _set(operation, index, made.results[0])

    return edit


def _body_around(operation: Operation) -> Block | None:
    cursor: Operation | None = operation
    while cursor is not None:
        around = cursor.parent_operation
        if around is not None and is_function(around):
            return cursor.parent
        cursor = around
    return None
