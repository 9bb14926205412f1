"""Folds: what an operation gives without making another one (the folds draft, Fold Surface).

Numbers are those of the fold table in docs/optimizing.md.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.ops import ADDF, ASSUME, CMPI, CONSTANT, IF, SELECT
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import I1
from tileir.rewrite.driver import Fold, FoldResult
from tileir.rewrite.float_addition import add_constants
from tileir.rewrite.matching import constant_bool, constant_value, defined_by, is_false, is_true, negated


def fold_constant(operation: Operation) -> FoldResult:
    """F1: a constant is its value."""
    value = operation.attributes.get("value")
    return [value] if isinstance(value, DenseAttribute) else None


def fold_addf(operation: Operation) -> FoldResult:
    """F2 (the folds draft only): the sum of finite constants, rounded and flushed as declared; never an infinity."""
    left = constant_value(operation.operands[0])
    right = constant_value(operation.operands[1])
    if left is None or right is None:
        return None
    total = add_constants(left, right, operation.rounding_mode, operation.flush_to_zero)
    return [total] if total is not None else None


def fold_if(operation: Operation) -> FoldResult:
    """F3: `if not c A else B` is `if c B else A`."""
    if len(operation.regions) < 2 or not operation.regions[1].blocks:
        return None
    condition = negated(operation.operands[0])
    if condition is None:
        return None
    operation.set_operand(0, condition)
    first, second = operation.regions
    blocks = first.blocks
    first.blocks = second.blocks
    second.blocks = blocks
    for region in (first, second):
        for block in region.blocks:
            block.parent = region
    return []


def fold_assume(operation: Operation) -> FoldResult:
    """F4: what was assumed already is assumed."""
    producer = defined_by(operation.operands[0], ASSUME)
    if producer is None or producer.attributes.get("predicate") is not operation.attributes.get("predicate"):
        return None
    return [producer.results[0]]


# --- select, in the folds draft's order: a later rule would hide what an earlier one finds ---


def _same_arms(operation: Operation) -> FoldResult:
    """F5."""
    chosen = operation.operands[1]
    return [chosen] if chosen is operation.operands[2] else None


def _constant_condition(operation: Operation) -> FoldResult:
    """F6."""
    condition = constant_bool(operation.operands[0])
    if condition is None:
        return None
    return [operation.operands[1 if condition else 2]]


def _boolean_identity(operation: Operation) -> FoldResult:
    """F7: `select c, true, false` is c."""
    condition, chosen, otherwise = operation.operands
    type = operation.results[0].type
    if isinstance(type, TileType) and type.element is I1 and is_true(chosen) and is_false(otherwise):
        return [condition]
    return None


def _compared_arms(operation: Operation) -> FoldResult:
    """F8: choosing between two integers by whether they are equal.  Floats are not folded: -0 equals +0."""
    condition, chosen, otherwise = operation.operands
    compare = defined_by(condition, CMPI)
    if compare is None:
        return None
    predicate = compare.comparison_predicate
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


def _nested_first(operation: Operation) -> FoldResult:
    """F10: the inner condition is known to hold."""
    inner = defined_by(operation.operands[1], SELECT)
    if inner is None or inner.operands[0] is not operation.operands[0] or inner is operation:
        return None
    operation.set_operand(1, inner.operands[1])
    return []


def _nested_second(operation: Operation) -> FoldResult:
    """F11: the inner condition is known not to hold."""
    inner = defined_by(operation.operands[2], SELECT)
    if inner is None or inner.operands[0] is not operation.operands[0] or inner is operation:
        return None
    operation.set_operand(2, inner.operands[2])
    return []


SELECT_RULES: Final[tuple[tuple[str, Callable[[Operation], FoldResult]], ...]] = (
    ("select-same-arms", _same_arms),
    ("select-constant-condition", _constant_condition),
    ("select-boolean-identity", _boolean_identity),
    ("select-compared-arms", _compared_arms),
    ("select-negated-condition", _negated_condition),
    ("select-nested-first", _nested_first),
    ("select-nested-second", _nested_second),
)


def public_folds() -> list[Fold]:
    """The folds of NVIDIA's public dialect."""
    return [
        Fold("constant", CONSTANT, fold_constant),
        Fold("if-negated-condition", IF, fold_if),
        Fold("assume-again", ASSUME, fold_assume),
        *[Fold(name, SELECT, rule) for name, rule in SELECT_RULES],
    ]


def full_folds() -> list[Fold]:
    """Those and the folds draft's float addition."""
    return [*public_folds(), Fold("addf-constants", ADDF, fold_addf)]
