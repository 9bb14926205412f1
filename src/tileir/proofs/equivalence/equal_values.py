"""Whether two values are equal: operand by operand, or by the solver."""

from __future__ import annotations

from typing import Final

from tileir.dialect.types import TileType
from tileir.proofs.equivalence.bit_vectors import Elements, element_width, is_unknown
from tileir.proofs.equivalence.integer_terms import z3
from tileir.proofs.equivalence.value_graph import Graph, Term

_MOST_DEPTH: Final = 64
"""Of operands that are compared one by one."""

Facts = tuple[Term, ...]


class EqualValues:
    """Compares terms of one graph until `ends`; `always` are facts that hold everywhere."""

    def __init__(self, graph: Graph, ends: float) -> None:
        self._graph: Graph = graph
        self._ends: float = ends
        self._equal: dict[tuple[Term, Term, Facts], bool] = {}
        self.always: Facts = ()

    def same(self, before: Term, after: Term, facts: Facts, depth: int = 0) -> bool:
        """Whether two values are equal where facts hold, as far as can be proved."""
        if before is after:
            return True
        if before.type is not after.type or depth > _MOST_DEPTH:
            return False
        key = (before, after, facts)
        found = self._equal.get(key)
        if found is None:
            # The solver sees an unknown term as one that is equal to nothing else.
            solved = not is_unknown(before) and self._solved(before, after, facts, depth)
            found = self._equal[key] = solved or self._congruent(before, after, facts, depth)
        return found

    def _congruent(self, before: Term, after: Term, facts: Facts, depth: int) -> bool:
        if before.kind != after.kind or before.payload != after.payload or not before.operands:
            return False
        if len(before.operands) != len(after.operands):
            return False
        pairs = zip(before.operands, after.operands, strict=True)
        return all(self.same(one, other, facts, depth + 1) for one, other in pairs)

    def _solved(self, before: Term, after: Term, facts: Facts, depth: int) -> bool:
        type = before.type
        if not isinstance(type, TileType) or not element_width(type):
            return False
        elements = Elements(self._graph, self._ends)
        self._merge(before, after, facts, depth, elements)
        index, inside = elements.indices(type)
        try:
            goal = elements.element(before, index) == elements.element(after, index)
            known = [elements.truth(fact) for fact in facts]
        except z3.Z3Exception:
            return False
        return elements.holds(goal, [*inside, *known]) is True

    def _merge(self, before: Term, after: Term, facts: Facts, depth: int, elements: Elements) -> None:
        """Record for the solver which unknown terms of both values are equal."""
        mine, theirs = unknown_parts(before), unknown_parts(after)
        for term in theirs - mine:
            for other in mine - theirs:
                if other.type is term.type and other.kind == term.kind and self.same(other, term, facts, depth + 1):
                    elements.same[term] = other
                    break

    def decided(self, condition: Term, counters: tuple[tuple[Term, Term, Term], ...]) -> bool | None:
        """Whether a comparison is true or false for all values of counters, each between two bounds."""
        parts = _parts(condition)
        graph = self._graph
        facts: list[Term] = []
        for counter, lower, upper in counters:
            if counter in parts:
                facts += [graph.negation(graph.less(counter, lower, False)), graph.less(counter, upper, False)]
        if not facts:
            return None
        elements = Elements(graph, self._ends)
        inside = [elements.truth(fact) for fact in (*facts, *self.always)]
        if elements.holds(elements.truth(condition), inside):
            return True
        return False if elements.holds(elements.truth(graph.negation(condition)), inside) else None


def _parts(term: Term) -> set[Term]:
    """A term and all that it is made of."""
    found = {term}
    pending = [term]
    while pending:
        for operand in pending.pop().operands:
            if operand not in found:
                found.add(operand)
                pending.append(operand)
    return found


def unknown_parts(term: Term, deep: bool = False) -> set[Term]:
    """The terms in a value that the solver sees nothing of; with `deep`, also those inside them."""
    found: set[Term] = set()
    seen = {term}
    pending = [term]
    while pending:
        each = pending.pop()
        if is_unknown(each):
            found.add(each)
            if not deep:
                continue
        for operand in each.operands:
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return found
