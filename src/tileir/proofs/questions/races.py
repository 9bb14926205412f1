"""Can two accesses touch the same element, one of them to write, with no order between them?

Between tile blocks the second access is that of another block: all that is local has other names (`memory.primed`).
Within a tile block tokens order accesses (`token_paths`); only pairs that they do not order are checked.

Elements of one tensor are the same if their positions are; for that a tensor must not overlap itself, which the
contract states.  So boxes are compared dimension by dimension, and strides, which may be anything, do not occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Final

from tileir.execute.analysis.token_order import TokenOrder
from tileir.ir.core import Operation
from tileir.proofs.contract.inference import strided, unwrapped
from tileir.proofs.questions.context import Context
from tileir.proofs.questions.locks import Locks
from tileir.proofs.records import Claim
from tileir.proofs.solving import PROVED, REFUTED, without
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.memory import READ, Access, primed
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.token_paths import always_after
from tileir.proofs.symbolic.traversal import substitute, subterms, variables

_SCOPES: Final = ("device", "sys")
_QUICK: Final = 1.0
_SMALL: Final = 300
"""A size up to which a computed stride must be right; beyond it an integer may wrap."""


def race_claims(context: Context) -> Iterator[Claim]:
    found = context.contract.accesses
    order = TokenOrder(context.elements.entry)
    locks = Locks(context.elements, found, order)
    writes = any(access.kind != READ for access in found)
    for operation, why in context.contract.missing:
        if writes or operation.declaration.writes is not None:
            yield Claim("race", operation, None, "unknown", why)
            yield Claim("tokens", operation, None, "unknown", why)
    yield from _overlap_claims(context)
    _exclude_overlaps(context)
    for number, first in enumerate(found):
        for second in found[number:]:
            if first.kind == READ and second.kind == READ:
                continue
            if first.array is None or second.array is None:
                if first is second or writes:
                    why = "a pointer leads to no one array"
                    yield Claim("race", first.operation, second.operation, "unknown", why)
                    yield Claim("tokens", first.operation, second.operation, "unknown", why)
                continue
            if first.array is not second.array or (_is_strong(first) and _is_strong(second)):
                continue
            if not first.array.data[3]:
                yield _between_blocks(context, first, second, locks)
            yield from _within_block(context, first, second, order)


def _overlap_claims(context: Context) -> Iterator[Claim]:
    """Tensors of arrays that are written must not overlap themselves: a stride is larger than what the smaller ones
    reach.

    Where strides are parameters of their own, the contract states it; others are checked.
    """
    solver = context.solver
    written = {access.array for access in context.contract.accesses if access.kind != READ}
    done: set[Operation] = set()
    # Stores first: a tensor that is also read is claimed at its store.
    for access in sorted(context.contract.accesses, key=lambda access: access.kind == READ):
        tensor = access.view.tensor if access.view is not None else None
        if tensor is None or tensor.maker in done or access.array is None or access.array not in written:
            continue
        done.add(tensor.maker)
        apart = is_apart(tensor.shape, tensor.strides)
        if solver.follows(apart, (), 0.5):
            continue
        small = [terms.at_most(part, terms.number(_SMALL)) for part in variables(apart)]
        several = [terms.at_least(each, terms.number(2)) for each in tensor.shape if terms.constant(each) is None]
        if any(context.contract.is_free(stride) for stride in tensor.strides):
            is_excluded = solver.check([*several, apart], 1.0) == PROVED
            result = REFUTED if is_excluded and solver.check(several, 1.0) == REFUTED else PROVED
        else:
            result = solver.check([terms.negation(apart), *small], 1.0)
        if result == PROVED:
            context.contract.note(no_overlap(access.array), "inferred")
            context.contract.apart.append(apart)
            continue
        claim = Claim("race", access.operation, access.operation, "unknown")
        claim.reason = "the strides let elements of the tensor overlap"
        if result == REFUTED and access.kind != READ:
            claim.verdict, claim.candidates = "refutable", context.candidates([terms.negation(apart)])
        yield claim


def _exclude_overlaps(context: Context) -> None:
    """Propose no launches in which an array that is written through pointers overlaps itself, where its strides are
    parameters of their own: also those that a compiler has made constants, which the kernel does not use."""
    contract = context.contract
    for access in contract.accesses:
        if access.view is not None or access.kind == READ or access.array is None:
            continue
        groups = strided(unwrapped(access.offset), access.size)
        bounds = contract.index_bounds(access)
        if groups is not None and any(contract.is_free(stride) for stride in groups):
            pairs = [(bounds.get(unwrapped(index)), stride) for stride, index in groups.items()]
            shape = [bound for bound, _ in pairs if bound is not None]
            if len(shape) == len(pairs):
                contract.apart.append(is_apart(shape, list(groups)))
        contract.apart += _one_of_equal_strides(context, access, bounds)


def _one_of_equal_strides(context: Context, access: Access, bounds: dict[Term, Term]) -> list[Term]:
    """Of the extents of an array whose strides are one number, that at most one is above 1.

    The array is a pointer that extents and as many strides follow among the parameters.
    """
    parameters = list(context.elements.parameters)
    numbers = {term: number for number, term in enumerate(context.elements.parameters.values())}
    first = numbers.get(access.array, -1) if access.array is not None else -1
    extents = {numbers.get(bound, -1) - first: (index, bound) for index, bound in bounds.items()}
    rank = max(extents, default=0)
    unused = [position for position in extents if first + rank + position < len(parameters) and position > 0]
    unused = [position for position in unused if not parameters[first + rank + position].has_uses]
    by_factor: dict[int, list[Term]] = {}
    factors = dict(terms.polynomial(unwrapped(access.offset)))
    for position in unused:
        index, bound = extents[position]
        for monomial, factor in terms.polynomial(index)[:1]:
            by_factor.setdefault(factors.get(monomial, 0) // factor, []).append(bound)
    pairs = [pair for members in by_factor.values() for pair in combinations(members, 2)]
    return [terms.disjunction(*[terms.at_most(each, terms.ONE) for each in pair]) for pair in pairs]


def is_apart(shape: Sequence[Term], strides: Sequence[Term]) -> Term:
    """That different indices of a tensor lead to different elements."""
    reached, found = terms.ZERO, []
    # Of strides that could be in any order the last one is the smallest.
    pairs = list(zip(shape, strides, strict=True))[::-1]
    for extent, stride in sorted(pairs, key=lambda pair: stride_order(pair[1])):
        if extent is not terms.ONE:
            found.append(terms.less(reached, stride))
            reached = terms.add(reached, terms.mul(terms.sub(extent, terms.ONE), stride))
    return terms.conjunction(*found)


def no_overlap(array: Term) -> str:
    """What a contract states of an array whose tensor must not overlap itself."""
    return f"the elements of {str(array.data[0]).removeprefix('&')} do not overlap"


def stride_order(stride: Term) -> tuple[int, int]:
    """Sorts strides, the smallest first."""
    parts = terms.polynomial(unwrapped(stride))
    return max([len(monomial) for monomial, _ in parts], default=0), max([factor for _, factor in parts], default=0)


def _is_strong(access: Access) -> bool:
    """Whether others may access the same memory at the same time."""
    operation = access.operation
    strong = operation.keyword("memory_ordering_semantics") not in (None, "weak")
    return strong and operation.keyword("memory_scope") in _SCOPES


def _between_blocks(context: Context, first: Access, second: Access, locks: Locks) -> Claim:
    other = [primed(block) for block in context.elements.block]
    pairs = zip(context.elements.block, other, strict=True)
    differ = terms.disjunction(*[terms.negation(terms.equal(mine, theirs)) for mine, theirs in pairs])
    return _meeting(context, "race", first, second, (), [differ], locks)


def _within_block(context: Context, first: Access, second: Access, order: TokenOrder) -> Iterator[Claim]:
    """Pairs in one tile block: in different iterations, or of different operations."""
    common = [loop for loop in first.visit.loops if loop in second.visit.loops]
    if first is second and not common:
        return
    kept = set(context.elements.block)
    one, two = first.operation, second.operation
    forward = always_after(order, two, one)
    backward = always_after(order, one, two) if common else True
    if forward and backward:
        yield Claim("tokens", one, two, "proved")
        return
    if _excluded(first, second):
        return
    differ: list[Term] = []
    if common and (first is second or always_after(order, two, one, same_iteration=True)):
        # Within one iteration they are ordered.
        counters = [context.elements.iteration(loop) for loop in common]
        differ = [terms.disjunction(*[terms.negation(terms.equal(each, primed(each, kept))) for each in counters])]
    elif first is second:
        return
    yield _meeting(context, "tokens", first, second, kept, differ, None)


def _excluded(first: Access, second: Access) -> bool:
    """Whether only one of two accesses happens: in the two branches of an `if` that no loop repeats."""
    if first.visit.loops or second.visit.loops:
        return False
    conditions = dict(first.visit.conditions)
    return any(conditions.get(value, holds) != holds for value, holds in second.visit.conditions)


def _meeting(
    context: Context, question: str, first: Access, second: Access, kept: Sequence[Term] | set[Term],
    differ: list[Term], locks: Locks | None,
) -> Claim:  # fmt: skip
    """The claim that no element of both accesses is the same."""
    solver = context.solver
    where = context.facts(first)
    mask = solver.simplified(first.mask, where)
    other_where = [primed(fact, kept) for fact in context.facts(second)]
    other_mask = primed(solver.simplified(second.mask, context.facts(second)), kept)
    same = _same_element(context, first, second, kept, where, mask)
    if same is None:
        why = "the two accesses see the array through tensors of different strides"
        return Claim(question, first.operation, second.operation, "unknown", why)
    facts = [*where, *other_where, *same, *differ]
    # A mask of a view is where its box is cut off: what meets also meets without it, in simpler terms.
    facts += [each for each, access in ((mask, first), (other_mask, second)) if access.view is None]
    # Quotients by symbols are seldom settled at once.
    quick = _QUICK / 5 if any(_is_symbolic(part) for part in subterms(*facts)) else _QUICK
    if solver.check(facts, quick) == PROVED:
        return Claim(question, first.operation, second.operation, "proved")
    more = with_equal_quotients(context, facts)
    if solver.check(more, 3.0) == PROVED:
        return Claim(question, first.operation, second.operation, "proved")
    if locks is not None and locks.exclude(solver, first, second, more):
        context.contract.note("the locks are free when the kernel starts", "inferred")
        return Claim(question, first.operation, second.operation, "proved")
    wrong = [*facts, mask, other_mask]
    why = "the two accesses may touch the same element"
    return context.claim(question, first.operation, terms.FALSE, wrong, second.operation, 1.0, why)


def _same_element(
    context: Context, first: Access, second: Access, kept: Sequence[Term] | set[Term], where: list[Term], mask: Term
) -> list[Term] | None:
    """What holds if the elements of two accesses are the same; None if terms cannot express it."""
    solver = context.solver
    one, two = first.view, second.view
    if one is not None and two is not None:
        same_strides = one.tensor.strides == two.tensor.strides and one.tensor.size == two.tensor.size
        # Tensors of a tile block or an iteration may be elsewhere in another one.
        addresses = [each for view in (one, two) for each in (view.tensor.address, *view.tensor.strides)]
        is_fixed = all(primed(each, kept) is each for each in addresses)
        if same_strides and is_fixed and one.tensor.address is two.tensor.address:
            return _same_positions(context, first, second, kept)
        constant = all(terms.constant(s) is not None for s in (*one.tensor.strides, *two.tensor.strides))
        if is_fixed and not constant:
            return None
    known = [*where, mask]
    other = [*context.facts(second), solver.simplified(second.mask, context.facts(second))]
    left, other_offset = solver.simplified(first.offset, known), solver.simplified(second.offset, other)
    right = primed(other_offset, kept)
    a, b = strided(left, first.size), strided(right, second.size)
    if a is not None and b is not None and set(a) == set(b) and first.size == second.size:
        theirs = strided(other_offset, second.size) or {}
        if are_rows_apart(context, a, known) and are_rows_apart(context, theirs, other):
            return [terms.equal(a[stride], b[stride]) for stride in a]
    if first.size == second.size and a is not None and b is not None:
        return [terms.equal(left, right)]
    gap = terms.sub(left, right)
    return [terms.less(gap, terms.number(second.size)), terms.less(terms.number(-first.size), gap)]


def are_rows_apart(context: Context, groups: dict[Term, Term], facts: list[Term]) -> bool:
    """Whether indices that are multiplied with strides name different elements if they differ: each but the last stays
    below the number that its stride goes into the next one.

    If the next stride is a parameter of its own, the contract states it.
    """
    for small, large in pairwise(sorted(groups, key=stride_order)):
        divided = without(large, small)
        count = divided[1] if divided is not None and divided[0] == 1 else None
        if count is not None and context.solver.follows(terms.between(terms.ZERO, groups[small], count), facts, 1.0):
            continue
        if not context.contract.is_free(large):
            return False
        context.contract.note("the rows of an array do not overlap", "inferred")
        context.contract.apart.append(terms.at_least(large, terms.ONE))
    return True


def _same_positions(context: Context, first: Access, second: Access, kept: Sequence[Term] | set[Term]) -> list[Term]:
    """Boxes meet in every dimension of the tensor."""
    assert first.view is not None and second.view is not None
    solver = context.solver
    one, two = first.view, second.view
    found: list[Term] = []
    for axis in range(len(one.tensor.shape)):
        n, m = one.axes.index(axis), two.axes.index(axis)
        mine, theirs = first.indices[n], second.indices[m]
        if mine is not None and theirs is not None and one.steps[n] == two.steps[m] == one.tile[n] == two.tile[m]:
            # Tiles of one grid are the same or apart.
            left = solver.simplified(mine, context.facts(first))
            right = primed(solver.simplified(theirs, context.facts(second)), kept)
            found.append(terms.equal(left, right))
            continue
        left = solver.simplified(first.positions[n], context.facts(first))
        right = primed(solver.simplified(second.positions[m], context.facts(second)), kept)
        found.append(terms.equal(left, right))
        found.append(terms.between(terms.ZERO, left, one.extents[n]))
    return found


def with_equal_quotients(context: Context, facts: list[Term]) -> list[Term]:
    """The facts with more that follows: which quotients of the two accesses are equal.  With one name for both, those
    that are divided by something computed from them become equal in turn."""
    solver = context.solver
    settled: set[Term] = set()
    while solver.left > 0:
        divisions = [part for part in subterms(*facts) if _is_symbolic(part)]
        pending = [part for part in divisions if part not in settled and primed(part) in divisions]
        known = [*facts, *_orders(divisions)]
        for part in pending:
            twin = primed(part)
            if twin is not part and solver.follows(terms.equal(part, twin), known, _QUICK):
                settled.add(part)
                facts = [substitute(fact, {twin: part}) for fact in facts] + _defined(part, twin)
                break
        else:
            return known
    return facts


def _is_symbolic(term: Term) -> bool:
    return term.operation in ("floor_div", "modulo") and terms.constant(term.arguments[1]) is None


def _orders(divisions: list[Term]) -> list[Term]:
    """Of two quotients by one divisor, d*q >= d*q' + d where q > q': what a solver may not find by itself."""
    by_divisor: dict[Term, dict[Term, None]] = {}
    for part in divisions:
        by_divisor.setdefault(part.arguments[1], {})[terms.floor_div(*part.arguments)] = None
    found = []
    for divisor, quotients in by_divisor.items():
        positive = terms.at_least(divisor, terms.ONE)
        for one in quotients:
            for two in quotients:
                if one is not two:
                    apart = terms.at_least(terms.mul(divisor, terms.sub(one, two)), divisor)
                    found.append(terms.implies(terms.conjunction(positive, terms.less(two, one)), apart))
    return found


def _defined(part: Term, twin: Term) -> list[Term]:
    """Of two divisions with one result: that each fulfills what divisions do."""
    found = []
    for each in (part, twin):
        left, right = each.arguments
        quotient = part if part.operation == "floor_div" else terms.floor_div(left, right)
        rest = part if part.operation == "modulo" else terms.modulo(left, right)
        product = terms.add(terms.mul(right, quotient), rest)
        defined = terms.conjunction(terms.equal(left, product), terms.between(terms.ZERO, rest, right))
        found.append(terms.implies(terms.at_least(right, terms.ONE), defined))
    return found
