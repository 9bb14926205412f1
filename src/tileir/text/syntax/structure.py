"""The syntax of modules, functions, globals and constants, and of if, for and loop."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.constraints import NUMBER
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.ops import CONTINUE, YIELD
from tileir.dialect.types import TileType, scalar_tile
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Code
from tileir.ir.location import TextLocation
from tileir.ir.quoting import symbol_text
from tileir.ir.types import I64, FunctionType, Type, function_type
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.directive import (
    Argument,
    Custom,
    CustomClass,
    Doubtful,
    expect_word,
    fail_custom,
    parse_attributes,
    parse_hints,
    report_first,
)

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


def parse_dense(parser: Parser, state: ParseState) -> tuple[DenseAttribute, TileType]:
    """dense ::= `<` element `:` literal `>` `:` type, or the draft's `dense` `<` literal `>` `:` type"""
    # Imported here: printing needs neither.
    from tileir.text.dense import DenseReader
    from tileir.text.dialect_types import builtin_type

    is_draft = draft_spellings.dense_literal(parser)
    parser.expect("<")
    element: Type | None = None
    if not is_draft:
        start = parser.position
        names = NUMBER.wording(parser.version)[len("tile of ") :]
        if not parser.recover and parser.is_identifier() and builtin_type(parser.peek()) is None:
            if parser.peek() not in ("tile", "ptr", "tensor", "token", "vector"):
                report_first(parser, state, f"unknown type: {parser.peek()}")
                fail_custom(parser, state, f"expect element type to be one of {names}, but got '<<NULL TYPE>>'")
        element = parser.parse_type()
        if not NUMBER.accepts(scalar_tile(element)):
            fail_custom(parser, state, f"expect element type to be one of {names}, but got '{element.text}'", start)
        parser.expect(":")
    reader = DenseReader(parser, element)
    reader.read()
    if element is not None and not reader.is_scalar and not reader.elements and reader.raw is None:
        parser.fail("dense attribute cannot be empty", reader.start)
    if element is not None:
        reader.check_elements(element)
    parser.expect(">")
    parser.expect(":")
    start = parser.position
    type = parser.parse_type()
    if not isinstance(type, TileType) or not NUMBER.accepts(type):
        fail_custom(parser, state, f"result #0 must be {NUMBER.wording(parser.version)}, but got '{type.text}'", start)
    if element is not None and element is not type.element:
        types = f"'{element.text}' and the tile element type '{type.element.text}'"
        code = Code("type-of-constant", written=element.text, expected=type.element.text)
        fail_custom(parser, state, f"mismatch between the element type: {types}", start, code)
    if is_draft:
        parser.remark(f"'dense<..>' is read as '<{type.element.spelling}: ..>'", reader.start - 2)
    return reader.finish(type, type.shape, type.element), type


