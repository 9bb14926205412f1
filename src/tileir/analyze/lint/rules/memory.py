"""Accesses to memory: tokens that are missing or order nothing, stores that nobody sees, and what tile blocks share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.execute.analysis.token_order import READS
from tileir.ir.core import Operation
from tileir.ir.location import TextLocation
from tileir.ir.traits import ATOMIC
from tileir.ir.values import Value
from tileir.rewrite.matching import leaves

_ORDERING: Final = ("acquire", "release", "acq_rel", "seq_cst")
_STORES: Final = (ops.STORE_PTR_TKO, ops.STORE_VIEW_TKO)
# Accesses of one place that each is compared with.
_MOST_COMPARED: Final = 4


def _is_weak(access: Operation) -> bool:
    return access.keyword("memory_ordering_semantics") == "weak"


@Rule(
    "memory",
    "Two accesses touch the same memory, one of them writes, and no token orders them",
    reason="Program order does not order memory operations, only tokens do: a compiler may swap these two.",
    remedy="Let the second take the token of the first: `token=%t`.",
    for_scripts=False,
    example="""\
-entry @k(%p: tile<ptr<f32>>) {
+entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
   %x, %read = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
   %y = addf %x, %x : tile<f32>
-  %written = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token // here
+  %written = store_ptr_tko weak %p, %y token=%read : tile<ptr<f32>>, tile<f32> -> token
+  %elsewhere = store_ptr_tko weak %q, %y : tile<ptr<f32>>, tile<f32> -> token
""",
)
def missing_token(subject: Subject) -> Iterable[LintFinding]:
    places: dict[tuple[Value, ...], list[Operation]] = {}
    for access in subject.accesses():
        places.setdefault(subject.place(access), []).append(access)
    for accesses in places.values():
        if any(access.declaration.writes is not None for access in accesses):
            yield from _unordered(subject, accesses)


def _unordered(subject: Subject, accesses: list[Operation]) -> Iterable[LintFinding]:
    """The accesses of one place that no token orders, each with the nearest one before it."""
    written_in: dict[Operation, list[Operation]] = {}
    for access in accesses:
        loop = subject.loop_of(access)
        if loop is not None and access.declaration.writes is not None and _is_plain(subject, access):
            written_in.setdefault(loop, []).append(access)
    # The last write, and the reads since.
    last_write: list[Operation] = []
    reads: list[Operation] = []
    for access in accesses:
        writes = access.declaration.writes is not None
        before = [*last_write, *(reads if writes else ())]
        for earlier in reversed(before[-_MOST_COMPARED:]):
            if not _conflict(subject, earlier, access):
                continue
            if subject.ordering.comes_after(access, earlier) is False:
                yield _missing(access, earlier, "")
                break
        else:
            found = _between_rounds(subject, access, written_in)
            if found is not None:
                yield found
        if writes:
            last_write, reads = [access], []
        else:
            reads.append(access)


def _conflict(subject: Subject, first: Operation, second: Operation) -> bool:
    """Whether two accesses of one place need an order: they touch an element together whenever one touches any."""
    one, other = subject.mask(first), subject.mask(second)
    is_same = one is None or other is None or subject.same(one) is subject.same(other)
    is_weak = _is_weak(first) or _is_weak(second)
    return is_weak and is_same and not _exclude_each_other(subject, first, second)


def _is_plain(subject: Subject, access: Operation) -> bool:
    """Whether an access touches all elements, and no other thread may access them concurrently."""
    return _is_weak(access) and subject.mask(access) is None


def _between_rounds(
    subject: Subject, access: Operation, written_in: dict[Operation, list[Operation]]
) -> LintFinding | None:
    """An access to one address in every iteration of a loop, which no token orders after a write of the iteration
    before."""
    loop = subject.loop_of(access)
    if loop is None or loop not in written_in or not _is_plain(subject, access):
        return None
    if any(subject.is_inside(value, loop) for value in subject.places(access)):
        return None
    for other in written_in[loop][:_MOST_COMPARED]:
        if _leads_to_next_round(other, loop) and subject.ordering.comes_after(access, other) is False:
            return _missing(access, other, " of the round before")
    return None


def _leads_to_next_round(operation: Operation, loop: Operation) -> bool:
    """Whether a loop may go on after an operation: no block around it ends the loop."""
    block = operation.parent
    while block is not None:
        if block.last is not None and block.last.declaration in (ops.BREAK, ops.RETURN):
            return False
        owner = block.parent_operation
        if owner is loop or owner is None:
            return True
        block = owner.parent
    return True


def _missing(access: Operation, earlier: Operation, when: str) -> LintFinding:
    what = f"the {earlier.declaration.mnemonic}{when}" if earlier is not access else f"itself{when or ' before'}"
    message = f"no token orders this {access.declaration.mnemonic} after {what}, which touches the same memory"
    notes = [] if earlier is access else [("the other access", earlier)]
    if when:
        remedy = "Carry the token through the loop, as one of its iteration values."
        return LintFinding(access, message, notes, remedy=remedy)
    fix = LintFix("Take the token of the other access", orders=[(access, earlier)])
    remedy = "Let it take the token of the other: `token=%t` (`join_tokens` joins several)."
    return LintFinding(access, message, notes, fix, remedy)


def _exclude_each_other(subject: Subject, first: Operation, second: Operation) -> bool:
    """Whether no iteration reaches both of two operations: they are in different branches of an `if`, or the branch of
    the first one leaves the loop or the function."""
    one, other = first.parent, second.parent
    left: Operation | None = None
    while one is not other and one is not None and other is not None:
        owner, other_owner = one.parent_operation, other.parent_operation
        if owner is other_owner and owner is not None:
            # Different regions of one operation.
            return True
        if subject.depth(one) >= subject.depth(other) and owner is not None:
            if one.last is not None and leaves(one):
                left = one.last
            one = owner.parent
        elif other_owner is not None:
            other = other_owner.parent
        else:
            return False
    if left is None or one is None:
        return False
    # A `break` or `continue` skips the second one if both are in its loop.
    loop = subject.loop_of(left)
    return left.declaration is ops.RETURN or (loop is not None and subject.depth(loop.parent) < subject.depth(one))


@Rule(
    "memory",
    "A token orders a load after loads and nothing else",
    reason="Loads need no order among each other. A compiler that has to keep it cannot start the later ones before "
    "the first is done.",
    remedy="Leave the token out; what has to come after both loads joins their tokens (`join_tokens`).",
    severity=REMARK,
    for_scripts=False,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %r: tile<ptr<f32>>) {
-  %x, %first = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
-  %y, %second = load_ptr_tko weak %q token=%first : tile<ptr<f32>> -> tile<f32>, token // here
-  %sum = addf %x, %y : tile<f32>
-  %written = store_ptr_tko weak %r, %sum token=%second : tile<ptr<f32>>, tile<f32> -> token
+  %start = make_token : token
+  %x, %first = load_ptr_tko weak %p token=%start : tile<ptr<f32>> -> tile<f32>, token
+  %written = store_ptr_tko weak %r, %x token=%first : tile<ptr<f32>>, tile<f32> -> token
+  %y, %second = load_ptr_tko weak %q token=%written : tile<ptr<f32>> -> tile<f32>, token
+  %more = store_ptr_tko weak %r, %y token=%second : tile<ptr<f32>>, tile<f32> -> token
""",
)
def token_orders_nothing(subject: Subject) -> Iterable[LintFinding]:
    for load in subject.operations(ops.LOAD_PTR_TKO, ops.LOAD_VIEW_TKO):
        token = load.token
        if token is not None and _is_weak(load) and subject.ordering.after(token) == READS:
            yield LintFinding(load, "the token orders this load after other loads only")


