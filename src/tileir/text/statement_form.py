"""Statements of regular syntax: the form of each operation, compiled from its assembly format.

Most statements are operands and types alone, `%a, %b : type -> type`, or a constant of one number.  A form reads such
a statement in one step; the directives of the assembly format read every other one, and report what is wrong with it.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect.constraints import NUMBER
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute, DenseArrayAttribute, IntegerAttribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.declaration import ONE, OperationDeclaration
from tileir.ir.dense import dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, parse_float
from tileir.ir.location import TextLocation
from tileir.ir.registry import unregistered
from tileir.ir.traits import ISOLATED
from tileir.ir.types import I1, I32, FloatType, FunctionType, IntegerType, Type
from tileir.ir.values import Value
from tileir.text.parser import Parser
from tileir.text.syntax.attribute_directives import AttributeDictionary, Enclosed, Flag, Rounding
from tileir.text.syntax.directive import Blank, Literal, OperandRow, TypeOf
from tileir.text.syntax.format import Assembly, assembly_of
from tileir.text.values import ValueCursor

_NUMBER: Final = re.compile(r"-?\d{1,30}(\.\d*(?:[eE][+\-]?\d+)?)?", re.ASCII)
# Directives that read nothing where a colon comes.
_OPTIONAL: Final = (AttributeDictionary, Blank, Enclosed, Flag, Rounding)


class StatementForm:
    """`value (, value)* : type (mark type)*`: an assembly format without what is optional in it.

    `separators` stand between the values and types, from `first_separator` tokens after the name of the operation on,
    where the format has such a form (`is_plain`).  `operand_types` has for each operand the number of its type,
    `result_type` that of the only result.
    """

    def __init__(self, declaration: OperationDeclaration, assembly: Assembly) -> None:
        self.declaration: OperationDeclaration = declaration
        self.assembly: Assembly = assembly
        self.operand_types: list[int] = []
        self.result_type: int = 0
        self.type_count: int = 0
        self.separators: list[str] = []
        self._compile()
        self.is_plain: bool = declaration is CONSTANT or self.type_count > 0
        count = len(self.operand_types)
        self.first_word: int = 1 if count else 2
        self.first_separator: int = 2 if count else 1
        # From the name of the operation to the end of the last type.
        self.length: int = 2 * count + 2 * self.type_count + (0 if count else 1)

    def _compile(self) -> None:
        assembly = self.assembly
        if not self.declaration.plain_operands or assembly.segmented or assembly.result_counts != [ONE]:
            return
        operand_slots, result_slot = assembly.operand_slots, assembly.result_slots[0]
        directives = [directive for directive in assembly.directives if not isinstance(directive, _OPTIONAL)]
        if operand_slots:
            first = directives.pop(0) if directives else None
            if not isinstance(first, OperandRow):
                return
        marks: list[str] = []
        slots: list[int] = []
        for directive in directives:
            if isinstance(directive, Literal) and len(marks) == len(slots):
                marks.append(directive.text)
            elif isinstance(directive, TypeOf) and not directive.several and len(marks) == len(slots) + 1:
                slots.append(directive.slot)
            else:
                return
        if len(marks) != len(slots) or marks[:1] != [":"] or not {result_slot, *operand_slots} <= set(slots):
            return
        self.separators = [","] * (len(operand_slots) - 1) + marks
        self.type_count = len(marks)
        self.operand_types = [slots.index(slot) for slot in operand_slots]
        self.result_type = slots.index(result_slot)

    def parse(self, cursor: ValueCursor, name_token: int, block: Block) -> Operation | None:
        """Append the operation whose name is at a token; None, and nothing done, if it is not written in this form.

        Nor is it where a value or a type is new: the directives handle those.
        """
        tokens = cursor.tokens
        end = name_token + self.length
        if tokens[name_token + self.first_separator : end : 2] != self.separators:
            return None
        words = tokens[name_token + self.first_word : end : 2]
        types: list[Type] = []
        for word in words[len(self.operand_types) :]:
            type = cursor.known_types.get(word)
            if type is None:
                return None
            types.append(type)
        operands: list[Value] = []
        for index, number in enumerate(self.operand_types):
            value = cursor.values.get(words[index])
            if value is None or value.type is not types[number]:
                return None
            operands.append(value)
        cursor.position = end
        return Operation(
            self.declaration,
            operands,
            [types[self.result_type]],
            NO_ATTRIBUTES,
            NO_REGIONS,
            TextLocation(cursor.source, name_token),
            None,
            None,
            block,
        )


class ConstantForm(StatementForm):
    """`<f32: 1.0> : tile<4xf32>`: a constant of one decimal number, or of `true` or `false`."""

    def parse(self, cursor: ValueCursor, name_token: int, block: Block) -> Operation | None:
        tokens = cursor.tokens
        position = name_token + 4
        if tokens[name_token + 1] != "<" or tokens[name_token + 3] != ":":
            return None
        number = tokens[position]
        if number == "-":
            position += 1
            number = f"-{tokens[position]}"
        if tokens[position + 1] != ">" or tokens[position + 2] != ":" or tokens[position + 4] == "{":
            return None
        type = cursor.known_types.get(tokens[position + 3])
        if not isinstance(type, TileType) or cursor.known_types.get(tokens[name_token + 2]) is not type.element:
            return None
        attributes = cursor.constants.get((type, number))
        if attributes is None:
            value = _scalar(type, number)
            if value is None or not NUMBER.accepts(type):
                return None
            attributes = cursor.constants[(type, number)] = {"value": value}
        cursor.position = position + 4
        location = TextLocation(cursor.source, name_token)
        return Operation(self.declaration, [], [type], attributes, NO_REGIONS, location, None, None, block)


def _scalar(type: TileType, number: str) -> Attribute | None:
    """The value of a constant that is one number; None where the directive has to read it."""
    element = type.element
    match = _NUMBER.fullmatch(number)
    if match is None:
        if element is not I1 or number not in ("true", "false"):
            return None
        bits = 1 if number == "true" else 0
    elif isinstance(element, FloatType):
        if match[1] is None:
            return None
        try:
            bits = parse_float(FORMATS[element.name], number)
        except ValueError:
            return None
    elif isinstance(element, IntegerType) and match[1] is None:
        bits = int(number)
        if not -(1 << (element.width - 1)) <= bits < 1 << element.width:
            return None
        bits &= (1 << element.width) - 1
    else:
        return None
    return dense_attribute(type, type.shape, element, bits.to_bytes(element_bytes(element), "little"))


def form_of(declaration: OperationDeclaration) -> StatementForm:
    """The form of an operation, compiled on first use."""
    assembly = assembly_of(declaration)
    form = assembly.plain_form
    if form is None:
        is_constant = declaration is CONSTANT
        form = ConstantForm(declaration, assembly) if is_constant else StatementForm(declaration, assembly)
        assembly.plain_form = form
    assert isinstance(form, StatementForm)
    return form


def parse_generic(parser: Parser, block: Block) -> Operation:
    """generic ::= string `(` values? `)` successors? properties? regions? attributes? `:` function-type"""
    name_position = parser.position
    name = parser.tokens[name_position]
    parser.position += 1
    full = parser.string_value(name, name_position) if len(name) > 1 else ""
    if not full:
        parser.fail("empty operation name is invalid", name_position)
    declaration = parser.lookup(full)
    if declaration is not None:
        parser.remark_alias(full, declaration, name_position)
    else:
        if not parser.allow_unregistered or full.startswith("cuda_tile."):
            parser.fail_unregistered(full, name_position)
        declaration = unregistered(full)
    operands = parser.parse_enclosed_values("(", ")")
    successors: list[Block] | None = None
    if parser.peek() == "[":
        successors = _successors(parser)
    attributes: dict[str, Attribute] = {}
    segments: tuple[int, ...] | None = None
    if parser.accept("<"):
        attributes.update(parser.parse_dictionary_entries())
        parser.expect(">")
    regions: list[Region] = NO_REGIONS
    if parser.peek() == "(" and parser.tokens[parser.position + 1] == "{":
        isolated = bool(declaration.traits & ISOLATED)
        regions = []
        parser.parse_items("(", ")", lambda: regions.append(parser.parse_region(None, isolated)))
    if parser.peek() == "{":
        start = parser.position
        for key, value in parser.parse_dictionary_entries().items():
            if key in attributes:
                parser.fail(f"found conflicting values for '{key}'", start)
            attributes[key] = value
    parser.expect(":")
    start = parser.position
    type = parser.parse_function_type()
    assert isinstance(type, FunctionType)
    parser.require_prefixes(start)
    if len(type.inputs) != len(operands):
        parser.fail(f"expected {len(operands)} operand types but had {len(type.inputs)}", start)
    values = [parser.resolve(token, expected) for token, expected in zip(operands, type.inputs, strict=True)]
    segments = _take_segments(parser, attributes, name_position)
    _read_enumerations(declaration, attributes)
    kept = {k: v for k, v in attributes.items() if declaration.defaults.get(k) is not v}
    return Operation(
        declaration,
        values,
        list(type.results),
        kept if kept else NO_ATTRIBUTES,
        regions,
        TextLocation(parser.source, name_position),
        segments,
        successors,
        block,
    )


def _successors(parser: Parser) -> list[Block]:
    """successors ::= `[` `^`name (`,` `^`name)* `]`"""
    parser.expect("[")
    found: list[Block] = []
    while True:
        token = parser.position
        name = parser.tokens[token]
        if name[:1] != "^":
            parser.fail("expected block name")
        parser.position += 1
        found.append(parser.block_named(name, token))
        if not parser.accept(","):
            break
    parser.expect("]")
    return found


def _take_segments(parser: Parser, attributes: dict[str, Attribute], token: int) -> tuple[int, ...] | None:
    """operandSegmentSizes is structure, not an attribute, once it is read."""
    sizes = attributes.pop("operandSegmentSizes", None)
    if sizes is None:
        return None
    if not isinstance(sizes, DenseArrayAttribute) or any(size < 0 for size in sizes.values):
        parser.fail("invalid 'operandSegmentSizes' attribute", token)
    return sizes.values


def _read_enumerations(declaration: OperationDeclaration, attributes: dict[str, Attribute]) -> None:
    """Some enumerations are plain integers in MLIR's generic form."""
    for declared in declaration.attributes:
        value = attributes.get(declared.name)
        if isinstance(value, IntegerAttribute) and value.type is I32:
            kind = enum_kind_of(declared)
            if kind is not None and kind.is_integer:
                for keyword, number in kind.values.items():
                    if number == value.value:
                        attributes[declared.name] = kind.cases[keyword]
