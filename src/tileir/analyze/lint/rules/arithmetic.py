"""Arithmetic that cannot be meant: undefined, or of a value with itself."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject, range_text
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value
from tileir.rewrite.fact import trailing_zeros
from tileir.rewrite.matching import sources_of, uses_of

# What comes of two equal operands; of NaN and infinity subf and divf make NaN.
_OF_ITSELF: Final[dict[OperationDeclaration, str]] = {
    **dict.fromkeys((ops.ANDI, ops.MAXF, ops.MAXI, ops.MINF, ops.MINI, ops.ORI), "the operand itself"),
    **dict.fromkeys((ops.REMF, ops.SUBF), "0 or NaN"),
    **dict.fromkeys((ops.REMI, ops.SUBI, ops.XORI), "0"),
    ops.CMPI: "always the same",
    ops.DIVF: "1 or NaN",
    ops.DIVI: "1",
}


@Rule(
    "suspicious",
    "An operation takes the same value twice where that makes no sense",
    reason="The result does not depend on the value, or is the value: another operand was meant in all likelihood.",
    remedy="Give the operand that was meant.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {
-  %x = subf %a, %a : tile<f32> // here
+  %double = addf %a, %a : tile<f32>
+  %square = mulf %double, %double : tile<f32>
+  %is_number = cmpf equal ordered %a, %a : tile<f32> -> tile<i1>
+  %x = select %is_number, %square, %double : tile<i1>, tile<f32>
   %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
""",
)
def identical_operands(subject: Subject) -> Iterable[LintFinding]:
    for operation in subject.operations(*_OF_ITSELF):
        if operation.operands[0] is operation.operands[1]:
            result = _OF_ITSELF[operation.declaration]
            yield LintFinding(operation, f"both operands are the same value: the result is {result}")
    for choice in subject.operations(ops.SELECT):
        if choice.operands[1] is choice.operands[2]:
            yield LintFinding(choice, "both choices are the same value")