@Rule(
    "memory",
    "A store is overwritten before anything can read it",
    reason="It costs bandwidth for nothing, and often one of the two was meant for another address.",
    remedy="Delete the first store, or order what should read it between the two.",
    example="""\
-entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>) {
-  %first = store_ptr_tko weak %p, %a : tile<ptr<f32>>, tile<f32> -> token // here
-  %second = store_ptr_tko weak %p, %b token=%first : tile<ptr<f32>>, tile<f32> -> token
+entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %a: tile<f32>) {
+  %first = store_ptr_tko weak %p, %a : tile<ptr<f32>>, tile<f32> -> token
+  %b, %read = load_ptr_tko weak %q token=%first : tile<ptr<f32>> -> tile<f32>, token
+  %second = store_ptr_tko weak %p, %b token=%read : tile<ptr<f32>>, tile<f32> -> token
""",
)
def dead_store(subject: Subject) -> Iterable[LintFinding]:
    for store in subject.operations(*_STORES):
        later = _only_next(store.results[0])
        if later is None or later.declaration not in _STORES or later.parent is not store.parent:
            continue
        if not _is_weak(store) or subject.place(store) != subject.place(later):
            continue
        mask, later_mask = subject.mask(store), subject.mask(later)
        if later_mask is not None and (mask is None or subject.same(mask) is not subject.same(later_mask)):
            continue
        message = "what is stored here is overwritten before anybody can read it"
        yield LintFinding(store, message, [("it is overwritten here", later)])


