"""Terms of a value graph for the solver: one element of each, as bits.

Integers and truth values are bit-vectors, so arithmetic wraps as it does in the program.  Floats and pointers are their
bits, and an operation on them is a function that nothing is known of but that equal operands give equal results.  An
element of a tile is read at its index: `iota` is the index, and operations that move elements change it.  What a
loop, a reduction or a load returns is an unknown function of the index.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from tileir.dialect.ops import (
    ABSI,
    BITCAST,
    BREV,
    BROADCAST,
    CAT,
    CLZ,
    CONSTANT,
    CTZ,
    DIVI,
    EXTI,
    EXTRACT,
    INSERT,
    INT_TO_PTR,
    IOTA,
    MAXI,
    MINI,
    MULHII,
    PERMUTE,
    POPCNT,
    PTR_TO_INT,
    PTR_TO_PTR,
    REMI,
    RESHAPE,
    SHLI,
    SHRI,
    TRUNCI,
    XORI,
)
from tileir.dialect.types import PointerType, TileType
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.proofs.equivalence.integer_terms import bit, compare, meaning, z3
from tileir.proofs.equivalence.value_graph import (
    AND,
    CHOOSE,
    EQUAL,
    LESS,
    NOT,
    NUMBER,
    PRODUCT,
    SPLAT,
    SUM,
    Graph,
    Term,
)

_INDEX: Final = 32  # bits of an index
_SAME_BITS: Final = (BITCAST, PTR_TO_INT, INT_TO_PTR, PTR_TO_PTR)
# Operations on integers with the names of their attributes that the meaning takes.
_INTEGER: Final = {
    **dict.fromkeys((MINI, MAXI, SHRI, EXTI, REMI), ("signedness",)),
    **dict.fromkeys((ABSI, MULHII, POPCNT, CLZ, CTZ, BREV), ()),
    DIVI: ("signedness", "rounding"),
    XORI: (),
    SHLI: None,
    TRUNCI: None,
}
_MOST_ELEMENTS: Final = 64
"""Of a constant whose elements differ, given to the solver one by one."""
_MOST_WORK: Final = 4_000_000
"""Of one query, in the solver's units: a few seconds.  A query takes as many on every machine, however busy."""

Index = tuple[Any, ...]


def element_width(type: Type | None) -> int:
    """The bits of an element; 0 for what has no elements."""
    element = type.element if isinstance(type, TileType) else None
    if isinstance(element, (IntegerType, FloatType)):
        return element.width
    return 64 if isinstance(element, PointerType) else 0


