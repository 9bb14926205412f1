"""Proves that the effects of two kernels correspond, and with them the results, for all inputs.

Both kernels become traces of effects over one graph of values (`effects.py`, `value_graph.py`).  They are equivalent if
the effects correspond one by one, in program order:

1. the same operation with the same attributes, under equal conditions, with equal operands.  Loops correspond if their
   bounds, initial values and exits do, and the effects of an iteration, given equal carried values;
2. a token of the second program comes after all that the corresponding token of the first one comes after;
3. whatever makes the second program undefined makes the first one undefined.

Values that are not one term are compared operand by operand, then by the solver, under the conditions and assumptions
that hold at the effect.  A loop that the second program runs in two parts is compared part by part.
"""

from __future__ import annotations

from typing import Any, Final

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.ops import ASSUME, DIVI, FOR, GET_NUM_TILE_BLOCKS, GET_TILE_BLOCK_ID, JOIN_TOKENS, REMI
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.core import Operation
from tileir.proofs.equivalence.bit_vectors import Elements
from tileir.proofs.equivalence.effects import Summary
from tileir.proofs.equivalence.equal_values import EqualValues, Facts, unknown_parts
from tileir.proofs.equivalence.integer_terms import z3
from tileir.proofs.equivalence.promises import ONE_OF, arm_of
from tileir.proofs.equivalence.trace import (
    INSIDE,
    RESULT,
    Body,
    Effect,
    Obligation,
    Promises,
    Split,
    Trace,
    Unsupported,
)
from tileir.proofs.equivalence.value_graph import AND, CHOOSE, SYMBOL, Graph, Term

_MOST_SPLITS: Final = 64
_MOST_BLOCKS: Final = (1 << 31) - 1


class Mismatch(Exception):
    """The proof ends; the message states where."""


class _SplitLoop(Exception):
    """A loop of the first program is two in the second one: compare again, with the loop split."""

    def __init__(self, key: object, halves: Split) -> None:
        super().__init__()
        self.key: object = key
        self.halves: Split = halves


def correspond(before: Operation, after: Operation, ends: float) -> None:
    """Prove that a kernel computes the same as another one; raise `Mismatch` where that fails."""
    types, others = [[each.type for each in kernel.regions[0].block.arguments] for kernel in (before, after)]
    if types != others:
        raise Mismatch("the parameters have different types")
    splits: dict[object, Split] = {}
    graph = Graph()
    for _ in range(_MOST_SPLITS):
        try:
            _Correspondence(graph, before, after, splits, ends).prove()
        except _SplitLoop as found:
            if found.key in splits:
                break
            splits[found.key] = found.halves
        except Unsupported as failure:
            raise Mismatch(str(failure)) from None
        else:
            return
    raise Mismatch("too many loops are split")


