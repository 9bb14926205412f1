"""What is computed or read for nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.rule import REMARK, LintFinding, Note, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import ASSUME, CONSTANT, CONTINUE, LOAD_PTR_TKO, LOAD_VIEW_TKO, MAKE_TOKEN, PRINT_TKO
from tileir.dialect.types import TOKEN
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import LOOP_LIKE
from tileir.ir.traversal import is_function, is_memory_effect_free
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.matching import carried_values, sources_of


@Rule(
    "unused",
    "A value is computed and never used",
    reason="Often it is a sign that another value was meant where it should have been used.",
    remedy="Use it, or delete the operation.",
    for_scripts=False,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>) {
-  %sum = addf %a, %b : tile<f32> // here
-  %t = store_ptr_tko weak %p, %a : tile<ptr<f32>>, tile<f32> -> token
+  %x, %y, %z = get_tile_block_id : tile<i32>
+  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
+  %sum = addf %a, %b : tile<f32>
+  %t = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
""",
)
def unused_value(subject: Subject) -> Iterable[LintFinding]:
    counts: dict[Operation, int] = {}
    for operation in subject.all_operations:
        is_unused = operation.results and operation.is_unused and operation.declaration not in (CONSTANT, MAKE_TOKEN)
        if is_unused and is_memory_effect_free(operation):
            others = _only_for(operation, counts)
            title = "Delete this operation"
            notes: list[Note] = []
            if others:
                more = len(others)
                title += f" and the {'operation' if more == 1 else f'{more} operations'} that only it needs"
                needed = "this operation" if more == 1 else f"this and {more - 1} more"
                notes.append((f"only it needs {needed}", others[0]))
            what = "results are" if len(operation.results) > 1 else "result is"
            fix = LintFix(title, [operation, *others])
            yield LintFinding(operation, f"the {what} never used", notes=notes, fix=fix)


def _only_for(operation: Operation, counts: dict[Operation, int]) -> list[Operation]:
    """The operations whose results become unused once an operation is gone.

    `counts` keeps how many operations need another one: there may be many operations, each needed by many.
    """
    found: dict[Operation, None] = {operation: None}
    # How many of those are left.
    needed: dict[Operation, int] = {}
    pending = [operation]
    while pending:
        for maker in dict.fromkeys([value.defining_operation for value in pending.pop().operands]):
            if maker is None or maker in found or not is_memory_effect_free(maker):
                continue
            if maker not in counts:
                counts[maker] = len({user for result in maker.results for user in result.users})
            needed[maker] = needed.get(maker, counts[maker]) - 1
            if not needed[maker]:
                found[maker] = None
                pending.append(maker)
    return list(found)[1:]


@Rule(
    "unused",
    "A tile is loaded and never used",
    reason="Loads are what most kernels spend their time on, and a compiler need not drop one that nobody uses.",
    remedy="Use what is loaded, or delete the load.",
    example="""\
-entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %x: tile<f32>) {
-  %y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // here
-  %u = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
+entry @k(%p: tile<ptr<f32>>, %flag: tile<ptr<i32>>, %q: tile<ptr<f32>>) {
+  %f, %t = load_ptr_tko acquire device %flag : tile<ptr<i32>> -> tile<i32>, token
+  %y, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
+  %v = store_ptr_tko weak %q, %y : tile<ptr<f32>>, tile<f32> -> token
""",
)
def unused_load(subject: Subject) -> Iterable[LintFinding]:
    for load in subject.operations(LOAD_PTR_TKO, LOAD_VIEW_TKO):
        # A load that acquires is there for what comes after it.
        if load.results[0].has_uses or load.memory_ordering_semantics != "weak":
            continue
        if load.results[1].has_uses:
            remedy = "Delete the load, and let what takes its token take the load's own token instead."
            yield LintFinding(load, "what is loaded is never used; only its token is", remedy=remedy)
        else:
            yield LintFinding(load, "what is loaded is never used", fix=LintFix("Delete this load", [load]))