class Elements:
    """Elements of terms as bits; `ends` is when the solver must be done."""

    def __init__(self, graph: Graph, ends: float) -> None:
        self._graph: Graph = graph
        self._ends: float = ends
        self._known: dict[tuple[object, ...], Any] = {}
        self._kept: list[Any] = []
        self.same: dict[Term, Term] = {}
        """Terms that were proved equal to another one."""
        self.queries: int = 0

    def holds(self, goal: Any, facts: Sequence[Any]) -> bool | None:
        """Whether a goal follows from facts; None if the solver does not know in time."""
        left = self._ends - time.monotonic()
        if left <= 0:
            return None
        self.queries += 1
        solver = z3.Solver()
        solver.set("timeout", max(int(left * 1000), 1))
        solver.set("rlimit", _MOST_WORK)
        solver.add(*facts, z3.Not(goal))
        answer = solver.check()
        return True if answer == z3.unsat else False if answer == z3.sat else None

    def truth(self, term: Term) -> Any:
        """A scalar truth value as a condition."""
        return self.element(term, ()) == 1

    def indices(self, type: TileType) -> tuple[Index, list[Any]]:
        """An index of a tile, and that it is inside."""
        index = tuple([z3.BitVec(f"index {axis}", _INDEX) for axis in range(len(type.shape))])
        return index, [z3.ULT(each, extent) for each, extent in zip(index, type.shape, strict=True)]

    def element(self, term: Term, index: Index) -> Any:
        key = (term, *[each.get_id() for each in index])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._element(self.same.get(term, term), index)
            # Its number would otherwise be given to another expression.
            self._kept.append(index)
        return found

    def _element(self, term: Term, index: Index) -> Any:
        kind, operands = term.kind, term.operands
        width = element_width(term.type)
        if kind == NUMBER:
            return z3.BitVecVal(term.payload, width)
        if kind == SPLAT:
            return self.element(operands[0], ())
        if kind == SUM:
            total = z3.BitVecVal(term.payload[1], width)
            for coefficient, operand in zip(term.payload[0], operands, strict=True):
                total = total + coefficient * self.element(operand, index)
            return total
        if kind in (PRODUCT, AND):
            found = self.element(operands[0], index)
            for operand in operands[1:]:
                other = self.element(operand, index)
                found = found * other if kind == PRODUCT else found & other
            return found
        if kind == NOT:
            return ~self.element(operands[0], index)
        if kind == EQUAL:
            left = self.element(operands[0], index)
            right = self.element(operands[1], index) if len(operands) == 2 else term.payload
            return bit(left == right)
        if kind == LESS:
            sides = [self.element(operand, index) for operand in operands]
            return bit(compare("less_than", "signed" if term.payload else "unsigned", sides[0], sides[1]))
        if kind == CHOOSE and width:
            condition, chosen, otherwise = [self.element(operand, index) for operand in operands]
            return z3.If(condition == 1, chosen, otherwise)
        return self._operation(term, index, width)

    def _operation(self, term: Term, index: Index, width: int) -> Any:
        kind, operands = term.kind, term.operands
        if not isinstance(term.type, TileType) or isinstance(kind, str) or not width:
            return self._unknown(term, index, width)
        if kind in _INTEGER:
            names = _INTEGER[kind]
            payload = dict(term.payload)
            flags = ("none",) if names is None else tuple([payload[name].keyword for name in names])
            defined = z3.BoolVal(True)
            values = [(self.element(operand, index), defined) for operand in operands]
            found = values[0][0]
            if kind is XORI:
                for value, _ in values[1:]:
                    found = found ^ value
                return found
            return meaning(kind.mnemonic, flags, values, width)[0]
        if kind in _SAME_BITS and element_width(operands[0].type) == width:
            return self.element(operands[0], index)
        if kind.traits & ELEMENTWISE:
            bits = [self.element(operand, index) for operand in operands]
            elements = tuple([each.type.element for each in operands if isinstance(each.type, TileType)])
            name = self._graph.make("function", None, (), (kind, term.payload, elements, term.type.element))
            sorts = [each.sort() for each in bits]
            return z3.Function(f"function {name.number}", *sorts, z3.BitVecSort(width))(*bits)
        if kind is IOTA:
            return z3.Extract(width - 1, 0, index[0]) if width <= _INDEX else z3.ZeroExt(width - _INDEX, index[0])
        if kind is RESHAPE:
            return self.element(operands[0], _moved(index, term.shape, operands[0].shape))
        if kind is BROADCAST:
            extents = zip(index, operands[0].shape, strict=True)
            return self.element(operands[0], tuple([z3.BitVecVal(0, _INDEX) if one == 1 else i for i, one in extents]))
        if kind is PERMUTE:
            places = dict(term.payload)["permutation"].values
            source: list[Any] = [None] * len(index)
            for axis, each in enumerate(places):
                source[int(each)] = index[axis]
            return self.element(operands[0], tuple(source))
        if kind is EXTRACT:
            starts = [
                _index(self.element(each, ())) * extent for each, extent in zip(operands[1:], term.shape, strict=True)
            ]
            return self.element(operands[0], tuple([i + start for i, start in zip(index, starts, strict=True)]))
        if kind is INSERT:
            part = operands[0].shape
            numbers = [_index(self.element(each, ())) for each in operands[2:]]
            # Where there is only one sub-tile, its number has no meaning.
            inside = [
                z3.UDiv(each, extent) == number
                for each, extent, number, whole in zip(index, part, numbers, term.shape, strict=True)
                if extent != whole
            ]
            moved = tuple([z3.URem(each, extent) for each, extent in zip(index, part, strict=True)])
            return z3.If(z3.And(*inside), self.element(operands[0], moved), self.element(operands[1], index))
        if kind is CAT:
            axis = dict(term.payload)["dim"].value
            first = operands[0].shape[axis]
            shifted = tuple([each - first if number == axis else each for number, each in enumerate(index)])
            inside = z3.ULT(index[axis], first)
            return z3.If(inside, self.element(operands[0], index), self.element(operands[1], shifted))
        if kind is CONSTANT and term.payload.count <= _MOST_ELEMENTS:
            flat = _flat(index, term.shape)
            found = z3.BitVecVal(term.payload.bits(0), width)
            for number in range(1, term.payload.count):
                found = z3.If(flat == number, z3.BitVecVal(term.payload.bits(number), width), found)
            return found
        return self._unknown(term, index, width)

    def _unknown(self, term: Term, index: Index, width: int) -> Any:
        if not width:
            raise ValueError(f"a {term.kind} has no elements")
        sorts = [z3.BitVecSort(_INDEX) for _ in index]
        if not sorts:
            return z3.BitVec(f"term {term.number}", width)
        return z3.Function(f"term {term.number}", *sorts, z3.BitVecSort(width))(*index)


def is_unknown(term: Term) -> bool:
    """Whether the solver sees nothing of a term but that it is one."""
    if isinstance(term.kind, str):
        return term.kind not in (NUMBER, SPLAT, SUM, PRODUCT, AND, NOT, EQUAL, LESS, CHOOSE)
    moves = (IOTA, RESHAPE, BROADCAST, PERMUTE, EXTRACT, INSERT, CAT, CONSTANT)
    return not (term.kind.traits & ELEMENTWISE or term.kind in moves)


def _index(bits: Any) -> Any:
    """A number as an index; one that is no index is undefined where it is used."""
    extra = _INDEX - bits.size()
    return z3.ZeroExt(extra, bits) if extra >= 0 else z3.Extract(_INDEX - 1, 0, bits)


def _flat(index: Index, shape: tuple[int, ...]) -> Any:
    flat = z3.BitVecVal(0, _INDEX)
    for each, extent in zip(index, shape, strict=True):
        flat = flat * extent + each
    return flat


def _moved(index: Index, source: tuple[int, ...], target: tuple[int, ...]) -> Index:
    """The index of the same element in another shape of as many elements."""
    flat = _flat(index, source)
    found: list[Any] = []
    for extent in reversed(target):
        found.append(z3.URem(flat, extent))
        flat = z3.UDiv(flat, extent)
    return tuple(reversed(found))
