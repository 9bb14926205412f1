"""Terms given to z3: whether a fact follows, and a launch where it does not.  Nothing else imports z3.

Integers are those of mathematics, not bit-vectors: products of sizes and strides are out of reach of the latter.  A
quotient by a symbol is an unknown `q` with `x = d*q + r`, one for each pair of terms.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tileir.execute.errors import MissingDependencyError
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import BOOLEAN, INTEGER, Term
from tileir.proofs.symbolic.traversal import subterms, transformed, variables

PROVED: Final = "proved"
REFUTED: Final = "refuted"
UNKNOWN: Final = "unknown"
_QUICK: Final = 0.2
"""Seconds for a question that only makes terms simpler."""
_STEPS: Final = 2_000_000
"""What z3 does at least in a second, in its own unit: answers should not depend on what else the machine does."""
_WAIT: Final = 1.2
"""How much longer than its time a solver works on a busy machine."""


def z3_module() -> Any:
    try:
        import z3
    except ImportError:
        raise MissingDependencyError("proofs need z3: pip install 'tileir[prove]'") from None
    return z3


class Model:
    """A launch that z3 found: numbers for the variables of terms."""

    def __init__(self, translation: _Translation, model: Any) -> None:
        self._translation, self._model = translation, model

    def value(self, term: Term) -> int:
        """What an integer is; 0 if nothing depends on it."""
        found = self._model.eval(self._translation.of(term), model_completion=True)
        if hasattr(found, "as_long"):
            return int(found.as_long())
        return 0

    def holds(self, term: Term) -> bool:
        return bool(self._translation.z3.is_true(self._model.eval(self._translation.of(term), model_completion=True)))


class Solver:
    """Proves facts from the hypotheses of a contract until `seconds` have passed."""

    def __init__(
        self,
        hypotheses: Iterable[Term] = (),
        seconds: float = 30.0,
        promises: Callable[[Term], Iterable[Term]] = lambda term: (),
    ) -> None:
        """`promises` returns facts that hold wherever a term occurs."""
        self.hypotheses: list[Term] = list(hypotheses)
        self._promises: Callable[[Term], Iterable[Term]] = promises
        # Of this thread: answers should not depend on what else the machine does, unless that is very much.
        self._end: float = time.thread_time() + seconds
        self._until: float = time.monotonic() + _WAIT * seconds
        self._translation: _Translation = _Translation()
        self._sizes: dict[Term, Term] = {fact: size for fact in self.hypotheses if (size := _least_size(fact))}
        self._simple: dict[tuple[Term, frozenset[Term]], Term] = {}
        self._answers: dict[frozenset[Term], str] = {}
        self._tried: dict[frozenset[Term], float] = {}
        self.queries: int = 0

    @property
    def left(self) -> float:
        return min(self._end - time.thread_time(), self._until - time.monotonic())

    # --- questions ---

    def follows(self, goal: Term, facts: Iterable[Term] = (), seconds: float = 3.0) -> bool:
        """Whether a fact holds in every launch of the contract where `facts` hold."""
        if goal is terms.TRUE:
            return True
        return self.check([*facts, terms.negation(goal)], seconds) == PROVED

    def check(self, assertions: Sequence[Term], seconds: float = 3.0) -> str:
        """PROVED if the assertions contradict each other or the hypotheses, else REFUTED, or UNKNOWN."""
        if any(each is terms.FALSE for each in (*assertions, *self.hypotheses)):
            return PROVED
        key = frozenset(assertions)
        if key in self._answers:
            return self._answers[key]
        limit = min(seconds, self.left)
        if limit <= self._tried.get(key, 0):
            return UNKNOWN
        answer, _ = self._solved(self._relevant(assertions), limit)
        if answer == UNKNOWN:
            self._tried[key] = limit
        else:
            self._answers[key] = answer
        return answer

    def model(self, assertions: Sequence[Term], seconds: float = 3.0) -> Model | None:
        """A launch of the contract where the assertions hold, if one is found."""
        everything = [*self.hypotheses, *assertions]
        limit = min(seconds, self.left)
        if limit <= 0 or any(each is terms.FALSE for each in everything):
            return None
        answer, solver = self._solved([*everything, *self._promised(everything)], limit)
        return Model(self._translation, solver.model()) if answer == REFUTED else None

    def _solved(self, facts: Sequence[Term], seconds: float) -> tuple[str, Any]:
        self.queries += 1
        translation = self._translation
        solver = translation.z3.Solver()
        solver.set("rlimit", int(seconds * _STEPS))
        solver.set("timeout", int(1000 * min(10 * seconds, max(self._until - time.monotonic(), 0.0))) + 1)
        solver.add(*translation.all_of([*facts, *quotient_bounds(facts)]))
        result = solver.check()
        is_proved, is_refuted = result == translation.z3.unsat, result == translation.z3.sat
        return PROVED if is_proved else REFUTED if is_refuted else UNKNOWN, solver

    def _relevant(self, assertions: Sequence[Term]) -> list[Term]:
        """The assertions with the hypotheses, but for the sizes of arrays that nothing else is about: an array may
        always be larger, and that it is as large as its tensor is a product of symbols."""
        facts = [*assertions, *[fact for fact in self.hypotheses if fact not in self._sizes]]
        facts += self._promised(facts)
        named = set(variables(*facts))
        sizes = [fact for fact, size in self._sizes.items() if size in named]
        return [*facts, *sizes, *self._promised(sizes)]

    def _promised(self, assertions: Sequence[Term]) -> list[Term]:
        found: dict[Term, None] = {}
        pending = list(assertions)
        seen: set[Term] = set()
        while pending:
            for part in subterms(*pending):
                if part not in seen:
                    seen.add(part)
                    found.update(dict.fromkeys(self._promises(part)))
            pending = [fact for fact in found if fact not in seen]
        return list(found)

    # --- simpler terms ---

    def simplified(self, term: Term, facts: Iterable[Term] = ()) -> Term:
        """The term without the wraps that cannot happen and the choices that are settled, where `facts` hold."""
        known = frozenset(facts)
        key = (term, known)
        if key not in self._simple:
            self._simple[key] = transformed(term, lambda part: self._simplified_part(part, known))
        return self._simple[key]

    def simplified_facts(self, facts: Iterable[Term]) -> list[Term]:
        """Facts, each made simpler by those before it."""
        found: list[Term] = []
        for fact in facts:
            fact = self.simplified(fact, found)
            if fact is not terms.TRUE:
                found.append(fact)
        return found

    def _simplified_part(self, part: Term, facts: frozenset[Term]) -> Term | None:
        if part.operation == "wrap":
            width, signed = part.data
            inner = part.arguments[0]
            low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
            least, greatest = terms.interval(inner)
            fits = terms.conjunction(
                terms.TRUE if least is not None and least >= low else terms.at_least(inner, terms.number(low)),
                terms.TRUE if greatest is not None and greatest <= high else terms.at_most(inner, terms.number(high)),
            )
            return inner if self.follows(fits, facts, _QUICK) else None
        if part.operation == "choose" and part.sort == INTEGER:
            condition, chosen, otherwise = part.arguments
            if self.follows(condition, facts, _QUICK):
                return chosen
            if self.follows(terms.negation(condition), facts, _QUICK):
                return otherwise
        return None


def _least_size(fact: Term) -> Term | None:
    """The variable without a limit that a fact is a lower bound of, `number - size <= 0`."""
    if fact.operation != "not_positive":
        return None
    parts = terms.polynomial(fact.arguments[0])
    for monomial, factor in parts:
        if factor == -1 and len(monomial) == 1 and monomial[0].operation == "variable" and monomial[0].data[2] is None:
            others = [atom for atoms, _ in parts if atoms != monomial for atom in atoms]
            if monomial[0] not in variables(*others):
                return monomial[0]
    return None


def quotient_bounds(assertions: Sequence[Term]) -> list[Term]:
    """Of `x // d` where `x < k*r` and `d` is `c*k`: that `c * (x // d) < r`.

    It follows, but through a product of symbols, which a solver may look for in vain.
    """
    limits: dict[Term, list[Term]] = {}
    for fact in assertions:
        if fact.operation == "not_positive":
            for monomial, factor in terms.polynomial(fact.arguments[0]):
                if factor == 1 and len(monomial) == 1 and monomial[0].operation == "variable":
                    # x + 1 - limit <= 0
                    limit = terms.add(terms.sub(monomial[0], fact.arguments[0]), terms.ONE)
                    limits.setdefault(monomial[0], []).append(limit)
    found = []
    for part in subterms(*assertions):
        if part.operation not in ("floor_div", "modulo") or terms.constant(part.arguments[1]) is not None:
            continue
        left, right = part.arguments
        for limit in limits.get(left, ()):
            rest = without(limit, right)
            if rest is not None:
                factor, others = rest
                bound = terms.less(terms.scale(terms.floor_div(left, right), factor), others)
                found.append(terms.implies(terms.at_least(right, terms.ONE), bound))
    return found


def without(product: Term, divisor: Term) -> tuple[int, Term] | None:
    """c and r, of a product k*r and a divisor c*k that is positive; None if they have another form.

    For n*m and n that is 1 and m.
    """
    ones = terms.polynomial(divisor)
    if len(ones) != 1:
        return None
    ((atoms, factor),) = ones
    sign = 1 if factor > 0 else -1
    rest: dict[terms.Monomial, int] = {}
    for monomial, each in terms.polynomial(product):
        left = list(monomial)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        rest[tuple(left)] = sign * each
    return abs(factor), terms.from_polynomial(rest)


class _Translation:
    """Terms as expressions of z3, with what is true of their parts."""

    def __init__(self) -> None:
        self.z3: Any = z3_module()
        self._known: dict[Term, Any] = {}
        self._true: dict[Term, list[Any]] = {}
        self._sorts: dict[str, Any] = {}

    def of(self, term: Term) -> Any:
        self.all_of([term])
        return self._known[term]

    def all_of(self, facts: Sequence[Term]) -> list[Any]:
        """Facts as expressions, and what is true of their parts."""
        known = self._known
        constraints: list[Any] = []
        for part in subterms(*facts):
            if part not in known:
                known[part] = self._part(part, [known[argument] for argument in part.arguments])
            constraints += self._true.get(part, ())
        return [*[known[fact] for fact in facts], *constraints]

    def _sort(self, name: str) -> Any:
        if name == INTEGER:
            return self.z3.IntSort()
        if name == BOOLEAN:
            return self.z3.BoolSort()
        if name not in self._sorts:
            self._sorts[name] = self.z3.DeclareSort(name)
        return self._sorts[name]

    def _bound(self, term: Term, found: Any) -> Any:
        low, high = terms.interval(term)
        if term.sort == INTEGER:
            if low is not None:
                self._true.setdefault(term, []).append(found >= low)
            if high is not None:
                self._true.setdefault(term, []).append(found <= high)
        return found

    def _part(self, term: Term, arguments: list[Any]) -> Any:
        z3, operation, data = self.z3, term.operation, term.data
        if operation == "number":
            return z3.IntVal(data)
        if operation == "truth":
            return z3.BoolVal(data)
        if operation == "variable":
            return self._bound(term, z3.Int(data[0]))
        if operation == "app":
            sorts = [self._sort(argument.sort) for argument in term.arguments]
            name = f"{data[0]}/{len(sorts)}"
            if not sorts:
                return self._bound(term, z3.Const(name, self._sort(term.sort)))
            return self._bound(term, z3.Function(name, *sorts, self._sort(term.sort))(*arguments))
        if operation == "sum":
            known = dict(zip(term.arguments, arguments, strict=True))
            parts = []
            for monomial, factor in data:
                product: Any = factor
                for atom in monomial:
                    product = known[atom] if isinstance(product, int) and product == 1 else product * known[atom]
                parts.append(z3.IntVal(product) if isinstance(product, int) else product)
            return z3.Sum(parts) if len(parts) > 1 else parts[0]
        if operation in ("floor_div", "modulo"):
            return self._division(term, arguments)
        if operation == "wrap":
            width, signed = data
            if not signed:
                return arguments[0] % (1 << width)
            half = 1 << (width - 1)
            return (arguments[0] + half) % (1 << width) - half
        return _EXPRESSIONS[operation](z3, *arguments)

    def _division(self, term: Term, arguments: list[Any]) -> Any:
        z3 = self.z3
        left, right = arguments
        divisor = terms.constant(term.arguments[1])
        if divisor is not None and divisor > 0:
            return left / right if term.operation == "floor_div" else left % right
        pair = f"{term.arguments[0].number} by {term.arguments[1].number}"
        quotient, rest = z3.Int(f"quotient {pair}"), z3.Int(f"rest {pair}")
        inside = z3.If(right > 0, z3.And(rest >= 0, rest < right), z3.And(rest <= 0, rest > right))
        self._true[term] = [z3.Implies(right != 0, z3.And(left == right * quotient + rest, inside))]
        return quotient if term.operation == "floor_div" else rest


_EXPRESSIONS: Final[dict[str, Any]] = {
    "minimum": lambda z3, a, b: z3.If(a <= b, a, b),
    "maximum": lambda z3, a, b: z3.If(a >= b, a, b),
    "choose": lambda z3, c, a, b: z3.If(c, a, b),
    "not_positive": lambda z3, a: a <= 0,
    "is_zero": lambda z3, a: a == 0,
    "same": lambda z3, a, b: a == b,
    "negation": lambda z3, a: z3.Not(a),
    "conjunction": lambda z3, *each: z3.And(*each),
    "disjunction": lambda z3, *each: z3.Or(*each),
}
