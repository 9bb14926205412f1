"""The shapes of statements: what is left of one when the names of its values are taken out.

A text says few things in many lines: `%7 = addf %5, %6 : tile<4xf32>` has the shape of every addition of such tiles.
What a statement of some shape means depends on nothing but the types of its operands, so it is worked out once, by the
parser, and looked up from then on.

The shape is looked up piece by piece (`text/pieces.py`), from the one behind the first name to the one behind the last,
which reaches up to the first name of what follows.  Constants of one type have a shape each, but those of one number
differ from those of another in the number only.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import CONSTANT
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import TextLocation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.constants import scalar
from tileir.text.pieces import Piece
from tileir.text.syntax.directive import OperandRow
from tileir.text.syntax.format import Assembly
from tileir.text.syntax.views import TensorView

# What operands begin with whose names stand in their order, so that one may be named twice.
_IN_ORDER: Final = (OperandRow, TensorView)


class Meaning:
    """What statements of a shape are.

    `operands` tells which of the names of a statement is each operand; those of the results come first.  `name_token`
    is the place of the operation's name in the tokens, of which there are `token_count`.  Of the last piece so many
    tokens are `left`, for which `rest` stands where there are any.
    """

    __slots__ = (
        "attributes",
        "declaration",
        "left",
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
        left: int,
        rest: Piece | None,
    ) -> None:
        self.declaration: OperationDeclaration = declaration
        self.operands: list[int] = operands
        self.operand_types: list[Type] = operand_types
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes
        self.segments: tuple[int, ...] | None = segments
        self.name_token: int = name_token
        self.token_count: int = token_count
        self.left: int = left
        self.rest: Piece | None = rest


class Shape:
    """What is known of statements that are the same up to here: what may follow, or what they mean."""

    __slots__ = ("following", "meaning")

    def __init__(self, meaning: Meaning | None = None) -> None:
        self.following: dict[Piece, Shape] = {}
        self.meaning: Meaning | None = meaning


class Shapes:
    """All shapes that are known; `constants` by what they have in common with others."""

    __slots__ = ("constants", "first", "seen")

    def __init__(self) -> None:
        self.first: dict[Piece, Shape] = {}
        self.constants: dict[str, Meaning] = {}
        # The first and the last piece of statements that came once.
        self.seen: set[tuple[Piece, Piece]] = set()

    def learn(self, row: list[Piece], meaning: Meaning) -> None:
        """Note what statements mean that are made of these pieces."""
        following = self.first
        shape: Shape | None = None
        for piece in row:
            shape = following.get(piece)
            if shape is None:
                shape = following[piece] = Shape()
            following = shape.following
        if shape is None:
            return
        shape.meaning = meaning
        if meaning.declaration is CONSTANT and len(meaning.attributes) == 1 and row[0].is_constant:
            if scalar(meaning.result_types[0], _number(row[0])) is meaning.attributes["value"]:
                self.constants[_form(row[0])] = meaning

    def constant(self, piece: Piece) -> Shape | None:
        """The shape of a constant that is new only in its number; None where there is none."""
        meaning = self.constants.get(_form(piece))
        if meaning is None:
            return None
        value = scalar(meaning.result_types[0], _number(piece))
        if value is None:
            return None
        shape = self.first[piece] = Shape(_with_value(meaning, value, piece))
        return shape


def _number(piece: Piece) -> str:
    tokens = piece.tokens
    return f"-{tokens[6]}" if tokens[5] == "-" else tokens[5]


def _form(piece: Piece) -> str:
    """What is left of a constant without its number."""
    tokens = piece.tokens
    return f"{tokens[1]} {tokens[3]} {' '.join(tokens[7 if tokens[5] == '-' else 6 :])}"


def _with_value(meaning: Meaning, value: Attribute, piece: Piece) -> Meaning:
    return Meaning(
        meaning.declaration,
        meaning.operands,
        meaning.operand_types,
        meaning.result_types,
        {"value": value},
        meaning.segments,
        meaning.name_token,
        1 + piece.count - meaning.left,
        meaning.left,
        piece.rest(piece.count - meaning.left) if meaning.left else None,
    )


def meaning_of(
    operation: Operation, tokens: list[str], start: int, names: list[str], values: dict[str, Value]
) -> Meaning | None:
    """What statements mean that are like one of these tokens and names, if that is certain.

    `operation` is what came of it, `start` the number of its first token.  What is left of its last piece is not known
    here.
    """
    location = operation.location
    if operation.regions or operation.successors is not None or not isinstance(location, TextLocation):
        return None
    name_token = location.token - start
    if not 0 <= name_token < len(tokens):
        return None
    head = tokens[:name_token]
    results = len([token for token in head if token[:1] == "%"])
    # One name for each.
    if results != len(operation.results) or ":" in head:
        return None
    order = _order(operation, [values.get(name) for name in names[results:]])
    if order is None:
        return None
    return Meaning(
        operation.declaration,
        [results + index for index in order],
        [value.type for value in operation.operands],
        [value.type for value in operation.results],
        operation.attributes,
        operation.segments,
        name_token,
        len(tokens),
        0,
        None,
    )


def _order(operation: Operation, taken: list[Value | None]) -> list[int] | None:
    """Which of the values that a text names each operand is; None where that is not certain."""
    operands = operation.operands
    if len(taken) != len(operands):
        return None
    assembly = operation.declaration.assembly
    if len(taken) > 1 and not (isinstance(assembly, Assembly) and isinstance(assembly.directives[0], _IN_ORDER)):
        if len(set(taken)) != len(taken) or set(taken) != set(operands):
            return None
        return [taken.index(operand) for operand in operands]
    for named, operand in zip(taken, operands, strict=True):
        if named is not operand:
            return None
    return list(range(len(taken)))
