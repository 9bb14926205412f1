"""Loops that do not loop, and loads that every round repeats."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.dialect.ops import BREAK, FOR, LOAD_PTR_TKO, LOAD_VIEW_TKO, LOOP, RETURN
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.rewrite.matching import loop_ends, sources_of


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
    for loop in subject.operations(LOOP):
        # A `break` of an inner loop leaves that one; a `return` leaves all.
        if not loop_ends(loop, BREAK) and not any(inner.declaration is RETURN for inner in loop.walk()):
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
    for loop in subject.operations(FOR):
        signed = not loop.unsigned_cmp
        lower, upper = facts.range(loop.operands[0], signed), facts.range(loop.operands[1], signed)
        step = facts.range(loop.operands[2], signed)
        if lower[0] >= upper[1]:
            yield LintFinding(loop, f"the loop never runs: it begins at {lower[0]} or later and ends before {upper[1]}")
        elif upper[1] - lower[0] <= step[0] and lower[0] == lower[1]:
            yield LintFinding(loop, f"the loop runs once at most: its step, {step[0]}, is as long as its whole range")


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
    """Whether a value may be another one in each round."""

    def is_computed(maker: Operation) -> bool:
        is_pure = not maker.regions and not maker.declaration.accesses_memory
        return is_pure and subject.depth(maker.parent) > subject.depth(loop.parent)

    return any(subject.is_inside(source, loop) for source in sources_of(value, is_computed))


@Rule(
    "performance",
    "A tile is loaded twice, with no write in between",
    reason="The second load is another way to memory for what is in registers already.",
    remedy="Use what the first load gave, unless registers are short.",
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
