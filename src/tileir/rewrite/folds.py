"""Folds, the patterns of `select` and `addf`, and the addition of float constants.

A fold returns what an operation computes without creating another operation (the folds draft, Fold Surface).  Its
number is that of the table in docs/tools/opt.md.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.ops import ADDF, ASSUME, CMPI, CONSTANT, EXTI, IF, MULF, SELECT, XORI
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.floats import FORMATS, FloatFormat, decode, is_finite
from tileir.ir.types import I1, FloatType, IntegerType
from tileir.rewrite import matching
from tileir.rewrite.driver import Fold, FoldResult, Pattern
from tileir.rewrite.matching import constant_bool, constant_integer, constant_value, defined_by, negated, negation
from tileir.rewrite.rewriter import Rewriter

ROUNDING_MODES: Final = ("nearest_even", "zero", "negative_inf", "positive_inf")


def _fold_constant(operation: Operation) -> FoldResult:
    """F1: a constant is its value."""
    value = operation.attributes.get("value")
    return [value] if isinstance(value, DenseAttribute) else None


def _fold_addf(operation: Operation) -> FoldResult:
    """F2 (the folds draft only): the sum of finite constants, rounded and flushed as declared; never an infinity."""
    left = constant_value(operation.operands[0])
    right = constant_value(operation.operands[1])
    if left is None or right is None:
        return None
    total = add_constants(left, right, operation.rounding_mode, operation.flush_to_zero)
    return [total] if total is not None else None


def _fold_if(operation: Operation) -> FoldResult:
    """F3: `if not c A else B` is `if c B else A`."""
    if len(operation.regions) < 2 or not operation.regions[1].blocks:
        return None
    condition = negated(operation.operands[0])
    if condition is None:
        return None
    operation.set_operand(0, condition)
    first, second = operation.regions
    first.blocks, second.blocks = second.blocks, first.blocks
    for region in (first, second):
        for block in region.blocks:
            block.parent = region
    return []


def _fold_assume(operation: Operation) -> FoldResult:
    """F4: the same assumption again adds nothing."""
    producer = defined_by(operation.operands[0], ASSUME)
    if producer is None or producer.attributes.get("predicate") is not operation.attributes.get("predicate"):
        return None
    return [producer.results[0]]


# --- folds of select, in the folds draft's order: another order would hide some of them ---


def _same_arms(operation: Operation) -> FoldResult:
    """F5."""
    chosen = operation.operands[1]
    return [chosen] if chosen is operation.operands[2] else None


def _constant_condition(operation: Operation) -> FoldResult:
    """F6."""
    condition = constant_bool(operation.operands[0])
    return None if condition is None else [operation.operands[1 if condition else 2]]


def _boolean_identity(operation: Operation) -> FoldResult:
    """F7: `select c, true, false` is c."""
    condition, chosen, otherwise = operation.operands
    return [condition] if constant_bool(chosen) and constant_bool(otherwise) is False else None


def _compared_arms(operation: Operation) -> FoldResult:
    """F8: a choice between two integers by whether they are equal.  Floats are not folded: -0 equals +0."""
    condition, chosen, otherwise = operation.operands
    compare = defined_by(condition, CMPI)
    if compare is None:
        return None
    predicate = compare.keyword("comparison_predicate")
    if predicate not in ("equal", "not_equal"):
        return None
    left, right = compare.operands
    if (left is chosen and right is otherwise) or (right is chosen and left is otherwise):
        return [chosen if predicate == "not_equal" else otherwise]
    return None


def _negated_condition(operation: Operation) -> FoldResult:
    """F9: `select not c, a, b` is `select c, b, a`."""
    _, chosen, otherwise = operation.operands
    condition = negated(operation.operands[0])
    if condition is None:
        return None
    operation.set_operands([condition, otherwise, chosen], operation.segments)
    return []


def _skip_nested(operation: Operation, arm: int) -> FoldResult:
    """F10 and F11: the condition of the inner `select` is known to be true (in arm 1) or false (in arm 2)."""
    inner = defined_by(operation.operands[arm], SELECT)
    if inner is None or inner.operands[0] is not operation.operands[0] or inner is operation:
        return None
    operation.set_operand(arm, inner.operands[arm])
    return []


def canonicalization_folds(full: bool) -> list[Fold]:
    """The folds of NVIDIA's public dialect; with `full`, the folds draft's float addition too."""
    return [
        Fold("constant", CONSTANT, _fold_constant),
        Fold("if-negated-condition", IF, _fold_if),
        Fold("assume-again", ASSUME, _fold_assume),
        Fold("select-same-arms", SELECT, _same_arms),
        Fold("select-constant-condition", SELECT, _constant_condition),
        Fold("select-boolean-identity", SELECT, _boolean_identity),
        Fold("select-compared-arms", SELECT, _compared_arms),
        Fold("select-negated-condition", SELECT, _negated_condition),
        Fold("select-nested-first", SELECT, lambda operation: _skip_nested(operation, 1)),
        Fold("select-nested-second", SELECT, lambda operation: _skip_nested(operation, 2)),
        *([Fold("addf-constants", ADDF, _fold_addf)] if full else []),
    ]


# --- patterns of select ---


def _select_to_not(operation: Operation, rewriter: Rewriter) -> bool:
    """`select c, false, true` is `xori c, true`."""
    condition, chosen, otherwise = operation.operands
    if constant_bool(chosen) is not False or not constant_bool(otherwise):
        return rewriter.no_match(operation, "the values are not false and true")
    inverse = rewriter.create(XORI, [condition, otherwise], [operation.results[0].type])
    rewriter.replace(operation, [inverse.results[0]])
    return True


def _select_constants(operation: Operation, rewriter: Rewriter) -> bool:
    """A choice between constants by a constant is a constant, for all element types."""
    condition, chosen, otherwise = [constant_value(value) for value in operation.operands]
    if condition is None or chosen is None or otherwise is None:
        return rewriter.no_match(operation, "an operand is not constant")
    type = matching.tile_of(operation.result)
    if not isinstance(type.element, (IntegerType, FloatType)):
        return rewriter.no_match(operation, "the elements are neither integers nor floats")
    operands = [condition, chosen, otherwise]
    value = matching.elementwise(type, operands, lambda bits: bits[1] if bits[0] else bits[2])
    if value is not None:
        rewriter.replace(operation, [rewriter.constant(value)])
    return value is not None


def _select_to_extension(operation: Operation, rewriter: Rewriter) -> bool:
    """`select c, 1, 0` is c as an integer, `select c, 0, 1` its negation."""
    condition, chosen, otherwise = operation.operands
    type = operation.results[0].type
    if not isinstance(type, TileType) or not isinstance(type.element, IntegerType) or type.element is I1:
        return rewriter.no_match(operation, "the elements are not integers wider than i1")
    arms = (constant_integer(chosen), constant_integer(otherwise))
    if arms == (0, 1):
        condition = negation(rewriter, condition)
    elif arms != (1, 0):
        return rewriter.no_match(operation, "the values are not 0 and 1")
    extended = rewriter.create(EXTI, [condition], [type], {"signedness": SIGNEDNESS["unsigned"]})
    rewriter.replace(operation, [extended.results[0]])
    return True


def select_patterns() -> list[Pattern]:
    return [
        Pattern("SelectI1ToNot", SELECT, _select_to_not),
        Pattern("SelectConsts", SELECT, _select_constants),
        Pattern("SelectToExtI", SELECT, _select_to_extension),
    ]


# --- the pattern of addf ---


def _product_first(operation: Operation, rewriter: Rewriter) -> bool:
    """Move a product among the operands of `addf` to the left, where fuse-fma expects it."""
    left, right = operation.operands
    if defined_by(right, MULF) is None or defined_by(left, MULF) is not None:
        return rewriter.no_match(operation, "the right operand is not the only product")
    rewriter.set_operands(operation, [right, left])
    return True


PRODUCT_FIRST = Pattern("addf-product-first", ADDF, _product_first)


# --- the addition of float constants: the operation's rounding mode and flush-to-zero, finite numbers only ---


def add_constants(left: DenseAttribute, right: DenseAttribute, rounding: str, flush: bool) -> DenseAttribute | None:
    """Add element by element; None if a sum or operand is not finite or the mode is not one of IEEE's."""
    type = left.type
    if not isinstance(type, TileType) or not isinstance(type.element, FloatType):
        return None
    if rounding not in ROUNDING_MODES or type is not right.type:
        return None
    form = FORMATS[type.element.name]
    return matching.elementwise(type, [left, right], lambda bits: add_bits(form, bits[0], bits[1], rounding, flush))


