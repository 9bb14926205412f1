"""The syntax of if, for and loop."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.ops import CONTINUE, YIELD
from tileir.ir.attributes import UNIT
from tileir.ir.core import Operation, Region
from tileir.ir.location import Location, TextLocation
from tileir.ir.types import Type
from tileir.text.directive import Custom, CustomClass, fail_custom
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser

_NOTHING: frozenset[str] = frozenset()


def _parse_dictionary(parser: Parser, state: ParseState) -> None:
    if parser.peek() == "{":
        for name, value in parser.parse_dictionary_entries().items():
            state.set_attribute(name, value)


class If(Custom):
    """if ::= value (`->` `(` types `)`)? region (`else` region)? attr-dict"""

    __slots__ = ()

    def form(self) -> str:
        return "%condition (-> (type(%results), ...))? { thenRegion } (else { elseRegion })?"

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.peek()[:1] != "%":
            parser.fail("expected SSA operand")
        self.set_operands(state, "condition", [parser.position])
        parser.position += 1
        types: list[Type] = []
        if parser.accept("->"):
            types = parser.parse_type_list_in_parentheses()
        self.set_types(state, "results", types)
        state.add_region(self._parse_branch(parser, state))
        if parser.accept("else"):
            state.add_region(self._parse_branch(parser, state))
        else:
            state.add_region(Region())
        _parse_dictionary(parser, state)

    def _parse_branch(self, parser: Parser, state: ParseState) -> Region:
        region = parser.parse_region([])
        parser.ensure_terminator(region, YIELD, TextLocation(state.source, state.name_token))
        return region

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


def _parse_iteration(
    parser: Parser,
) -> tuple[list[tuple[str, int]], list[int]]:
    """iter_values ::= `(` (value `=` value) (`,` value `=` value)* `)`; names inside and token numbers of the inits"""
    names: list[tuple[str, int]] = []
    inits: list[int] = []
    parser.expect("(")
    if not parser.accept(")"):
        while True:
            if parser.peek()[:1] != "%":
                parser.fail("expected SSA operand")
            names.append((parser.peek(), parser.position))
            parser.position += 1
            parser.expect("=")
            inits.extend(parser.parse_value_token())
            if not parser.accept(","):
                break
        parser.expect(")")
    return names, inits


def _iteration_text(printer: TextOutput, operation: Operation, region: Region, skip: int, inits: str) -> str:
    arguments = region.blocks[0].arguments[skip:] if region.blocks else []
    pairs = zip(arguments, operation.operand_group(inits), strict=False)
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
        variable = parser.position
        if parser.peek()[:1] != "%":
            parser.fail("expected SSA operand")
        parser.position += 1
        if not parser.accept("in"):
            fail_custom(parser, state, "expected 'in'")
        parser.expect("(")
        self.set_operands(state, "lowerBound", parser.parse_value_token())
        if not parser.accept("to"):
            fail_custom(parser, state, "expected 'to'")
        self.set_operands(state, "upperBound", parser.parse_value_token())
        parser.expect(",")
        if not parser.accept("step"):
            fail_custom(parser, state, "expected 'step'")
        self.set_operands(state, "step", parser.parse_value_token())
        parser.expect(")")
        parser.expect(":")
        type = parser.parse_type()
        for name in ("lowerBound", "upperBound", "step"):
            if name in self.slots:
                self.set_types(state, name, [type])
        names: list[tuple[str, int]] = []
        types: list[Type] = []
        if parser.accept("iter_values"):
            start = parser.position
            names, inits = _parse_iteration(parser)
            parser.expect("->")
            types = parser.parse_type_list_in_parentheses()
            if len(names) != len(types):
                fail_custom(
                    parser,
                    state,
                    "mismatch in number of loop-carried values and defined values",
                    start,
                )
            self.set_operands(state, "initValues", inits)
        else:
            self.set_operands(state, "initValues", [])
        for name in ("initValues", "resultValues"):
            if name in self.slots:
                self.set_types(state, name, types)
        location: Location = TextLocation(state.source, variable)
        arguments: list[tuple[str, int, Type, Location]] = [(parser.tokens[variable], variable, type, location)]
        for (name, token), item in zip(names, types, strict=True):
            arguments.append((name, token, item, TextLocation(state.source, token)))
        region = parser.parse_region(arguments)
        parser.ensure_terminator(region, CONTINUE, TextLocation(state.source, state.name_token))
        state.add_region(region)
        _parse_dictionary(parser, state)

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
            inits = _iteration_text(printer, operation, region, 1, "initValues")
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
        names: list[tuple[str, int]] = []
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
        arguments: list[tuple[str, int, Type, Location]] = []
        for (name, token), item in zip(names, types, strict=True):
            arguments.append((name, token, item, TextLocation(state.source, token)))
        region = parser.parse_region(arguments)
        parser.ensure_terminator(region, CONTINUE, TextLocation(state.source, state.name_token))
        state.add_region(region)
        _parse_dictionary(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        region = operation.regions[0]
        results = printer.type_list(operation.results)
        if operation.operands:
            inits = _iteration_text(printer, operation, region, 0, "initValues")
            types = printer.type_list(operation.operands)
            out.append(f" iter_values({inits}) : {types}")
            if results:
                out.append(f" -> {results}")
        elif results:
            out.append(f" : {results}")
        out.append(" ")
        printer.print_region(region, CONTINUE)
        printer.attribute_dictionary(operation, _NOTHING)


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "if": If,
    "for": For,
    "loop": Loop,
}
