"""The directives an assembly format is made of; each can parse itself and print itself.

`lead` is the text printed in front of a directive, usually one blank; `format.py` computes it by MLIR's spacing rules.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, NoReturn
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Code, Diagnostic
from tileir.ir.location import Location
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


# An argument of a block: its name, the token of the name, its type and location.
Argument = tuple[str, int, Type, Location]


class Directive:
    def __init__(self) -> None:
        self.lead: str = " "

    def parse(self, parser: Parser, state: ParseState) -> None:
        raise TypeError(type(self).__name__)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        raise TypeError(type(self).__name__)

    def is_next(self, parser: Parser) -> bool:
        """Whether this directive comes next in the text; for the first directive of an optional group."""
        raise TypeError(type(self).__name__)

    def is_present(self, operation: Operation) -> bool:
        """Whether the operation has what this directive prints; for the anchor of an optional group."""
        raise TypeError(type(self).__name__)


def fail_custom(parser: Parser, state: ParseState, message: str, token: int = -1, code: Code | None = None) -> NoReturn:
    """Refuse the text with the operation's name in front, as MLIR does for messages of an operation's own parser."""
    parser.fail(f"custom op '{state.declaration.name}' {message}", token, code)


def report_first(parser: Parser, state: ParseState, message: str) -> None:
    """Report an error that NVIDIA's tools print in front of the one that follows; only the drop-ins do."""
    if not parser.recover:
        message = f"custom op '{state.declaration.name}' {message}"
        parser.diagnostics.append(Diagnostic("error", message, parser.location(parser.position)))


def expect_word(parser: Parser, state: ParseState, word: str) -> None:
    if not parser.accept(word):
        fail_custom(parser, state, f"expected '{word}'", code=Code("expected-token", token=word))


def parse_attributes(parser: Parser, state: ParseState, word: str = "") -> None:
    """(`word` dictionary)?, or a dictionary without a word in front"""
    if parser.accept(word) if word else parser.peek() == "{":
        for name, value in parser.parse_dictionary_entries().items():
            state.set_attribute(name, value)


def parse_hints(parser: Parser, state: ParseState) -> None:
    """(`optimization_hints` `=` hints)?, of an operation that has them"""
    if "optimization_hints" in state.declaration.inherent and parser.accept("optimization_hints"):
        parser.expect("=")
        state.set_attribute("optimization_hints", parser.parse_hints())


class Literal(Directive):
    """A fixed word or punctuation mark."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: str = text
        self.is_word: bool = text[0].isalpha()

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] != self.text:
            if self.is_word:
                expect_word(parser, state, self.text)
            parser.fail_missing(f"expected '{self.text}'", Code("expected-token", token=self.text))
        parser.position += 1

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(self.lead + self.text)

    def is_next(self, parser: Parser) -> bool:
        return parser.tokens[parser.position] == self.text

    def is_present(self, operation: Operation) -> bool:
        return True


class Blank(Directive):
    """One blank when printed, nothing when read."""

    def parse(self, parser: Parser, state: ParseState) -> None:
        return None

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(" ")


class Custom(Directive):
    """A directive written for one operation or a family of them.

    `slots` has the type slot of each declared operand and result that the rest of the format does not show.
    """

    def __init__(self, declaration: OperationDeclaration, arguments: str) -> None:
        super().__init__()
        self.declaration: OperationDeclaration = declaration
        self.slots: dict[str, int] = {}

    def print(self, printer: TextOutput, operation: Operation) -> None:
        """Nothing, where the directive only changes what others have read."""

    def parse_token(self, parser: Parser, state: ParseState) -> None:
        """(`token` `=` value)?"""
        if parser.accept("token"):
            parser.expect("=")
            self.set_operands(state, "token", parser.parse_value_token())

    def set_types(self, state: ParseState, name: str, types: list[Type]) -> None:
        """Set the types of an operand or result; one of a fixed type has no slot."""
        slot = self.slots.get(name)
        if slot is not None:
            state.types[slot] = types

    def set_operands(self, state: ParseState, name: str, tokens: list[int]) -> None:
        state.operands[self.declaration.operand_number(name)] = tokens


CustomClass = Callable[[OperationDeclaration, str], Custom]


class Doubtful(Custom):
    """A directive whose text may be read back as something else."""

    def is_ambiguous(self, operation: Operation) -> bool:
        """Whether the text would not be read as this operation; it is then printed in the generic form."""
        raise TypeError(type(self).__name__)


def _operand_token(parser: Parser) -> list[int]:
    position = parser.position
    if parser.tokens[position][:1] != "%":
        parser.fail_missing("expected SSA operand")
    parser.position = position + 1
    return [position]


class OperandRow(Directive):
    """`$a ',' $b ...`: all operands, each of them single."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count: int = count

    def parse(self, parser: Parser, state: ParseState) -> None:
        for index in range(self.count):
            if index:
                parser.expect(",")
            state.operands[index] = _operand_token(parser)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        # An operation that is not verified yet may have more operands or fewer.
        printer.out.append(" " + printer.value_list(operation.operands))


