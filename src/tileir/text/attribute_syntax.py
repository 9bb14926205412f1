"""The pieces of an assembly format that show attributes: plainly, as keywords, or in a dictionary."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    StringAttribute,
    bool_attribute,
    dense_array_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.enums import EnumAttribute, EnumKind
from tileir.ir.quoting import symbol_text
from tileir.ir.types import I1, I32, I64
from tileir.ir.values import Value
from tileir.text import draft_spellings
from tileir.text.directive import Directive, TypeOf, fail_custom
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.parser import Parser
    from tileir.text.printer import Printer


class AttributeValue(Directive):
    """An attribute written plainly; the constraint of its declaration says how."""

    __slots__ = ("enum_kind", "kind", "name")

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
            return integer_attribute(type, parser.checked_integer(type, parser.parse_integer(), start))
        if kind == "string":
            return string_attribute(parser.parse_string())
        if kind == "symbol_name":
            return string_attribute(parser.parse_symbol_name())
        if kind == "symbol":
            return symbol_attribute(parser.parse_symbol_name())
        if kind == "bool":
            token = parser.parse_keyword()
            if token not in ("true", "false"):
                parser.fail("expected 'true' or 'false'", start)
            return bool_attribute(token == "true")
        if kind == "i32_array":
            values = parser.parse_integer_list()
            return dense_array_attribute(I32, tuple([parser.checked_integer(I32, v, start) for v in values]))
        if kind == "bool_array":
            return read_bool_array(parser)
        return parser.parse_attribute()

    def print(self, printer: Printer, operation: Operation) -> None:
        value = operation.attribute(self.name)
        if value is None:
            return
        if self.kind == "symbol_name" and isinstance(value, StringAttribute):
            printer.out.append(self.lead + symbol_text(value.value))
        else:
            printer.out.append(self.lead + value.bare_text)

    def is_next(self, parser: Parser) -> bool:
        token = parser.tokens[parser.position]
        if self.enum_kind is not None:
            # NVIDIA's parsers take any other word for the next piece; to a user, the list of keywords says more.
            return token[:1].isalpha() and (parser.recover or token in self.enum_kind.cases)
        if self.kind == "string":
            return token[:1] == '"'
        return token[:1].isdigit() or token[:1] in "-[@"

    def is_present(self, operation: Operation) -> bool:
        return self.name in operation.attributes


def read_bool_array(parser: Parser) -> Attribute:
    """`[` (`true` | `false`) (`,` ...)* `]`"""
    parser.expect("[")
    values: list[int] = []
    if not parser.accept("]"):
        while True:
            token = parser.peek()
            if token not in ("true", "false"):
                parser.fail("expected 'true' or 'false'")
            parser.position += 1
            values.append(1 if token == "true" else 0)
            if not parser.accept(","):
                break
        parser.expect("]")
    return dense_array_attribute(I1, tuple(values))


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
        )
    return found


class AttributeDictionary(Directive):
    """`{...}`: the attributes the rest of the syntax does not show."""

    __slots__ = ("elided",)

    def __init__(self, elided: frozenset[str]) -> None:
        super().__init__()
        self.elided: frozenset[str] = elided

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] == "{":
            start = parser.position
            for name, value in parser.parse_dictionary_entries().items():
                if not draft_spellings.dictionary_entry(parser, state, name, value, start):
                    state.set_attribute(name, value)

    def print(self, printer: Printer, operation: Operation) -> None:
        if operation.attributes:
            printer.attribute_dictionary(operation, self.elided)


class TrailingType(Directive):
    """`attr-dict ':' type($x)` in one step, for a single operand or result."""

    __slots__ = ("dictionary", "type")

    def __init__(self, dictionary: AttributeDictionary, type: TypeOf) -> None:
        super().__init__()
        self.dictionary: AttributeDictionary = dictionary
        self.type: TypeOf = type

    def parse(self, parser: Parser, state: ParseState) -> None:
        tokens = parser.tokens
        if tokens[parser.position] == "{":
            self.dictionary.parse(parser, state)
        position = parser.position
        if tokens[position] != ":":
            parser.fail_missing("expected ':'")
        found = parser.known_types.get(tokens[position + 1])
        if found is None:
            parser.position = position + 1
            found = parser.parse_type()
        else:
            parser.position = position + 2
        state.types[self.type.slot] = [found]

    def print(self, printer: Printer, operation: Operation) -> None:
        if operation.attributes:
            printer.attribute_dictionary(operation, self.dictionary.elided)
        type = self.type
        value: Value = operation.results[type.index] if type.is_result else operation.operands[type.index]
        printer.out.append(" : " + value.type.spelling)


class Flag(Directive):
    """Unit attributes as keywords, in any order, printed in the declared one."""

    __slots__ = ("names",)

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names: list[str] = names

    def parse(self, parser: Parser, state: ParseState) -> None:
        while parser.tokens[parser.position] in self.names:
            name = parser.tokens[parser.position]
            if state.attributes is not None and name in state.attributes:
                fail_custom(parser, state, f"`{name}` clause can appear at most once in the expansion of the oilist")
            parser.position += 1
            state.set_attribute(name, UNIT)

    def print(self, printer: Printer, operation: Operation) -> None:
        if operation.attributes:
            for name in self.names:
                if name in operation.attributes:
                    printer.out.append(f"{self.lead}{name}")


class Hints(Directive):
    """` optimization_hints = <..>`."""

    __slots__ = ()

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.accept("optimization_hints"):
            parser.expect("=")
            state.set_attribute("optimization_hints", parser.parse_hints())

    def print(self, printer: Printer, operation: Operation) -> None:
        value = operation.attributes.get("optimization_hints")
        if value is not None:
            printer.out.append(f" optimization_hints = {printer.hints(value)}")
