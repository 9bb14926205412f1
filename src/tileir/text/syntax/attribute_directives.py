"""The directives that show attributes: as values, as keywords, in a dictionary."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute, EnumAttribute, EnumKind
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.diagnostics import Code
from tileir.ir.quoting import symbol_text
from tileir.ir.types import I1, I32, I64
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.directive import Directive, fail_custom, parse_hints, report_first

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


class AttributeValue(Directive):
    """An attribute written plainly, in the syntax of its constraint."""

    def __init__(self, declared: AttributeDeclaration, enum_kind: EnumKind | None) -> None:
        super().__init__()
        self.name: str = declared.name
        self.kind: str = declared.constraint.kind
        self.enum_kind: EnumKind | None = enum_kind

    def parse(self, parser: Parser, state: ParseState) -> None:
        state.set_attribute(self.name, self.read(parser, state))

    def read(self, parser: Parser, state: ParseState) -> Attribute:
        kind = self.kind
        if kind == "enum" and self.enum_kind is not None:
            return read_enum(parser, state, self.enum_kind, self.name)
        start = parser.position
        if kind == "i64" or kind == "i32":
            type = I64 if kind == "i64" else I32
            return builtin.integer_attribute(type, parser.parse_checked_integer(type))
        if kind == "string":
            return builtin.string_attribute(parser.parse_string())
        if kind == "symbol_name":
            return builtin.string_attribute(parser.parse_symbol_name())
        if kind == "symbol":
            return builtin.symbol_attribute(parser.parse_symbol_name())
        if kind == "bool":
            if not parser.is_identifier():
                parser.fail("expected valid keyword")
            return builtin.bool_attribute(_read_bool(parser) == 1)
        if kind == "i32_array":
            values = parser.parse_integer_list()
            return builtin.dense_array_attribute(I32, tuple([parser.checked_integer(I32, v, start) for v in values]))
        if kind == "bool_array":
            return read_bool_array(parser)
        return parser.parse_attribute()

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attribute(self.name)
        if value is None:
            return
        if self.kind == "symbol_name" and isinstance(value, builtin.StringAttribute):
            printer.out.append(self.lead + symbol_text(value.value))
        else:
            printer.out.append(self.lead + value.bare_text)

    def is_next(self, parser: Parser) -> bool:
        token = parser.tokens[parser.position]
        if self.enum_kind is not None:
            # NVIDIA's parsers take any other word for the next directive; the list of keywords helps a user more.
            return token[:1].isalpha() and (parser.recover or token in self.enum_kind.cases)
        if self.kind == "string":
            return token[:1] == '"'
        return token[:1].isdigit() or token[:1] in "-[@"

    def is_present(self, operation: Operation) -> bool:
        return self.name in operation.attributes


def read_bool_array(parser: Parser) -> Attribute:
    """`[` (`true` | `false`) (`,` ...)* `]`"""
    values: list[int] = []
    parser.parse_items("[", "]", lambda: values.append(_read_bool(parser)))
    return builtin.dense_array_attribute(I1, tuple(values))


def _read_bool(parser: Parser) -> int:
    token = parser.peek()
    if token not in ("true", "false"):
        parser.fail("expected 'true' or 'false'")
    parser.position += 1
    return 1 if token == "true" else 0


def read_enum(parser: Parser, state: ParseState, kind: EnumKind, name: str) -> EnumAttribute:
    """An enumeration keyword where MLIR's generated parsers take one."""
    found = parser.parse_optional_enum(kind, is_string_allowed=True)
    if found is None:
        choices = ", ".join(kind.keywords(parser.version))
        fail_custom(
            parser,
            state,
            f"expected string or keyword containing one of the following enum values for attribute '{name}' "
            f"[{choices}]",
            code=Code("unknown-keyword", choices=choices, written=parser.peek()),
        )
    return found


class AttributeDictionary(Directive):
    """`{...}`: the attributes the rest of the syntax does not show."""

    def __init__(self, elided: frozenset[str]) -> None:
        super().__init__()
        self.elided: frozenset[str] = elided

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] == "{":
            start = parser.position
            for name, value in parser.parse_dictionary_entries().items():
                if not draft_spellings.dictionary_entry(parser, state, name, value, start):
                    state.set_attribute(name, value)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        if operation.attributes:
            printer.attribute_dictionary(operation, self.elided)


