"""The syntax of if, for and loop."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.ops import CONTINUE, YIELD
from tileir.ir.attributes import UNIT
from tileir.ir.core import Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import TextLocation
from tileir.ir.types import Type
from tileir.text.syntax.directive import (
    Argument,
    Custom,
    CustomClass,
    ParseState,
    expect_word,
    fail_custom,
    parse_attributes,
)

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser

_NOTHING: frozenset[str] = frozenset()


def _parse_body(parser: Parser, state: ParseState, arguments: list[Argument], implied: OperationDeclaration) -> Region:
    region = parser.parse_region(arguments)
    parser.ensure_terminator(region, implied, TextLocation(state.source, state.name_token))
    return region


class If(Custom):
    """if ::= value (`->` `(` types `)`)? region (`else` region)? attr-dict"""

    __slots__ = ()

    def form(self) -> str:
        return "%condition (-> (type(%results), ...))? { thenRegion } (else { elseRegion })?"

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "condition", parser.parse_value_token())
        self.set_types(state, "results", parser.parse_type_list_in_parentheses() if parser.accept("->") else [])
        state.add_region(_parse_body(parser, state, [], YIELD))
        state.add_region(_parse_body(parser, state, [], YIELD) if parser.accept("else") else Region())
        parse_attributes(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        out.append(f" {printer.names[operation.operands[0]]} ")
        if operation.results:
            out.append(f"-> ({printer.type_list(operation.results)}) ")
        printer.print_region(operation.regions[0], YIELD)
        if len(operation.regions) > 1 and operation.regions[1].blocks:
            out.append(" else ")
            printer.print_region(operation.regions[1], YIELD)
        printer.attribute_dictionary(operation, _NOTHING)


def _parse_iteration(parser: Parser) -> tuple[list[int], list[int]]:
    """iter_values ::= `(` (value `=` value) (`,` value `=` value)* `)`; the tokens of names inside and of the inits"""
    names: list[int] = []
    inits: list[int] = []

    def parse_pair() -> None:
        names.extend(parser.parse_value_token())
        parser.expect("=")
        inits.extend(parser.parse_value_token())

    parser.parse_items("(", ")", parse_pair)
    return names, inits


def _arguments(parser: Parser, names: list[int], types: list[Type]) -> list[Argument]:
    pairs = zip(names, types, strict=True)
    return [(parser.tokens[token], token, type, TextLocation(parser.source, token)) for token, type in pairs]


def _iteration_text(printer: TextOutput, operation: Operation, skip: int) -> str:
    region = operation.regions[0]
    arguments = region.blocks[0].arguments[skip:] if region.blocks else []
    pairs = zip(arguments, operation.operand_group("initValues"), strict=False)
    return ", ".join([f"{printer.names[a]} = {printer.names[v]}" for a, v in pairs])


class For(Custom):
    """for ::= `unsigned`? value `in` `(` value `to` value `,` `step` value `)` `:` type
    (`iter_values` iteration `->` `(` types `)`)? region attr-dict"""

    __slots__ = ()

    def form(self) -> str:
        return (
            "unsigned? %index in (%lowerBound to %upperBound, step %step) : type(%lowerBound) "
            "(iter_values(%carried = %initValues, ...) -> (type(%resultValues), ...))? { region }"
        )

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.accept("unsigned"):
            state.set_attribute("unsignedCmp", UNIT)
        variable = parser.parse_value_token()[0]
        expect_word(parser, state, "in")
        parser.expect("(")
        self.set_operands(state, "lowerBound", parser.parse_value_token())
        expect_word(parser, state, "to")
        self.set_operands(state, "upperBound", parser.parse_value_token())
        parser.expect(",")
        expect_word(parser, state, "step")
        self.set_operands(state, "step", parser.parse_value_token())
        parser.expect(")")
        parser.expect(":")
        type = parser.parse_type()
        for name in ("lowerBound", "upperBound", "step"):
            self.set_types(state, name, [type])
        names: list[int] = []
        inits: list[int] = []
        types: list[Type] = []
        if parser.accept("iter_values"):
            start = parser.position
            names, inits = _parse_iteration(parser)
            parser.expect("->")
            types = parser.parse_type_list_in_parentheses()
            if len(names) != len(types):
                fail_custom(parser, state, "mismatch in number of loop-carried values and defined values", start)
        self.set_operands(state, "initValues", inits)
        self.set_types(state, "initValues", types)
        self.set_types(state, "resultValues", types)
        arguments = _arguments(parser, [variable, *names], [type, *types])
        state.add_region(_parse_body(parser, state, arguments, CONTINUE))
        parse_attributes(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        names = printer.names
        region = operation.regions[0]
        arguments = region.blocks[0].arguments
        lower, upper, step = operation.operands[:3]
        unsigned = " unsigned" if "unsignedCmp" in operation.attributes else ""
        out.append(
            f"{unsigned} {names[arguments[0]]} in ({names[lower]} to {names[upper]}, step {names[step]}) : "
            f"{lower.type.spelling} "
        )
        if len(operation.operands) > 3:
            inits = _iteration_text(printer, operation, 1)
            out.append(f"iter_values({inits}) -> ({printer.type_list(operation.results)}) ")
        printer.print_region(region, CONTINUE)
        printer.attribute_dictionary(operation, frozenset(["unsignedCmp"]))


class Loop(Custom):
    """loop ::= (`iter_values` iteration)? (`:` types (`->` types)?)? region attr-dict"""

    __slots__ = ()

    def form(self) -> str:
        return (
            "(iter_values(%carried = %initValues, ...))? "
            "(: type(%initValues), ... (-> type(%resultValues), ...)? | : type(%resultValues), ...)? { region }"
        )

    def parse(self, parser: Parser, state: ParseState) -> None:
        names: list[int] = []
        types: list[Type] = []
        results: list[Type] = []
        inits: list[int] = []
        start = parser.position
        if parser.accept("iter_values"):
            names, inits = _parse_iteration(parser)
        if names:
            parser.expect(":")
            types = parser.parse_type_list()
            if parser.accept("->"):
                results = parser.parse_type_list()
            if len(names) != len(types):
                fail_custom(parser, state, "found different number of iter_values and types", start)
        elif parser.accept(":"):
            results = parser.parse_type_list()
        self.set_operands(state, "initValues", inits)
        self.set_types(state, "initValues", types)
        self.set_types(state, "resultValues", results)
        state.add_region(_parse_body(parser, state, _arguments(parser, names, types), CONTINUE))
        parse_attributes(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        results = printer.type_list(operation.results)
        if operation.operands:
            inits = _iteration_text(printer, operation, 0)
            types = printer.type_list(operation.operands)
            out.append(f" iter_values({inits}) : {types}")
            if results:
                out.append(f" -> {results}")
        elif results:
            out.append(f" : {results}")
        out.append(" ")
        printer.print_region(operation.regions[0], CONTINUE)
        printer.attribute_dictionary(operation, _NOTHING)


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "if": If,
    "for": For,
    "loop": Loop,
}
