"""What ranges of values decide: masks, comparisons, conditions and loops that are always the same, edges of arrays."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Note, Rule
from tileir.analyze.lint.subject import Subject, range_text
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.types import DYNAMIC, PartitionViewType, TileType
from tileir.ir.attributes import IntegerAttribute
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, MATRIX_PRODUCT
from tileir.ir.values import Value
from tileir.rewrite.matching import loop_ends, uses_of

_TRUTHS: Final = ("false", "true")
_MASKED: Final = [each for each in REGISTRY.by_name.values() if "mask" in [operand.name for operand in each.operands]]


@Rule(
    "suspicious",
    "A mask is always true, or never",
    reason="Elements under a mask are accessed one by one unless a compiler finds out that all are there. A mask that "
    "is always the same is often one whose limit is wrong.",
    remedy="Leave the mask out, or delete the access; or correct the comparison.",
    for_scripts=False,
    example="""\
-entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
+entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
   %base = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
   %bases = broadcast %base : tile<1xptr<f32>> -> tile<8xptr<f32>>
   %lane = iota : tile<8xi32>
   %ptrs = offset %bases, %lane : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
-  %eight = constant <i32: 8> : tile<8xi32>
-  %mask = cmpi less_than %lane, %eight, signed : tile<8xi32> -> tile<8xi1>
+  %n_1d = reshape %n : tile<i32> -> tile<1xi32>
+  %limit = broadcast %n_1d : tile<1xi32> -> tile<8xi32>
+  %mask = cmpi less_than %lane, %limit, signed : tile<8xi32> -> tile<8xi1>
   %zero = constant <f32: 0.0> : tile<8xf32>
-  %t = store_ptr_tko weak %ptrs, %zero, %mask : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token // here
+  %t = store_ptr_tko weak %ptrs, %zero, %mask : tile<8xptr<f32>>, tile<8xf32>, tile<8xi1> -> token
""",
)
def constant_mask(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(*_MASKED):
        known = subject.facts.integer(access.mask) if access.mask is not None else None
        if known is None:
            continue
        if known:
            more = ", and the padding value" if access.declaration is ops.LOAD_PTR_TKO else ""
            yield LintFinding(access, "the mask is true for every element", remedy=f"Leave the mask out{more}.")
        else:
            yield LintFinding(access, "the mask is false for every element: nothing is touched")


@Rule(
    "suspicious",
    "A comparison always has the same result",
    reason="What can be known of both sides decides it: what is meant to be tested is not.",
    remedy="Compare what was meant, or do without the comparison.",
    for_scripts=False,
    example="""\
 entry @k(%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
   %zero = constant <i32: 0> : tile<i32>
-  %is_negative = cmpi less_than %x, %zero, signed : tile<i32> -> tile<i1> // here
-  %chosen = select %is_negative, %a, %b : tile<i1>, tile<i32>
+  %is_first = cmpi equal %x, %zero, signed : tile<i32> -> tile<i1>
+  %chosen = select %is_first, %a, %b : tile<i1>, tile<i32>
   %t = store_ptr_tko weak %p, %chosen : tile<ptr<i32>>, tile<i32> -> token
""",
)
def constant_comparison(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for comparison in subject.operations(ops.CMPI):
        known = facts.integer(comparison.results[0])
        if known is None or comparison.operands[0] is comparison.operands[1]:
            continue
        left, right = comparison.operands
        # A front end generates such comparisons of constants; they are folded, and no author wrote them.
        is_folded = facts.integer(left) is not None and facts.integer(right) is not None
        if is_folded or _is_reported_elsewhere(comparison):
            continue
        signed = comparison.signedness == "signed"
        ranges = [range_text(*facts.range(value, signed)) for value in (left, right)]
        message = f"the comparison is always {_TRUTHS[known]}"
        yield LintFinding(comparison, f"{message}: the left side is {ranges[0]}, the right one {ranges[1]}")


def _is_reported_elsewhere(comparison: Operation) -> bool:
    """Whether another rule reports the only use of a comparison, or a front end generated it."""
    users = comparison.results[0].users
    if len(users) == 1 and (users[0].declaration in _MASKED or users[0].declaration is ops.IF):
        return True
    # The test of two signs in a division or remainder that rounds down, as front ends write it for Python's.
    return all(user.declaration in (ops.XORI, ops.CMPI) for user in users)


@Rule(
    "suspicious",
    "A condition is always true, or never",
    reason="One of the branches is never taken: it is dead, or the condition is not the one that was meant.",
    remedy="Keep the branch that is taken, or correct the condition.",
    severity=REMARK,
    for_scripts=False,
    example="""\
-entry @k(%p: tile<ptr<i32>>, %a: tile<i32>) {
+entry @k(%p: tile<ptr<i32>>, %a: tile<i32>, %n: tile<i32>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
-  %zero = constant <i32: 0> : tile<i32>
-  %inside = cmpi greater_than_or_equal %x, %zero, signed : tile<i32> -> tile<i1>
-  if %inside { // here
+  %inside = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>
+  if %inside {
     %t = store_ptr_tko weak %p, %a : tile<ptr<i32>>, tile<i32> -> token
   }
""",
)
def constant_condition(subject: Subject) -> Iterable[LintFinding]:
    for branching in subject.operations(ops.IF):
        condition = branching.operands[0]
        known = subject.facts.integer(condition)
        if known is None:
            continue
        maker = condition.defining_operation
        notes: list[Note] = []
        if maker is not None and maker.declaration is not ops.CONSTANT:
            notes.append((f"this is always {_TRUTHS[known]}", maker))
        message = f"the {'second' if known else 'first'} branch never runs"
        if len(branching.regions) < 2 or not branching.regions[1].blocks:
            message = "it needs no test" if known else "what is inside never runs"
        yield LintFinding(branching, f"the condition is always {_TRUTHS[known]}: {message}", notes=notes)
    for choice in subject.operations(ops.SELECT):
        known = subject.facts.integer(choice.operands[0])
        maker = choice.operands[0].defining_operation
        # A comparison that is always the same is reported by itself; front ends write what combines several of them.
        if known is not None and maker is not None and maker.declaration is ops.CONSTANT:
            which = "second" if known else "first"
            yield LintFinding(choice, f"the condition is always {_TRUTHS[known]}: the {which} value is never chosen")


@Rule(
    "suspicious",
    "A loop cannot end",
    reason="The kernel never comes to its end; on a GPU it has to be killed, and its results with it.",
    remedy="End the loop with a `break` under a condition, or use `for`.",
    example="""\
 entry @k(%p: tile<ptr<i32>>) {
-  loop { // here
+  %zero = constant <i32: 0> : tile<i32>
+  loop {
     %old, %t = load_ptr_tko relaxed device %p : tile<ptr<i32>> -> tile<i32>, token
-    print_tko "%d\\n", %old : tile<i32> -> token
+    %done = cmpi not_equal %old, %zero, signed : tile<i32> -> tile<i1>
+    if %done {
+      break
+    }
     continue
   }
""",
)
def endless_loop(subject: Subject) -> Iterable[LintFinding]:
    for loop in subject.operations(ops.LOOP):
        # A `break` of an inner loop leaves that one; a `return` leaves all.
        if not loop_ends(loop, ops.BREAK) and not any(inner.declaration is ops.RETURN for inner in loop.walk()):
            yield LintFinding(loop, "nothing ends this loop: there is no 'break' and no 'return' in it")


@Rule(
    "suspicious",
    "A loop never runs, or once at most",
    reason="Its bounds leave room for no second round, so what it is there for does not happen.",
    remedy="Correct the bounds or the step, or do without the loop.",
    severity=REMARK,
    example="""\
-entry @k(%p: tile<ptr<i32>>) {
-  %lower = constant <i32: 8> : tile<i32>
-  %upper = constant <i32: 0> : tile<i32>
-  %step = constant <i32: 1> : tile<i32>
-  for %i in (%lower to %upper, step %step) : tile<i32> { // here
+entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
+  %lower = constant <i32: 0> : tile<i32>
+  %step = constant <i32: 8> : tile<i32>
+  for %i in (%lower to %n, step %step) : tile<i32> {
     print_tko "%d\\n", %i : tile<i32> -> token
     continue
   }
""",
)
def idle_loop(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for loop in subject.operations(ops.FOR):
        signed = not loop.unsigned_cmp
        lower, upper = facts.range(loop.operands[0], signed), facts.range(loop.operands[1], signed)
        step = facts.range(loop.operands[2], signed)
        if lower[0] >= upper[1]:
            yield LintFinding(loop, f"the loop never runs: it begins at {lower[0]} or later and ends before {upper[1]}")
        elif upper[1] - lower[0] <= step[0] and lower[0] == lower[1]:
            yield LintFinding(loop, f"the loop runs once at most: its step, {step[0]}, is as long as its whole range")


# --- tiles at the edges of arrays: what is read there, and indices that lead elsewhere ---

# The operands of a product, and the dimension of each that is added up, counted from the last.
_SUMMED: Final = {"lhs": 1, "rhs": 2, "lhs_scale": 1, "rhs_scale": 2}


@Rule(
    "memory",
    "The elements of a tile that reaches beyond its array are added up, and have no padding value",
    reason="Elements outside of the array are unspecified: they may be anything, and go into the sum or product.",
    remedy="Give the view a padding value: `padding_value = zero` for sums, `neg_inf` for maxima.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>) {
   %tensor = make_tensor_view %p, shape = [100], strides = [1] : tensor_view<100xf32, strides=[1]>
-  %tiles = make_partition_view %tensor : partition_view<tile=(32), tensor_view<100xf32, strides=[1]>>
-  // here
-  %x, %t = load_view_tko weak %tiles[%i] : partition_view<tile=(32), tensor_view<100xf32, strides=[1]>>, tile<i32>
+  %tiles = make_partition_view %tensor
+      : partition_view<tile=(32), padding_value = zero, tensor_view<100xf32, strides=[1]>>
+  %x, %t = load_view_tko weak %tiles[%i]
+      : partition_view<tile=(32), padding_value = zero, tensor_view<100xf32, strides=[1]>>, tile<i32>
       -> tile<32xf32>, token
   %sum = reduce %x dim=0 identities=[0.0 : f32] : tile<32xf32> -> tile<f32>
   (%a: tile<f32>, %b: tile<f32>) {
     %s = addf %a, %b : tile<f32>
     yield %s : tile<f32>
   }
   %u = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
""",
)
def missing_padding(subject: Subject) -> Iterable[LintFinding]:
    for load in subject.operations(ops.LOAD_VIEW_TKO):
        view = load.operands[0].type
        if not isinstance(view, PartitionViewType) or view.padding is not None:
            continue
        for dimension, tile in enumerate(view.tile_shape):
            extent = view.tensor.shape[view.dim_map[dimension]]
            # Whether the last tile is known to reach beyond the tensor, and this may be it.
            is_whole = extent == DYNAMIC or not extent % tile
            if is_whole or subject.facts.range(load.index[dimension], False)[1] < extent // tile:
                continue
            # What combines the elements, or those of what is computed from them element by element.
            uses = uses_of(load.results[0], _is_elementwise)
            used = next((user for user, value in uses if _combines(user, value, dimension)), None)
            if used is not None:
                message = f"the last tile reaches beyond the array ({extent} elements in tiles of {tile}), and the view"
                message += " has no padding value: what is read there is unspecified"
                yield LintFinding(load, message, [("elements are combined here", used)])
                break


def _is_elementwise(operation: Operation) -> bool:
    return bool(operation.declaration.traits & ELEMENTWISE)


def _combines(user: Operation, value: Value, dimension: int) -> bool:
    """Whether what lies beyond the end of a dimension goes into other elements of the result.

    The rows and columns of a product beyond the array are beyond that of the result too, and so is what a scan has
    there, unless it comes from the end.
    """
    if user.declaration.has_trait(MATRIX_PRODUCT):
        rank = len(user.results[0].type.shape) if isinstance(user.results[0].type, TileType) else 0
        summed = {each.name for each in user.declaration.operands} & {*_SUMMED}
        return any(user.operand(name) is value and rank - _SUMMED[name] == dimension for name in summed)
    backwards = user.attributes.get("reverse")
    if user.declaration is ops.REDUCE or (isinstance(backwards, IntegerAttribute) and backwards.value):
        along = user.attributes.get("dim")
        return isinstance(along, IntegerAttribute) and along.value == dimension
    return False


@Rule(
    "memory",
    "An index is always outside of the view",
    reason="An access outside of a view's index space is undefined.",
    remedy="Correct the index, or the shape of the view.",
    example="""\
 entry @k(%p: tile<ptr<f32>>) {
   %x = constant <f32: 0.0> : tile<32xf32>
-  %four = constant <i32: 4> : tile<i32>
+  %three = constant <i32: 3> : tile<i32>
   %tensor = make_tensor_view %p, shape = [128], strides = [1] : tensor_view<128xf32, strides=[1]>
   %tiles = make_partition_view %tensor : partition_view<tile=(32), tensor_view<128xf32, strides=[1]>>
-  // here
-  %t = store_view_tko weak %x, %tiles[%four]
+  %t = store_view_tko weak %x, %tiles[%three]
       : tile<32xf32>, partition_view<tile=(32), tensor_view<128xf32, strides=[1]>>, tile<i32> -> token
""",
)
def index_outside_view(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO, ops.ATOMIC_RED_VIEW_TKO):
        name = access.declaration.reads or access.declaration.writes or ""
        view = access.operand_group(name)[0].type
        if not isinstance(view, PartitionViewType):
            continue
        for dimension, index in enumerate(access.index):
            extent = view.tensor.shape[view.dim_map[dimension]]
            if extent == DYNAMIC:
                continue
            count = -(-extent // view.tile_shape[dimension])
            least = subject.facts.range(index, False)[0]
            if least >= count:
                tiles = "1 tile" if count == 1 else f"{count} tiles"
                message = f"index {dimension} is {least} or more, and there are {tiles} along that dimension"
                yield LintFinding(access, message)
                break
