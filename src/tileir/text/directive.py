"""The pieces an assembly format is made of; each can parse itself and print itself.

`lead` is the text printed in front of a piece, usually one blank; `text/format.py` computes it by MLIR's spacing rules.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, NoReturn
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.parser import Parser
    from tileir.text.printer import Printer


class Directive:
    """Base of all pieces."""

    __slots__ = ("lead",)

    def __init__(self) -> None:
        self.lead: str = " "

    def parse(self, parser: Parser, state: ParseState) -> None:
        raise TypeError(type(self).__name__)

    def print(self, printer: Printer, operation: Operation) -> None:
        raise TypeError(type(self).__name__)

    def is_next(self, parser: Parser) -> bool:
        """Whether the text goes on with this piece; asked of the first piece of an optional group."""
        raise TypeError(type(self).__name__)

    def is_present(self, operation: Operation) -> bool:
        """Whether the operation has what this piece prints; asked of the anchor of an optional group."""
        raise TypeError(type(self).__name__)


def fail_custom(parser: Parser, state: ParseState, message: str, token: int = -1) -> NoReturn:
    """Refuse the text with the operation's name in front, as MLIR does for messages of an operation's own parser."""
    parser.fail(f"custom op '{state.declaration.name}' {message}", token)


def say_first(parser: Parser, state: ParseState, message: str, token: int = -1) -> None:
    """What NVIDIA's tools say in addition, before the error that follows; only the drop-ins repeat it."""
    if not parser.recover:
        place = parser.position if token < 0 else token
        name = state.declaration.name
        parser.diagnostics.append(Diagnostic("error", f"custom op '{name}' {message}", parser.location(place)))


class Literal(Directive):
    """A fixed word or punctuation mark."""

    __slots__ = ("is_word", "text")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: str = text
        self.is_word: bool = text[0].isalpha()

    def parse(self, parser: Parser, state: ParseState) -> None:
        if parser.tokens[parser.position] != self.text:
            if self.is_word:
                fail_custom(parser, state, f"expected '{self.text}'")
            parser.fail_missing(f"expected '{self.text}'")
        parser.position += 1

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.out.append(self.lead + self.text)

    def is_next(self, parser: Parser) -> bool:
        return parser.tokens[parser.position] == self.text

    def is_present(self, operation: Operation) -> bool:
        return True


class Blank(Directive):
    """One blank when printed, nothing when read."""

    __slots__ = ()

    def parse(self, parser: Parser, state: ParseState) -> None:
        return None

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.out.append(" ")


class Custom(Directive):
    """A directive written for one operation or a family of them.

    `slots` tells where the type of each declared operand and result goes that the rest of the format does not show.
    """

    __slots__ = ("declaration", "slots")

    def __init__(self, declaration: OperationDeclaration, arguments: str) -> None:
        super().__init__()
        self.declaration: OperationDeclaration = declaration
        self.slots: dict[str, int] = {}

    def bind(self, slots: dict[str, int]) -> None:
        self.slots = slots

    def form(self) -> str:
        """What it reads, in the notation of the reference (docs/operations); empty where the text shows nothing."""
        return ""

    def set_types(self, state: ParseState, name: str, types: list[Type]) -> None:
        state.types[self.slots[name]] = types

    def set_operands(self, state: ParseState, name: str, tokens: list[int]) -> None:
        state.operands[self.declaration.operand_number(name)] = tokens


CustomClass = Callable[[OperationDeclaration, str], Custom]


class Doubtful(Custom):
    """A directive whose text is at times read back as something else."""

    __slots__ = ()

    def is_ambiguous(self, operation: Operation) -> bool:
        """Whether the text of this operation would not give the operation back; it is then printed generically."""
        raise TypeError(type(self).__name__)


class SingleOperand(Directive):
    """One operand of an operation all of whose operands are single."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index: int = index

    def parse(self, parser: Parser, state: ParseState) -> None:
        position = parser.position
        if parser.tokens[position][:1] != "%":
            parser.fail_missing("expected SSA operand")
        state.operands[self.index] = [position]
        parser.position = position + 1

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.out.append(self.lead + printer.names[operation.operands[self.index]])

    def is_next(self, parser: Parser) -> bool:
        return parser.tokens[parser.position][:1] == "%"

    def is_present(self, operation: Operation) -> bool:
        return True


class OperandRow(Directive):
    """`$a ',' $b ...`: single operands with commas between, in one step."""

    __slots__ = ("indices",)

    def __init__(self, indices: list[int]) -> None:
        super().__init__()
        self.indices: list[int] = indices

    def parse(self, parser: Parser, state: ParseState) -> None:
        position = parser.position
        tokens = parser.tokens
        operands = state.operands
        for index in self.indices:
            if index:
                if tokens[position] != ",":
                    parser.position = position
                    parser.fail_missing("expected ','")
                position += 1
            if tokens[position][:1] != "%":
                parser.position = position
                parser.fail_missing("expected SSA operand")
            operands[index] = [position]
            position += 1
        parser.position = position

    def print(self, printer: Printer, operation: Operation) -> None:
        names = printer.names
        operands = operation.operands
        if len(operands) == 2:
            printer.out.append(f" {names[operands[0]]}, {names[operands[1]]}")
        else:
            printer.out.append(" " + ", ".join([names[value] for value in operands]))


class OperandGroup(Directive):
    """An operand that may be absent or be several values, or stands beside one that may."""

    __slots__ = ("index", "name", "several")

    def __init__(self, index: int, name: str, several: bool) -> None:
        super().__init__()
        self.index: int = index
        self.name: str = name
        self.several: bool = several

    def parse(self, parser: Parser, state: ParseState) -> None:
        if self.several:
            if parser.tokens[parser.position][:1] == "%":
                state.operands[self.index] = parser.parse_value_tokens()
            return
        if parser.tokens[parser.position][:1] != "%":
            parser.fail_missing("expected SSA operand")
        state.operands[self.index] = [parser.position]
        parser.position += 1

    def print(self, printer: Printer, operation: Operation) -> None:
        values = operation.operand_group(self.name)
        printer.out.append(self.lead + printer.value_list(values))

    def is_next(self, parser: Parser) -> bool:
        return parser.tokens[parser.position][:1] == "%"

    def is_present(self, operation: Operation) -> bool:
        return bool(operation.operand_group(self.name))


class TypeOf(Directive):
    """The type of an operand or result, or the types of several."""

    __slots__ = ("index", "is_result", "name", "several", "slot")

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

    def print(self, printer: Printer, operation: Operation) -> None:
        if self.index >= 0:
            value: Value = operation.results[self.index] if self.is_result else operation.operands[self.index]
            printer.out.append(self.lead + value.type.spelling)
            return
        printer.out.append(self.lead + ", ".join([value.type.spelling for value in self.values(operation)]))

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

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.out.append(self.lead + ", ".join([value.type.text for value in self.values(operation)]))


class Group(Directive):
    """`( ... )?`: present as a whole or not at all."""

    __slots__ = ("anchor", "pieces")

    def __init__(self, pieces: list[Directive], anchor: Directive) -> None:
        super().__init__()
        self.pieces: list[Directive] = pieces
        self.anchor: Directive = anchor

    def parse(self, parser: Parser, state: ParseState) -> None:
        if self.pieces[0].is_next(parser):
            for piece in self.pieces:
                piece.parse(parser, state)

    def print(self, printer: Printer, operation: Operation) -> None:
        if self.anchor.is_present(operation):
            for piece in self.pieces:
                piece.print(printer, operation)