@Rule(
    "suspicious",
    "A division by 0, or a shift by more bits than there are",
    reason="The result is undefined: it differs between targets, and a compiler may make anything of it.",
    remedy="Correct the second operand.",
    example="""\
-entry @k(%p: tile<ptr<i32>>, %a: tile<i32>) {
-  %bits = constant <i32: 32> : tile<i32>
-  %x = shli %a, %bits : tile<i32> // here
-  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
+entry @k(%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>) {
+  %bits = constant <i32: 31> : tile<i32>
+  %x = shli %a, %bits : tile<i32>
+  %y = divi %x, %b signed : tile<i32>
+  %t = store_ptr_tko weak %p, %y : tile<ptr<i32>>, tile<i32> -> token
""",
)
def undefined_arithmetic(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for division in subject.operations(ops.DIVI, ops.REMI):
        if facts.integer(division.operands[1]) == 0:
            yield LintFinding(division, "the divisor is always 0")
    for shift in subject.operations(ops.SHLI, ops.SHRI):
        width = facts.fact(shift.operands[1]).width
        least = facts.range(shift.operands[1], False)[0]
        if least >= width:
            yield LintFinding(shift, f"the shift is by {least} bits or more, and there are {width}")


@Rule(
    "suspicious",
    "An assumption cannot hold",
    reason="What is computed from an assumption that does not hold is undefined.",
    remedy="Correct the assumption.",
    example="""\
 entry @k(%p: tile<ptr<i32>>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
-  %bounded = assume bounded<?, -1>, %x : tile<i32> // here
+  %bounded = assume bounded<?, 1023>, %x : tile<i32>
   %t = store_ptr_tko weak %p, %bounded : tile<ptr<i32>>, tile<i32> -> token
""",
)
def false_assumption(subject: Subject) -> Iterable[LintFinding]:
    for assume in subject.operations(ops.ASSUME):
        fact = subject.facts.fact(assume.operands[0])
        predicate = assume.attributes.get("predicate") if fact.width else None
        if isinstance(predicate, BoundedAttribute):
            inside = 1 if predicate.strict else 0
            too_low = predicate.upper is not None and fact.signed_low > predicate.upper - inside
            too_high = predicate.lower is not None and fact.signed_high < predicate.lower + inside
            if too_low or too_high:
                values = range_text(fact.signed_low, fact.signed_high)
                yield LintFinding(assume, f"the assumption is false: the value is {values}")
        elif isinstance(predicate, DivByAttribute) and predicate.every is None and fact.value:
            if trailing_zeros(fact.value) < trailing_zeros(predicate.divisor):
                message = f"the assumption is false: {fact.value} is not divisible by {predicate.divisor}"
                yield LintFinding(assume, message)


_THROUGH: Final = (
    ops.ADDI, ops.SUBI, ops.MULI, ops.SHLI, ops.BROADCAST, ops.RESHAPE, ops.PERMUTE, ops.EXTI, ops.SELECT, ops.ASSUME,
)  # fmt: skip
_COUNTS: Final = (ops.GET_TILE_BLOCK_ID, ops.GET_NUM_TILE_BLOCKS, ops.CONSTANT)
_MOST: Final = 1 << 31


@Rule(
    "numerics",
    "The product of two variable numbers, in 32 bits, becomes an address",
    reason="In an array of more than 2147483648 elements the product wraps around, and the address is another one.",
    remedy="Extend the operands to 64 bits first (`exti`); or promise that it fits, by "
    "`overflow<no_signed_wrap>` or by `assume bounded` of the operands.",
    script_remedy="Extend an operand to 64 bits first: `x.to(tl.int64)` in Triton, `ct.astype(x, ct.int64)` in cuTile.",
    severity=REMARK,
    example="""\
 entry @k(%p: tile<ptr<f32>>, %stride: tile<i32>, %x: tile<f32>) {
   %row, %y, %z = get_tile_block_id : tile<i32>
-  %start = muli %row, %stride : tile<i32> // here
-  %q = offset %p, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
+  %wide_row = exti %row signed : tile<i32> -> tile<i64>
+  %wide_stride = exti %stride signed : tile<i32> -> tile<i64>
+  %start = muli %wide_row, %wide_stride : tile<i64>
+  %q = offset %p, %start : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
   %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
+  %hundred = constant <i32: 100> : tile<i32>
+  %first = muli %row, %hundred : tile<i32>
+  %r = offset %p, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
+  %u = store_ptr_tko weak %r, %x token=%t : tile<ptr<f32>>, tile<f32> -> token
""",
)
def index_overflow(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for product in subject.operations(ops.MULI):
        if facts.fact(product.results[0]).width != 32 or product.keyword("overflow") not in ("", "none"):
            continue
        left, right = facts.range(product.operands[0]), facts.range(product.operands[1])
        # A constant number for each tile block: the author knows when it is large.
        is_known = left[0] == left[1] or right[0] == right[1]
        if is_known or max(abs(a * b) for a in left for b in right) < _MOST:
            continue
        used = _address_from(product)
        if used is None or all(_counts_blocks(value) for value in product.operands):
            continue
        message = "the product is computed in 32 bits and may overflow"
        yield LintFinding(product, message, notes=[("it becomes an address here", used)])


def _passes_on(operation: Operation) -> bool:
    return operation.declaration in _THROUGH


def _counts_blocks(value: Value) -> bool:
    """Whether a number is computed from tile block IDs and counts only: no launch has enough to overflow."""
    makers = [source.defining_operation for source in sources_of(value, _passes_on)]
    return all(maker is not None and maker.declaration in _COUNTS for maker in makers)


def _address_from(product: Operation) -> Operation | None:
    uses = uses_of(product.results[0], _passes_on)
    return next((user for user, value in uses if user.declaration is ops.OFFSET and user.operands[1] is value), None)


@Rule(
    "performance",
    "A division that need not be one, by what is known of its operands",
    reason="A division of integers takes tens of instructions; a signed one by a power of two more than a shift.",
    remedy="Leave it out, or divide as `unsigned` what is never negative.",
    severity=REMARK,
    for_scripts=False,
    example="""\
-entry @k(%p: tile<ptr<i32>>) {
+entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
   %x, %y, %z = get_tile_block_id : tile<i32>
   %eight = constant <i32: 8> : tile<i32>
-  %group = divi %x, %eight signed : tile<i32> // here
-  %t = store_ptr_tko weak %p, %group : tile<ptr<i32>>, tile<i32> -> token
+  %group = divi %x, %eight unsigned : tile<i32>
+  %signed = divi %n, %eight signed : tile<i32>
+  %sum = addi %group, %signed : tile<i32>
+  %rest = remi %sum, %n signed : tile<i32>
+  %t = store_ptr_tko weak %p, %rest : tile<ptr<i32>>, tile<i32> -> token
""",
)
def cheap_division(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for division in subject.operations(ops.DIVI, ops.REMI):
        signed = division.keyword("signedness") == "signed"
        left, right = facts.range(division.operands[0], signed), facts.range(division.operands[1], signed)
        if left[0] < 0 or right[0] < 1 or left[0] == left[1]:
            continue
        is_division = division.declaration is ops.DIVI
        if right == (1, 1):
            result = "the dividend" if is_division else "0"
            yield LintFinding(division, f"the divisor is 1: the result is {result}")
        elif left[1] < right[0] and division.keyword("rounding") in ("", "zero", "negative_inf"):
            result = "0" if is_division else "the dividend"
            message = f"the dividend is {left[1]} at most, less than the divisor: the result is {result}"
            yield LintFinding(division, message)
        elif signed and right[0] == right[1] and right[0] & (right[0] - 1) == 0:
            if division.keyword("rounding") in ("", "zero"):
                shorter = "a shift" if is_division else "an 'and'"
                message = f"the dividend is never negative: as unsigned, this division by {right[0]} is {shorter}"
                fix = LintFix("Divide as unsigned", replacements=[(division, "signed", "unsigned")])
                yield LintFinding(division, message, fix=fix, remedy="Divide as `unsigned`.")


@Rule(
    "numerics",
    "Floats are added up by atomic operations",
    reason="Tile blocks come in any order, and floats that are added in another order give another sum: two launches "
    "with the same arguments differ in the last bits.",
    remedy="Let each tile block write its part, and add the parts in a second kernel; or silence it, if it is meant.",
    severity=REMARK,
    example="""\
-entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
-  %old, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token // here
+entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
+  %old, %t = atomic_rmw_tko relaxed device %p, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
""",
)
def order_dependent_sum(subject: Subject) -> Iterable[LintFinding]:
    for atomic in subject.operations(ops.ATOMIC_RMW_TKO, ops.ATOMIC_RED_VIEW_TKO):
        if atomic.keyword("mode") == "addf":
            yield LintFinding(atomic, "the sum depends on the order in which tile blocks add to it")


# (a - b) - c is not a - (b - c), and a - b not b - a.
_NOT_ASSOCIATIVE: Final = (
    ops.SUBF, ops.SUBI, ops.DIVF, ops.DIVI, ops.REMF, ops.REMI, ops.SHLI, ops.SHRI, ops.POW,
)  # fmt: skip


@Rule(
    "numerics",
    "A reduction or scan combines elements by an operation that is not associative",
    reason="In which order elements are combined is not specified: the result is another one on another target.",
    remedy="Combine by an associative operation: `a - b - c` is `a - (b + c)`.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
   %base = reshape %x : tile<f32> -> tile<1xf32>
   %tile = broadcast %base : tile<1xf32> -> tile<8xf32>
-  %r = reduce %tile dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> // here
+  %r = reduce %tile dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
   (%a: tile<f32>, %b: tile<f32>) {
-    %d = subf %a, %b : tile<f32>
-    yield %d : tile<f32>
+    %s = addf %a, %b : tile<f32>
+    yield %s : tile<f32>
   }
   %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
""",
)
def order_dependent_reduction(subject: Subject) -> Iterable[LintFinding]:
    for aggregate in subject.operations(ops.REDUCE, ops.SCAN):
        body = aggregate.regions[0].block
        arguments: set[Value] = set(body.arguments)
        for value in body.last.operands if body.last is not None else ():
            maker = value.defining_operation
            if maker is not None and maker.declaration in _NOT_ASSOCIATIVE and arguments.issuperset(maker.operands):
                what = "reduction" if aggregate.declaration is ops.REDUCE else "scan"
                notes = [(f"'{maker.declaration.mnemonic}' is not associative", maker)]
                yield LintFinding(aggregate, f"the {what} depends on an order that is not specified", notes)
                break
