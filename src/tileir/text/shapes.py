"""The shapes of statements: what is left of one when the names of its values are taken out.

A long text says few things in many lines: `%7 = addf %5, %6 : tile<4xf32>` has the shape of every addition of such
tiles.  What a statement of some shape means depends on nothing but the types of its operands, so it is worked out once,
by the parser, and looked up from then on.

The shape is looked up piece by piece, from the text behind the first name to the text behind the last one, which
reaches up to the first name of what follows.  Constants of one type have a shape each, but those of one number differ
from those of another in the number only.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, parse_float
from tileir.ir.location import TextLocation
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.text.directive import OperandRow
from tileir.text.format import Assembly
from tileir.text.lexer import TOKEN, tokenize

# What the lexer takes for blanks.
BLANKS: Final = " \t\n\r\f\v"

_CONSTANT: Final = " = constant <"
_NUMBER: Final = re.compile(r"-?\d{1,30}(\.\d*(?:[eE][+\-]?\d+)?)?", re.ASCII)


class Meaning:
    """What statements of a shape are.

    `operands` tells where the name of each operand stands: names and the texts between them are numbered together, from
    the text in which the statement begins.  `name_token` is the place of the operation's name in the tokens.  `rest` is
    the part of the last text that belongs to what follows.
    """

    __slots__ = (
        "attributes",
        "declaration",
        "name_token",
        "operand_types",
        "operands",
        "rest",
        "result_types",
        "segments",
        "token_count",
    )

    def __init__(
        self,
        declaration: OperationDeclaration,
        operands: list[int],
        operand_types: list[Type],
        result_types: list[Type],
        attributes: dict[str, Attribute],
        segments: tuple[int, ...] | None,
        name_token: int,
        token_count: int,
        rest: str,
    ) -> None:
        self.declaration: OperationDeclaration = declaration
        self.operands: list[int] = operands
        self.operand_types: list[Type] = operand_types
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes
        self.segments: tuple[int, ...] | None = segments
        self.name_token: int = name_token
        self.token_count: int = token_count
        self.rest: str = rest


class Shape:
    """What is known of statements that are the same up to here: what may follow, or what they mean."""

    __slots__ = ("following", "meaning")

    def __init__(self, meaning: Meaning | None = None) -> None:
        self.following: dict[str, Shape] = {}
        self.meaning: Meaning | None = meaning


class Shapes:
    """All shapes that are known; `constants` by their texts without the number."""

    __slots__ = ("constants", "first")

    def __init__(self) -> None:
        self.first: Shape = Shape()
        self.constants: dict[str, Meaning] = {}

    def learn(self, sample: Sample, operation: Operation, values: dict[str, Value]) -> None:
        """Note what statements mean that are like one that was read, if that is certain."""
        meaning = sample.meaning(operation, values)
        if meaning is None:
            return
        texts = sample.texts
        shape = self.first
        for text in texts if texts[0] else texts[1:]:
            following = shape.following.get(text)
            if following is None:
                following = shape.following[text] = Shape()
            shape = following
        shape.meaning = meaning
        if operation.declaration is CONSTANT and texts[-1].startswith(_CONSTANT) and len(meaning.attributes) == 1:
            begin, end = _number_place(texts[-1])
            number = texts[-1][begin:end]
            if number and scalar(meaning.result_types[0], number) is meaning.attributes["value"]:
                self.constants[texts[-1][:begin] + texts[-1][end:]] = _with_value(meaning, None, -_sign(number))

    def constant(self, text: str) -> Shape | None:
        """The shape of a constant that is new only in its number; None where there is none."""
        begin, end = _number_place(text)
        meaning = self.constants.get(text[:begin] + text[end:])
        if meaning is None:
            return None
        number = text[begin:end]
        value = scalar(meaning.result_types[0], number)
        if value is None:
            return None
        shape = self.first.following[text] = Shape(_with_value(meaning, value, _sign(number)))
        return shape


def _number_place(text: str) -> tuple[int, int]:
    """Where in the text of a constant its number would stand."""
    begin = text.find(": ", len(_CONSTANT)) + 2
    return begin, text.find(">", begin)


def _sign(number: str) -> int:
    """The sign is a token of its own."""
    return 1 if number[0] == "-" else 0


def _with_value(meaning: Meaning, value: Attribute | None, more_tokens: int) -> Meaning:
    return Meaning(
        meaning.declaration,
        meaning.operands,
        meaning.operand_types,
        meaning.result_types,
        {} if value is None else {"value": value},
        meaning.segments,
        meaning.name_token,
        meaning.token_count + more_tokens,
        meaning.rest,
    )


def scalar(type: Type, number: str) -> Attribute | None:
    """The value of a constant tile that is one decimal number; None where the parser has to look at it."""
    match = _NUMBER.fullmatch(number)
    if match is None or not isinstance(type, TileType):
        return None
    element = type.element
    if isinstance(element, FloatType):
        if match[1] is None:
            return None
        try:
            bits = parse_float(FORMATS[element.name], number)
        except ValueError:
            return None
    elif isinstance(element, IntegerType) and match[1] is None:
        bits = int(number)
        if not -(1 << (element.width - 1)) <= bits < 1 << element.width:
            return None
        bits &= (1 << element.width) - 1
    else:
        return None
    return dense_attribute(type, type.shape, element, bits.to_bytes(element_bytes(element), "little"))


class Sample:
    """A statement that was read: its tokens from the number `start` on, and the texts before and behind each name."""

    __slots__ = ("names", "start", "texts", "tokens")

    def __init__(self, start: int, tokens: list[str], pieces: list[str], first: int, begin: str) -> None:
        self.start: int = start
        self.tokens: list[str] = tokens
        self.names: list[str] = [token for token in tokens if token[:1] == "%"]
        last = first + 2 * len(self.names)
        self.texts: list[str] = []
        # A name in a comment or in a string is none.
        if self.names and last < len(pieces) and pieces[first + 1 : last : 2] == self.names:
            self.texts = [begin, *pieces[first + 2 : last + 1 : 2]]

    @property
    def is_constant(self) -> bool:
        return len(self.texts) == 2 and self.texts[1].startswith(_CONSTANT)

    def meaning(self, operation: Operation, values: dict[str, Value]) -> Meaning | None:
        """What statements of this shape mean, if that is certain; `operation` is what came of this one."""
        location = operation.location
        if operation.regions or operation.successors is not None or not isinstance(location, TextLocation):
            return None
        name_token = location.token - self.start
        if not 0 <= name_token < len(self.tokens):
            return None
        results = self._result_count(operation, name_token)
        if results < 0:
            return None
        order = _order(operation, [values.get(name) for name in self.names[results:]])
        tail, line_end, rest = self.texts[-1].partition("\n")
        if order is None or not line_end or not self._is_made_of([*self.texts[:-1], tail]):
            return None
        return Meaning(
            operation.declaration,
            [2 * (results + index) + 1 for index in order],
            [value.type for value in operation.operands],
            [value.type for value in operation.results],
            operation.attributes,
            operation.segments,
            name_token,
            len(self.tokens),
            rest.lstrip(BLANKS),
        )

    def _result_count(self, operation: Operation, name_token: int) -> int:
        """How many names stand before the operation's name; -1 where they are not one for each result."""
        head = self.tokens[:name_token]
        results = [token for token in head if token[:1] == "%"]
        return len(results) if len(results) == len(operation.results) and ":" not in head else -1

    def _is_made_of(self, texts: list[str]) -> bool:
        """Whether the tokens are those of each text and of each name by itself.

        So it is wherever no string and no comment begins: no other token can have a name in it.
        """
        found: list[str] = []
        for index, text in enumerate(texts):
            if '"' in text or "//" in text or "%" in text:
                return False
            found.extend([token for token in tokenize(text) if token])
            if index < len(self.names):
                found.append(self.names[index])
        return found == self.tokens


