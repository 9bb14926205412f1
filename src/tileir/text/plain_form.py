"""Statements that have nothing but operands and types: most of a program, read without asking each directive."""

from __future__ import annotations

from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import TextLocation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.values import ValueCursor


class PlainForm:
    """`%a, %b : type, type -> type`: what a format comes to where everything is left out that may be.

    `marks` stand before the types.  `operand_types` tells which of the types each operand has, `result_type` the only
    result.
    """

    __slots__ = ("marks", "operand_types", "result_type")

    def __init__(self, operand_types: list[int], marks: list[str], result_type: int) -> None:
        self.operand_types: list[int] = operand_types
        self.marks: list[str] = marks
        self.result_type: int = result_type

    def read(self, cursor: ValueCursor, declaration: OperationDeclaration, name_token: int) -> Operation | None:
        """The operation whose name is at a token; None, and nothing done, where it is not of this form.

        Nor is it where a value or a type is not known yet: the directives know what to say.
        """
        tokens = cursor.tokens
        count = len(self.operand_types)
        position = name_token + 2 * count if count else name_token + 1
        marks = self.marks
        if position + 2 * len(marks) >= len(tokens) or tokens[position] != ":":
            return None
        known = cursor.known_types
        types: list[Type] = []
        for mark in marks:
            if tokens[position] != mark:
                return None
            type = known.get(tokens[position + 1])
            if type is None:
                return None
            types.append(type)
            position += 2
        values = cursor.values
        operands: list[Value] = []
        place = name_token + 1
        for number in self.operand_types:
            # Only the name of a value is one's.
            value = values.get(tokens[place])
            if value is None or value.type is not types[number] or (operands and tokens[place - 1] != ","):
                return None
            operands.append(value)
            place += 2
        cursor.position = position
        return Operation(
            declaration,
            operands,
            types if len(types) == 1 else [types[self.result_type]],
            NO_ATTRIBUTES,
            NO_REGIONS,
            TextLocation(cursor.source, name_token),
        )
