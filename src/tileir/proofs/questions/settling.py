"""An assumption that would settle a claim: how a number that is passed in relates to the extents of arrays.

Callers pass `x.shape[1]` again as a number, or arrays whose extents belong together.  No kernel states it; whoever
reads that it is refuted should see at once which assumption is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from tileir.proofs.contract.contract import Contract, tensors
from tileir.proofs.solving import PROVED, Solver
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.memory import is_local
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import ONE, Term
from tileir.proofs.symbolic.traversal import subterms, variables

_SECONDS: Final = 1.5
_QUICK: Final = 0.2
_MOST: Final = 40
"""Assumptions that are tried."""


def settling(contract: Contract, wrong: Sequence[Term]) -> str:
    """The assumption without which `wrong` may hold, in the syntax of `--assume`; empty if none was found."""
    solver = Solver(contract.hypotheses, _SECONDS, contract.promised)
    single = list(_candidates(contract, wrong))[:_MOST]
    # Two together only if neither is enough, and both are not about one number.
    pairs = [pair for pair in combinations(single, 2) if _differ(*pair)][:_MOST]
    tried: list[tuple[tuple[Term, ...], str]]
    tried = [((fact,), term_text(fact)) for fact in [*_sizes(contract, wrong), *single]]
    tried += _contents(contract, wrong)
    tried += [(pair, " and ".join([term_text(fact) for fact in pair])) for pair in pairs]
    for facts, text in tried:
        if solver.left <= 0:
            break
        if solver.check([*wrong, *facts], _QUICK) == PROVED and solver.check(facts, _QUICK) != PROVED:
            return text
    return ""


def _sizes(contract: Contract, wrong: Sequence[Term]) -> Iterator[Term]:
    """That an array has all elements that an access without a mask goes over."""
    named = set(variables(*wrong))
    for access in contract.accesses:
        size = contract.counts.get(access.array) if access.array is not None else None
        count = contract.uses.unmasked_count(access) if size in named and access.view is None else None
        if size is not None and count is not None:
            yield terms.at_least(size, count)


def _contents(contract: Contract, wrong: Sequence[Term]) -> Iterator[tuple[tuple[Term, ...], str]]:
    """That what is loaded from an array is an index of another one, or of a row of it."""
    parts = list(subterms(*wrong))
    loaded: dict[str, list[Term]] = {}
    for part in parts:
        if part.operation == "app" and str(part.data[0]).endswith("[]") and part.sort == terms.INTEGER:
            loaded.setdefault(str(part.data[0]).removesuffix("[]"), []).append(part)
    limits = [each for each in dict.fromkeys(contract.uses.all_extents()) if not is_local(each)]
    for access in contract.accesses:
        factors = [abs(factor) // access.size for monomial, factor in terms.polynomial(access.offset) if monomial]
        limits += [terms.number(factor) for factor in factors if factor > 1]
    for name, elements in loaded.items():
        for limit in dict.fromkeys(limits):
            facts = tuple([terms.between(terms.ZERO, element, limit) for element in elements])
            yield facts, f"0 <= {name}[*] < {term_text(limit)}"


def _candidates(contract: Contract, wrong: Sequence[Term]) -> Iterator[Term]:
    """That numbers are positive, or an extent; that an extent is as many tiles as another one has."""
    parameters = set(contract.elements.parameters.values())
    shapes = [extent for tensor in tensors(contract.elements) for extent in (*tensor.shape, *tensor.strides)]
    sizes = set(variables(*shapes, *contract.uses.extents()))
    named = [each for each in variables(*wrong, *contract.grid) if each in parameters]
    numbers = [each for each in named if each not in sizes]
    extents = [each for each in dict.fromkeys(contract.uses.all_extents()) if each.operation == "variable"]
    for number in numbers:
        if terms.at_least(number, ONE) is not terms.TRUE:
            yield terms.at_least(number, ONE)
    for number in numbers:
        yield from [terms.equal(number, extent) for extent in extents if not is_local(extent)]
    quotients = [part for part in subterms(*wrong, *contract.grid) if _is_number_of_tiles(part)]
    for extent in [each for each in extents if each in named]:
        for quotient in quotients:
            if extent not in variables(quotient):
                yield terms.equal(extent, terms.scale(quotient, -1))


def _is_number_of_tiles(part: Term) -> bool:
    """cdiv(n, tile), which is -(-n // tile)."""
    if part.operation != "floor_div" or is_local(part) or terms.constant(part.arguments[1]) is None:
        return False
    return all(factor < 0 for _, factor in terms.polynomial(part.arguments[0]))


def _differ(first: Term, second: Term) -> bool:
    return not set(variables(first)[:1]) & set(variables(second)[:1])
