"""Integers that are known become constants, most of all outcomes of comparisons.

Python's `//` and `%` come as remainders with a correction for signs: chains of comparisons and choices, of which
nothing is left where numbers are known not to be negative (block ids, extents, promises).
"""

from __future__ import annotations

from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.ops import CMPI, CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.effects import is_pure
from tileir.ir.traversal import pre_order
from tileir.ir.types import IntegerType
from tileir.passes.emit import Emit
from tileir.rewrite.facts import Facts


def run(root: Operation) -> int:
    """Replace what facts decide; gives how many."""
    facts = Facts()
    count = 0
    # In the order of the program: what comes of constants is one itself.
    for operation in pre_order(root):
        if len(operation.results) != 1 or operation.declaration is CONSTANT or not is_pure(operation):
            continue
        type = operation.result.type
        if not isinstance(type, TileType) or not isinstance(type.element, IntegerType) or not operation.result.users:
            continue
        number: int | None = _outcome(operation, facts) if operation.declaration is CMPI else None
        number = facts.integer(operation.result) if number is None else number
        if number is not None:
            operation.replace_with([Emit(operation).bits(type, int(number))])
            count += 1
    return count


def _outcome(operation: Operation, facts: Facts) -> bool | None:
    """Whether a comparison holds for all elements, or for none."""
    signed = operation.keyword("signedness") == "signed"
    left, right = [facts.range(value, signed) for value in operation.operands]
    predicate = operation.attribute("comparison_predicate")
    if predicate is COMPARISON_PREDICATE["greater_than"]:
        return _is_less(right, left)
    if predicate is COMPARISON_PREDICATE["less_than"]:
        return _is_less(left, right)
    if predicate is COMPARISON_PREDICATE["greater_than_or_equal"]:
        return _not(_is_less(left, right))
    if predicate is COMPARISON_PREDICATE["less_than_or_equal"]:
        return _not(_is_less(right, left))
    equal = _is_equal(left, right)
    return equal if predicate is COMPARISON_PREDICATE["equal"] else _not(equal)


def _is_less(left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    if left[1] < right[0]:
        return True
    return False if left[0] >= right[1] else None


def _is_equal(left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    if left[1] < right[0] or right[1] < left[0]:
        return False
    return True if left == right and left[0] == left[1] else None


def _not(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome
