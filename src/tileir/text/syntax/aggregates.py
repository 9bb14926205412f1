"""The syntax of operations that no list of plain directives describes: reduce, scan, assume, print, comparisons."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.attributes import SAME_ELEMENTS_EVERYWHERE, PredicateAttribute, same_elements
from tileir.dialect.constraints import NUMBER
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.attributes import Attribute, StringAttribute, string_attribute
from tileir.ir.core import NO_REGIONS, Operation
from tileir.ir.diagnostics import Code
from tileir.ir.location import TextLocation
from tileir.ir.types import I1, FloatType, Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.attribute_directives import AttributeValue
from tileir.text.syntax.directive import Custom, CustomClass, Doubtful, expect_word, fail_custom, parse_attributes

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


class Combine(Custom):
    """combine ::= `:` types `->` types `(` arguments `)` region, of reduce and scan"""

    def parse(self, parser: Parser, state: ParseState) -> None:
        # Imported here: this file has the syntax of other operations too, and their chapters are not needed for these.
        from tileir.dialect.ops import SCAN, YIELD

        parser.expect(":")
        types = parser.parse_type_list()
        if len(types) > 1 and self.declaration is SCAN:
            draft_spellings.warn_of_wide_scan(parser, state)
        self.set_types(state, "operands", types)
        if state.operands[0] is None:
            self.set_operands(state, "operands", [])
        parser.expect("->")
        self.set_types(state, "results", parser.parse_type_list())
        parser.expect("(")
        arguments = [] if parser.peek() == ")" else parser.parse_arguments()
        parser.expect(")")
        # Nothing between the braces and no arguments: no block, which the verifier will not have.
        region = parser.parse_region(arguments if arguments else None)
        if region.blocks:
            parser.ensure_terminator(region, YIELD, TextLocation(state.source, state.name_token))
        state.add_region(region)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        operands = printer.type_list(operation.operands)
        results = printer.type_list(operation.results)
        # The first line ends in a blank (docs/reference/printing.md section 7).
        region = operation.regions[0]
        out.append(f" : {operands} -> {results} \n{printer.indent}({printer.argument_list(region)}) ")
        printer.print_region(region)


class Assume(Custom):
    """assume ::= (predicate | `[` predicate (`,` predicate)* `]`) `,` value attr-dict `:` type

    A list becomes a chain of assumes; `assume %condition : type` is the draft's form and another operation
    (docs/reference/conflicts.md C1).
    """

    def parse(self, parser: Parser, state: ParseState) -> None:
        if draft_spellings.condition_of_assume(parser, state):
            return
        predicates: list[Attribute] = []
        if draft_spellings.is_predicate_list(parser):
            parser.parse_items("[", "]", lambda: predicates.append(self._parse_predicate(parser)))
        else:
            predicates.append(self._parse_predicate(parser))
        parser.expect(",")
        tokens = parser.parse_value_token()
        self.set_operands(state, "value", tokens)
        parse_attributes(parser, state)
        parser.expect(":")
        type = parser.parse_type()
        self.set_types(state, "value", [type])
        predicates = [self._for_type(parser, state, predicate, type) for predicate in predicates]
        state.set_attribute("predicate", predicates[-1])
        if len(predicates) > 1:
            parser.remark("a list of predicates is read as a chain of assumes", state.name_token)
            self._chain(parser, state, predicates[:-1], tokens[0], type)

    def _parse_predicate(self, parser: Parser) -> Attribute:
        """predicate ::= name body | `#cuda_tile.`name body | `#`alias"""
        start = parser.position
        if parser.peek()[:1].isdigit() or parser.peek()[:1] in ('"', "-", "@", "{", "true", "false"):
            parser.parse_attribute()
            parser.fail("expected assume predicate attribute", start, wants_name=True)
        if parser.peek()[:1] == "#" and parser.peek() != "#cuda_tile.same_elements":
            found: Attribute | None = parser.parse_attribute()
        else:
            name = parser.peek().lstrip("#")
            if name == parser.peek():
                parser.parse_keyword()
            else:
                parser.position += 1
            found = parser.parse_predicate_body(name.rpartition(".")[2])
        if not isinstance(found, PredicateAttribute):
            code = Code("unknown-predicate", choices="div_by, same_elements, bounded")
            parser.fail("expected an assume predicate: div_by, same_elements or bounded", start, code)
        return found

    def _for_type(self, parser: Parser, state: ParseState, predicate: Attribute, type: Type) -> Attribute:
        """The splat form of same_elements speaks of the whole tile (docs/reference/conflicts.md C3)."""
        if predicate is not SAME_ELEMENTS_EVERYWHERE:
            return predicate
        found = same_elements(type.shape if isinstance(type, TileType) else ())
        parser.remark(f"'same_elements<dense<..>>' is read as '{found.bare_text}'", state.name_token)
        return found

    def _chain(self, parser: Parser, state: ParseState, predicates: list[Attribute], token: int, type: Type) -> None:
        value: Value = parser.resolve(token, type)
        for predicate in predicates:
            location = TextLocation(state.source, state.name_token)
            operation = Operation(self.declaration, [value], [type], {"predicate": predicate}, NO_REGIONS, location)
            parser.append_before(operation)
            value = operation.results[0]
        state.made_operand = value

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.operands[0]
        predicate = operation.attributes["predicate"]
        printer.out.append(f" {predicate.bare_text}, {printer.names[value]}")
        printer.attribute_dictionary(operation, frozenset(["predicate"]))
        printer.out.append(f" : {value.type.spelling}")


# What may stand between `%` and the conversion letter of a printf expression.
_EXPRESSION: Final = r"%(?:%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|q|j|z|t|L)?[diuoxXeEfFgGaAcsSpn])"


class PrintArguments(Custom):
    """print_tko ::= string (`,` values)? (`token` `=` value)? attr-dict (`:` types)? `->` type

    print     ::= string (`,` values)? attr-dict (`:` types)?, the draft's and 13.1's spelling
    """

    def parse(self, parser: Parser, state: ParseState) -> None:
        old = parser.tokens[state.name_token].rpartition(".")[2] == "print"
        text_token = parser.position
        if parser.peek()[:1] != '"':
            parser.fail_missing("expected attribute value")
        text = parser.parse_string()
        self.set_operands(state, "args", parser.parse_value_tokens() if parser.accept(",") else [])
        self.parse_token(parser, state)
        parse_attributes(parser, state)
        types = parser.parse_type_list() if parser.accept(":") else []
        self.set_types(state, "args", types)
        if old:
            text = self._placeholders(parser, text, types, text_token)
        if not old or parser.peek() == "->":
            parser.expect("->")
            start = parser.position
            if parser.parse_type() is not TOKEN:
                fail_custom(parser, state, "expected the result to be a token", start)
        state.set_attribute("str", string_attribute(text))

    def _placeholders(self, parser: Parser, text: str, types: list[Type], token: int) -> str:
        """A bare `%` takes the conversion of its argument's element type (docs/reference/conflicts.md A8)."""
        # Here, not above: most programs print nothing.
        import re

        remaining = list(types)

        def conversion(match: re.Match[str]) -> str:
            found = match.group()
            if found == "%%":
                return found
            type = remaining.pop(0) if remaining else None
            is_float = isinstance(type, TileType) and isinstance(type.element, FloatType)
            return found if found != "%" else "%f" if is_float else "%d"

        rewritten = re.sub(f"{_EXPRESSION}|%", conversion, text)
        if rewritten != text:
            parser.remark("a bare '%' is read as '%d' or '%f' by the type of its argument", token)
        return rewritten

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        text = operation.attributes["str"]
        out.append(f" {text.bare_text if isinstance(text, StringAttribute) else text.text}")
        arguments = operation.args
        if arguments:
            out.append(f", {printer.value_list(arguments)}")
        token = operation.token
        if token is not None:
            out.append(f" token={printer.names[token]}")
        printer.attribute_dictionary(operation, frozenset(["str"]))
        if arguments:
            out.append(f" : {printer.type_list(arguments)}")
        out.append(f" -> {printer.type_list(operation.results)}")


