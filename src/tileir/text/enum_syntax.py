"""The pieces of an assembly format that show a keyword of an enumeration."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir.core import Operation
from tileir.ir.enums import EnumKind
from tileir.text import draft_spellings
from tileir.text.directive import Directive, fail_custom, say_first
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


class Enclosed(Directive):
    """`overflow<no_wrap>`, left out at the default."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: EnumKind) -> None:
        super().__init__()
        self.name: str = name
        self.kind: EnumKind = kind

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
            parser.fail(f"expected ::mlir::cuda_tile enum {self.kind.name} to be one of: {choices}", start)
        parser.expect(">")
        state.set_attribute(self.name, found)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attributes.get(self.name)
        if value is not None:
            printer.out.append(f"{self.lead}{self.name}<{value.bare_text}>")


class Rounding(Directive):
    """`rounding<zero>`: its blank is printed even when it is left out (docs/printing.md section 7)."""

    __slots__ = ("is_open", "modes", "name")

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
            choices = ", ".join([f"'{m}'" for m in self.modes if kind.since.get(m, parser.version) <= parser.version])
            got = "" if self.is_open else f", got: '{keyword}'"
            fail_custom(parser, state, f"expected rounding mode to be one of: {choices}{got}", start)
        parser.expect(">")
        state.set_attribute(self.name, kind.cases[keyword])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attributes.get(self.name)
        printer.out.append(self.lead if value is None else f"{self.lead}rounding<{value.bare_text}>")


class Keyword(Directive):
    """A mandatory enumeration keyword with its own wording when it is missing."""

    __slots__ = ("kind", "name")

    def __init__(self, name: str, kind: EnumKind) -> None:
        super().__init__()
        self.name: str = name
        self.kind: EnumKind = kind

    def parse(self, parser: Parser, state: ParseState) -> None:
        found = parser.parse_optional_enum(self.kind)
        if found is None:
            found = draft_spellings.comparison(parser, state, self.kind)
        if found is None:
            if self.kind.name == "comparison_ordering" and "comparison_ordering" in (state.attributes or {}):
                return
            words = list(self.kind.values)
            choices = ", ".join([f"'{k}'" for k in (words if len(words) > 2 else sorted(words))])
            name = "signedness" if self.kind.name == "signedness" else f"'{self.name}'"
            if not parser.is_identifier():
                say_first(parser, state, "expected valid keyword")
            fail_custom(parser, state, f"expected {name} to be one of: {{{choices}}}")
        state.set_attribute(self.name, found)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        value = operation.attribute(self.name)
        if value is not None:
            printer.out.append(self.lead + value.bare_text)
