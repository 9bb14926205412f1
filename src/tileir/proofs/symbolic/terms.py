"""Exact integer and Boolean expressions in a canonical form: equal expressions of one polynomial are one object.

Integers have no width.  A sum is a polynomial of atoms; whatever is no sum or product is an atom.  `wrap` is where a
machine integer has a width: the number that remains of an exact one.  Division rounds down, its divisor may be
anything but 0.  What has no integer meaning (floats, loaded values) is an `app`: an uninterpreted function of its
arguments.

    x, n = variable("x", 0, None), variable("n")
    add(mul(number(128), x), number(1))      # 128*x + 1
    less(x, n)                               # x < n
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, Final
from weakref import WeakValueDictionary

INTEGER: Final = "integer"
BOOLEAN: Final = "Boolean"

Monomial = tuple["Term", ...]
Polynomial = tuple[tuple[Monomial, int], ...]
Interval = tuple[int | None, int | None]

# Weak: an expression is dropped with the last proof that has it.
_terms: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()
_numbers = count()


class Term:
    """One expression; compared by identity.  Made by the functions of this module alone.

    `operation` is one of: number, variable, sum, floor_div, modulo, minimum, maximum, choose, wrap, app, truth,
    not_positive (arguments[0] <= 0), is_zero (arguments[0] == 0), same, negation, conjunction, disjunction.
    """

    __slots__ = ("__weakref__", "arguments", "bounds", "data", "number", "operation", "sort")

    def __init__(self, operation: str, arguments: tuple[Term, ...], data: Any, sort: str, number: int) -> None:
        self.operation, self.arguments, self.data, self.sort, self.number = operation, arguments, data, sort, number
        self.bounds: Interval | None = None

    def __repr__(self) -> str:
        return f"{self.operation}{self.data or ''}{list(self.arguments) or ''}"


def _make(operation: str, arguments: tuple[Term, ...] = (), data: Any = None, sort: str = INTEGER) -> Term:
    key = (operation, arguments, data, sort)
    found = _terms.get(key)
    if found is None:
        found = _terms[key] = Term(operation, arguments, data, sort, next(_numbers))
    return found


def number(value: int) -> Term:
    return _make("number", (), value)


TRUE: Final = _make("truth", (), True, BOOLEAN)
FALSE: Final = _make("truth", (), False, BOOLEAN)
ZERO: Final = number(0)
ONE: Final = number(1)


def variable(name: str, low: int | None = None, high: int | None = None, local: bool = False) -> Term:
    """An integer in low..high; a local one differs between tile blocks, or iterations, or elements."""
    return _make("variable", (), (name, low, high, local))


def app(
    name: str, arguments: Iterable[Term], sort: str = INTEGER, low: int | None = None, high: int | None = None
) -> Term:
    """An uninterpreted function; of integers `low` and `high` bound the result."""
    return _make("app", tuple(arguments), (name, low, high), sort)


# --- polynomials ---


def polynomial(term: Term) -> Polynomial:
    if term.operation == "sum":
        found: Polynomial = term.data
        return found
    if term.operation == "number":
        return (((), term.data),) if term.data else ()
    return (((term,), 1),)


def from_polynomial(parts: dict[Monomial, int]) -> Term:
    kept = {monomial: factor for monomial, factor in parts.items() if factor}
    if not kept:
        return ZERO
    if len(kept) == 1:
        ((monomial, factor),) = kept.items()
        if not monomial:
            return number(factor)
        if factor == 1 and len(monomial) == 1:
            return monomial[0]
    ordered = tuple(sorted(kept.items(), key=lambda item: (-len(item[0]), [atom.number for atom in item[0]])))
    atoms = tuple(dict.fromkeys(atom for monomial, _ in ordered for atom in monomial))
    return _make("sum", atoms, ordered)


def add(*terms: Term) -> Term:
    parts: dict[Monomial, int] = {}
    for term in terms:
        for monomial, factor in polynomial(term):
            parts[monomial] = parts.get(monomial, 0) + factor
    return from_polynomial(parts)


def scale(term: Term, factor: int) -> Term:
    return from_polynomial({monomial: each * factor for monomial, each in polynomial(term)})


def sub(left: Term, right: Term) -> Term:
    return add(left, scale(right, -1))


def mul(left: Term, right: Term) -> Term:
    parts: dict[Monomial, int] = {}
    for first, a in polynomial(left):
        for second, b in polynomial(right):
            monomial = tuple(sorted((*first, *second), key=lambda atom: atom.number))
            parts[monomial] = parts.get(monomial, 0) + a * b
    return from_polynomial(parts)


def constant(term: Term) -> int | None:
    return term.data if term.operation == "number" else None


# --- the other integers ---


def floor_div(left: Term, right: Term) -> Term:
    a, b = constant(left), constant(right)
    if b == 1:
        return left
    if b:
        if a is not None:
            return number(a // b)
        # What the divisor divides leaves the quotient.
        whole = {monomial: factor // b for monomial, factor in polynomial(left) if factor % b == 0}
        if whole:
            rest = {monomial: factor for monomial, factor in polynomial(left) if factor % b}
            return add(from_polynomial(whole), floor_div(from_polynomial(rest), right))
        if b > 0 and left.operation == "floor_div" and (inner := constant(left.arguments[1])) and inner > 0:
            return floor_div(left.arguments[0], number(inner * b))
    elif a == 0:
        return ZERO
    return _make("floor_div", (left, right))


def modulo(left: Term, right: Term) -> Term:
    """What a division that rounds down leaves: of the divisor's sign."""
    b = constant(right)
    if b is None:
        return _make("modulo", (left, right)) if left is not ZERO else ZERO
    if b in (1, -1):
        return ZERO
    rest = {monomial: factor % b if b else factor for monomial, factor in polynomial(left)}
    reduced = from_polynomial(rest)
    a = constant(reduced)
    if a is not None and b:
        return number(a % b)
    if reduced.operation == "modulo" and b and (inner := constant(reduced.arguments[1])) and inner % b == 0:
        return modulo(reduced.arguments[0], right)
    return _make("modulo", (reduced, right))


