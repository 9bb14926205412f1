"""The term of an operation on terms: one rule for each operation that has a canonical form.

A rule returns None where the operation stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tileir.dialect.ops import (
    ADDF,
    ADDI,
    ANDI,
    ASSUME,
    BROADCAST,
    CMPI,
    CONSTANT,
    EXTI,
    EXTRACT,
    MAXI,
    MINI,
    MULI,
    NEGI,
    NOTI,
    ORI,
    PERMUTE,
    RESHAPE,
    SELECT,
    SHLI,
    SHRI,
    SUBI,
    TRUNCI,
    XORI,
)
from tileir.dialect.types import TileType, scalar_tile
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import Type
from tileir.proofs.equivalence.value_graph import CHOOSE, SPLAT, SUM, Graph, Term, by_number, mask_of
from tileir.rewrite.folds import add_constants
from tileir.rewrite.simplifier_rules import OPERATORS, evaluate, evaluate_tiles, integer_width

# Attributes without a meaning for results, and those that are promises.
_WITHOUT_MEANING: Final = frozenset(("overflow", "optimization_hints", "inbounds"))

Payload = tuple[Any, ...]
Rule = Callable[[Graph, tuple[Term, ...], TileType, Payload], Term | None]


def payload_of(operation: Operation) -> Payload:
    """The attributes of an operation that have a meaning."""
    names = [name for name in operation.declaration.inherent if name not in _WITHOUT_MEANING]
    return tuple([(name, operation.attribute(name)) for name in names]) + (
        (("segments", operation.segments),) if operation.segments is not None else ()
    )


def applied(
    graph: Graph, operation: OperationDeclaration, operands: Iterable[Term], type: Type, payload: Payload
) -> Term:
    """The canonical term of an operation with one result; `payload` is its attributes that have a meaning."""
    operands = tuple(operands)
    if not isinstance(type, TileType):
        return graph.make(operation, type, operands, payload)
    if type.shape and operation.traits & ELEMENTWISE and all(each.kind == SPLAT for each in operands):
        inner = applied(graph, operation, [each.operands[0] for each in operands], scalar_tile(type.element), payload)
        return graph.splat(inner, type)
    rule = _RULES.get(operation)
    found = _folded(graph, operation, operands, type, payload)
    if found is None and rule is not None:
        found = rule(graph, operands, type, payload)
    return found if found is not None else graph.make(operation, type, operands, payload)


def _keyword(payload: Payload, name: str) -> str:
    """A keyword of an enumeration among the attributes of a term."""
    return next(str(value.keyword) for key, value in payload if key == name)


def _computed(
    graph: Graph, operation: OperationDeclaration, operands: tuple[Term, ...], type: TileType, payload: Payload
) -> Term | None:
    """The number that an operation on numbers is."""
    bits = tuple([each.bits for each in operands if each.bits is not None])
    if len(bits) < len(operands) or not operands[-1].width:
        return None
    found = evaluate(operation, _flags(operation, payload), (operands[-1].width, mask_of(type).bit_length()), bits)
    return None if found is None else graph.number_of(type, found)


def _folded(
    graph: Graph, operation: OperationDeclaration, operands: tuple[Term, ...], type: TileType, payload: Payload
) -> Term | None:
    """The constant that an integer operation on constants is, some of which have different elements."""
    if operation not in OPERATORS or not any(each.kind is CONSTANT for each in operands):
        return None
    elements = [graph.elements(each) for each in operands]
    if None in elements or not operands[-1].width or not integer_width(type):
        return None
    known = [each for each in elements if each is not None]
    found = evaluate_tiles(operation, _flags(operation, payload), known, type)
    return None if found is None else graph.constant(found, type)


def _flags(operation: OperationDeclaration, payload: Payload) -> tuple[str, ...]:
    return tuple(["none" if name == "overflow" else _keyword(payload, name) for name in OPERATORS[operation]])


def _exclusive_or(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    left, right = operands
    if left.width == 1:
        return graph.negation(graph.equal(left, right))
    parts: set[Term] = set()
    constant = 0
    for operand in operands:
        for part in operand.operands if operand.kind is XORI else (operand,):
            if part.bits is not None:
                constant ^= part.bits
            else:
                # What is there twice is not there.
                parts ^= {part}
    ordered = sorted(parts, key=by_number)
    whole = graph.make(XORI, type, ordered) if len(ordered) > 1 else graph.sum_of(dict.fromkeys(ordered, 1), 0, type)
    if constant in (0, mask_of(type)):
        return graph.complement(whole) if constant else whole
    if constant == 1 << (left.width - 1):
        # Flipping the highest bit is adding it.
        return graph.plus(whole, graph.number_of(type, constant))
    if not ordered:
        return graph.number_of(type, constant)
    return graph.make(XORI, type, [*ordered, graph.number_of(type, constant)])


def _comparison(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    left, right = operands
    predicate, signed = _keyword(payload, "comparison_predicate"), _keyword(payload, "signedness") == "signed"
    if predicate in ("equal", "not_equal"):
        found = graph.equal(left, right)
        return found if predicate == "equal" else graph.negation(found)
    if predicate.startswith("greater"):
        left, right = right, left
    if predicate.endswith("or_equal"):
        return graph.negation(graph.less(right, left, signed))
    return graph.less(left, right, signed)


def _extension(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    (source,) = operands
    signed = _keyword(payload, "signedness") == "signed"
    if source.bits is not None:
        return _computed(graph, EXTI, operands, type, payload)
    if source.width == 1:
        return graph.choose(source, graph.number_of(type, -1 if signed else 1), graph.number_of(type, 0))
    if source.kind is EXTI and (signed == (_keyword(source.payload, "signedness") == "signed") or signed):
        # A number extended with zeros is not negative.
        return applied(graph, EXTI, source.operands, type, source.payload)
    return None


def _truncation(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    (source,) = operands
    if source.bits is not None:
        return graph.number_of(type, source.bits)
    if source.kind is EXTI:
        inner = source.operands[0]
        width = mask_of(type).bit_length()
        if inner.width == width:
            return inner
        if inner.width > width:
            return applied(graph, TRUNCI, (inner,), type, payload)
        return applied(graph, EXTI, (inner,), type, source.payload)
    if source.kind is TRUNCI:
        return applied(graph, TRUNCI, source.operands, type, payload)
    if source.kind == SUM and mask_of(type) > 1:
        parts: dict[Term, int] = {}
        terms, constant = graph.linear(source)
        for term, coefficient in terms.items():
            cut = applied(graph, TRUNCI, (term,), type, payload)
            parts[cut] = parts.get(cut, 0) + coefficient
        total = graph.number_of(type, constant)
        for term, coefficient in parts.items():
            total = graph.plus(total, term, coefficient)
        return total
    return None


def _left_shift(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    value, amount = operands
    if value.bits == 0:
        return value
    if amount.bits is not None and amount.bits < value.width and value.width > 1:
        return graph.times(value, graph.number_of(type, 1 << amount.bits))
    return value if amount.bits == 0 else None


def _right_shift(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    value, amount = operands
    signed = _keyword(payload, "signedness") == "signed"
    if amount.bits == 0 or value.bits == 0 or (signed and value.bits == mask_of(type)):
        return value
    return _computed(graph, SHRI, operands, type, payload)


def _extremum(operation: OperationDeclaration) -> Rule:
    def rule(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
        left, right = sorted(operands, key=by_number)
        if left is right:
            return left
        found = _computed(graph, operation, operands, type, payload)
        if found is not None:
            return found
        half, mask = 1 << (left.width - 1), mask_of(type)
        least, greatest = (half, half - 1) if _keyword(payload, "signedness") == "signed" else (0, mask)
        absorbing, neutral = (least, greatest) if operation is MINI else (greatest, least)
        for one, other in ((left, right), (right, left)):
            if one.bits == neutral:
                return other
            if one.bits == absorbing:
                return one
        return graph.make(operation, type, (left, right), payload)

    return rule


def _float_sum(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    left, right = [graph.elements(each) for each in operands]
    if left is not None and right is not None:
        flush = any(name == "flush_to_zero" and value is not None for name, value in payload)
        total = add_constants(left, right, _keyword(payload, "rounding_mode"), flush)
        if total is not None:
            return graph.constant(total, type)
    return graph.make(ADDF, type, sorted(operands, key=by_number), payload)


def _reshaped(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    (source,) = operands
    if source.type is type:
        return source
    if source.kind == SPLAT:
        return graph.splat(source.operands[0], type)
    if not source.shape:
        return graph.splat(source, type)
    if source.kind is RESHAPE:
        return applied(graph, RESHAPE, source.operands, type, payload)
    return None


def _broadcast(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    (source,) = operands
    if source.type is type:
        return source
    if source.kind == SPLAT:
        return graph.splat(source.operands[0], type)
    return graph.splat(source, type) if not source.shape else None


def _permuted(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    (source,) = operands
    return graph.splat(source.operands[0], type) if source.kind == SPLAT else None


def _extracted(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    source = operands[0]
    if source.kind == SPLAT:
        return graph.splat(source.operands[0], type)
    return None


def _selected(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    return graph.choose(*operands)


def _logical(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    return _over_choice(graph, ANDI, operands, type) or graph.both(*operands)


def _over_choice(
    graph: Graph, operation: OperationDeclaration, operands: tuple[Term, ...], type: TileType
) -> Term | None:
    """`andi` of a number and a choice between two numbers."""
    for one, other in (operands, operands[::-1]):
        if one.kind == CHOOSE and other.bits is not None:
            arms = [arm.bits & other.bits for arm in one.operands[1:] if arm.bits is not None]
            if len(arms) == 2:
                return graph.choose(one.operands[0], *[graph.number_of(type, bits) for bits in arms])
    return None


def _multiplied(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    return graph.both(*operands) if operands[0].width == 1 else graph.times(*operands)


def _added(factor: int) -> Rule:
    def rule(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
        if operands[0].width == 1:
            return graph.negation(graph.equal(*operands))
        return graph.plus(operands[0], operands[1], factor)

    return rule


def _negated(graph: Graph, operands: tuple[Term, ...], type: TileType, payload: Payload) -> Term | None:
    if operands[0].width == 1:
        return operands[0]
    return graph.plus(graph.number_of(type, 0), operands[0], -1)


_RULES: Final[dict[OperationDeclaration, Rule]] = {
    ADDF: _float_sum,
    ADDI: _added(1),
    ANDI: _logical,
    ASSUME: lambda graph, operands, type, payload: operands[0],
    BROADCAST: _broadcast,
    CMPI: _comparison,
    EXTI: _extension,
    EXTRACT: _extracted,
    MAXI: _extremum(MAXI),
    MINI: _extremum(MINI),
    MULI: _multiplied,
    NEGI: _negated,
    NOTI: lambda graph, operands, type, payload: graph.complement(operands[0]),
    ORI: lambda graph, operands, type, payload: graph.either(*operands),
    PERMUTE: _permuted,
    RESHAPE: _reshaped,
    SELECT: _selected,
    SHLI: _left_shift,
    SHRI: _right_shift,
    SUBI: _added(-1),
    TRUNCI: _truncation,
    XORI: _exclusive_or,
}
