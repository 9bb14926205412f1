"""Arithmetic that cannot be meant: undefined, or of a value with itself."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.ops import (
    ANDI,
    ASSUME,
    CMPI,
    DIVF,
    DIVI,
    MAXF,
    MAXI,
    MINF,
    MINI,
    ORI,
    REMF,
    REMI,
    SELECT,
    SHLI,
    SHRI,
    SUBF,
    SUBI,
    XORI,
)
from tileir.ir.declaration import OperationDeclaration
from tileir.rewrite.fact import trailing_zeros

# What comes of two equal operands; of NaN and infinity subf and divf make NaN.
_OF_ITSELF: Final[dict[OperationDeclaration, str]] = {
    ANDI: "the operand itself",
    CMPI: "always the same",
    DIVF: "1 or NaN",
    DIVI: "1",
    MAXF: "the operand itself",
    MAXI: "the operand itself",
    MINF: "the operand itself",
    MINI: "the operand itself",
    ORI: "the operand itself",
    REMF: "0 or NaN",
    REMI: "0",
    SUBF: "0 or NaN",
    SUBI: "0",
    XORI: "0",
}


def _identical_operands(subject: Subject) -> Iterable[LintFinding]:
    for operation in subject.operations(*_OF_ITSELF):
        if operation.operands[0] is operation.operands[1]:
            result = _OF_ITSELF[operation.declaration]
            yield LintFinding(operation, f"both operands are the same value: the result is {result}")
    for choice in subject.operations(SELECT):
        if choice.operands[1] is choice.operands[2]:
            yield LintFinding(choice, "both choices are the same value")


IDENTICAL_OPERANDS: Final = Rule(
    "identical-operands",
    "suspicious",
    "An operation takes the same value twice where that makes no sense",
    reason="The result does not depend on the value, or is the value: another operand was meant in all likelihood.",
    remedy="Give the operand that was meant.",
    positive="""\
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {
  %x = subf %a, %a : tile<f32> // here
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {
  %double = addf %a, %a : tile<f32>
  %square = mulf %double, %double : tile<f32>
  %is_number = cmpf equal ordered %a, %a : tile<f32> -> tile<i1>
  %x = select %is_number, %square, %double : tile<i1>, tile<f32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    check=_identical_operands,
)


def _undefined_arithmetic(subject: Subject) -> Iterable[LintFinding]:
    facts = subject.facts
    for division in subject.operations(DIVI, REMI):
        if facts.integer(division.operands[1]) == 0:
            yield LintFinding(division, "the divisor is always 0")
    for shift in subject.operations(SHLI, SHRI):
        width = facts.fact(shift.operands[1]).width
        least = facts.range(shift.operands[1], False)[0]
        if least >= width:
            yield LintFinding(shift, f"the shift is by {least} bits or more, and there are {width}")


UNDEFINED_ARITHMETIC: Final = Rule(
    "undefined-arithmetic",
    "suspicious",
    "A division by 0, or a shift by more bits than there are",
    reason="The result is undefined: it differs between targets, and a compiler may make anything of it.",
    remedy="Correct the second operand.",
    positive="""\
entry @k(%p: tile<ptr<i32>>, %a: tile<i32>) {
  %bits = constant <i32: 32> : tile<i32>
  %x = shli %a, %bits : tile<i32> // here
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<i32>>, %a: tile<i32>, %b: tile<i32>) {
  %bits = constant <i32: 31> : tile<i32>
  %x = shli %a, %bits : tile<i32>
  %y = divi %x, %b signed : tile<i32>
  %t = store_ptr_tko weak %p, %y : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    check=_undefined_arithmetic,
)


def _false_assumptions(subject: Subject) -> Iterable[LintFinding]:
    for assume in subject.operations(ASSUME):
        fact = subject.facts.fact(assume.operands[0])
        predicate = assume.attributes.get("predicate")
        if not fact.width:
            continue
        if isinstance(predicate, BoundedAttribute):
            inside = 1 if predicate.strict else 0
            too_low = predicate.upper is not None and fact.signed_low > predicate.upper - inside
            too_high = predicate.lower is not None and fact.signed_high < predicate.lower + inside
            if too_low or too_high:
                values = str(fact.signed_low)
                if fact.signed_low != fact.signed_high:
                    values = f"from {fact.signed_low} to {fact.signed_high}"
                yield LintFinding(assume, f"the assumption is false: the value is {values}")
        elif isinstance(predicate, DivByAttribute) and predicate.every is None:
            if fact.value and trailing_zeros(fact.value) < trailing_zeros(predicate.divisor):
                yield LintFinding(
                    assume, f"the assumption is false: {fact.value} is not divisible by {predicate.divisor}"
                )


FALSE_ASSUMPTION: Final = Rule(
    "false-assumption",
    "suspicious",
    "An assumption cannot hold",
    reason="What is computed from an assumption that does not hold is undefined.",
    remedy="Correct the assumption.",
    positive="""\
entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %bounded = assume bounded<?, -1>, %x : tile<i32> // here
  %t = store_ptr_tko weak %p, %bounded : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %bounded = assume bounded<?, 1023>, %x : tile<i32>
  %t = store_ptr_tko weak %p, %bounded : tile<ptr<i32>>, tile<i32> -> token
  return
}
""",
    check=_false_assumptions,
)