class DenseConstant(Custom):
    """`<f32: 1.0> : tile<4xf32>` of a constant."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        value, type = parse_dense(parser, state)
        state.set_attribute("value", value)
        self.set_types(state, "result", [type])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(f"{self.lead}{dense_text(operation.attributes['value'])}")


def dense_text(value: Attribute) -> str:
    if not isinstance(value, DenseAttribute):
        return value.text
    return f"<{value.element_type.spelling}: {value.literal}> : {value.type.spelling}"


class Global(Custom):
    """global ::= visibility? `constant`? symbol (`alignment` `=` integer)? attr-dict dense"""

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.peek() in SYMBOL_VISIBILITY.cases:
            state.set_attribute("symbol_visibility", SYMBOL_VISIBILITY[parser.parse_keyword()])
        if parser.accept("constant"):
            state.set_attribute("constant", builtin.UNIT)
        state.set_attribute("sym_name", builtin.string_attribute(parser.parse_symbol_name()))
        if parser.accept("alignment"):
            parser.expect("=")
            state.set_attribute("alignment", builtin.integer_attribute(I64, parser.parse_checked_integer(I64)))
        parse_attributes(parser, state)
        dense, _ = parse_dense(parser, state)
        state.set_attribute("value", dense)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        attributes = operation.attributes
        out = printer.out
        # The visibility directive prints a blank of its own (docs/reference/printing.md section 1).
        private = operation.attribute("symbol_visibility") is SYMBOL_VISIBILITY["private"]
        out.append(" private " if private else " ")
        if "constant" in attributes:
            out.append(" constant")
        out.append(f" {symbol_text(operation.symbol_name or '')}")
        if "alignment" in attributes:
            out.append(f" alignment = {attributes['alignment'].bare_text}")
        printer.attribute_dictionary(operation, frozenset(self.declaration.inherent))
        out.append(f" {dense_text(attributes['value'])}")


class Module(Doubtful):
    """module ::= symbol (`attributes` dictionary)? region"""

    def is_ambiguous(self, operation: Operation) -> bool:
        """The braces are read as a block with nothing in it, not as no block."""
        return not operation.regions[0].blocks

    def parse(self, parser: Parser, state: ParseState) -> None:
        name = draft_spellings.module_name(parser, state)
        state.set_attribute("sym_name", builtin.string_attribute(parser.parse_symbol_name() if name is None else name))
        parse_attributes(parser, state, "attributes")
        state.add_region(parser.parse_module_body())

    def print(self, printer: TextOutput, operation: Operation) -> None:
        _print_module(printer, operation, True)


class ModuleWrapper(Custom):
    """builtin.module ::= symbol? (`attributes` dictionary)? region"""

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.peek()[:1] == "@":
            state.set_attribute("sym_name", builtin.string_attribute(parser.parse_symbol_name()))
        parse_attributes(parser, state, "attributes")
        state.add_region(parser.parse_region([], isolated=True))

    def print(self, printer: TextOutput, operation: Operation) -> None:
        _print_module(printer, operation, False)


def _print_module(printer: TextOutput, operation: Operation, elide: bool) -> None:
    """A module; `elide` leaves out the prefixes of the operations in it."""
    name = operation.symbol_name
    if name is not None:
        printer.out.append(f" {symbol_text(name)}")
    printer.attribute_dictionary(operation, frozenset(["sym_name"]), " attributes")
    outer, printer.elide = printer.elide, elide
    printer.out.append(" ")
    printer.print_region(operation.regions[0])
    printer.elide = outer


class Function(Custom):
    """function ::= symbol `(` arguments `)` (`->` types)? hints? (`attributes` dictionary)? region attr-dict

    Attributes are printed after the body, as NVIDIA's tools do; MLIR's own functions have them in front.
    """

    def parse(self, parser: Parser, state: ParseState) -> None:
        state.set_attribute("sym_name", builtin.string_attribute(parser.parse_symbol_name()))
        arguments, attributes = self._parse_arguments(parser)
        results: list[Type] = []
        if parser.accept("->"):
            is_list = parser.peek() == "("
            results = parser.parse_type_list_in_parentheses() if is_list else [parser.parse_type()]
        inputs = tuple([type for _, _, type, _ in arguments])
        state.set_attribute("function_type", builtin.type_attribute(function_type(inputs, tuple(results))))
        if attributes is not None:
            state.set_attribute("arg_attrs", attributes)
        parse_hints(parser, state)
        parse_attributes(parser, state, "attributes")
        parser.dialects.append("cuda_tile")
        try:
            region = parser.parse_region(arguments, isolated=True)
        finally:
            parser.dialects.pop()
        implied = self.declaration.regions[0].implicit_terminator
        if implied is not None:
            parser.ensure_terminator(region, implied, TextLocation(state.source, state.name_token))
        state.add_region(region)
        parse_attributes(parser, state)

    def _parse_arguments(self, parser: Parser) -> tuple[list[Argument], Attribute | None]:
        """`(` (value `:` type dictionary? location?) (`,` ...)* `)`"""
        found: list[Argument] = []
        dictionaries: list[Attribute] = []
        nothing = builtin.dictionary_attribute({})

        def parse_argument() -> None:
            name, token, type, location = parser.parse_arguments(1)[0]
            is_bare = parser.peek() != "{"
            dictionaries.append(nothing if is_bare else builtin.dictionary_attribute(parser.parse_dictionary_entries()))
            if parser.peek() == "loc":
                location = parser.parse_trailing_location()
            found.append((name, token, type, location))

        parser.parse_items("(", ")", parse_argument)
        has_entries = any(entries is not nothing for entries in dictionaries)
        return found, builtin.array_attribute(tuple(dictionaries)) if has_entries else None

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        region = operation.regions[0]
        out.append(f" {symbol_text(operation.symbol_name or '')}({printer.argument_list(region)})")
        type = operation.attributes.get("function_type")
        if isinstance(type, builtin.TypeAttribute) and isinstance(type.type, FunctionType) and type.type.results:
            results = ", ".join([result.spelling for result in type.type.results])
            out.append(f" -> {results}" if len(type.type.results) == 1 else f" -> ({results})")
        hints = operation.attributes.get("optimization_hints")
        # NVIDIA's printer leaves out empty hints.
        if hints is not None and (printer.lossless or hints.bare_text != "<>"):
            out.append(f" optimization_hints={printer.hints(hints)}")
        out.append(" ")
        # The arguments of the first block are printed already, so it needs no label.
        printer.print_blocks(region, False)
        printer.attribute_dictionary(operation, frozenset(["sym_name", "function_type", "optimization_hints"]))


def _parse_body(parser: Parser, state: ParseState, arguments: list[Argument], implied: OperationDeclaration) -> Region:
    region = parser.parse_region(arguments)
    parser.ensure_terminator(region, implied, TextLocation(state.source, state.name_token))
    return region


class If(Custom):
    """if ::= value (`->` `(` types `)`)? region (`else` region)? attr-dict"""

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
        printer.attribute_dictionary(operation)


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

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.accept("unsigned"):
            state.set_attribute("unsignedCmp", builtin.UNIT)
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
        printer.attribute_dictionary(operation)


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "dense-constant": DenseConstant,
    "global": Global,
    "module": Module,
    "module-wrapper": ModuleWrapper,
    "function": Function,
    "if": If,
    "for": For,
    "loop": Loop,
}