def add_bits(form: FloatFormat, left: int, right: int, rounding: str, flush: bool) -> int | None:
    """Add two bit patterns: an exact integer sum, rounded once; None if an operand or the result is not finite."""
    if not form.has_zero or not is_finite(form, left) or not is_finite(form, right):
        return None
    if flush:
        left, right = _flushed(form, left), _flushed(form, right)
    left_negative, left_units, left_exponent = decode(form, left)
    right_negative, right_units, right_exponent = decode(form, right)
    exponent = min(left_exponent, right_exponent)
    total = (-left_units if left_negative else left_units) << (left_exponent - exponent)
    total += (-right_units if right_negative else right_units) << (right_exponent - exponent)
    if total == 0:
        # The sum of zeros of one sign keeps it; any other zero is positive, unless rounding is downward.
        both = left_negative and right_negative and left_units == 0 and right_units == 0
        same = left_negative == right_negative
        negative = both or (rounding == "negative_inf" and not same)
        return form.sign_mask if negative and form.has_sign else 0
    bits = _rounded(form, total < 0, abs(total), exponent, rounding)
    return _flushed(form, bits) if bits is not None and flush else bits


def _flushed(form: FloatFormat, bits: int) -> int:
    """Replace a subnormal by the zero of its sign."""
    magnitude = bits & form.magnitude_mask
    return bits & form.sign_mask if magnitude >> form.mantissa_bits == 0 else bits


def _rounded(form: FloatFormat, negative: bool, units: int, exponent: int, rounding: str) -> int | None:
    """Encode `units * 2**exponent`, not zero; None if it overflows or the format lacks its sign."""
    if negative and not form.has_sign:
        return None
    away = rounding == ("negative_inf" if negative else "positive_inf")
    top = units.bit_length() + exponent - 1
    unit = max(top, form.minimum_exponent) - form.mantissa_bits
    shift = unit - exponent
    quotient = units << -shift if shift <= 0 else units >> shift
    rest = 0 if shift <= 0 else units & ((1 << shift) - 1)
    if rest and rounding == "nearest_even":
        half = 1 << (shift - 1)
        quotient += 1 if rest > half or (rest == half and quotient & 1) else 0
    elif rest and away:
        quotient += 1
    if quotient >> form.mantissa_bits == 0:
        magnitude = quotient
    else:
        # Adding, not or-ing, the significand lets a carry out of it reach the exponent field.
        field = unit + form.mantissa_bits + form.bias
        magnitude = (field << form.mantissa_bits) + quotient - (1 << form.mantissa_bits)
    if magnitude > form.largest:
        # Rounding toward zero stops at the largest number.
        if rounding == "nearest_even" or away:
            return None
        magnitude = form.largest
    return magnitude | (form.sign_mask if negative else 0)