class ShiftAmount(Custom):
    """Nothing in the text: an amount of another integer type, which the draft allows, is converted first (C9)."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        draft_spellings.convert_shift_amount(parser, state)


class CastTypes(Custom):
    """(`:` types)? `to` types"""

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_types(state, "inputs", parser.parse_type_list() if parser.accept(":") else [])
        if state.operands[0] is None:
            state.operands[0] = []
        expect_word(parser, state, "to")
        self.set_types(state, "outputs", parser.parse_type_list())

    def print(self, printer: TextOutput, operation: Operation) -> None:
        if operation.operands:
            printer.out.append(f" : {printer.type_list(operation.operands)}")
        printer.out.append(f" to {printer.type_list(operation.results)}")


class ComparisonTypes(Custom):
    """`:` type (`->` type)?; the draft leaves the result type out (docs/reference/conflicts.md A2)."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        parser.expect(":")
        start = parser.position
        type = parser.parse_type()
        self.set_types(state, "lhs", [type])
        self.set_types(state, "rhs", [type])
        result = draft_spellings.comparison_result(parser, type, start)
        if result is None:
            parser.expect("->")
            result = parser.parse_type()
        self.set_types(state, "result", [result])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        left = operation.operands[0].type.spelling
        printer.out.append(f" : {left} -> {operation.results[0].type.spelling}")