class OperandGroup(Directive):
    """An operand that may be absent or be several values, or stands beside one that may."""

    def __init__(self, index: int, name: str, several: bool) -> None:
        super().__init__()
        self.index: int = index
        self.name: str = name
        self.several: bool = several

    def parse(self, parser: Parser, state: ParseState) -> None:
        if not self.several:
            state.operands[self.index] = _operand_token(parser)
        elif self.is_next(parser):
            state.operands[self.index] = parser.parse_value_tokens()

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(self.lead + printer.value_list(operation.operand_group(self.name)))

    def is_next(self, parser: Parser) -> bool:
        return parser.tokens[parser.position][:1] == "%"

    def is_present(self, operation: Operation) -> bool:
        return bool(operation.operand_group(self.name))


class TypeOf(Directive):
    """The type of an operand or result, or the types of several."""

    def __init__(self, slot: int, name: str, is_result: bool, index: int, several: bool, grouped: bool) -> None:
        super().__init__()
        self.slot: int = slot
        self.name: str = name
        self.is_result: bool = is_result
        # The position of the value, or -1 where it has to be looked up because groups come before it.
        self.index: int = -1 if grouped else index
        self.several: bool = several

    def parse(self, parser: Parser, state: ParseState) -> None:
        state.types[self.slot] = parser.parse_type_list() if self.several else [parser.parse_type()]

    def print(self, printer: TextOutput, operation: Operation) -> None:
        if self.index >= 0:
            value: Value = operation.results[self.index] if self.is_result else operation.operands[self.index]
            printer.out.append(self.lead + value.type.spelling)
            return
        printer.out.append(self.lead + printer.type_list(self.values(operation)))

    def values(self, operation: Operation) -> list[Value]:
        if not self.is_result:
            return operation.operand_group(self.name)
        return list(operation.results)

    def is_next(self, parser: Parser) -> bool:
        token = parser.tokens[parser.position]
        return token[:1].isalpha() or token[:1] in ("!", "(")

    def is_present(self, operation: Operation) -> bool:
        return bool(self.values(operation))


class FullTypeOf(TypeOf):
    """The same where the dialect's name is always printed: `!cuda_tile.tile<2xf32>`."""

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(self.lead + ", ".join([value.type.text for value in self.values(operation)]))


class Group(Directive):
    """`( ... )?`: present as a whole or not at all."""

    def __init__(self, directives: list[Directive], anchor: Directive) -> None:
        super().__init__()
        self.directives: list[Directive] = directives
        self.anchor: Directive = anchor

    def parse(self, parser: Parser, state: ParseState) -> None:
        if self.directives[0].is_next(parser):
            for directive in self.directives:
                directive.parse(parser, state)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        if self.anchor.is_present(operation):
            for directive in self.directives:
                directive.print(printer, operation)
