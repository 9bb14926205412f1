"""What integer operations make of what is known about their operands."""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_PREDICATE, OVERFLOW, ROUNDING, SIGNEDNESS
from tileir.dialect.ops import (
    ABSI,
    ADDI,
    ANDI,
    BITCAST,
    CLZ,
    CMPI,
    CTZ,
    DIVI,
    EXTI,
    INT_TO_PTR,
    MAXI,
    MINI,
    MULHII,
    MULI,
    NEGI,
    NOTI,
    OFFSET,
    ORI,
    POPCNT,
    PTR_TO_INT,
    PTR_TO_PTR,
    REMI,
    SHLI,
    SHRI,
    SUBI,
    TRUNCI,
    XORI,
)
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.declaration import ELEMENTWISE, OperationDeclaration
from tileir.ir.dense import element_bytes
from tileir.rewrite.fact import (
    Fact,
    common_groups,
    exactly,
    full,
    joined,
    narrowed,
    shape_of,
    single_groups,
    trailing_zeros,
    width_of,
)

Rule = Callable[[Operation, int, list[Fact]], Fact]


def groups_of_result(operation: Operation, index: int, operands: list[Fact]) -> tuple[int, ...]:
    """An element-wise operation gives alike elements where all its operands are alike."""
    type = operation.results[index].type
    shape = shape_of(type)
    if not operation.declaration.traits & ELEMENTWISE or not operands:
        return single_groups(type)
    groups = shape
    for value, fact in zip(operation.operands, operands, strict=True):
        if shape_of(value.type) != shape:
            return single_groups(type)
        groups = common_groups(groups, fact.groups)
    return groups


# --- integer arithmetic ---