class _Correspondence:
    def __init__(
        self, graph: Graph, before: Operation, after: Operation, splits: dict[object, Split], ends: float
    ) -> None:
        self._graph: Graph = graph
        self._ends: float = ends
        self._splits: dict[object, Split] = splits
        self._values: EqualValues = EqualValues(graph, ends)
        # Conditions on counters are decided by the bounds of the halves, and then on both sides.
        decide = self._values.decided if splits else None
        self._before: Summary = Summary(graph, before, splits, decide)
        self._after: Summary = Summary(graph, after, None, decide)
        self._later: dict[tuple[int, ...], list[Effect]] = {}
        self._note(self._after.trace)
        self._values.always = self._everywhere()

    def _note(self, trace: Trace) -> None:
        for effect in trace.effects:
            self._later.setdefault(effect.place, []).append(effect)
            if effect.loop is not None:
                self._note(effect.loop.trace)

    def _everywhere(self) -> Facts:
        """What holds in every tile block."""
        graph = self._graph
        found: list[Term] = []
        for term in graph.terms():
            if term.kind in (GET_TILE_BLOCK_ID, GET_NUM_TILE_BLOCKS):
                least = int(term.kind is GET_NUM_TILE_BLOCKS)
                found.append(graph.negation(graph.less(term, self._like(term, least), signed=True)))
                found.append(graph.negation(graph.less(self._like(term, _MOST_BLOCKS - 1 + least), term, signed=True)))
        return tuple(found)

    def prove(self) -> None:
        self._traces(self._before.trace, self._after.trace, self._values.always)

    # --- effects ---

    def _traces(self, before: Trace, after: Trace, facts: Facts) -> None:
        left = list(after.effects)
        for mine in before.effects:
            known = facts + self._assumed([each for each in before.obligations if each.is_before(mine)])
            theirs = self._partner(mine, left, known)
            if theirs is None:
                raise Mismatch(f"only the first program has {_text(mine)}")
            self._find_split(mine, theirs, left, known)
            self._effect(mine, theirs, known)
            left.remove(theirs)
        if left:
            raise Mismatch(f"only the second program has {_text(left[0])}")
        self._obligations(before, after, facts)

    def _partner(self, effect: Effect, others: list[Effect], facts: Facts) -> Effect | None:
        """The effect at the same position of the other program; of several, the one under the same condition."""
        found = [each for each in others if each.place == effect.place]
        if len(found) > 1:
            same = [each for each in found if each.guard is effect.guard]
            found = same or [each for each in found if self._values.same(effect.guard, each.guard, facts)]
        return found[0] if found else None

    def _assumed(self, obligations: list[Obligation]) -> Facts:
        """What the first program may assume to hold."""
        found: list[Term] = []
        for each in obligations:
            found += [self._graph.either(self._graph.negation(each.guard), one) for one in self._promise(each.what)]
        return tuple(found)

    def _promise(self, assume: Term) -> list[Term]:
        """What an obligation states about a scalar integer: an `assume`, or the step of a loop."""
        graph, (value, *_) = self._graph, assume.operands
        if assume.kind is FOR:
            return [graph.less(self._like(value, 0), value, signed=not assume.payload)]
        if assume.kind is not ASSUME:
            return []
        predicate = dict(assume.payload).get("predicate")
        if value.shape or not value.width:
            return []
        if isinstance(predicate, BoundedAttribute):
            inside, half = int(bool(predicate.strict)), 1 << (value.width - 1)
            found: list[Term] = []
            if any(each is not None and not -half < each < half - 1 for each in (predicate.lower, predicate.upper)):
                return found
            if predicate.lower is not None:
                found.append(graph.negation(graph.less(value, self._like(value, predicate.lower + inside), True)))
            if predicate.upper is not None:
                found.append(graph.negation(graph.less(self._like(value, predicate.upper - inside), value, True)))
            return found
        if isinstance(predicate, DivByAttribute) and predicate.every is None:
            low = predicate.divisor & -predicate.divisor
            return [graph.equal(graph.both(value, self._like(value, low - 1)), self._like(value, 0))]
        return []

    def _like(self, value: Term, number: int) -> Term:
        return self._graph.number_of(_type(value), number)

    def _effect(self, before: Effect, after: Effect, facts: Facts) -> None:
        one, other = before.operation, after.operation
        if one.declaration is not other.declaration:
            raise Mismatch(f"the second program has {_text(after)} in place of {_text(before)}")
        if (name := _other_attribute(one, other)) is not None:
            raise Mismatch(f"{_text(before)} has another '{name}'")
        if one.segments != other.segments:
            raise Mismatch(f"{_text(before)} has other operands")
        if [each.type for each in one.results] != [each.type for each in other.results]:
            raise Mismatch(f"{_text(before)} has results of other types")
        self._require(before.guard, after.guard, facts, f"the condition under which {_text(before)} runs")
        self._covered(before.promises[:1], after.promises[:1], facts, f"the condition under which {_text(before)} runs")
        facts = self._under(facts, before.guard)
        if len(before.operands) != len(after.operands):
            raise Mismatch(f"{_text(before)} has another number of operands")
        for number, (mine, theirs) in enumerate(zip(before.operands, after.operands, strict=True)):
            if mine.type is TOKEN:
                self._order([mine], [theirs], before)
            else:
                self._require(mine, theirs, facts, f"operand {number} of {_text(before)}")
        self._order(before.tokens, after.tokens, before)
        self._covered(before.promises[1:], after.promises[1:], facts, f"an operand of {_text(before)}")
        if before.loop is not None and after.loop is not None:
            self._bodies(before.loop, after.loop, facts, before)

    def _bodies(self, before: Body, after: Body, facts: Facts, loop: Effect) -> None:
        graph, name = self._graph, _text(loop)
        if before.bounds is not None and after.bounds is not None and before.counter is not None:
            for mine, theirs in zip(before.bounds, after.bounds, strict=True):
                self._require(mine, theirs, facts, f"a bound of {name}")
            lower, upper, _ = before.bounds
            inside = graph.both(
                graph.negation(graph.less(before.counter, lower, False)), graph.less(before.counter, upper, False)
            )
            facts = self._under(facts, inside)
        if before.carried != after.carried:
            raise Mismatch(f"{name} carries other values")
        self._traces(before.trace, after.trace, facts)
        facts += self._assumed(before.trace.obligations)
        ends = ((before.continues, after.continues), (before.breaks, after.breaks), (before.returns, after.returns))
        for mine, theirs in ends:
            self._require(mine, theirs, facts, f"how an iteration of {name} ends")
        for condition, values, others, promises, theirs_too in (
            (before.continues, before.next, after.next, before.next_promises, after.next_promises),
            (before.breaks, before.broken, after.broken, before.broken_promises, after.broken_promises),
        ):
            known = self._under(facts, condition)
            if len(values) != len(others):
                raise Mismatch(f"{name} carries other values")
            for number, (one, other) in enumerate(zip(values, others, strict=True)):
                if one.type is TOKEN:
                    self._order([one], [other], loop)
                else:
                    self._require(one, other, known, f"value {number} that an iteration of {name} passes on")
            self._covered(promises, theirs_too, known, f"a value that an iteration of {name} passes on")

    def _under(self, facts: Facts, condition: Term) -> Facts:
        parts = condition.operands if condition.kind == AND else (condition,)
        return facts + tuple([each for each in parts if each.bits is None and each not in facts])

    # --- tokens ---

    def _order(self, before: list[Term], after: list[Term], effect: Effect) -> None:
        if before == after:
            return
        needed: set[Term] = set()
        for token in before:
            needed |= _at_most(token)
        for token in after:
            needed -= self._at_least(token)
        if needed:
            raise Mismatch(f"tokens order {_text(effect)} after less than in the first program")

    def _at_least(self, token: Term) -> set[Term]:
        """What a token of the second program comes after on every path."""
        found: set[Term] = set()
        pending = [token]
        while pending:
            each = pending.pop()
            if each in found:
                continue
            if each.kind is JOIN_TOKENS:
                pending += each.operands
            elif each.kind == CHOOSE:
                found |= self._at_least(each.operands[1]) & self._at_least(each.operands[2])
            else:
                found.add(each)
                effects = self._later.get(each.payload[0], []) if each.kind == SYMBOL else []
                if len(effects) == 1 and effects[0].loop is None:
                    pending += effects[0].tokens
        return found

    # --- undefined behavior ---

    def _covered(self, before: list[Promises], after: list[Promises], facts: Facts, what: str) -> None:
        for mine, theirs in zip(before, after, strict=True):
            if not self._covers(mine, theirs, facts):
                raise Mismatch(f"{what} depends on a promise that the first program does not make")

    def _covers(self, before: Promises, after: Promises, facts: Facts) -> bool:
        """Whether a value that depends on `before` is undefined wherever one that depends on `after` is."""
        for entry in after - before:
            if entry.kind != ONE_OF:
                if not any(self._same_obligation(each, entry, facts) for each in before):
                    return False
                continue
            mine = [each for each in before if each.kind == ONE_OF and each.operands[0] is entry.operands[0]]
            for is_first in (True, False):
                known = before.union(*[arm_of(each, is_first) for each in mine])
                if not self._covers(known, arm_of(entry, is_first), facts):
                    return False
        return True

    def _obligations(self, before: Trace, after: Trace, facts: Facts) -> None:
        for theirs in after.obligations:
            candidates = [each for each in before.obligations if each.is_as_early_as(theirs)]
            known = self._under(facts + self._assumed(candidates), theirs.guard)
            harmless = not theirs.promises and self._harmless(theirs.what, known)
            if not harmless and not any(self._is_kept(each, theirs, known) for each in candidates):
                name = theirs.operation.declaration.mnemonic
                raise Mismatch(f"the second program may be undefined at '{name}' where the first one is not")

    def _is_kept(self, before: Obligation, after: Obligation, facts: Facts) -> bool:
        """Whether the first program has an obligation, too."""
        same = self._same_obligation(before.what, after.what, facts) and self._covers(
            before.promises, after.promises, facts
        )
        return same and self._implied(before.guard, after.guard, facts)

    def _harmless(self, what: Term, facts: Facts) -> bool:
        """Whether what must hold does."""
        graph = self._graph
        if what.kind is ASSUME and isinstance(dict(what.payload)["predicate"], BoundedAttribute):
            bounds = self._promise(what)
            return bool(bounds) and all(self._values.same(graph.true, each, facts) for each in bounds)
        if what.kind not in (DIVI, REMI):
            return False
        value, divisor = what.operands
        holds = graph.negation(graph.equal(divisor, self._like(divisor, 0)))
        if what.kind is DIVI and dict(what.payload)["signedness"].keyword == "signed":
            least = graph.equal(value, self._like(value, 1 << (value.width - 1)))
            holds = graph.both(holds, graph.negation(graph.both(least, graph.equal(divisor, self._like(divisor, -1)))))
        return self._values.same(graph.number_of(_type(holds), 1), holds, facts)

    def _same_obligation(self, before: Term, after: Term, facts: Facts) -> bool:
        if before is after:
            return True
        if before.kind is not after.kind or before.payload != after.payload:
            return False
        if before.kind == INSIDE:
            return before.operands[0] is after.operands[0] and set(after.operands) <= set(before.operands)
        if len(before.operands) != len(after.operands):
            return False
        return all(
            self._values.same(one, other, facts) for one, other in zip(before.operands, after.operands, strict=True)
        )

    def _implied(self, wanted: Term, guard: Term, facts: Facts) -> bool:
        parts = set(guard.operands if guard.kind == AND else (guard,))
        if wanted.bits == 1 or parts.issuperset(wanted.operands if wanted.kind == AND else (wanted,)):
            return True
        return self._values.same(self._graph.true, wanted, facts)

    # --- values ---

    def _require(self, before: Term, after: Term, facts: Facts, what: str) -> None:
        if not self._values.same(before, after, facts):
            self._find_split_term(before, after)
            raise Mismatch(f"{what} is not the same")

    # --- loops that are split ---

    def _find_split(self, before: Effect, after: Effect, others: list[Effect], facts: Facts) -> None:
        key = before.place, before.guard
        if before.loop is None or after.loop is None or before.loop.bounds is None or key in self._splits:
            return
        results = [self._graph.symbol((after.place, index), each.type) for index, each in enumerate(after.operands)]
        place = (*after.place[:-1], after.place[-1] + 1)
        for each in others:
            if each.place == place and each.guard is after.guard and each.loop is not None and each.operands == results:
                halves = self._halves(before.loop, after.loop, each.loop, self._under(facts, before.guard))
                if halves is not None:
                    raise _SplitLoop(key, halves)

    def _find_split_term(self, before: Term, after: Term) -> None:
        """Split a loop without effects that is two in the second value."""
        for mine in unknown_parts(before, deep=True):
            found = self._before.loops.get(mine.operands[0]) if mine.kind == RESULT else None
            if found is None or mine.operands[0] in self._splits:
                continue
            for theirs in unknown_parts(after, deep=True):
                second = self._after.loops.get(theirs.operands[0]) if theirs.kind == RESULT else None
                inits = second[1] if second is not None else []
                owners = {each.operands[0] if each.kind == RESULT else each for each in inits}
                first = self._after.loops.get(owners.pop()) if len(owners) == 1 else None
                if first is None or second is None:
                    continue
                halves = self._halves(found[0], first[0], second[0], self._values.always)
                if halves is not None:
                    raise _SplitLoop(mine.operands[0], halves)

    def _halves(self, whole: Body, first: Body, second: Body, facts: Facts) -> Split | None:
        """The bounds of two loops, if together they run as one does."""
        if whole.bounds is None or first.bounds is None or second.bounds is None or whole.bounds == first.bounds:
            return None
        lower, upper, step = whole.bounds
        if not (step is first.bounds[2] is second.bounds[2]):
            return None
        elements = Elements(self._graph, self._ends)
        low, high, distance = [elements.element(each, ()) for each in (lower, upper, step)]
        low1, high1, low2, high2 = [elements.element(each, ()) for each in (*first.bounds[:2], *second.bounds[:2])]
        one, other = [z3.BitVec(name, low.size()) for name in ("one", "other")]

        def runs(value: Any, start: Any, end: Any) -> Any:
            inside = z3.And(z3.ULE(start, value), z3.ULT(value, end))
            return inside if step.bits == 1 else z3.And(inside, z3.URem(value - start, distance) == 0)

        in_whole, in_first, in_second = runs(one, low, high), runs(one, low1, high1), runs(one, low2, high2)
        goal = z3.And(
            in_whole == z3.Or(in_first, in_second),
            z3.Implies(z3.And(in_first, runs(other, low2, high2)), z3.ULT(one, other)),
        )
        known = [elements.truth(fact) for fact in facts]
        if not elements.holds(goal, [*known, distance != 0]):
            return None
        return (first.bounds[0], first.bounds[1]), (second.bounds[0], second.bounds[1])


def _type(term: Term) -> TileType:
    assert isinstance(term.type, TileType)
    return term.type


def _text(effect: Effect) -> str:
    return f"'{effect.operation.declaration.mnemonic}'"


def _other_attribute(before: Operation, after: Operation) -> str | None:
    """The first attribute with a meaning that differs; a promise may be missing in the second program."""
    declared = before.declaration
    for name in before.attributes.keys() | after.attributes.keys() if declared.unregistered else declared.inherent:
        mine, theirs = before.attribute(name), after.attribute(name)
        if name == "optimization_hints" or (name == "unsignedCmp" and declared is FOR):
            continue
        if mine is not theirs and not (name == "inbounds" and theirs is None):
            return name
    return None


def _at_most(token: Term) -> set[Term]:
    """What a token may come after, on all paths together."""
    if token.kind is JOIN_TOKENS or token.kind == CHOOSE:
        found: set[Term] = set()
        for each in token.operands[int(token.kind == CHOOSE) :]:
            found |= _at_most(each)
        return found
    return {token}