class GridType(Custom):
    """`:` type, of the operations with three results of one type; `tile<3xi32>` is a slip of the draft (A6)."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        parser.expect(":")
        type = draft_spellings.grid_type(parser)
        if type is None:
            type = parser.parse_type()
        for name in self.slots:
            self.set_types(state, name, [type])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(f" : {operation.results[0].type.spelling}")


class AtomicOperands(Custom):
    """pointers `,` mode `,` value; the printer draft puts the mode first (docs/reference/conflicts.md A11, B4)."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        declared = self.declaration.inherent["mode"]
        mode: Attribute | None = draft_spellings.mode_before_pointers(parser)
        self.set_operands(state, "pointers", parser.parse_value_token())
        parser.expect(",")
        if mode is None:
            draft_spellings.refuse_exchange(parser)
            mode = AttributeValue(declared, enum_kind_of(declared)).read(parser, state)
            parser.expect(",")
        state.set_attribute("mode", mode)
        self.set_operands(state, "arg", parser.parse_value_token())

    def print(self, printer: TextOutput, operation: Operation) -> None:
        pointers = operation.pointers
        value = operation.arg
        mode = operation.attributes["mode"].bare_text
        printer.out.append(f" {printer.names[pointers]}, {mode}, {printer.names[value]}")


class AtomicMode(Custom):
    """Nothing in the text: the draft's `add` on floats is the public `addf` (docs/reference/conflicts.md B4)."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        draft_spellings.float_addition(parser, state, state.types[self.slots["arg"]])


class LoadOperands(Doubtful):
    """Distinguishes a padding value from a mask when only one of them is written: a mask is a tile of i1.

    NVIDIA prints both the same way, after a comma; read as a mask, a lone padding value would not verify.  A lone
    padding value that is itself a tile of i1 is ambiguous.
    """

    def parse(self, parser: Parser, state: ParseState) -> None:
        mask = self.declaration.operand_number("mask")
        padding = self.declaration.operand_number("paddingValue")
        if not parser.draft_spellings or state.operands[mask] is None or state.operands[padding] is not None:
            # NVIDIA's parser takes whatever is alone for the mask.
            return
        types = state.types[self.slots["mask"]]
        if types and isinstance(types[0], TileType) and types[0].element is not I1 and NUMBER.accepts(types[0]):
            state.operands[padding], state.operands[mask] = state.operands[mask], None
            state.types[self.slots["paddingValue"]] = types
            state.types[self.slots["mask"]] = None

    def is_ambiguous(self, operation: Operation) -> bool:
        padding = operation.padding_value
        return (
            padding is not None
            and operation.mask is None
            and isinstance(padding.type, TileType)
            and padding.type.element is I1
        )


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "combine": Combine,
    "assume": Assume,
    "load-operands": LoadOperands,
    "atomic-operands": AtomicOperands,
    "atomic-mode": AtomicMode,
    "shift-amount": ShiftAmount,
    "print-arguments": PrintArguments,
    "cast-types": CastTypes,
    "comparison-types": ComparisonTypes,
    "grid-type": GridType,
}
