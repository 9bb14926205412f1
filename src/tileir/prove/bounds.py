"""Does every access lie within its array?

Through a view the tile may reach past the tensor (it is padded, or clipped), but its index must be one of the index
space: 0 <= index < cdiv(extent, step).  Through a pointer every element that is not masked must lie in the array.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.prove import terms
from tileir.prove.context import Context
from tileir.prove.inference import strided
from tileir.prove.memory import Access
from tileir.prove.records import Claim
from tileir.prove.terms import ONE, ZERO, Term


def bounds_claims(context: Context) -> Iterator[Claim]:
    for operation, why in context.contract.missing:
        yield Claim("bounds", operation, None, "unknown", why)
    for access in context.contract.accesses:
        yield _view_claim(context, access) if access.view is not None else _pointer_claim(context, access)


def _view_claim(context: Context, access: Access) -> Claim:
    assert access.view is not None
    facts = context.facts(access)
    weakest: Claim | None = None
    for index, count, extent in zip(access.indices, access.view.space, access.view.extents, strict=True):
        if index is None:
            continue
        goal = terms.less(context.solver.simplified(index, facts), context.solver.simplified(count, facts))
        claim = context.claim("bounds", access.operation, goal, facts)
        if claim.verdict != "proved" and (weakest is None or claim.verdict == "refutable"):
            claim.settled_by = _suggestion(index, extent, context)
            weakest = claim
    return weakest or Claim("bounds", access.operation, None, "proved")


def _suggestion(index: Term, extent: Term, context: Context) -> str:
    for part in terms.subterms(index):
        if part.operation == "app" and str(part.data[0]).endswith("[]"):
            return f'--assume "0 <= {part.data[0][:-2]}[*] < {terms.text(extent)}"'
    return ""


def _pointer_claim(context: Context, access: Access) -> Claim:
    if access.array is None:
        why = "; ".join([each.why for each in context.unfollowed(access.offset)]) or "the pointer leads to no one array"
        return Claim("bounds", access.operation, None, "unknown", why)
    solver = context.solver
    path = context.facts(access)
    mask = solver.simplified(access.mask, path)
    facts = [*path, mask]
    offset = solver.simplified(access.offset, facts)
    size = context.contract.counts[access.array]
    groups = strided(offset, access.size)
    if groups is not None and len(groups) > 1 and any(each.operation != "number" for each in groups):
        if _delinearized(context, groups, size, facts):
            return Claim("bounds", access.operation, None, "proved")
    whole = terms.scale(size, access.size)
    goal = terms.conjunction(
        terms.at_least(offset, ZERO), terms.at_most(terms.add(offset, terms.number(access.size)), whole)
    )
    claim = context.claim("bounds", access.operation, goal, facts)
    if claim.verdict != "proved":
        claim.settled_by = _suggestion(access.offset, size, context)
    return claim


def _delinearized(context: Context, groups: dict[Term, Term], size: Term, facts: list[Term]) -> bool:
    """Whether the indices of an offset are bounded one by one such that the largest sum lies in the array."""
    solver = context.solver
    for count in context.contract.hypotheses:
        if count.operation != "not_positive" or size not in count.arguments[0].arguments:
            continue
        # size >= sum of (bound - 1) * stride, + 1
        last = terms.sub(terms.add(count.arguments[0], size), ONE)
        bounds = strided(last, 1)
        if bounds is not None and all(
            solver.follows(terms.at_least(stride, ZERO))
            and solver.follows(terms.between(ZERO, index, terms.add(_part(last, stride), ONE)), facts)
            for stride, index in groups.items()
        ):
            return True
    return False


def _part(last: Term, stride: Term) -> Term:
    """What a stride is multiplied with in the largest offset."""
    found = ZERO
    atoms = [atom for monomial, _ in terms.polynomial(stride) for atom in monomial]
    for monomial, factor in terms.polynomial(last):
        rest = list(monomial)
        if all(atom in rest and (rest.remove(atom) or True) for atom in atoms):  # type: ignore[func-returns-value]
            product = terms.number(factor)
            for atom in rest:
                product = terms.mul(product, atom)
            found = terms.add(found, product)
    return found
