"""What a program computes, as a graph of pure terms in which equal values are one node.

Two programs share one graph, so an optimized value that is the same term needs no further proof.  A term is a total
function of its operands: arithmetic wraps and promises (`overflow`, `assume`) are left to `effects.py`.  The canonical
form is chosen for independence from the passes it checks, not for speed:

* integers are polynomials modulo 2^n: sums, differences, products, negations and shifts by constants become `sum`;
* truth values have `not`, `and`, `equal` and `less` only; `ori` is De Morgan's;
* `select`, the results of `if` and extended truth values are `choose`;
* a tile whose elements are all one scalar is a `splat` of it, and elementwise operations move inside;
* the sum of two floats does not depend on their order; every other operation on floats is an uninterpreted function.

What differs after that may still be equal: `bit_vectors.py` queries the solver.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType, scalar_tile, with_element
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, IntegerType, Type

# Kinds of terms that are no operations.
SYMBOL: Final = "symbol"
NUMBER: Final = "number"  # a scalar; the payload is its bits
SPLAT: Final = "splat"
SUM: Final = "sum"  # the payload is the coefficients of the operands and the constant
PRODUCT: Final = "product"
NOT: Final = "not"
AND: Final = "and"
EQUAL: Final = "equal"  # the operand, a sum without constant, equals the number in the payload; of truth values, both
LESS: Final = "less"  # the payload is whether it is signed
CHOOSE: Final = "choose"

Kind = str | OperationDeclaration

_MOST_PRODUCTS: Final = 16
"""Of sums that are multiplied out."""


class Term:
    """A node of the graph; equal terms are one object."""

    __slots__ = ("kind", "number", "operands", "payload", "type")

    def __init__(self, kind: Kind, type: Type | None, operands: tuple[Term, ...], payload: Any, number: int) -> None:
        self.kind: Kind = kind
        self.type: Type | None = type
        self.operands: tuple[Term, ...] = operands
        self.payload: Any = payload
        self.number: int = number

    def __repr__(self) -> str:
        name = self.kind if isinstance(self.kind, str) else self.kind.mnemonic
        payload = f"{self.payload}" if self.payload != () else ""
        return f"{name}{payload}({', '.join([repr(each) for each in self.operands])})"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape if isinstance(self.type, TileType) else ()

    @property
    def width(self) -> int:
        """The bits of an integer element, else 0."""
        element = self.type.element if isinstance(self.type, TileType) else None
        return element.width if isinstance(element, IntegerType) else 0

    @property
    def bits(self) -> int | None:
        """The bits of every element, if this is a number or a splat of one."""
        term = self.operands[0] if self.kind == SPLAT else self
        bits: int | None = term.payload if term.kind == NUMBER else None
        return bits


class Graph:
    """All terms of a comparison."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Term] = {}
        self.true: Term = self.number_of(scalar_tile(I1), 1)
        self.false: Term = self.number_of(scalar_tile(I1), 0)

    def __len__(self) -> int:
        return len(self._known)

    def make(self, kind: Kind, type: Type | None, operands: Iterable[Term] = (), payload: Any = ()) -> Term:
        """The term of exactly this form."""
        operands = tuple(operands)
        key = (kind, type, payload, *[operand.number for operand in operands])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Term(kind, type, operands, payload, len(self._known))
        return found

    def terms(self) -> list[Term]:
        return list(self._known.values())

    def symbol(self, name: object, type: Type | None) -> Term:
        """A value that nothing is known of but its name."""
        return self.make(SYMBOL, type, (), name)

    def number_of(self, type: Type, bits: int) -> Term:
        """A number in every element."""
        assert isinstance(type, TileType)
        scalar = self.make(NUMBER, scalar_tile(type.element), (), bits & mask_of(type))
        return self.splat(scalar, type)

    def constant(self, elements: DenseAttribute, type: Type) -> Term:
        if elements.is_splat and isinstance(type, TileType):
            return self.number_of(type, elements.bits(0))
        return self.make(CONSTANT, type, (), elements)

    def elements(self, term: Term) -> DenseAttribute | None:
        """The elements of a constant."""
        if term.kind is CONSTANT:
            elements: DenseAttribute = term.payload
            return elements
        if term.bits is None or not isinstance(term.type, TileType):
            return None
        element = term.type.element
        data = term.bits.to_bytes(element_bytes(element), "little")
        return dense_attribute(term.type, term.type.shape, element, data)

    def splat(self, scalar: Term, type: Type) -> Term:
        assert isinstance(type, TileType)
        return self.make(SPLAT, type, (scalar,)) if type.shape else scalar

    # --- integers modulo 2^n ---

    def linear(self, term: Term) -> tuple[dict[Term, int], int]:
        """A term as coefficients of other terms, and a constant."""
        bits = term.bits
        if bits is not None:
            return {}, bits
        if term.kind == SUM:
            return dict(zip(term.operands, term.payload[0], strict=True)), term.payload[1]
        if term.kind == SPLAT and term.operands[0].kind == SUM:
            assert term.type is not None
            inner, constant = self.linear(term.operands[0])
            return {self.splat(each, term.type): coefficient for each, coefficient in inner.items()}, constant
        return {term: 1}, 0

    def sum_of(self, parts: dict[Term, int], constant: int, type: Type) -> Term:
        mask = mask_of(type)
        kept = {term: coefficient & mask for term, coefficient in parts.items() if coefficient & mask}
        constant &= mask
        if not kept:
            return self.number_of(type, constant)
        if len(kept) == 1 and constant == 0 and 1 in kept.values():
            return next(iter(kept))
        assert isinstance(type, TileType)
        if type.shape and all(term.kind == SPLAT for term in kept):
            scalars = {term.operands[0]: coefficient for term, coefficient in kept.items()}
            return self.splat(self.sum_of(scalars, constant, scalar_tile(type.element)), type)
        terms = sorted(kept, key=by_number)
        return self.make(SUM, type, terms, (tuple([kept[term] for term in terms]), constant))

    def plus(self, left: Term, right: Term, factor: int = 1) -> Term:
        """`left + factor * right`."""
        assert left.type is not None
        parts, constant = self.linear(left)
        added, more = self.linear(right)
        for term, coefficient in added.items():
            parts[term] = parts.get(term, 0) + factor * coefficient
        return self.sum_of(parts, constant + factor * more, left.type)

    def times(self, left: Term, right: Term) -> Term:
        assert left.type is not None
        one, constant = self.linear(left)
        other, more = self.linear(right)
        if (len(one) + 1) * (len(other) + 1) > _MOST_PRODUCTS and one and other:
            return self._product(left, right)
        parts: dict[Term, int] = {}
        for term, coefficient in one.items():
            parts[term] = parts.get(term, 0) + coefficient * more
            for second, factor in other.items():
                product = self._product(term, second)
                parts[product] = parts.get(product, 0) + coefficient * factor
        for second, factor in other.items():
            parts[second] = parts.get(second, 0) + constant * factor
        return self.sum_of(parts, constant * more, left.type)

    def _product(self, left: Term, right: Term) -> Term:
        assert left.type is not None
        if left.kind == SPLAT and right.kind == SPLAT:
            return self.splat(self._product(left.operands[0], right.operands[0]), left.type)
        factors = [factor for each in (left, right) for factor in (each.operands if each.kind == PRODUCT else (each,))]
        return self.make(PRODUCT, left.type, sorted(factors, key=by_number))

    def complement(self, term: Term) -> Term:
        """All bits inverted."""
        if term.width == 1:
            return self.negation(term)
        assert term.type is not None
        return self.plus(self.number_of(term.type, -1), term, -1)

    # --- truth values ---

    def negation(self, term: Term) -> Term:
        assert term.type is not None
        if term.kind == SPLAT:
            return self.splat(self.negation(term.operands[0]), term.type)
        if term.kind == NUMBER:
            return self.number_of(term.type, 1 - term.payload)
        return term.operands[0] if term.kind == NOT else self.make(NOT, term.type, (term,))

    def both(self, *terms: Term) -> Term:
        """Bitwise and of terms of one type; of truth values, whether all hold."""
        type = terms[0].type
        assert isinstance(type, TileType)
        if type.shape and all(term.kind == SPLAT for term in terms):
            return self.splat(self.both(*[term.operands[0] for term in terms]), type)
        constant = mask_of(type)
        parts: set[Term] = set()
        for term in terms:
            for part in term.operands if term.kind == AND else (term,):
                bits = part.bits
                if bits is None:
                    parts.add(part)
                else:
                    constant &= bits
        if constant == 0 or any(self.complement(part) in parts for part in parts):
            return self.number_of(type, 0)
        ordered = sorted(parts, key=by_number)
        if constant != mask_of(type) or not ordered:
            ordered.append(self.number_of(type, constant))
        return ordered[0] if len(ordered) == 1 else self.make(AND, type, ordered)

    def either(self, *terms: Term) -> Term:
        return self.complement(self.both(*[self.complement(term) for term in terms]))

    def equal(self, left: Term, right: Term) -> Term:
        """Whether two integers are equal, element by element."""
        assert isinstance(left.type, TileType)
        truth = with_element(left.type, I1)
        if left.kind == SPLAT and right.kind == SPLAT:
            return self.splat(self.equal(left.operands[0], right.operands[0]), truth)
        if left.width == 1:
            return self._same_truth(left, right)
        for one, other in ((left, right), (right, left)):
            if one.kind == CHOOSE and one.operands[1].bits is not None and one.operands[2].bits is not None:
                if other.bits is not None:
                    found = [self.number_of(truth, int(arm.bits == other.bits)) for arm in one.operands[1:]]
                    return self.choose(one.operands[0], *found)
        difference = self.plus(left, right, -1)
        parts, constant = self.linear(difference)
        if not parts:
            return self.number_of(truth, int(constant == 0))
        # x - y = c and y - x = -c are one equation: the first coefficient is in the lower half.
        if next(iter(sorted(parts.items(), key=lambda part: part[0].number)))[1] > mask_of(left.type) // 2:
            parts, constant = {term: -coefficient for term, coefficient in parts.items()}, -constant
        return self.make(EQUAL, truth, (self.sum_of(parts, 0, left.type),), -constant & mask_of(left.type))

    def _same_truth(self, left: Term, right: Term) -> Term:
        assert left.type is not None
        flipped = 0
        sides: list[Term] = []
        for side in (left, right):
            if side.kind == NOT:
                side, flipped = side.operands[0], 1 - flipped
            if side.bits is not None:
                flipped ^= 1 - side.bits
            else:
                sides.append(side)
        if len(sides) == 2 and sides[0] is sides[1]:
            sides = []
        if not sides:
            return self.number_of(left.type, 1 - flipped)
        if len(sides) == 2:
            sides = [self.make(EQUAL, left.type, sorted(sides, key=by_number))]
        return self.negation(sides[0]) if flipped else sides[0]

    def less(self, left: Term, right: Term, signed: bool) -> Term:
        assert isinstance(left.type, TileType)
        truth = with_element(left.type, I1)
        if left.kind == SPLAT and right.kind == SPLAT:
            return self.splat(self.less(left.operands[0], right.operands[0], signed), truth)
        if left is right:
            return self.number_of(truth, 0)
        half, mask = 1 << (left.width - 1), mask_of(left.type)
        least, greatest = (half, half - 1) if signed else (0, mask)
        if right.bits == least or left.bits == greatest:
            return self.number_of(truth, 0)
        if left.bits is not None and right.bits is not None:
            sign = half if signed else 0
            return self.number_of(truth, int((left.bits ^ sign) < (right.bits ^ sign)))
        # One form for each of the comparisons that mean the same next to a constant.
        if right.bits is not None and (right.bits - 1) & mask == least:
            return self.equal(left, self.number_of(left.type, least))
        if left.bits is not None and (left.bits + 1) & mask == greatest:
            return self.equal(right, self.number_of(left.type, greatest))
        if left.bits is not None:
            # k < x is not x < k + 1, and k is not the greatest number.
            return self.negation(self.less(right, self.number_of(left.type, left.bits + 1), signed))
        return self.make(LESS, truth, (left, right), signed)

    # --- choices ---

    def choose(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        """`select`, and the result of an `if`, whose condition is a scalar also where the arms are tiles."""
        type = chosen.type
        if chosen is otherwise:
            return chosen
        if condition.bits is not None:
            return chosen if condition.bits else otherwise
        if isinstance(type, TileType) and type.shape and not condition.shape:
            condition = self.splat(condition, with_element(type, I1))
        negated = condition.operands[0] if condition.kind == SPLAT else condition
        if negated.kind == NOT:
            return self.choose(self.negation(condition), otherwise, chosen)
        if chosen.kind == CHOOSE and chosen.operands[0] is condition:
            return self.choose(condition, chosen.operands[1], otherwise)
        if otherwise.kind == CHOOSE and otherwise.operands[0] is condition:
            return self.choose(condition, chosen, otherwise.operands[2])
        if isinstance(type, TileType) and type.shape and condition.kind == SPLAT:
            if chosen.kind == SPLAT and otherwise.kind == SPLAT:
                arms = [condition.operands[0], chosen.operands[0], otherwise.operands[0]]
                return self.splat(self.choose(*arms), type)
        if chosen.width == 1:
            return self._choose_truth(condition, chosen, otherwise)
        if chosen.width and self.equal(chosen, otherwise) is condition:
            return otherwise
        return self.make(CHOOSE, type, (condition, chosen, otherwise))

    def _choose_truth(self, condition: Term, chosen: Term, otherwise: Term) -> Term:
        if chosen.bits is not None:
            if chosen.bits:
                return self.either(condition, otherwise)
            return self.both(self.negation(condition), otherwise)
        if otherwise.bits is not None:
            if otherwise.bits:
                return self.either(self.negation(condition), chosen)
            return self.both(condition, chosen)
        return self.make(CHOOSE, chosen.type, (condition, chosen, otherwise))


def by_number(term: Term) -> int:
    return term.number


def mask_of(type: Type) -> int:
    assert isinstance(type, TileType)
    element = type.element
    width = element.width if isinstance(element, IntegerType) else 64
    return (1 << width) - 1