def ceil_div(left: Term, right: Term) -> Term:
    return scale(floor_div(scale(left, -1), right), -1)


def truncating_div(left: Term, right: Term) -> Term:
    """Division that rounds toward zero."""
    down, up = floor_div(left, right), ceil_div(left, right)
    if down is up:
        return down
    return choose(equal_truths(at_least(left, ZERO), at_least(right, ZERO)), down, up)


def truncating_rem(left: Term, right: Term) -> Term:
    """The remainder of a division that rounds toward zero: of the dividend's sign."""
    positive = choose(at_least(right, ZERO), right, scale(right, -1))
    return choose(at_least(left, ZERO), modulo(left, positive), scale(modulo(scale(left, -1), positive), -1))


def minimum(left: Term, right: Term) -> Term:
    return _extremum("minimum", left, right)


def maximum(left: Term, right: Term) -> Term:
    return _extremum("maximum", left, right)


def _extremum(operation: str, left: Term, right: Term) -> Term:
    if left is right:
        return left
    a, b = constant(left), constant(right)
    if a is not None and b is not None:
        return number(min(a, b) if operation == "minimum" else max(a, b))
    return _make(operation, tuple(sorted((left, right), key=lambda term: term.number)))


def choose(condition: Term, chosen: Term, otherwise: Term) -> Term:
    """Any sort: `chosen` where the condition holds."""
    if condition is TRUE or chosen is otherwise:
        return chosen
    if condition is FALSE:
        return otherwise
    if condition.operation == "negation":
        return choose(condition.arguments[0], otherwise, chosen)
    if chosen.sort == BOOLEAN:
        return disjunction(conjunction(condition, chosen), conjunction(negation(condition), otherwise))
    return _make("choose", (condition, chosen, otherwise), None, chosen.sort)


def wrap(term: Term, width: int, signed: bool = True) -> Term:
    """What remains of an integer in so many bits, read as signed or unsigned."""
    value = constant(term)
    if value is not None:
        rest = value % (1 << width)
        return number(rest - (1 << width) if signed and rest >> (width - 1) else rest)
    low, high = interval(term)
    least, greatest = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if low is not None and high is not None and least <= low and high <= greatest:
        return term
    # An inner number of at least as many bits differs by a multiple of 2^width.
    parts: dict[Monomial, int] = {}
    rebuilt = ZERO
    changed = False
    for monomial, factor in polynomial(term):
        product = number(factor)
        for atom in monomial:
            if atom.operation == "wrap" and atom.data[0] >= width:
                changed, atom = True, atom.arguments[0]
            product = mul(product, atom)
        if changed:
            rebuilt = add(rebuilt, product)
        else:
            parts[monomial] = factor
    if changed:
        return wrap(add(from_polynomial(parts), rebuilt), width, signed)
    return _make("wrap", (term,), (width, signed))


# --- Booleans ---


def negation(term: Term) -> Term:
    if term.operation == "truth":
        return FALSE if term.data else TRUE
    if term.operation == "negation":
        return term.arguments[0]
    if term.operation == "not_positive":
        # not x <= 0, that is 1 - x <= 0
        return at_most(sub(ONE, term.arguments[0]), ZERO)
    return _make("negation", (term,), None, BOOLEAN)


def conjunction(*terms: Term) -> Term:
    return _joined("conjunction", terms, TRUE, FALSE)


def disjunction(*terms: Term) -> Term:
    return _joined("disjunction", terms, FALSE, TRUE)