def _sum(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    return _computed(
        operation,
        operands,
        (a.signed_low + b.signed_low, a.signed_high + b.signed_high),
        (a.unsigned_low + b.unsigned_low, a.unsigned_high + b.unsigned_high),
        min(a.zeros, b.zeros),
    )


def _difference(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    return _computed(
        operation,
        operands,
        (a.signed_low - b.signed_high, a.signed_high - b.signed_low),
        (a.unsigned_low - b.unsigned_high, a.unsigned_high - b.unsigned_low),
        min(a.zeros, b.zeros),
    )


def _product(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    corners = [x * y for x in a.range(True) for y in b.range(True)]
    return _computed(
        operation,
        operands,
        (min(corners), max(corners)),
        (a.unsigned_low * b.unsigned_low, a.unsigned_high * b.unsigned_high),
        a.zeros + b.zeros,
    )


def _negation(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    return _computed(operation, operands, (-a.signed_high, -a.signed_low), None, a.zeros)


def _computed(
    operation: Operation,
    operands: list[Fact],
    signed: tuple[int, int],
    unsigned: tuple[int, int] | None,
    zeros: int,
) -> Fact:
    """The fact about exact results in these ranges: wrapped, unless a flag promises that they do not wrap."""
    width = operands[0].width
    half = 1 << (width - 1)
    overflow = operation.attribute("overflow")
    if overflow is OVERFLOW["no_signed_wrap"] or overflow is OVERFLOW["no_wrap"]:
        signed = (max(signed[0], -half), min(signed[1], half - 1))
    if unsigned is not None and (overflow is OVERFLOW["no_unsigned_wrap"] or overflow is OVERFLOW["no_wrap"]):
        unsigned = (max(unsigned[0], 0), min(unsigned[1], 2 * half - 1))
    groups = groups_of_result(operation, 0, operands)
    return narrowed(width, groups, _sound(signed), _sound(unsigned), zeros)


def _sound(bounds: tuple[int, int] | None) -> tuple[int, int] | None:
    """A range, or nothing if a broken promise left none."""
    return bounds if bounds is not None and bounds[0] <= bounds[1] else None


def _absolute(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    low = max(a.signed_low, -a.signed_high, 0)
    return narrowed(
        a.width,
        groups_of_result(operation, 0, operands),
        unsigned=(low, max(-a.signed_low, a.signed_high)),
        zeros=a.zeros,
    )


def _minimum(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    return _extremum(operation, operands, min)


def _maximum(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    return _extremum(operation, operands, max)


def _extremum(operation: Operation, operands: list[Fact], choose: Callable[[int, int], int]) -> Fact:
    a, b = operands
    either = joined(a, b)
    signed = _is_signed(operation)
    x, y = a.range(signed), b.range(signed)
    chosen = (choose(x[0], y[0]), choose(x[1], y[1]))
    groups = groups_of_result(operation, 0, operands)
    if signed:
        return narrowed(a.width, groups, chosen, either.range(False), either.zeros)
    return narrowed(a.width, groups, either.range(True), chosen, either.zeros)


def _is_signed(operation: Operation) -> bool:
    return operation.attribute("signedness") is SIGNEDNESS["signed"]


def _quotient(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = _is_signed(operation)
    low, high = b.range(signed)
    # Division by zero is undefined, so the divisor is not zero: the ends of the range and what is next to zero count.
    divisors = [d for d in (low, high, -1, 1) if d != 0 and low <= d <= high]
    groups = groups_of_result(operation, 0, operands)
    if not divisors:
        return full(a.width, groups)
    rounding = operation.attribute("rounding")
    corners = [_divided(x, d, rounding is ROUNDING["negative_inf"], rounding is ROUNDING["positive_inf"])
               for x in a.range(signed) for d in divisors]  # fmt: skip
    half = 1 << (a.width - 1)
    # The quotient that does not fit, of the smallest number by -1, is undefined too.
    bounds = (min(corners), min(max(corners), half - 1) if signed else max(corners))
    zeros = 0
    divisor = b.value
    if divisor is not None and divisor == 1 << trailing_zeros(divisor) and (divisor < half or not signed):
        zeros = max(0, a.zeros - trailing_zeros(divisor))
    return narrowed(a.width, groups, _sound(bounds) if signed else None, None if signed else bounds, zeros)


def _divided(dividend: int, divisor: int, down: bool, up: bool) -> int:
    if down:
        return dividend // divisor
    if up:
        return -(-dividend // divisor)
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _remainder(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = _is_signed(operation)
    low, high = a.range(signed)
    divisor_low, divisor_high = b.range(signed)
    groups = groups_of_result(operation, 0, operands)
    # A remainder keeps the common low zeros, is less than the divisor, and goes no further from zero than the dividend.
    zeros = min(a.zeros, b.zeros)
    most = max(abs(divisor_low), abs(divisor_high)) - 1
    if most < 0:
        return full(a.width, groups)
    if divisor_low > max(high, -low):
        bounds = (low, high)
    else:
        bounds = (max(low, -most) if low < 0 else 0, min(high, most) if high > 0 else 0)
    return narrowed(a.width, groups, bounds if signed else None, None if signed else bounds, zeros)


def _high_product(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    bounds = (a.unsigned_low * b.unsigned_low >> a.width, a.unsigned_high * b.unsigned_high >> a.width)
    return narrowed(a.width, groups_of_result(operation, 0, operands), unsigned=bounds)


# --- bits ---


def _and(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    bounds = (0, min(a.unsigned_high, b.unsigned_high))
    return narrowed(a.width, groups_of_result(operation, 0, operands), unsigned=bounds, zeros=max(a.zeros, b.zeros))


def _or(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    bounds = (max(a.unsigned_low, b.unsigned_low), _all_bits(a, b))
    return narrowed(a.width, groups_of_result(operation, 0, operands), unsigned=bounds, zeros=min(a.zeros, b.zeros))


def _exclusive_or(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    groups = groups_of_result(operation, 0, operands)
    if a.value is not None and b.value is not None:
        return exactly(a.width, a.value ^ b.value, groups)
    return narrowed(a.width, groups, unsigned=(0, _all_bits(a, b)), zeros=min(a.zeros, b.zeros))


def _all_bits(a: Fact, b: Fact) -> int:
    return (1 << max(a.unsigned_high, b.unsigned_high).bit_length()) - 1


def _complement(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    return narrowed(a.width, groups_of_result(operation, 0, operands), signed=(-1 - a.signed_high, -1 - a.signed_low))


def _bit_count(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    return narrowed(a.width, groups_of_result(operation, 0, operands), unsigned=(0, a.width))


def _shift_left(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    low, high = b.range(False)
    groups = groups_of_result(operation, 0, operands)
    if high >= a.width:
        # A shift by the width or more has no specified result.
        return full(a.width, groups)
    corners = [x << amount for x in a.range(True) for amount in (low, high)]
    unsigned = (a.unsigned_low << low, a.unsigned_high << high)
    return _computed(operation, operands, (min(corners), max(corners)), unsigned, a.zeros + low)


def _shift_right(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    low, high = b.range(False)
    groups = groups_of_result(operation, 0, operands)
    if high >= a.width:
        return full(a.width, groups)
    signed = _is_signed(operation)
    corners = [x >> amount for x in a.range(signed) for amount in (low, high)]
    bounds = (min(corners), max(corners))
    return narrowed(a.width, groups, bounds if signed else None, None if signed else bounds, max(0, a.zeros - high))


def _comparison(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    a, b = operands
    groups = groups_of_result(operation, 0, operands)
    predicate = operation.attribute("comparison_predicate")
    signed = _is_signed(operation)
    (a_low, a_high), (b_low, b_high) = a.range(signed), b.range(signed)
    answer: bool | None = None
    if predicate is COMPARISON_PREDICATE["less_than"]:
        answer = _decided(a_high < b_low, a_low >= b_high)
    elif predicate is COMPARISON_PREDICATE["less_than_or_equal"]:
        answer = _decided(a_high <= b_low, a_low > b_high)
    elif predicate is COMPARISON_PREDICATE["greater_than"]:
        answer = _decided(a_low > b_high, a_high <= b_low)
    elif predicate is COMPARISON_PREDICATE["greater_than_or_equal"]:
        answer = _decided(a_low >= b_high, a_high < b_low)
    else:
        equal = _decided(a_low == a_high == b_low == b_high, a_high < b_low or b_high < a_low)
        if equal is not None:
            answer = equal == (predicate is COMPARISON_PREDICATE["equal"])
    if answer is None:
        return full(1, groups)
    return exactly(1, 1 if answer else 0, shape_of(operation.results[0].type))


def _decided(always: bool, never: bool) -> bool | None:
    if always:
        return True
    return False if never else None


# --- conversions ---


def _extension(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    width = width_of(operation.results[0].type)
    groups = groups_of_result(operation, 0, operands)
    if _is_signed(operation):
        return narrowed(width, groups, signed=a.range(True), zeros=a.zeros)
    return narrowed(width, groups, unsigned=a.range(False), zeros=a.zeros)


def _truncation(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    width = width_of(operation.results[0].type)
    half = 1 << (width - 1)
    overflow = operation.attribute("overflow")
    signed, unsigned = a.range(True), a.range(False)
    if overflow is OVERFLOW["no_signed_wrap"] or overflow is OVERFLOW["no_wrap"]:
        signed = (max(signed[0], -half), min(signed[1], half - 1))
    if overflow is OVERFLOW["no_unsigned_wrap"] or overflow is OVERFLOW["no_wrap"]:
        unsigned = (unsigned[0], min(unsigned[1], 2 * half - 1))
    return narrowed(width, groups_of_result(operation, 0, operands), _sound(signed), _sound(unsigned), a.zeros)


def _same_bits(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    """Pointers and integers of 64 bits are the same bits; a float says nothing about the integer it is read as."""
    (a,) = operands
    type = operation.results[0].type
    groups = a.groups if shape_of(operation.operands[0].type) == shape_of(type) else single_groups(type)
    return a.with_groups(groups) if a.width == width_of(type) else full(width_of(type), groups)


def _offset(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    pointer, offset = operands
    type = operation.results[0].type
    element = type.element if isinstance(type, TileType) else None
    size = element_bytes(element.pointee) if isinstance(element, PointerType) else 1
    groups = groups_of_result(operation, 0, operands)
    # An offset of 0 has as many zeros as it has bits, which must not count as more: extended, it has 64.
    zeros = 64 if offset.value == 0 else offset.zeros + trailing_zeros(size)
    return narrowed(64, groups, zeros=min(pointer.zeros, zeros))


# --- the table ---

INTEGER_RULES: Final[dict[OperationDeclaration, Rule]] = {
    ABSI: _absolute,
    ADDI: _sum,
    ANDI: _and,
    BITCAST: _same_bits,
    CLZ: _bit_count,
    CMPI: _comparison,
    CTZ: _bit_count,
    DIVI: _quotient,
    EXTI: _extension,
    INT_TO_PTR: _same_bits,
    MAXI: _maximum,
    MINI: _minimum,
    MULHII: _high_product,
    MULI: _product,
    NEGI: _negation,
    NOTI: _complement,
    OFFSET: _offset,
    ORI: _or,
    POPCNT: _bit_count,
    PTR_TO_INT: _same_bits,
    PTR_TO_PTR: _same_bits,
    REMI: _remainder,
    SHLI: _shift_left,
    SHRI: _shift_right,
    SUBI: _difference,
    TRUNCI: _truncation,
    XORI: _exclusive_or,
}
