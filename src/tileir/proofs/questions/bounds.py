"""Does every access lie within its array?

Through a view the tile may reach past the tensor (it is padded, or clipped), but its index must be one of the index
space: 0 <= index < cdiv(extent, step).  Through a pointer every element that is not masked must lie in the array.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileir.dialect import ops
from tileir.execute.sanitizer.promises import promised_dimensions
from tileir.proofs.contract.contract import element_bytes
from tileir.proofs.contract.inference import strided
from tileir.proofs.questions.context import Context
from tileir.proofs.records import Claim
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.memory import Access
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import ONE, ZERO, Term
from tileir.proofs.symbolic.traversal import subterms
from tileir.proofs.symbolic.views import base_of
from tileir.proofs.symbolic.walking import Visit, facts_of, walk
from tileir.rewrite.fact import shape_of


def bounds_claims(context: Context) -> Iterator[Claim]:
    for operation, why in context.contract.missing:
        yield Claim("bounds", operation, None, "unknown", why)
    for access in context.contract.accesses:
        yield _view_claim(context, access) if access.view is not None else _pointer_claim(context, access)
    for visit in walk(context.elements.entry):
        if visit.operation.declaration in (ops.EXTRACT, ops.INSERT):
            yield _part_claim(context, visit)


def _part_claim(context: Context, visit: Visit) -> Claim:
    """That the part of a tile that is extracted or replaced is one of it."""
    operation = visit.operation
    first, second = operation.operands[:2]
    is_extract = operation.declaration is ops.EXTRACT
    whole, part = (first, operation.results[0]) if is_extract else (second, first)
    path = context.solver.simplified_facts(facts_of(context.elements, visit))
    goals = []
    extents = zip(shape_of(whole.type), shape_of(part.type), strict=True)
    for index, (full, extent) in zip(operation.operands[1 if is_extract else 2 :], extents, strict=True):
        count = terms.number(full // extent)
        goals.append(terms.less(context.solver.simplified(context.elements.unsigned(index), path), count))
    return context.claim("bounds", operation, terms.conjunction(*goals), path)


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
    if any(part.operation == "app" for part in subterms(extent)):
        return ""
    for part in subterms(index):
        if part.operation == "app" and str(part.data[0]).endswith("[]"):
            return f"0 <= {part.data[0][:-2]}[*] < {term_text(extent)}"
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
    if claim.verdict == "refutable" and size.operation == "variable" and not context.contract.has_size(size):
        if not context.unfollowed(access.offset):
            # Any index is outside of an array that is small enough.
            count = context.contract.uses.unmasked_count(access)
            claim.settled_by = f"{term_text(size)} >= {'..' if count is None else term_text(count)}"
    return claim


def _delinearized(context: Context, groups: dict[Term, Term], size: Term, facts: list[Term]) -> bool:
    """Whether the indices of an offset are bounded one by one such that the largest sum lies in the array."""
    solver = context.solver
    for count in context.contract.hypotheses:
        if count.operation != "not_positive" or size not in count.arguments[0].arguments:
            continue
        # size >= sum of largest indices * strides, + 1
        largest = _largest(terms.sub(terms.add(count.arguments[0], size), ONE), list(groups))
        if largest is not None and all(
            solver.follows(terms.at_least(stride, ZERO))
            and solver.follows(terms.between(ZERO, index, terms.add(largest[stride], ONE)), facts)
            for stride, index in groups.items()
        ):
            return True
    return False


def _largest(last: Term, strides: list[Term]) -> dict[Term, Term] | None:
    """What each stride is multiplied with in the largest offset, every part of which belongs to one stride."""
    atoms = {stride: [atom for monomial, _ in terms.polynomial(stride) for atom in monomial] for stride in strides}
    found = dict.fromkeys(strides, ZERO)
    for monomial, factor in terms.polynomial(last):
        # The stride with the most atoms first, as those of others may be extents.
        for stride in sorted(strides, key=lambda each: -len(atoms[each])):
            rest = list(monomial)
            if all(atom in rest for atom in atoms[stride]):
                for atom in atoms[stride]:
                    if atom not in rest:
                        return None
                    rest.remove(atom)
                product = terms.number(factor)
                for atom in rest:
                    product = terms.mul(product, atom)
                found[stride] = terms.add(found[stride], product)
                break
        else:
            return None
    return found