def _joined(operation: str, terms: tuple[Term, ...], neutral: Term, absorbing: Term) -> Term:
    parts: dict[Term, None] = {}
    for term in terms:
        parts.update(dict.fromkeys(term.arguments if term.operation == operation else (term,)))
    parts.pop(neutral, None)
    if absorbing in parts or any(negation(part) in parts for part in parts):
        return absorbing
    if len(parts) <= 1:
        return next(iter(parts), neutral)
    return _make(operation, tuple(sorted(parts, key=lambda term: term.number)), None, BOOLEAN)


def implies(condition: Term, result: Term) -> Term:
    return disjunction(negation(condition), result)


def equal_truths(left: Term, right: Term) -> Term:
    return conjunction(implies(left, right), implies(right, left))


def at_most(left: Term, right: Term) -> Term:
    difference = sub(left, right)
    low, high = interval(difference)
    if high is not None and high <= 0:
        return TRUE
    if low is not None and low > 0:
        return FALSE
    return _make("not_positive", (difference,), None, BOOLEAN)


def at_least(left: Term, right: Term) -> Term:
    return at_most(right, left)


def less(left: Term, right: Term) -> Term:
    return at_most(add(left, ONE), right)


def equal(left: Term, right: Term) -> Term:
    """Of two terms of one sort; floats and others are the same or unknown."""
    if left is right:
        return TRUE
    if left.sort == BOOLEAN:
        return equal_truths(left, right)
    if left.sort != INTEGER:
        return _make("same", tuple(sorted((left, right), key=lambda term: term.number)), None, BOOLEAN)
    difference = sub(left, right)
    low, high = interval(difference)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return FALSE
    if difference is ZERO:
        return TRUE
    if polynomial(difference)[0][1] < 0:
        difference = scale(difference, -1)
    return _make("is_zero", (difference,), None, BOOLEAN)


def between(low: Term, term: Term, high: Term) -> Term:
    """low <= term < high"""
    return conjunction(at_most(low, term), less(term, high))


# --- intervals ---


def interval(term: Term) -> Interval:
    """Bounds of an integer that follow from those of its variables alone; None where there is none."""
    found = term.bounds
    if found is None:
        found = term.bounds = _interval(term)
    return found


def _interval(term: Term) -> Interval:
    operation, data = term.operation, term.data
    if operation == "number":
        return data, data
    if operation in ("variable", "app"):
        return (data[1], data[2]) if term.sort == INTEGER else (None, None)
    if operation == "sum":
        low: int | None = 0
        high: int | None = 0
        for monomial, factor in data:
            part: Interval = (1, 1)
            for position, atom in enumerate(monomial):
                square = position and monomial[position - 1] is atom
                part = _product(part, interval(atom))
                if square and len(monomial) == 2:
                    part = (max(part[0] or 0, 0), part[1])
            part = _product(part, (factor, factor))
            low = None if low is None or part[0] is None else low + part[0]
            high = None if high is None or part[1] is None else high + part[1]
        return low, high
    if operation == "wrap":
        width, signed = data
        return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if operation == "modulo":
        divisor = constant(term.arguments[1])
        if divisor:
            return (0, divisor - 1) if divisor > 0 else (divisor + 1, 0)
        low, high = interval(term.arguments[1])
        return (0, None if high is None else high - 1) if low is not None and low > 0 else (None, None)
    if operation == "floor_div":
        low, high = interval(term.arguments[0])
        divisor = constant(term.arguments[1])
        if divisor is not None and divisor > 0:
            return (None if low is None else low // divisor), (None if high is None else high // divisor)
        least, _ = interval(term.arguments[1])
        if least is not None and least > 0:
            return (
                None if low is None else min(low // least, 0) if low < 0 else 0,
                None if high is None else max(high // least, -1),
            )
        return None, None
    if operation in ("minimum", "maximum", "choose"):
        (a, b), (c, d) = interval(term.arguments[-2]), interval(term.arguments[-1])
        if operation == "choose":
            return _pick(min, a, c), _pick(max, b, d)
        lows, highs = [x for x in (a, c) if x is not None], [x for x in (b, d) if x is not None]
        if operation == "minimum":
            return _pick(min, a, c), min(highs, default=None)
        return max(lows, default=None), _pick(max, b, d)
    return None, None


def _pick(select: Callable[..., int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else select(a, b)


def _product(left: Interval, right: Interval) -> Interval:
    if None not in left and None not in right:
        ends = [a * b for a in left for b in right]  # type: ignore[operator]
        return min(ends), max(ends)
    (a, b), (c, d) = left, right
    if a is not None and a >= 0 and c is not None and c >= 0:
        return a * c, None if b is None or d is None else b * d
    if (a is not None and a == b) or (c is not None and c == d):
        (factor, low, high) = (a, c, d) if a is not None and a == b else (c, a, b)
        assert factor is not None
        ends_or_none = [None if end is None else end * factor for end in (low, high)]
        if factor == 0:
            return 0, 0
        return (ends_or_none[0], ends_or_none[1]) if factor > 0 else (ends_or_none[1], ends_or_none[0])
    return None, None
