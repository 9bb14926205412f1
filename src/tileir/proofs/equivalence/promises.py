"""Promises: what the definedness of a value depends on, although computing it is harmless (`effects.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tileir.dialect.ops import ADDI, EXTRACT, FTOI, INSERT, MULI, NEGI, REMI, SHLI, SHRI, SUBI, TRUNCI
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.proofs.equivalence.trace import Promises
from tileir.proofs.equivalence.value_graph import SPLAT, Graph, Term

NO_PROMISES: Final[Promises] = frozenset()
# Kinds of the terms that promises are made of.
_PROMISE: Final = "promise"
ONE_OF: Final = "one of"  # promises of the arms of a choice; the payload is how many belong to the first
THROUGH: Final = "through"  # promises of elements that an operation moves or combines

# Operations with one result that may be undefined although executing them is harmless.
_MAY_SPOIL: Final = (ADDI, SUBI, MULI, NEGI, SHLI, SHRI, TRUNCI, FTOI, EXTRACT, INSERT, REMI)


def own_promise(
    graph: Graph,
    operation: Operation,
    operands: list[Term],
    payload: tuple[Any, ...],
    is_divisor: Callable[[Value], bool],
) -> Promises:
    """What an operation promises about its own result; nothing if that is known to be kept."""
    declaration = operation.declaration
    if declaration not in _MAY_SPOIL:
        return NO_PROMISES
    flag = operation.keyword("overflow") if "overflow" in declaration.inherent else ""
    if declaration in (SHLI, SHRI):
        amount = operands[1].bits
        if flag in ("", "none") and amount is not None and amount < max(operands[0].width, 1):
            return NO_PROMISES
    elif declaration is REMI:
        if is_divisor(operation.operands[1]):
            return NO_PROMISES
    elif declaration is FTOI:
        if operation.attribute("saturating") is not None:
            return NO_PROMISES
    elif declaration in (EXTRACT, INSERT):
        first = 1 if declaration is EXTRACT else 2
        if all(_is_within(operation, axis, index) for axis, index in enumerate(operands[first:])):
            return NO_PROMISES
    elif flag in ("", "none"):
        return NO_PROMISES
    whole = all(each.kind == SPLAT for each in operands)
    sources = [scalar_of(each) if whole else each for each in operands]
    return frozenset([graph.make(_PROMISE, None, sources, (declaration, flag, payload))])


def _is_within(operation: Operation, axis: int, index: Term) -> bool:
    part = operation.results[0].type if operation.declaration is EXTRACT else operation.operands[0].type
    whole = operation.operands[0].type if operation.declaration is EXTRACT else operation.operands[1].type
    assert isinstance(part, TileType) and isinstance(whole, TileType)
    return index.bits is not None and index.bits < whole.shape[axis] // part.shape[axis]


def one_of(graph: Graph, condition: Term, chosen: Promises, otherwise: Promises) -> Promises:
    """The promises of a choice between two values."""
    if chosen == otherwise:
        return chosen
    if condition.bits is not None:
        return chosen if condition.bits else otherwise
    first, second = in_order(chosen), in_order(otherwise)
    return frozenset([graph.make(ONE_OF, None, (condition, *first, *second), len(first))])


def arm_of(entry: Term, is_first: bool) -> Promises:
    """The promises of one arm of a choice."""
    end = 1 + int(entry.payload)
    return frozenset(entry.operands[1:end] if is_first else entry.operands[end:])


def scalar_of(term: Term) -> Term:
    return term.operands[0] if term.kind == SPLAT else term


def in_order(terms: Iterable[Term]) -> list[Term]:
    return sorted(terms, key=lambda term: term.number)
