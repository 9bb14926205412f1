"""Reading the generic form of an operation, `"cuda_tile.addi"(%a, %b) : (..) -> ..`."""

from __future__ import annotations

from tileir.dialect.enums import enum_kind_of
from tileir.ir.attributes import Attribute, DenseArrayAttribute, IntegerAttribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import TextLocation
from tileir.ir.registry import unregistered
from tileir.ir.traits import ISOLATED
from tileir.ir.types import I32, FunctionType
from tileir.text.operation_parser import OperationParser


def parse_generic(parser: OperationParser, block: Block) -> Operation:
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
        regions = _regions(parser, declaration)
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


def _successors(parser: OperationParser) -> list[Block]:
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


def _regions(parser: OperationParser, declaration: OperationDeclaration) -> list[Region]:
    """regions ::= `(` region (`,` region)* `)`"""
    parser.expect("(")
    isolated = bool(declaration.traits & ISOLATED)
    regions: list[Region] = []
    while True:
        regions.append(parser.parse_region(None, isolated))
        if not parser.accept(","):
            break
    parser.expect(")")
    return regions


def _take_segments(parser: OperationParser, attributes: dict[str, Attribute], token: int) -> tuple[int, ...] | None:
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
