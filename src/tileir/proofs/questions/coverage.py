"""Is every element of the outputs written, and by each store once?

An output is an array that a store other than an atomic writes.  A tile of it is written if a tile block, iterations and
elements can be named that write it, as expressions of where the tile is: the id of the block is the index, or what
remains of it.  Else, if tile blocks write different tiles within the tensor and there are as many blocks as tiles, all
tiles are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileir.dialect import ops
from tileir.ir.core import Operation
from tileir.proofs.contract.contract import element_bytes
from tileir.proofs.contract.inference import strided, unwrapped
from tileir.proofs.questions.context import Context
from tileir.proofs.questions.races import are_rows_apart, no_overlap, stride_order, with_equal_quotients
from tileir.proofs.records import Assumption, Claim
from tileir.proofs.solving import PROVED
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.memory import WRITE, Access, is_local, primed
from tileir.proofs.symbolic.terms import ONE, ZERO, Term
from tileir.proofs.symbolic.traversal import substitute, variables
from tileir.proofs.symbolic.walking import is_left_early

_NOT_ALL = "not every element was shown to be written"
_OTHER_GRID = "the grid is inferred from another array: state it, as --grid 'cdiv(n, 128)'"


def coverage_claims(context: Context, claims: Sequence[Claim]) -> Iterator[Claim]:
    """The claims of this question; `claims` are those about bounds and races."""
    outputs: dict[Term, list[Access]] = {}
    for access in context.contract.accesses:
        if access.kind == WRITE and access.array is not None and not access.array.data[3]:
            outputs.setdefault(access.array, []).append(access)
            if access.view is None:
                yield _once(context, access)
    for stores in outputs.values():
        yield _all_written(context, stores, claims)
    for operation, why in context.contract.missing:
        if operation.declaration.writes is not None:
            yield Claim("coverage", operation, None, "unknown", why)


# --- once ---


def _once(context: Context, access: Access) -> Claim:
    """Different elements of one store have different addresses."""
    facts = context.facts(access)
    offset = context.solver.simplified(access.offset, facts)
    kept = [part for part in variables(offset, access.mask, *facts) if part not in access.lanes]
    lanes = [lane for lane in access.lanes if lane is not ZERO]
    differ = terms.disjunction(*[terms.negation(terms.equal(lane, primed(lane))) for lane in lanes])
    other = primed(offset, kept)
    one, two = strided(offset, access.size), strided(other, access.size)
    same = [terms.equal(offset, other)]
    if (
        one is not None
        and two is not None
        and set(one) == set(two)
        and are_rows_apart(context, one, [*facts, access.mask])
    ):
        same = [terms.equal(one[stride], two[stride]) for stride in one]
    wrong = [*facts, access.mask, primed(access.mask, kept), *same, differ]
    why = "two elements of the store may have one index"
    return context.claim("coverage", access.operation, terms.FALSE, wrong, None, 1.0, why)


# --- all ---


def _all_written(context: Context, stores: list[Access], claims: Sequence[Claim]) -> Claim:
    reason = ""
    for access in stores:
        reason = _obstacle(context, access)
        if not reason and not _is_whole(context, access):
            is_stated = (
                access.array is not None and context.contract.counts[access.array] not in context.contract.needed
            )
            reason = _NOT_ALL if is_stated else "the array has elements between those that the store is for"
        elif not reason:
            if _has_witness(context, access) or _are_as_many(context, access, claims):
                return Claim("coverage", access.operation, None, "proved")
            if _is_proved("bounds", access, claims) and _goes_over(context, access):
                return Claim("coverage", access.operation, None, "proved")
            reason = _NOT_ALL
    contract = context.contract
    counted = variables(*contract.grid)
    extents = [extent for access in stores for extent in contract.uses.indexed_by_block(access)]
    if reason == _NOT_ALL and contract.is_grid_inferred and not set(variables(*extents)) <= set(counted):
        reason = _OTHER_GRID
    wrong: list[Term] = []
    view = stores[0].view
    if view is not None:
        # A last tile that is not whole shows what is left out.
        for extent, step in zip(view.extents, view.steps, strict=True):
            if terms.constant(extent) is None and step > 1:
                wrong.append(terms.equal(extent, terms.number(step + 1)))
    else:
        wrong += _without_gaps(context, stores[0])
    return Claim(
        "coverage", stores[0].operation, None, "refutable" if reason == _NOT_ALL else "unknown", reason, "",
        context.candidates(wrong),
    )  # fmt: skip


def _without_gaps(context: Context, access: Access) -> list[Term]:
    """That each row begins where the last one ends, where strides are parameters of their own: gaps are no elements."""
    groups = strided(unwrapped(access.offset), access.size) or {}
    bounds = context.contract.index_bounds(access)
    reached, found = ONE, []
    for stride in sorted(groups, key=stride_order):
        bound = bounds.get(unwrapped(groups[stride]))
        if context.contract.is_free(stride):
            found.append(terms.equal(stride, reached))
        if bound is None:
            break
        reached = terms.mul(reached, bound)
    return found


def _obstacle(context: Context, access: Access) -> str:
    """Why a store may be left out in a way that its conditions do not show."""
    entry = context.elements.entry
    for loop in access.visit.loops:
        if loop.declaration is ops.LOOP or is_left_early(loop):
            return "the store is in a loop that may end early"
    for operation in entry.walk():
        if operation.declaration is ops.RETURN and _depth(operation, entry) > 1:
            return "the kernel returns from inside nested control flow"
    return ""


def _depth(operation: Operation, entry: Operation) -> int:
    depth = 0
    while operation.parent_operation is not None and operation.parent_operation is not entry:
        operation = operation.parent_operation
        depth += 1
    return depth


def _is_whole(context: Context, access: Access) -> bool:
    """Whether what a store is for, a tensor or what its masks allow, is the whole array: no rows have gaps behind them.

    Where a stride is a parameter of its own, gaps are not elements.
    """
    contract, solver = context.contract, context.solver
    assert access.array is not None
    size = contract.counts[access.array]
    count = contract.needed.get(size, size)
    pairs: list[tuple[Term, Term]] = []
    if access.view is not None:
        tensor = access.view.tensor
        if tensor.address is not access.array or tensor.size != element_bytes(contract, access.array):
            return False
        pairs = [pair for pair in zip(tensor.strides, tensor.shape, strict=True) if pair[1] is not ONE]
    else:
        groups = strided(solver.simplified(access.offset, [*context.facts(access), access.mask]), access.size)
        bounds = contract.index_bounds(access)
        for stride, index in (groups or {}).items():
            bound = bounds.get(unwrapped(index))
            if bound is None:
                return True  # There is no witness, either.
            pairs.append((stride, bound))
    if size in contract.needed and any(contract.is_free(stride) for stride, _ in pairs):
        last = ZERO
        for stride, extent in pairs:
            last = terms.add(last, terms.mul(terms.sub(extent, ONE), stride))
        return solver.follows(terms.equal(terms.add(last, ONE), count), (), 1.0)
    if Assumption(no_overlap(access.array), "inferred") in contract.assumptions:
        # A stride that has wrapped is smaller than what it steps over: the tensor would overlap itself.
        pairs = [(unwrapped(stride), extent) for stride, extent in pairs]
        count = unwrapped(count)
    reached = ONE
    for stride, extent in sorted(pairs, key=lambda pair: stride_order(pair[0])):
        if not solver.follows(terms.equal(stride, reached), (), 0.5):
            return False
        reached = terms.mul(reached, extent)
    return solver.follows(terms.equal(reached, count), (), 1.0)


def _has_witness(context: Context, access: Access) -> bool:
    """Whether a block, iterations and lanes can be named for each position in the array."""
    targets = list(_targets(context, access))
    if not targets or any(target is None for target in targets):
        return False
    chosen: dict[Term, Term] = {}
    inside: list[Term] = []
    goals: list[Term] = []
    for number, target in enumerate(targets):
        assert target is not None
        index, count = target
        position = terms.variable(f"position {number}", 0)
        inside.append(terms.less(position, count))
        goals.append(terms.equal(index, position))
        _choose(context, index, position, chosen)
    elements = context.elements
    for part in variables(*goals, *access.facts, access.mask):
        if part.data[3] and part not in chosen and part not in elements.block:
            chosen[part] = ZERO
    for block in elements.block:
        chosen.setdefault(block, ZERO)
    facts = context.facts(access)
    mask = context.solver.simplified(access.mask, facts) if access.view is None else terms.TRUE
    needed = [*goals, *facts, mask]
    needed += [terms.between(ZERO, block, count) for block, count in zip(elements.block, elements.grid, strict=True)]
    for variable, value in chosen.items():
        low, high = variable.data[1], variable.data[2]
        needed.append(terms.TRUE if low is None else terms.at_least(value, terms.number(low)))
        if high is not None and variable not in elements.block:
            needed.append(terms.at_most(value, terms.number(high)))
    return all(context.solver.follows(substitute(each, chosen), inside, 1.0) for each in needed)


def _targets(context: Context, access: Access) -> Iterator[tuple[Term, Term] | None]:
    """The indices of a store and how many values each must take."""
    solver = context.solver
    facts = context.facts(access)
    if access.view is not None:
        for index, count, step, tile in zip(
            access.indices, access.view.space, access.view.steps, access.view.tile, strict=True
        ):
            # Tiles with gaps between them do not cover a tensor.
            yield (solver.simplified(index, facts), count) if index is not None and step <= tile else None
        return
    facts = [*facts, solver.simplified(access.mask, facts)]
    groups = strided(solver.simplified(access.offset, facts), access.size)
    bounds = context.contract.index_bounds(access)
    for index in (groups or {}).values():
        bound = bounds.get(unwrapped(index))
        yield (index, bound) if bound is not None and groups else None


def _choose(context: Context, index: Term, position: Term, chosen: dict[Term, Term]) -> None:
    """Give the variables of an index values with which it is a position, by quotients: largest coefficient first."""
    parts = []
    for monomial, factor in terms.polynomial(index):
        if len(monomial) == 1 and monomial[0].operation == "variable" and monomial[0].data[3] and factor > 0:
            if monomial[0] not in chosen:
                parts.append((factor, monomial[0]))
        elif monomial and any(is_local(atom) for atom in monomial):
            return
        else:
            product = terms.number(-factor)
            for atom in monomial:
                product = terms.mul(product, atom)
            position = terms.add(position, product)
    rest = position
    for factor, variable in sorted(parts, key=lambda part: -part[0]):
        chosen[variable] = terms.floor_div(rest, terms.number(factor))
        rest = terms.modulo(rest, terms.number(factor))
    # A loop that starts at the id of the block: that is what remains of its counter.
    for loop in context.elements.numbers:
        if loop.declaration is ops.FOR:
            lower, _, step = context.elements.bounds(loop)
            counter = context.elements.counter_value(loop)
            if counter in chosen and lower in context.elements.block and terms.constant(step) is None:
                chosen.setdefault(lower, terms.modulo(chosen[counter], step))


def _are_as_many(context: Context, access: Access, claims: Sequence[Claim]) -> bool:
    """Whether different blocks write different tiles of the tensor, and there are as many blocks as tiles."""
    if access.view is None or access.visit.loops or context.facts(access) or None in access.indices:
        return False
    if any(step > tile for step, tile in zip(access.view.steps, access.view.tile, strict=True)):
        return False
    if not _is_proved("bounds", access, claims) or not _is_proved("race", access, claims):
        return False
    blocks, tiles = ONE, ONE
    for count in context.contract.grid:
        blocks = terms.mul(blocks, count)
    for count in access.view.space:
        tiles = terms.mul(tiles, count)
    return blocks is tiles or context.solver.check([terms.negation(terms.equal(blocks, tiles))], 1.0) == PROVED


def _is_proved(question: str, access: Access, claims: Sequence[Claim]) -> bool:
    """Whether an access is within bounds; or does not race with itself."""
    found = [claim for claim in claims if claim.question == question and claim.operation is access.operation]
    own = [claim for claim in found if question == "bounds" or claim.other is access.operation]
    return bool(own) and all(claim.verdict == "proved" for claim in own)


def _goes_over(context: Context, access: Access) -> bool:
    """Whether a loop from the id of the block on, in steps of the grid, writes as many different tiles as there are:
    its counters of all tile blocks are all numbers below its bound."""
    if access.view is None or len(access.visit.loops) != 1 or access.visit.conditions or None in access.indices:
        return False
    if any(step > tile for step, tile in zip(access.view.steps, access.view.tile, strict=True)):
        return False
    elements, solver = context.elements, context.solver
    loop = access.visit.loops[0]
    if loop.declaration is not ops.FOR:
        return False
    lower, upper, step = elements.bounds(loop)
    if lower not in elements.block or step is not elements.grid[elements.block.index(lower)]:
        return False
    if any(c is not ONE for b, c in zip(elements.block, context.contract.grid, strict=True) if b is not lower):
        return False
    facts = context.facts(access)
    counter = solver.simplified(elements.counter_value(loop), facts)
    indices = [solver.simplified(index, facts) for index in access.indices if index is not None]
    same_indices = [terms.equal(index, primed(index)) for index in indices]
    differ = terms.negation(terms.equal(counter, primed(counter)))
    meeting = with_equal_quotients(context, [*facts, *[primed(fact) for fact in facts], *same_indices, differ])
    if solver.check(meeting, 3.0) != PROVED:
        return False
    tiles = ONE
    for count in access.view.space:
        tiles = terms.mul(tiles, count)
    return solver.follows(terms.equal(solver.simplified(upper, facts), tiles), (), 1.0)
