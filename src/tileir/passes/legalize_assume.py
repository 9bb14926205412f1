"""What the condition form of `assume` says, in the public form: `bounded` and `div_by` assumptions about values.

A condition is a comparison of a value with a constant, such conditions joined by `andi`, or a remainder by a power of
two that is compared with zero.  Of any other one nothing is kept: an assumption less is always right.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import PredicateAttribute, bounded, div_by
from tileir.dialect.ops import ANDI, ASSUME, CMPI, REMI
from tileir.dialect.types import TileType, is_power_of_two
from tileir.ir.core import Block, Operation
from tileir.ir.dense import signed_value
from tileir.ir.types import I1, IntegerType
from tileir.ir.values import Value
from tileir.passes.emit import Emit
from tileir.rewrite.matching import constant_value, defined_by
from tileir.rewrite.simplifier_rules import SWAPPED

# A condition may be a tree; only so many parts of it are looked at.
_MOST_PARTS: Final = 16
_LARGEST_DIVISOR: Final = 1 << 62


def assumptions_of(condition: Value) -> list[tuple[Value, PredicateAttribute]]:
    """The values a condition says something about, and what."""
    found: list[tuple[Value, PredicateAttribute]] = []
    pending = [condition]
    looked = 0
    while pending and looked < _MOST_PARTS:
        looked += 1
        part = pending.pop()
        both = defined_by(part, ANDI)
        if both is not None:
            pending += [both.operands[1], both.operands[0]]
            continue
        comparison = defined_by(part, CMPI)
        if comparison is not None:
            said = _said(comparison)
            if said is not None:
                found.append(said)
    return found


def _constant(value: Value) -> int | None:
    """The bits all elements of a constant share."""
    elements = constant_value(value)
    return elements.bits(0) if elements is not None and elements.is_splat else None


def _said(comparison: Operation) -> tuple[Value, PredicateAttribute] | None:
    value, other = comparison.operands
    keyword = comparison.comparison_predicate
    bits = _constant(other)
    if bits is None:
        bits = _constant(value)
        value, keyword = other, SWAPPED[keyword]
    type = value.type
    if bits is None or not isinstance(type, TileType) or not isinstance(type.element, IntegerType):
        return None
    width = type.element.width
    if type.element is I1 or constant_value(value) is not None:
        return None
    if keyword == "equal" and bits == 0:
        multiple = _multiple(value)
        if multiple is not None:
            return multiple
    lower, upper = _bounds(keyword, comparison.signedness == "signed", width, bits)
    least, greatest = -(1 << (width - 1)), (1 << (width - 1)) - 1
    if (lower is None and upper is None) or not least <= (lower or 0) <= greatest:
        return None
    if not least <= (upper or 0) <= greatest or (lower is not None and upper is not None and lower > upper):
        return None
    return value, bounded(lower, upper)


def _bounds(keyword: str, signed: bool, width: int, bits: int) -> tuple[int | None, int | None]:
    """The signed range a comparison leaves a value; None where it says nothing about an end."""
    number = signed_value(width, bits) if signed else bits
    if keyword == "equal":
        return signed_value(width, bits), signed_value(width, bits)
    if keyword in ("less_than", "less_than_or_equal"):
        upper = number - 1 if keyword == "less_than" else number
        if signed:
            return None, upper
        # Small as unsigned means not negative as signed; large says nothing.
        return (0, upper) if upper < 1 << (width - 1) else (None, None)
    if keyword in ("greater_than", "greater_than_or_equal") and signed:
        return (number + 1 if keyword == "greater_than" else number), None
    return None, None


def _multiple(value: Value) -> tuple[Value, PredicateAttribute] | None:
    """What a remainder that is zero says about the dividend."""
    remainder = defined_by(value, REMI)
    if remainder is None:
        return None
    divisor = _constant(remainder.operands[1])
    if divisor is None or not is_power_of_two(divisor) or divisor > _LARGEST_DIVISOR:
        return None
    dividend = remainder.operands[0]
    return (dividend, div_by(divisor)) if constant_value(dividend) is None else None


def write_assumptions(operation: Operation, order: dict[Operation, int]) -> None:
    """Write what a condition says in front of an `assume_cond`, for the uses that come after it."""
    block = operation.parent
    if block is None:
        return
    latest: dict[Value, Value] = {}
    for compared, predicate in assumptions_of(operation.operands[0]):
        # What is said twice of a value is said of the result of the first assumption.
        value = latest.get(compared, compared)
        later = [user for user in value.users if order.get(user, -1) > order[operation] and _is_inside(user, block)]
        if not later:
            continue
        assumed = Emit(operation).operation(ASSUME, [value], [value.type], {"predicate": predicate}).results[0]
        latest[compared] = assumed
        for user in later:
            for index, operand in enumerate(list(user.operands)):
                if operand is value:
                    user.set_operand(index, assumed)


def _is_inside(operation: Operation, block: Block) -> bool:
    parent = operation.parent
    while parent is not None:
        if parent is block:
            return True
        around = parent.parent_operation
        parent = around.parent if around is not None else None
    return False
