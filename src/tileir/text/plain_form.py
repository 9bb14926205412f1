"""Statements that have nothing but operands and types: most of a program, read without asking each directive."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import NO_ATTRIBUTES
from tileir.ir.declaration import ONE, OperationDeclaration
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.syntax.attribute_directives import AttributeDictionary, Enclosed, Flag, Rounding
from tileir.text.syntax.directive import Blank, Literal, OperandRow, TypeOf
from tileir.text.syntax.format import Assembly
from tileir.text.values import ValueCursor


class PlainForm:
    """`%a, %b : type, type -> type`: what a format comes to where everything is left out that may be.

    `marks` stand before the types: there are none where an operation has no such form.  `operand_types` tells which of
    the types each operand has, `result_type` the only result.
    """

    __slots__ = ("declaration", "marks", "operand_types", "result_type", "to_types")

    def __init__(
        self, declaration: OperationDeclaration, operand_types: list[int], marks: list[str], result_type: int
    ) -> None:
        self.declaration: OperationDeclaration = declaration
        self.operand_types: list[int] = operand_types
        self.marks: list[str] = marks
        self.result_type: int = result_type
        # So many tokens from the name of the operation to the first mark.
        self.to_types: int = 2 * len(operand_types) or 1

    def match(self, cursor: ValueCursor, name_token: int) -> list[Value] | None:
        """The operands of the operation whose name is at a token; None, and nothing done, where it is not of this form.

        Nor is it where a value or a type is not known yet: the directives know what to say.  The cursor stands behind
        it then, and has the types of the results and the attributes.
        """
        marks = self.marks
        if not marks:
            return None
        tokens = cursor.tokens
        position = name_token + self.to_types
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
        cursor.matched_types = types if len(types) == 1 else [types[self.result_type]]
        cursor.matched_attributes = NO_ATTRIBUTES
        return operands


class PairForm(PlainForm):
    """`%a, %b : type`: two operands and a result of one type, which much of a program has."""

    __slots__ = ()

    def match(self, cursor: ValueCursor, name_token: int) -> list[Value] | None:
        tokens = cursor.tokens
        if name_token + 6 >= len(tokens) or tokens[name_token + 4] != ":" or tokens[name_token + 2] != ",":
            return None
        type = cursor.known_types.get(tokens[name_token + 5])
        if type is None:
            return None
        values = cursor.values
        first, second = values.get(tokens[name_token + 1]), values.get(tokens[name_token + 3])
        if first is None or second is None or first.type is not type or second.type is not type:
            return None
        cursor.position = name_token + 6
        cursor.matched_types = [type]
        cursor.matched_attributes = NO_ATTRIBUTES
        return [first, second]


class ArrowForm(PlainForm):
    """`%a : type -> type`: one operand, its type and that of the result."""

    __slots__ = ()

    def match(self, cursor: ValueCursor, name_token: int) -> list[Value] | None:
        tokens = cursor.tokens
        if name_token + 6 >= len(tokens) or tokens[name_token + 2] != ":" or tokens[name_token + 4] != "->":
            return None
        known = cursor.known_types
        value, result = cursor.values.get(tokens[name_token + 1]), known.get(tokens[name_token + 5])
        if value is None or result is None or value.type is not known.get(tokens[name_token + 3]):
            return None
        cursor.position = name_token + 6
        cursor.matched_types = [result]
        cursor.matched_attributes = NO_ATTRIBUTES
        return [value]


# Directives that read nothing where a colon comes.
_LEFT_OUT: Final = (AttributeDictionary, Blank, Enclosed, Flag, Rounding)


def plain_form_of(declaration: OperationDeclaration, assembly: Assembly) -> PlainForm:
    """What a format comes to without what is optional; without marks unless that is operands, a colon and types."""
    none = PlainForm(declaration, [], [], 0)
    if not declaration.plain_operands or assembly.segmented or assembly.result_counts != [ONE]:
        return none
    operand_slots, result_slot = assembly.operand_slots, assembly.result_slots[0]
    pieces = [piece for piece in assembly.directives if not isinstance(piece, _LEFT_OUT)]
    count = len(operand_slots)
    if count:
        head = pieces.pop(0) if pieces else None
        if not isinstance(head, OperandRow):
            return none
    marks: list[str] = []
    slots: list[int] = []
    for piece in pieces:
        if isinstance(piece, Literal) and len(marks) == len(slots):
            marks.append(piece.text)
        elif isinstance(piece, TypeOf) and not piece.several and len(marks) == len(slots) + 1:
            slots.append(piece.slot)
        else:
            return none
    if len(marks) != len(slots) or marks[:1] != [":"]:
        return none
    if not {result_slot, *operand_slots} <= set(slots):
        return none
    operand_types = [slots.index(slot) for slot in operand_slots]
    result_type = slots.index(result_slot)
    if count == 2 and len(marks) == 1:
        return PairForm(declaration, operand_types, marks, result_type)
    if operand_types == [0] and result_type == 1 and marks == [":", "->"]:
        return ArrowForm(declaration, operand_types, marks, result_type)
    return PlainForm(declaration, operand_types, marks, result_type)
