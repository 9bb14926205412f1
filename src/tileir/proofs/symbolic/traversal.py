"""The parts of terms, and terms with other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.terms import ZERO, Term


def subterms(*roots: Term) -> Iterator[Term]:
    """Each part of the terms once, arguments first."""
    done: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(term, False) for term in reversed(roots)]
    while stack:
        term, visited = stack.pop()
        if visited:
            yield term
        elif term not in done:
            done.add(term)
            stack.append((term, True))
            stack.extend((argument, False) for argument in reversed(term.arguments))


def rebuild(term: Term, arguments: tuple[Term, ...]) -> Term:
    """The same operation of other arguments, in canonical form."""
    operation = term.operation
    if operation == "sum":
        known = dict(zip(term.arguments, arguments, strict=True))
        total = ZERO
        for monomial, factor in term.data:
            product = terms.number(factor)
            for atom in monomial:
                product = terms.mul(product, known[atom])
            total = terms.add(total, product)
        return total
    if operation == "app":
        return terms.app(term.data[0], arguments, term.sort, *term.data[1:])
    if operation == "wrap":
        return terms.wrap(arguments[0], *term.data)
    if operation == "not_positive":
        return terms.at_most(arguments[0], ZERO)
    if operation == "is_zero":
        return terms.equal(arguments[0], ZERO)
    return _BUILDERS[operation](*arguments)


_BUILDERS: Final[dict[str, Callable[..., Term]]] = {
    "floor_div": terms.floor_div,
    "modulo": terms.modulo,
    "minimum": terms.minimum,
    "maximum": terms.maximum,
    "choose": terms.choose,
    "same": terms.equal,
    "negation": terms.negation,
    "conjunction": terms.conjunction,
    "disjunction": terms.disjunction,
}


def substitute(term: Term, replacements: dict[Term, Term]) -> Term:
    """The term with other terms for some of its parts."""
    return _rewritten(term, replacements.get, replacements.get)


def transformed(term: Term, replace: Callable[[Term], Term | None]) -> Term:
    """The term rebuilt from its leaves: `replace` may give another term for a part that is rebuilt."""
    return _rewritten(term, lambda part: None, replace)


def _rewritten(term: Term, before: Callable[[Term], Term | None], after: Callable[[Term], Term | None]) -> Term:
    found: dict[Term, Term] = {}
    for part in subterms(term):
        given = before(part)
        if given is None:
            arguments = tuple([found[argument] for argument in part.arguments])
            rebuilt = part if arguments == part.arguments else rebuild(part, arguments)
            given = after(rebuilt) or rebuilt
        found[part] = given
    return found[term]


def variables(*roots: Term) -> list[Term]:
    return [part for part in subterms(*roots) if part.operation == "variable"]