@Rule(
    "unused",
    "An assumption is made of a value that nobody uses",
    reason="An `assume` promises something about its result: code that uses its operand instead loses the promise.",
    remedy="Use the result of the `assume` instead of its operand, or delete it.",
    for_scripts=False,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
-  %aligned = assume div_by<16>, %p : tile<ptr<f32>> // here
-  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
+  %aligned = assume div_by<16>, %p : tile<ptr<f32>>
+  %t = store_ptr_tko weak %aligned, %x : tile<ptr<f32>>, tile<f32> -> token
""",
)
def unused_assumption(subject: Subject) -> Iterable[LintFinding]:
    for assume in subject.operations(ASSUME):
        if assume.is_unused:
            others = [user for user in assume.operands[0].users if user is not assume]
            notes = [("this uses the value about which nothing is assumed", each) for each in others[:1]]
            yield LintFinding(assume, "nothing uses the value that this is assumed of", notes=notes)


@Rule(
    "unused",
    "A loop carries a value that neither its body nor anything behind it uses",
    reason="It takes registers in every round, and what computes it is done for nothing.",
    remedy="Take it out of the loop's iteration values, and out of its `continue`s.",
    for_scripts=False,
    example="""\
 entry @k(%p: tile<ptr<i32>>, %n: tile<i32>, %x: tile<i32>) {
   %zero = constant <i32: 0> : tile<i32>
   %one = constant <i32: 1> : tile<i32>
-  // here
   %sum, %last = for %i in (%zero to %n, step %one) : tile<i32>
       iter_values(%s = %zero, %l = %zero) -> (tile<i32>, tile<i32>) {
-    %t = addi %s, %x : tile<i32>
+    %t = addi %s, %l : tile<i32>
     %u = muli %i, %x : tile<i32>
     continue %t, %u : tile<i32>, tile<i32>
+  }
+  %before, %now = for %i in (%zero to %n, step %one) : tile<i32>
+      iter_values(%b = %zero, %c = %zero) -> (tile<i32>, tile<i32>) {
+    print_tko "%d\\n", %b : tile<i32> -> token
+    continue %c, %i : tile<i32>, tile<i32>
   }
   %stored = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
""",
)
def unused_carried_value(subject: Subject) -> Iterable[LintFinding]:
    for loop in subject.operations(*REGISTRY.with_traits(LOOP_LIKE)):
        for argument, result in zip(carried_values(loop), loop.results, strict=False):
            if result.type is TOKEN or result.has_uses:
                continue
            if any(not _only_carries(user, argument, result.index) for user in argument.users):
                continue
            number = result.index + 1
            which = f"the {number}. value" if len(loop.results) > 1 else "the value"
            yield LintFinding(loop, f"{which} that the loop carries is never used")


def _only_carries(user: Operation, argument: BlockArgument, index: int) -> bool:
    """Whether an operation only passes a loop-carried value on to its own position in the next iteration."""
    if user.parent is not argument.block or user.declaration is not CONTINUE:
        return False
    return all(place == index for place, value in enumerate(user.operands) if value is argument)


@Rule(
    "performance",
    "Every round of a loop loads the same tile again",
    reason="A compiler may not move a load out of a loop if it cannot see that nobody writes there meanwhile.",
    remedy="Load the tile once before the loop, unless that takes more registers than there are.",
    severity=REMARK,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
   %zero = constant <i32: 0> : tile<i32>
   %one = constant <i32: 1> : tile<i32>
   %start = constant <f32: 0.0> : tile<f32>
   %sum = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %start) -> (tile<f32>) {
-    %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // here
+    %r = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
+    %x, %t = load_ptr_tko weak %r : tile<ptr<f32>> -> tile<f32>, token
     %more = addf %s, %x : tile<f32>
     continue %more : tile<f32>
   }
   %u = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
""",
)
def invariant_load(subject: Subject) -> Iterable[LintFinding]:
    for load in subject.operations(LOAD_PTR_TKO, LOAD_VIEW_TKO):
        loop = subject.loop_of(load)
        if loop is None or load.parent_operation is not loop or loop in subject.changing:
            continue
        if load.memory_ordering_semantics != "weak":
            continue
        if any(_varies(subject, value, loop) for value in load.operands if value is not load.token):
            continue
        message = "every round of the loop loads the same tile again"
        yield LintFinding(load, message, [("nothing in this loop writes", loop)])


def _varies(subject: Subject, value: Value, loop: Operation) -> bool:
    """Whether a value may differ between iterations."""

    def is_computed(maker: Operation) -> bool:
        is_pure = not maker.regions and not maker.declaration.accesses_memory
        return is_pure and subject.depth(maker.parent) > subject.depth(loop.parent)

    return any(subject.is_inside(source, loop) for source in sources_of(value, is_computed))


@Rule(
    "performance",
    "A tile is loaded twice, with no write in between",
    reason="The second load is another way to memory for what is in registers already.",
    remedy="Use the result of the first load, unless registers are short.",
    severity=REMARK,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
   %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
-  %y, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // here
-  %sum = addf %x, %y : tile<f32>
-  %v = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
+  %v = store_ptr_tko weak %q, %x token=%t : tile<ptr<f32>>, tile<f32> -> token
+  %y, %u = load_ptr_tko weak %p token=%v : tile<ptr<f32>> -> tile<f32>, token
+  %w = store_ptr_tko weak %q, %y token=%u : tile<ptr<f32>>, tile<f32> -> token
""",
)
def repeated_load(subject: Subject) -> Iterable[LintFinding]:
    """Within one block: from load to load nothing may have written."""
    loads = subject.operations(LOAD_PTR_TKO, LOAD_VIEW_TKO)
    weak = {load for load in loads if load.memory_ordering_semantics == "weak"}
    for block in dict.fromkeys([load.parent for load in loads]):
        known: dict[object, Operation] = {}
        for operation in block or ():
            if operation in subject.changing:
                known.clear()
            elif operation in weak:
                places = tuple([subject.same(value) for value in operation.operands if value is not operation.token])
                earlier = known.setdefault((operation.results[0].type, places), operation)
                if earlier is not operation:
                    message = "the same tile was loaded before, and nothing has written since"
                    yield LintFinding(operation, message, notes=[("here", earlier)])


@Rule(
    "style",
    "A constant is never used",
    reason="It costs nothing but the reader's time. Programs that front ends write are full of them.",
    remedy="Delete it.",
    severity=REMARK,
    default=False,
    for_scripts=False,
    example="""\
-entry @k() {
-  %zero = constant <i32: 0> : tile<i32> // here
+entry @k(%p: tile<ptr<i32>>) {
+  %zero = constant <i32: 0> : tile<i32>
+  %t = store_ptr_tko weak %p, %zero : tile<ptr<i32>>, tile<i32> -> token
""",
)
def unused_constant(subject: Subject) -> Iterable[LintFinding]:
    for constant in subject.operations(CONSTANT):
        if constant.is_unused:
            yield LintFinding(constant, "the constant is never used", fix=LintFix("Delete this constant", [constant]))


@Rule(
    "style",
    "A kernel prints",
    reason="Printing is slow and orders tile blocks; it is meant for debugging.",
    remedy="Delete it once the kernel works.",
    severity=REMARK,
    default=False,
    example="""\
 entry @k(%x: tile<i32>) {
-  print_tko "%d\\n", %x : tile<i32> -> token // here
""",
)
def print_in_kernel(subject: Subject) -> Iterable[LintFinding]:
    for printing in subject.operations(PRINT_TKO):
        yield LintFinding(printing, "the kernel prints")


@Rule(
    "style",
    "A kernel does not use one of its parameters",
    reason="Every launch passes it for nothing. Front ends give kernels parameters by a convention, needed or not.",
    remedy="Take it out, here and where the kernel is launched.",
    severity=REMARK,
    default=False,
    for_scripts=False,
    example="""\
-entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) { // here
-  %zero = constant <i32: 0> : tile<i32>
-  %t = store_ptr_tko weak %p, %zero : tile<ptr<i32>>, tile<i32> -> token
+entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
+  %t = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token
""",
)
def unused_parameter(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    if entry is None or not is_function(entry) or not entry.regions or not entry.regions[0].blocks:
        return
    for parameter in entry.regions[0].blocks[0].arguments:
        if not parameter.has_uses:
            yield LintFinding(entry, f"parameter {parameter.index} is never used", location=parameter.location)


# --- rules about silences, which the linter finds broken itself ---

UNKNOWN_RULE: Final = Rule(
    "silences",
    "A comment silences a rule that does not exist",
    reason="A misspelled name silences nothing, and a rule that is gone need not be silenced.",
    remedy="Name the rule as the finding does; `tileir lint --list-rules` lists them.",
    example="""\
 entry @k(%p: tile<ptr<f32>>) {
-  // here
-  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-laod, unused-load]
+  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token // tileir: ignore[unused-load]: it warms a cache
""",
    name="unknown-rule",
)

UNUSED_SILENCE: Final = Rule(
    "silences",
    "A comment silences a finding that is not there",
    reason="It would hide the finding if it came back, and misleads the reader.",
    remedy="Delete the comment, or the names in it that silence nothing.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
-  // here
-  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token // tileir: ignore[unused-value]
+  // tileir: ignore[unused-value]
+  %y = addf %x, %x : tile<f32>
+  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
""",
    name="unused-silence",
)
