"""Does every access lie within its array?

Through a view the tile may reach past the tensor (it is padded, or clipped), but its index must be one of the index
space: 0 <= index < cdiv(extent, step).  Through a pointer every element that is not masked must lie in the array.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.execute.sanitizer.promises import promised_dimensions
from tileir.prove import terms
from tileir.prove.context import Context
from tileir.prove.contract import element_bytes
from tileir.prove.elements import base_of
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
    view = access.view
    whole = promised_dimensions(access.operation)
    goals = [(_tensor_goal(context, access), terms.ONE)]
    for axis, (index, count, extent) in enumerate(zip(access.indices, view.space, view.extents, strict=True)):
        if index is None:
            continue
        index, count = context.solver.simplified(index, facts), context.solver.simplified(count, facts)
        goal = terms.less(index, count)
        if axis in whole:
            last = terms.add(terms.scale(index, view.steps[axis]), terms.number(view.tile[axis]))
            goal = terms.conjunction(goal, terms.at_most(last, extent))
        goals.append((goal, extent))
    for goal, extent in goals:
        claim = context.claim("bounds", access.operation, goal, facts)
        if claim.verdict != "proved" and (weakest is None or claim.verdict == "refutable"):
            claim.settled_by = _suggestion(goal, extent, context)
            weakest = claim
    return weakest or Claim("bounds", access.operation, None, "proved")


def _tensor_goal(context: Context, access: Access) -> Term:
    """That the tensor of a view lies in its array."""
    assert access.view is not None
    tensor = access.view.tensor
    base, offset = base_of(tensor.address)
    if base is None or base not in context.contract.counts:
        return terms.FALSE
    last = ZERO
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        last = terms.add(last, terms.mul(terms.sub(extent, ONE), stride))
    unit = element_bytes(context.contract, base) or tensor.size
    end = terms.add(last, ONE)
    if offset is ZERO and unit == tensor.size:
        return terms.at_most(end, context.contract.counts[base])
    whole = terms.scale(context.contract.counts[base], unit)
    inside = terms.at_most(terms.add(offset, terms.scale(end, tensor.size)), whole)
    return terms.conjunction(terms.at_least(offset, ZERO), inside)


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
    unit = element_bytes(context.contract, access.array) or access.size
    groups = strided(offset, access.size) if unit == access.size else None
    if groups is not None and len(groups) > 1 and any(each.operation != "number" for each in groups):
        if _delinearized(context, groups, size, facts):
            return Claim("bounds", access.operation, None, "proved")
    whole = terms.scale(size, unit)
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
        strides = sorted(groups, key=lambda stride: -len(_atoms(stride)))
        if all(solver.follows(terms.at_least(stride, ZERO)) for stride in strides) and _fits(
            context, groups, strides, last, facts
        ):
            return True
    return False


def _fits(context: Context, groups: dict[Term, Term], strides: list[Term], last: Term, facts: list[Term]) -> bool:
    """Whether the sum of indices times strides, the largest strides first, is at most `last`."""
    solver = context.solver
    if not strides:
        return solver.follows(terms.at_least(last, ZERO), facts)
    stride, *inner = strides
    index = groups[stride]
    if stride is ONE:
        return solver.follows(terms.between(ZERO, index, terms.add(last, ONE)), facts)
    whole = _part(last, stride)
    rest = terms.sub(last, terms.mul(whole, stride))
    # With one less of this stride there is a whole stride more for the others.
    if solver.follows(terms.between(ZERO, index, whole), facts):
        return _fits(context, groups, inner, terms.add(stride, rest), facts)
    return solver.follows(terms.between(ZERO, index, terms.add(whole, ONE)), facts) and _fits(
        context, groups, inner, rest, facts
    )


def _atoms(stride: Term) -> list[Term]:
    return [atom for monomial, _ in terms.polynomial(stride) for atom in monomial]


def _part(last: Term, stride: Term) -> Term:
    """What a stride is multiplied with in the largest offset."""
    found = ZERO
    atoms = _atoms(stride)
    for monomial, factor in terms.polynomial(last):
        rest = list(monomial)
        if all(atom in rest and (rest.remove(atom) or True) for atom in atoms):  # type: ignore[func-returns-value]
            product = terms.number(factor)
            for atom in rest:
                product = terms.mul(product, atom)
            found = terms.add(found, product)
    return found