def _only_next(token: Value) -> Operation | None:
    """The only operation that comes after a token, be it joined with others on the way."""
    users = token.users
    while len(users) == 1 and users[0].declaration is ops.JOIN_TOKENS:
        users = users[0].results[0].users
    return users[0] if len(users) == 1 else None


# --- memory that tile blocks share ---


def _differs(subject: Subject, access: Operation) -> bool:
    """Whether tile blocks may touch different memory."""
    return any(value in subject.varying.values for value in (*subject.places(access), subject.mask(access)))


# The comments at the top of a text may state a launch of a single tile block (execute/arguments/argument_text.py).
_ONE_BLOCK: Final = re.compile(r"(?://.*\n)*?// tileir: .*--grid[ =]1(?:,1)*(?![\d,])")


def _is_for_several(subject: Subject) -> bool:
    """Whether a kernel reads its tile block ID, and no run line in its text sets a grid of one block."""
    location = subject.module.location
    if not subject.operations(ops.GET_TILE_BLOCK_ID):
        return False
    return not (isinstance(location, TextLocation) and _ONE_BLOCK.match(location.source.text))


@Rule(
    "memory",
    "Every tile block of the grid writes to the same address",
    reason="The kernel reads its tile block id, but this store does not depend on it: all write over each other, "
    "and which one is last is chance.",
    remedy="Let the address depend on the block's id, add up with `atomic_rmw_tko`, or let one tile block write.",
    script_remedy="Let the address depend on the block's id, add up with `atomic_add`, or let one tile block write.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
   %from = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
   %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
-  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token // here
+  %0 = constant <i32: 0> : tile<i32>
+  %first = cmpi equal %x, %0, signed : tile<i32> -> tile<i1>
+  if %first {
+    %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
+  }
""",
)
def same_store_in_every_block(subject: Subject) -> Iterable[LintFinding]:
    if not _is_for_several(subject) or _ends_early(subject):
        return
    # Tile blocks may wait for each other, as with a lock.
    if any(access.keyword("memory_ordering_semantics") in _ORDERING for access in subject.accesses()):
        return
    for store in subject.operations(*_STORES):
        if not _differs(subject, store) and not subject.varying.chooses(store):
            message = "every tile block writes to the same address: nothing in it depends on the block's id"
            yield LintFinding(store, message)


def _ends_early(subject: Subject) -> bool:
    """Whether some tile blocks return before the end."""
    chosen = [each for each in subject.operations(ops.IF) if each.operands[0] in subject.varying.values]
    blocks = [block for branching in chosen for region in branching.regions for block in region.blocks]
    return any(block.last is not None and block.last.declaration is ops.RETURN for block in blocks)


@Rule(
    "memory",
    "An atomic operation is atomic within a tile block only, on memory that all of them access",
    reason="Updates of other tile blocks may come in between, and get lost.",
    remedy="Give it the scope `device`, or `sys` if other devices take part.",
    example="""\
 entry @k(%count: tile<ptr<i32>>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
-  %old, %t = atomic_rmw_tko relaxed tl_blk %count, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token // here
+  %old, %t = atomic_rmw_tko relaxed device %count, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
""",
)
def narrow_scope(subject: Subject) -> Iterable[LintFinding]:
    if not _is_for_several(subject):
        return
    for access in subject.accesses():
        is_narrow = access.declaration.traits & ATOMIC and access.keyword("memory_scope") == "tl_blk"
        if is_narrow and not _differs(subject, access):
            yield LintFinding(access, "every tile block accesses this memory, and the scope is that of one tile block")