class PieceTokens:
    """The tokens of a text between two names, up to the end of a line if it has one (`is_last`).

    Of what follows in the next lines, `rest`, the first tokens are in `ahead`.  Only what is `is_plain` is certain to
    have these tokens wherever it stands.
    """

    __slots__ = ("ahead", "is_last", "is_plain", "open_brackets", "rest", "tokens")

    def __init__(self, text: str) -> None:
        line, line_end, rest = text.partition("\n")
        self.is_last: bool = line_end != ""
        self.rest: str = rest.lstrip(BLANKS)
        self.tokens: list[str] = [token for token in tokenize(line) if token]
        self.ahead: list[str] = []
        match = TOKEN.match(self.rest)
        while match is not None and match[1] and len(self.ahead) < 2:
            self.ahead.append(match[1])
            match = TOKEN.match(self.rest, match.end())
        self.open_brackets: int = open_at_end(self.tokens)
        self.is_plain: bool = not ('"' in text or "//" in text or "%" in text)
        if self.tokens.count("<") != self.tokens.count(">"):
            self.is_plain = False


def open_at_end(tokens: list[str]) -> int:
    """How many brackets within which statements may go on in the next line are open behind tokens."""
    return tokens.count("(") - tokens.count(")") + tokens.count("[") - tokens.count("]")


def _order(operation: Operation, taken: list[Value | None]) -> list[int] | None:
    """Which of the values that a text names each operand is; None where that is not certain."""
    operands = operation.operands
    if len(taken) != len(operands):
        return None
    assembly = operation.declaration.assembly
    if len(taken) > 1 and not (isinstance(assembly, Assembly) and isinstance(assembly.directives[0], OperandRow)):
        if len(set(taken)) != len(taken) or set(taken) != set(operands):
            return None
        return [taken.index(operand) for operand in operands]
    for named, operand in zip(taken, operands, strict=True):
        if named is not operand:
            return None
    return list(range(len(taken)))