class Flag(Directive):
    """Unit attributes as keywords, in any order, printed in the declared one."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names: list[str] = names

    def parse(self, parser: Parser, state: ParseState) -> None:
        while parser.tokens[parser.position] in self.names:
            name = parser.tokens[parser.position]
            if state.attributes is not None and name in state.attributes:
                message = f"`{name}` clause can appear at most once in the expansion of the oilist"
                fail_custom(parser, state, message, code=Code("unwanted-token"))
            parser.position += 1
            state.set_attribute(name, builtin.UNIT)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        if operation.attributes:
            for name in self.names:
                if name in operation.attributes:
                    printer.out.append(f"{self.lead}{name}")


class Hints(Directive):
    """` optimization_hints = <..>`."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        parse_hints(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attributes.get("optimization_hints")
        if value is not None:
            printer.out.append(f" optimization_hints = {printer.hints(value)}")


class EnumDirective(Directive):
    """A directive that shows a keyword of an enumeration."""

    def __init__(self, name: str, kind: EnumKind) -> None:
        super().__init__()
        self.name: str = name
        self.kind: EnumKind = kind


class Enclosed(EnumDirective):
    """`overflow<no_wrap>`, left out at the default."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] != self.name and not draft_spellings.overflow_clause(parser, self.name):
            return
        parser.position += 1
        parser.expect("<")
        start = parser.position
        found = parser.parse_optional_enum(self.kind)
        if found is None:
            parser.parse_keyword()
            choices = ", ".join(self.kind.keywords(parser.version))
            message = f"expected ::mlir::cuda_tile enum {self.kind.name} to be one of: {choices}"
            parser.fail(message, start, Code("unknown-keyword", choices=choices, written=parser.tokens[start]))
        parser.expect(">")
        state.set_attribute(self.name, found)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attributes.get(self.name)
        if value is not None:
            printer.out.append(f"{self.lead}{self.name}<{value.bare_text}>")


class Rounding(Directive):
    """`rounding<zero>`: its blank is printed even when it is left out (docs/reference/printing.md section 7)."""

    def __init__(self, name: str, modes: list[str], is_open: bool) -> None:
        super().__init__()
        self.name: str = name
        self.modes: list[str] = modes
        # An open directive reads every mode there is and leaves the verifier to refuse some.
        self.is_open: bool = is_open

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] != "rounding":
            return
        parser.position += 1
        parser.expect("<")
        start = parser.position
        keyword = parser.parse_keyword()
        kind = ENUM_KINDS["rounding"]
        admitted = keyword in kind.cases if self.is_open else keyword in self.modes
        if not admitted or kind.since.get(keyword, parser.version) > parser.version:
            modes = [mode for mode in self.modes if kind.since.get(mode, parser.version) <= parser.version]
            choices = ", ".join([f"'{mode}'" for mode in modes])
            got = "" if self.is_open else f", got: '{keyword}'"
            code = Code("wrong-keyword", got=keyword, choices=", ".join(modes))
            fail_custom(parser, state, f"expected rounding mode to be one of: {choices}{got}", start, code)
        parser.expect(">")
        state.set_attribute(self.name, kind.cases[keyword])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attributes.get(self.name)
        printer.out.append(self.lead if value is None else f"{self.lead}rounding<{value.bare_text}>")


class Keyword(EnumDirective):
    """A mandatory enumeration keyword with its own wording when it is missing."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        found = parser.parse_optional_enum(self.kind)
        if found is None:
            found = draft_spellings.comparison(parser, state, self.kind)
        if found is None:
            if self.kind.name == "comparison_ordering" and "comparison_ordering" in (state.attributes or {}):
                return
            words = list(self.kind.values)
            code = Code("unknown-keyword", choices=", ".join(words), written=parser.peek())
            choices = ", ".join([f"'{k}'" for k in (words if len(words) > 2 else sorted(words))])
            name = "signedness" if self.kind.name == "signedness" else f"'{self.name}'"
            if not parser.is_identifier():
                report_first(parser, state, "expected valid keyword")
            fail_custom(parser, state, f"expected {name} to be one of: {{{choices}}}", code=code)
        state.set_attribute(self.name, found)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attribute(self.name)
        if value is not None:
            printer.out.append(self.lead + value.bare_text)
