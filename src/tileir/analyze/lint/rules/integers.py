"""Integer arithmetic of indices: products that leave their type, divisions that facts make cheap."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.fixes import LintFix
from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import (
    ADDI,
    ASSUME,
    BROADCAST,
    CONSTANT,
    DIVI,
    EXTI,
    GET_NUM_TILE_BLOCKS,
    GET_TILE_BLOCK_ID,
    MULI,
    OFFSET,
    PERMUTE,
    REMI,
    RESHAPE,
    SELECT,
    SHLI,
    SUBI,
)
from tileir.ir.core import Operation
from tileir.ir.values import Value

_THROUGH: Final = (ADDI, SUBI, MULI, SHLI, BROADCAST, RESHAPE, PERMUTE, EXTI, SELECT, ASSUME)
# Values that are followed from a product.
_FURTHEST: Final = 64
_MOST: Final = 1 << 31


def _overflowing_indices(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for product in subject.operations(MULI):
        if facts.fact(product.results[0]).width != 32 or product.keyword("overflow") not in ("", "none"):
            continue
        left, right = facts.range(product.operands[0]), facts.range(product.operands[1])
        if left[0] == left[1] or right[0] == right[1]:
            # A constant many for each tile block: who has so many of them knows.
            continue
        if max(abs(a * b) for a in left for b in right) < _MOST:
            continue
        used = _address_from(product)
        if used is None or all(_counts_blocks(value) for value in product.operands):
            continue
        notes: list[tuple[str, Operation | None]] = [("it becomes an address here", used)]
        yield LintFinding(product, "the product is computed in 32 bits and may overflow", notes=notes)


def _counts_blocks(value: Value) -> bool:
    """Whether a number is made of the ids and numbers of tile blocks alone: no launch has so many of them."""
    pending, seen = [value], {value}
    while pending:
        maker = pending.pop().defining_operation
        if maker is None or len(seen) > _FURTHEST:
            return False
        if maker.declaration in (GET_TILE_BLOCK_ID, GET_NUM_TILE_BLOCKS, CONSTANT):
            continue
        if maker.declaration not in _THROUGH:
            return False
        for operand in maker.operands:
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return True


def _address_from(product: Operation) -> Operation | None:
    """Where a product becomes part of an address."""
    pending, seen = [product.results[0]], {product.results[0]}
    while pending and len(seen) < _FURTHEST:
        value = pending.pop()
        for user in value.users:
            if user.declaration is OFFSET and user.operands[1] is value:
                return user
            if user.declaration in _THROUGH and user.results[0] not in seen:
                seen.add(user.results[0])
                pending.append(user.results[0])
    return None


INDEX_OVERFLOW: Final = Rule(
    "index-overflow",
    "numerics",
    "The product of two variable numbers, in 32 bits, becomes an address",
    reason="In an array of more than 2147483648 elements the product wraps around, and the address is another one.",
    remedy=(
        "Extend the operands to 64 bits first (`exti`); or promise that it fits, by `overflow<no_signed_wrap>` or by "
        "`assume bounded` of the operands."
    ),
    severity=REMARK,
    positive="""\
entry @k(%p: tile<ptr<f32>>, %stride: tile<i32>, %x: tile<f32>) {
  %row, %y, %z = get_tile_block_id : tile<i32>
  %start = muli %row, %stride : tile<i32> // here
  %q = offset %p, %start : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>, %stride: tile<i32>, %x: tile<f32>) {
  %row, %y, %z = get_tile_block_id : tile<i32>
  %wide_row = exti %row signed : tile<i32> -> tile<i64>
  %wide_stride = exti %stride signed : tile<i32> -> tile<i64>
  %start = muli %wide_row, %wide_stride : tile<i64>
  %q = offset %p, %start : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
  %t = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
  %hundred = constant <i32: 100> : tile<i32>
  %first = muli %row, %hundred : tile<i32>
  %r = offset %p, %first : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %u = store_ptr_tko weak %r, %x token=%t : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    check=_overflowing_indices,
)


def _cheap_divisions(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for division in subject.operations(DIVI, REMI):
        signed = division.keyword("signedness") == "signed"
        left, right = facts.range(division.operands[0], signed), facts.range(division.operands[1], signed)
        if left[0] < 0 or right[0] < 1 or left[0] == left[1]:
            continue
        is_division = division.declaration is DIVI
        if right == (1, 1):
            result = "the dividend" if is_division else "0"
            yield LintFinding(division, f"the divisor is 1: the result is {result}")
        elif left[1] < right[0] and division.keyword("rounding") in ("", "zero", "negative_inf"):
            result = "0" if is_division else "the dividend"
            words = f"the dividend is {left[1]} at most, less than the divisor: the result is {result}"
            yield LintFinding(division, words)
        elif signed and right[0] == right[1] and right[0] & (right[0] - 1) == 0:
            if division.keyword("rounding") in ("", "zero"):
                shorter = "a shift" if is_division else "an 'and'"
                words = f"the dividend is never negative: as unsigned, this division by {right[0]} is {shorter}"
                fix = LintFix("Divide as unsigned", replacements=[(division, "signed", "unsigned")])
                yield LintFinding(division, words, fix=fix, remedy="Divide as `unsigned`.")


CHEAP_DIVISION: Final = Rule(
    "cheap-division",
    "performance",
    "A division that need not be one, by what is known of its operands",
    reason="A division of integers takes tens of instructions; a signed one by a power of two more than a shift.",
    remedy="Leave it out, or divide as `unsigned` what is never negative.",
    severity=REMARK,
    for_scripts=False,
    positive="""\
entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %group = divi %x, %eight signed : tile<i32> // here
  %t = store_ptr_tko weak %p, %group : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %group = divi %x, %eight unsigned : tile<i32>
  %signed = divi %n, %eight signed : tile<i32>
  %sum = addi %group, %signed : tile<i32>
  %rest = remi %sum, %n signed : tile<i32>
  %t = store_ptr_tko weak %p, %rest : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    check=_cheap_divisions,
)
