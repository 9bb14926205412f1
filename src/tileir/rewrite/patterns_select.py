"""Patterns of `select`, and the order of `addf`'s operands."""

from __future__ import annotations

from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.ops import ADDF, EXTI, MULF, SELECT, XORI
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, FloatType, IntegerType
from tileir.rewrite.driver import Pattern
from tileir.rewrite.matching import (
    constant_bool,
    constant_value,
    defined_by,
    is_false,
    is_one,
    is_true,
    is_zero,
    negated,
    negation,
)
from tileir.rewrite.rewriter import Rewriter


def select_to_not(operation: Operation, rewriter: Rewriter) -> bool:
    """`select c, false, true` is `xori c, true`."""
    condition, chosen, otherwise = operation.operands
    if not is_false(chosen) or not is_true(otherwise):
        return False
    inverse = rewriter.create(XORI, [condition, otherwise], [operation.results[0].type])
    rewriter.replace(operation, [inverse.results[0]])
    return True


def select_constants(operation: Operation, rewriter: Rewriter) -> bool:
    """A choice between constants by a constant is a constant, whatever the elements are."""
    condition, chosen, otherwise = [constant_value(value) for value in operation.operands]
    if condition is None or chosen is None or otherwise is None:
        return False
    element = chosen.element_type
    if not isinstance(element, (IntegerType, FloatType)):
        return False
    size = element_bytes(element)
    parts = [
        _element(chosen if condition.bits(index) & 1 else otherwise, index, size)
        for index in range(1 if condition.is_splat and chosen.is_splat and otherwise.is_splat else chosen.count)
    ]
    value = dense_attribute(chosen.type, chosen.shape, element, b"".join(parts))
    rewriter.replace(operation, [rewriter.constant(value)])
    return True


def _element(elements: DenseAttribute, index: int, size: int) -> bytes:
    start = 0 if elements.is_splat else index * size
    return elements.data[start : start + size]


def select_to_extension(operation: Operation, rewriter: Rewriter) -> bool:
    """`select c, 1, 0` is c as an integer, `select c, 0, 1` its negation."""
    condition, chosen, otherwise = operation.operands
    type = operation.results[0].type
    if not isinstance(type, TileType) or not isinstance(type.element, IntegerType) or type.element is I1:
        return False
    if is_zero(chosen) and is_one(otherwise):
        condition = negation(rewriter, condition)
    elif not is_one(chosen) or not is_zero(otherwise):
        return False
    extended = rewriter.create(EXTI, [condition], [type], {"signedness": SIGNEDNESS["unsigned"]})
    rewriter.replace(operation, [extended.results[0]])
    return True


# --- the folds draft's own three: each is a fold too ---


def replace_constant_select(operation: Operation, rewriter: Rewriter) -> bool:
    condition = constant_bool(operation.operands[0])
    if condition is None:
        return False
    rewriter.replace(operation, [operation.operands[1 if condition else 2]])
    return True


def replace_identical_select(operation: Operation, rewriter: Rewriter) -> bool:
    if operation.operands[1] is not operation.operands[2]:
        return False
    rewriter.replace(operation, [operation.operands[1]])
    return True


def inverse_condition_select(operation: Operation, rewriter: Rewriter) -> bool:
    condition = negated(operation.operands[0])
    if condition is None:
        return False
    rewriter.set_operands(operation, [condition, operation.operands[2], operation.operands[1]])
    return True


# --- addf ---


def product_first(operation: Operation, rewriter: Rewriter) -> bool:
    """A product among the operands of `addf` goes to the left, where fusing looks for it."""
    left, right = operation.operands
    if defined_by(right, MULF) is None or defined_by(left, MULF) is not None:
        return False
    rewriter.set_operands(operation, [right, left])
    return True


PRODUCT_FIRST = Pattern("addf-product-first", ADDF, product_first)


def public_select_patterns() -> list[Pattern]:
    return [
        Pattern("SelectI1ToNot", SELECT, select_to_not),
        Pattern("SelectConsts", SELECT, select_constants),
        Pattern("SelectToExtI", SELECT, select_to_extension),
    ]


def full_select_patterns() -> list[Pattern]:
    return [
        Pattern("ReplaceConstantSelect", SELECT, replace_constant_select),
        Pattern("ReplaceIdenticalSelect", SELECT, replace_identical_select),
        Pattern("InverseConditionSelect", SELECT, inverse_condition_select),
    ]
