"""Helpers that create elementwise operations on tiles of any shape, and report errors, for passes that expand."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_ORDERING, COMPARISON_PREDICATE, SIGNEDNESS
from tileir.dialect.ops import ANDI, CMPF, CMPI, MAKE_TOKEN, SELECT, SHLI, SHRI, XORI
from tileir.dialect.types import TOKEN, TileType, with_element
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute, element_bytes
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.types import I1, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.rewrite.matching import tile_of
from tileir.rewrite.rewriter import Rewriter

Attributes = dict[str, Attribute]

UNSIGNED: Final[Attributes] = {"signedness": SIGNEDNESS["unsigned"]}
SIGNED: Final[Attributes] = {"signedness": SIGNEDNESS["signed"]}


def width_of(type: TileType) -> int:
    element = type.element
    return element.width if isinstance(element, (IntegerType, FloatType)) else 0


class Emit(Rewriter):
    """Creates operations in front of the one that is being replaced, at its location."""

    def __init__(self, before: Operation) -> None:
        super().__init__()
        self.insert_before(before)
        self.location = before.location

    def apply(
        self, declaration: OperationDeclaration, *operands: Value, attributes: Attributes = NO_ATTRIBUTES
    ) -> Value:
        """Create an operation whose result has the type of its first operand."""
        return self.create(declaration, list(operands), [operands[0].type], attributes).results[0]

    def convert(
        self, declaration: OperationDeclaration, value: Value, element: Type, attributes: Attributes = NO_ATTRIBUTES
    ) -> Value:
        return self.create(declaration, [value], [with_element(tile_of(value), element)], attributes).results[0]

    def bits(self, type: TileType, pattern: int) -> Value:
        """Create a constant from a bit pattern."""
        element = type.element
        data = (pattern & ((1 << width_of(type)) - 1)).to_bytes(element_bytes(element), "little")
        return self.constant(dense_attribute(type, type.shape, element, data))

    def number(self, type: TileType, value: float) -> Value:
        """Create the float constant nearest to a number."""
        return self.bits(type, from_double(FORMATS[type.element.spelling], value))

    def compare_floats(self, predicate: str, ordering: str, left: Value, right: Value) -> Value:
        attributes: Attributes = {
            "comparison_predicate": COMPARISON_PREDICATE[predicate],
            "comparison_ordering": COMPARISON_ORDERING[ordering],
        }
        return self.create(CMPF, [left, right], [with_element(tile_of(left), I1)], attributes).results[0]

    def compare_integers(self, predicate: str, sign: Attributes, left: Value, right: Value) -> Value:
        """Compare as SIGNED or UNSIGNED."""
        attributes: Attributes = {"comparison_predicate": COMPARISON_PREDICATE[predicate], **sign}
        return self.create(CMPI, [left, right], [with_element(tile_of(left), I1)], attributes).results[0]

    def select(self, condition: Value, chosen: Value, otherwise: Value) -> Value:
        return self.create(SELECT, [condition, chosen, otherwise], [chosen.type]).results[0]

    def shift_right(self, value: Value, amount: int) -> Value:
        return self.apply(SHRI, value, self.bits(tile_of(value), amount), attributes=UNSIGNED)

    def shift_left(self, value: Value, amount: int) -> Value:
        return self.apply(SHLI, value, self.bits(tile_of(value), amount))

    def masked(self, value: Value, mask: int) -> Value:
        return self.apply(ANDI, value, self.bits(tile_of(value), mask))

    def inverted(self, value: Value) -> Value:
        return self.apply(XORI, value, self.bits(tile_of(value), -1))


def defined_values(operation: Operation) -> list[Value]:
    """Return the results and block arguments of an operation."""
    arguments = [argument for region in operation.regions for block in region.blocks for argument in block.arguments]
    return [*operation.results, *arguments]


def taken_token(operation: Operation) -> Value:
    """Return the token that an operation takes; without one, a new token in front of it."""
    token = operation.token
    if token is None:
        token = Emit(operation).create(MAKE_TOKEN, [], [TOKEN]).results[0]
    return token


def raise_errors(errors: list[Diagnostic]) -> None:
    """Raise a `PassError` with all errors, if there are any."""
    if errors:
        failure = PassError(errors[0].message, errors[0].location)
        failure.diagnostics = errors
        raise failure
