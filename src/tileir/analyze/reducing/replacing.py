"""Values that stand for others: operands of what is removed, values that are there earlier, constants.

A choice is one of the words below.  Each falls back on a constant, and then on giving up; only `CONSTANTS` prefers one.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.ops import CONSTANT, MAKE_TOKEN
from tileir.dialect.types import TOKEN, PointerType, TileType
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ONE
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.traversal import is_function
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.values import BlockArgument, OperationResult, Value

OPERANDS: Final = "operands"
"""An operand of what is removed, if it has the type; otherwise an earlier value."""
EARLIER: Final = "earlier"
"""The first value of the type in the function."""
ZERO: Final = "zero"
ONES: Final = "one"
MINUS_ONES: Final = "minus one"
"""A constant."""
_NUMBERS: Final = {ONES: 1, MINUS_ONES: -1}


class Stand:
    """Finds values for the removed ones of a program; what it makes stands at the start of the function.

    `doomed` is what will be erased: nothing in it, and nothing inside it, can stand for anything.
    """

    def __init__(self, doomed: dict[Operation, None], choice: str = OPERANDS, turn: int = 0) -> None:
        self._doomed: dict[Operation, None] = doomed
        self._choice: str = choice
        self._turn: int = turn
        self._made: dict[tuple[Block, Type], Value] = {}
        self._first: dict[Block, dict[Type, tuple[Value, Operation | None]]] = {}
        self._resolved: dict[Value, Value | None] = {}

    def value_for(self, old: Value) -> Value | None:
        """A value that reaches wherever the old one does; None if there is none."""
        # Not recursive: what is removed may be a long chain.
        chain: list[Value] = []
        found: Value | None = None
        current = old
        while True:
            if current in self._resolved:
                found = self._resolved[current]
                break
            chain.append(current)
            following = self._operand_like(current) if self._choice == OPERANDS else None
            if following is None:
                found = self._other(current)
                break
            if not self._is_doomed(following):
                found = following
                break
            current = following
        for value in chain:
            self._resolved[value] = found
        return found

    def _operand_like(self, old: Value) -> Value | None:
        if not isinstance(old, OperationResult):
            return None
        alike = [value for value in old.operation.operands if value.type is old.type]
        return alike[min(self._turn, len(alike) - 1)] if alike else None

    def _other(self, old: Value) -> Value | None:
        body = _function_body(old)
        if body is None:
            return None
        if self._choice in (OPERANDS, EARLIER):
            earlier = self._earlier(old, body)
            if earlier is not None:
                return earlier
        return self._constant(old.type, body)

    def _earlier(self, old: Value, body: Block) -> Value | None:
        """The first value of the type in the body of the function, if it is there before the old one."""
        first = self._first.get(body)
        if first is None:
            first = self._first[body] = {}
            for argument in body.arguments:
                first.setdefault(argument.type, (argument, None))
            for operation in body:
                if operation not in self._doomed:
                    for result in operation.results:
                        first.setdefault(result.type, (result, operation))
        found = first.get(old.type)
        if found is None or found[0] is old:
            return None
        value, definition = found
        if definition is None:
            return value
        around = _outermost(old, body)
        if around is None or around is definition or not definition.is_before(around):
            return None
        return value

    def _constant(self, type: Type, body: Block) -> Value | None:
        key = (body, type)
        found = self._made.get(key)
        if found is None:
            operation = constant(type, _NUMBERS.get(self._choice, 0))
            if operation is None:
                return None
            body.insert_before(operation, body.first)
            found = self._made[key] = operation.results[0]
        return found

    def _is_doomed(self, value: Value) -> bool:
        if not self._doomed:
            return False
        cursor = value.defining_operation
        if cursor is None and isinstance(value, BlockArgument):
            cursor = value.block.parent_operation
        while cursor is not None:
            if cursor in self._doomed:
                return True
            cursor = cursor.parent_operation
        return False


def constant(type: Type, number: int) -> Operation | None:
    """An operation that makes a value of a type from nothing: a constant tile, or a token."""
    if type is TOKEN:
        return Operation(MAKE_TOKEN, [], [TOKEN])
    if not isinstance(type, TileType) or isinstance(type.element, PointerType):
        return None
    value = splat(type, number)
    return None if value is None else Operation(CONSTANT, [], [type], {"value": value})


def splat(type: TileType, number: int) -> DenseAttribute | None:
    """All elements are one small number; None where the element type does not have it."""
    element = type.element
    if isinstance(element, FloatType):
        try:
            bits = from_double(FORMATS[element.name], float(number))
        except ValueError:
            return None
    elif isinstance(element, IntegerType):
        bits = number & ((1 << element.width) - 1)
    else:
        return None
    return dense_attribute(type, type.shape, element, bits.to_bytes(element_bytes(element), "little"))


def drop_operand(user: Operation, index: int) -> bool:
    """Take an operand away where the declaration lets it be absent."""
    declaration = user.declaration
    start = 0
    lengths = user.segment_lengths()
    if declaration.unregistered or not declaration.operands:
        return False
    for group, (declared, length) in enumerate(zip(declaration.operands, lengths, strict=True)):
        if start <= index < start + length:
            if declared.count == ONE:
                return False
            segments = user.segments
            if segments is not None:
                segments = (*segments[:group], segments[group] - 1, *segments[group + 1 :])
            user.set_operands([*user.operands[:index], *user.operands[index + 1 :]], segments)
            return True
        start += length
    return False


def _function_body(value: Value) -> Block | None:
    block = value.parent_block
    while block is not None:
        around = block.parent_operation
        if around is None:
            return None
        if is_function(around):
            return around.regions[0].blocks[0]
        block = around.parent
    return None


def _outermost(value: Value, body: Block) -> Operation | None:
    """The operation of a block in which a value is defined."""
    cursor = value.defining_operation
    if cursor is None and isinstance(value, BlockArgument):
        cursor = value.block.parent_operation
    while cursor is not None and cursor.parent is not body:
        cursor = cursor.parent_operation
    return cursor
