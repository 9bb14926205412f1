"""The fact about a result, given the facts about the operands: one rule per operation, in the table at the end.

A rule must be right for every program without undefined behavior, also when arithmetic wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from tileir.annotations import Final
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.ops import (
    ABSI,
    ADDI,
    ANDI,
    ASSUME,
    BITCAST,
    BROADCAST,
    CAT,
    CLZ,
    CMPI,
    CONSTANT,
    CTZ,
    DIVI,
    EXTI,
    EXTRACT,
    GET_INDEX_SPACE_SHAPE,
    GET_NUM_TILE_BLOCKS,
    GET_TENSOR_SHAPE,
    GET_TILE_BLOCK_ID,
    INSERT,
    INT_TO_PTR,
    IOTA,
    MAXI,
    MINI,
    MULHII,
    MULI,
    NEGI,
    NOTI,
    OFFSET,
    ORI,
    PERMUTE,
    POPCNT,
    PTR_TO_INT,
    PTR_TO_PTR,
    REMI,
    RESHAPE,
    SELECT,
    SHLI,
    SHRI,
    SUBI,
    TRUNCI,
    XORI,
)
from tileir.dialect.types import DYNAMIC, PartitionViewType, PointerType, TensorViewType, TileType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import element_bytes
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.values import OperationResult
from tileir.rewrite.fact import (
    Bounds,
    Fact,
    anything,
    common_groups,
    constant_fact,
    exactly,
    full,
    joined,
    narrowed,
    shape_of,
    single_groups,
    trailing_zeros,
    width_of,
)

Rule = Callable[[OperationResult, list[Fact]], Fact]

# The largest number of tile blocks along a dimension of a grid.
_MAX_BLOCKS: Final = (1 << 31) - 1


def fact_of_result(result: OperationResult, operands: list[Fact]) -> Fact:
    return RULES.get(result.operation.declaration, _unbounded)(result, operands)


def _groups(result: OperationResult, operands: list[Fact]) -> tuple[int, ...]:
    """An elementwise operation has equal elements where all its operands have."""
    shape = shape_of(result.type)
    if not result.operation.declaration.traits & ELEMENTWISE or not operands:
        return single_groups(result.type)
    groups = shape
    for value, fact in zip(result.operation.operands, operands, strict=True):
        if shape_of(value.type) != shape:
            return single_groups(result.type)
        groups = common_groups(groups, fact.groups)
    return groups


def _bounded(
    result: OperationResult,
    operands: list[Fact],
    signed: Bounds | None = None,
    unsigned: Bounds | None = None,
    zeros: int = 0,
) -> Fact:
    return narrowed(width_of(result.type), _groups(result, operands), signed, unsigned, zeros)


def _unbounded(result: OperationResult, operands: list[Fact]) -> Fact:
    return full(width_of(result.type), _groups(result, operands))


def _is_signed(result: OperationResult) -> bool:
    return result.operation.keyword("signedness") == "signed"


# --- integer arithmetic ---


def _sum(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = (a.signed_low + b.signed_low, a.signed_high + b.signed_high)
    unsigned = (a.unsigned_low + b.unsigned_low, a.unsigned_high + b.unsigned_high)
    return _wrapped(result, operands, signed, unsigned, min(a.zeros, b.zeros))


def _difference(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = (a.signed_low - b.signed_high, a.signed_high - b.signed_low)
    unsigned = (a.unsigned_low - b.unsigned_high, a.unsigned_high - b.unsigned_low)
    return _wrapped(result, operands, signed, unsigned, min(a.zeros, b.zeros))


def _product(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    corners = [x * y for x in a.range(True) for y in b.range(True)]
    unsigned = (a.unsigned_low * b.unsigned_low, a.unsigned_high * b.unsigned_high)
    return _wrapped(result, operands, (min(corners), max(corners)), unsigned, a.zeros + b.zeros)


def _negation(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    return _wrapped(result, operands, (-a.signed_high, -a.signed_low), None, a.zeros)


def _wrapped(
    result: OperationResult, operands: list[Fact], signed: Bounds, unsigned: Bounds | None, zeros: int
) -> Fact:
    """The fact about exact results in these ranges, which may wrap unless a flag promises otherwise."""
    half = 1 << (width_of(result.type) - 1)
    overflow = result.operation.keyword("overflow")
    if overflow in ("no_signed_wrap", "no_wrap"):
        signed = (max(signed[0], -half), min(signed[1], half - 1))
    if unsigned is not None and overflow in ("no_unsigned_wrap", "no_wrap"):
        unsigned = (max(unsigned[0], 0), min(unsigned[1], 2 * half - 1))
    return _bounded(result, operands, signed, unsigned, zeros)


def _absolute(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    low = max(a.signed_low, -a.signed_high, 0)
    return _bounded(result, operands, unsigned=(low, max(-a.signed_low, a.signed_high)), zeros=a.zeros)


def _extremum(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    either = joined(a, b)
    signed = _is_signed(result)
    x, y = a.range(signed), b.range(signed)
    choose = min if result.operation.declaration is MINI else max
    chosen = (choose(x[0], y[0]), choose(x[1], y[1]))
    ranges = (chosen, either.range(False)) if signed else (either.range(True), chosen)
    return _bounded(result, operands, *ranges, either.zeros)


def _quotient(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = _is_signed(result)
    low, high = b.range(signed)
    # Division by zero is undefined, so only the ends of the range and the numbers next to zero count.
    divisors = [d for d in (low, high, -1, 1) if d != 0 and low <= d <= high]
    if not divisors:
        return _unbounded(result, operands)
    rounding = result.operation.keyword("rounding")
    corners = [_divided(x, d, rounding) for x in a.range(signed) for d in divisors]
    half = 1 << (a.width - 1)
    # The quotient of the smallest number and -1 does not fit and is undefined too.
    bounds = (min(corners), min(max(corners), half - 1) if signed else max(corners))
    zeros = 0
    divisor = b.value
    if divisor is not None and divisor == 1 << trailing_zeros(divisor) and (divisor < half or not signed):
        zeros = max(0, a.zeros - trailing_zeros(divisor))
    return _bounded(result, operands, bounds if signed else None, None if signed else bounds, zeros)


def _divided(dividend: int, divisor: int, rounding: str) -> int:
    if rounding == "negative_inf":
        return dividend // divisor
    if rounding == "positive_inf":
        return -(-dividend // divisor)
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _remainder(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    signed = _is_signed(result)
    low, high = a.range(signed)
    divisor_low, divisor_high = b.range(signed)
    # A remainder keeps the common low zeros, is less than the divisor, and is no further from zero than the dividend.
    most = max(abs(divisor_low), abs(divisor_high)) - 1
    if most < 0:
        return _unbounded(result, operands)
    if divisor_low > max(high, -low):
        bounds = (low, high)
    else:
        bounds = (max(low, -most) if low < 0 else 0, min(high, most) if high > 0 else 0)
    zeros = min(a.zeros, b.zeros)
    return _bounded(result, operands, bounds if signed else None, None if signed else bounds, zeros)


def _high_product(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    bounds = (a.unsigned_low * b.unsigned_low >> a.width, a.unsigned_high * b.unsigned_high >> a.width)
    return _bounded(result, operands, unsigned=bounds)


# --- bits ---


def _and(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    return _bounded(result, operands, unsigned=(0, min(a.unsigned_high, b.unsigned_high)), zeros=max(a.zeros, b.zeros))


def _or(result: OperationResult, operands: list[Fact]) -> Fact:
    """`ori` and `xori`."""
    a, b = operands
    exclusive = result.operation.declaration is XORI
    if exclusive and a.value is not None and b.value is not None:
        return exactly(a.width, a.value ^ b.value, _groups(result, operands))
    high = (1 << max(a.unsigned_high, b.unsigned_high).bit_length()) - 1
    low = 0 if exclusive else max(a.unsigned_low, b.unsigned_low)
    return _bounded(result, operands, unsigned=(low, high), zeros=min(a.zeros, b.zeros))


def _complement(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    return _bounded(result, operands, signed=(-1 - a.signed_high, -1 - a.signed_low))


def _bit_count(result: OperationResult, operands: list[Fact]) -> Fact:
    return _bounded(result, operands, unsigned=(0, operands[0].width))


def _shift_left(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    low, high = b.range(False)
    if high >= a.width:
        # A shift by the width or more is undefined.
        return _unbounded(result, operands)
    corners = [x << amount for x in a.range(True) for amount in (low, high)]
    unsigned = (a.unsigned_low << low, a.unsigned_high << high)
    return _wrapped(result, operands, (min(corners), max(corners)), unsigned, a.zeros + low)


def _shift_right(result: OperationResult, operands: list[Fact]) -> Fact:
    a, b = operands
    low, high = b.range(False)
    if high >= a.width:
        return _unbounded(result, operands)
    signed = _is_signed(result)
    corners = [x >> amount for x in a.range(signed) for amount in (low, high)]
    bounds = (min(corners), max(corners))
    zeros = max(0, a.zeros - high)
    return _bounded(result, operands, bounds if signed else None, None if signed else bounds, zeros)


def _comparison(result: OperationResult, operands: list[Fact]) -> Fact:
    predicate = result.operation.keyword("comparison_predicate")
    signed = _is_signed(result)
    a, b = operands if not predicate.startswith("greater") else reversed(operands)
    (a_low, a_high), (b_low, b_high) = a.range(signed), b.range(signed)
    if predicate in ("less_than", "greater_than"):
        always, never = a_high < b_low, a_low >= b_high
    elif predicate in ("less_than_or_equal", "greater_than_or_equal"):
        always, never = a_high <= b_low, a_low > b_high
    else:
        always, never = a_low == a_high == b_low == b_high, a_high < b_low or b_high < a_low
        if predicate != "equal":
            always, never = never, always
    if not always and not never:
        return _unbounded(result, operands)
    return exactly(1, 1 if always else 0, shape_of(result.type))


# --- conversions ---


def _extension(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    if _is_signed(result):
        return _bounded(result, operands, signed=a.range(True), zeros=a.zeros)
    return _bounded(result, operands, unsigned=a.range(False), zeros=a.zeros)


def _truncation(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    return _wrapped(result, operands, a.range(True), a.range(False), a.zeros)


def _same_bits(result: OperationResult, operands: list[Fact]) -> Fact:
    """Pointers and 64-bit integers are the same bits; the bits of a float are unknown."""
    (a,) = operands
    type = result.type
    groups = a.groups if shape_of(result.operation.operands[0].type) == shape_of(type) else single_groups(type)
    return a.with_groups(groups) if a.width == width_of(type) else full(width_of(type), groups)


def _offset(result: OperationResult, operands: list[Fact]) -> Fact:
    pointer, offset = operands
    element = result.type.element if isinstance(result.type, TileType) else None
    size = element_bytes(element.pointee) if isinstance(element, PointerType) else 1
    # An offset of 0 has only as many zeros as it has bits; extended to an address it has 64.
    zeros = 64 if offset.value == 0 else offset.zeros + trailing_zeros(size)
    return _bounded(result, operands, zeros=min(pointer.zeros, zeros))


# --- constants, shapes of the launch and of views, assumptions ---


def _constant(result: OperationResult, operands: list[Fact]) -> Fact:
    return constant_fact(result.operation.value_attribute)


def _iota(result: OperationResult, operands: list[Fact]) -> Fact:
    return _bounded(result, operands, unsigned=(0, shape_of(result.type)[0] - 1))


def _block(result: OperationResult, operands: list[Fact]) -> Fact:
    """The number of a tile block, or how many there are."""
    least = 0 if result.operation.declaration is GET_TILE_BLOCK_ID else 1
    return _bounded(result, operands, signed=(least, _MAX_BLOCKS - 1 + least))


def _tensor_shape(result: OperationResult, operands: list[Fact]) -> Fact:
    view = result.operation.operands[0].type
    if isinstance(view, TensorViewType) and view.shape[result.index] != DYNAMIC:
        return exactly(width_of(result.type), view.shape[result.index], ())
    return anything(result.type)


def _index_space_shape(result: OperationResult, operands: list[Fact]) -> Fact:
    view = result.operation.operands[0].type
    if isinstance(view, PartitionViewType):
        extent = view.tensor.shape[view.dim_map[result.index]]
        if extent != DYNAMIC:
            return exactly(width_of(result.type), -(-extent // view.tile_shape[result.index]), ())
    return anything(result.type)


def _assume(result: OperationResult, operands: list[Fact]) -> Fact:
    fact = operands[0]
    predicate = result.operation.attributes.get("predicate")
    if isinstance(predicate, SameElementsAttribute):
        # 0 promises nothing about a dimension.
        groups = [max(old, new) for old, new in zip(fact.groups, predicate.values, strict=True)]
        return fact.with_groups(tuple(groups))
    if fact.width == 0:
        return fact
    (low, high), zeros = fact.range(True), fact.zeros
    if isinstance(predicate, BoundedAttribute):
        inside = 1 if predicate.strict else 0
        if predicate.lower is not None:
            low = max(low, predicate.lower + inside)
        if predicate.upper is not None:
            high = min(high, predicate.upper - inside)
    elif isinstance(predicate, DivByAttribute) and predicate.every is None:
        zeros = max(zeros, trailing_zeros(predicate.divisor))
    return narrowed(fact.width, fact.groups, (low, high), fact.range(False), zeros)


# --- shapes and choices ---


def _select(result: OperationResult, operands: list[Fact]) -> Fact:
    condition, if_true, if_false = operands
    if condition.value is not None:
        return if_true if condition.value else if_false
    either = joined(if_true, if_false)
    return either.with_groups(common_groups(either.groups, condition.groups)) if condition.groups else either


def _broadcast(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    source, target = shape_of(result.operation.operands[0].type), shape_of(result.type)
    if len(source) != len(target):
        return a.with_groups(target if not source else single_groups(result.type))
    groups = [group if old == new else new for group, old, new in zip(a.groups, source, target, strict=True)]
    return a.with_groups(tuple(groups))


def _reshape(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    is_uniform = a.groups == shape_of(result.operation.operands[0].type)
    return a.with_groups(shape_of(result.type) if is_uniform else single_groups(result.type))


def _permute(result: OperationResult, operands: list[Fact]) -> Fact:
    (a,) = operands
    return a.with_groups(tuple([a.groups[axis] for axis in result.operation.permutation]))


def _extract(result: OperationResult, operands: list[Fact]) -> Fact:
    # A part begins at a multiple of its own extent.
    return operands[0].with_groups(common_groups(operands[0].groups, shape_of(result.type)))


def _insert(result: OperationResult, operands: list[Fact]) -> Fact:
    groups = single_groups(result.type)
    return joined(operands[0].with_groups(groups), operands[1].with_groups(groups))


def _concatenation(result: OperationResult, operands: list[Fact]) -> Fact:
    both = joined(operands[0], operands[1])
    left, target = shape_of(result.operation.operands[0].type), shape_of(result.type)
    # Along the concatenated axis, the right part begins where the left one ends.
    groups = [
        group if old == new else gcd(group, old) for group, old, new in zip(both.groups, left, target, strict=True)
    ]
    return both.with_groups(tuple(groups))


RULES: Final[dict[OperationDeclaration, Rule]] = {
    ABSI: _absolute,
    ADDI: _sum,
    ANDI: _and,
    ASSUME: _assume,
    BROADCAST: _broadcast,
    CAT: _concatenation,
    CMPI: _comparison,
    CONSTANT: _constant,
    DIVI: _quotient,
    EXTI: _extension,
    EXTRACT: _extract,
    GET_INDEX_SPACE_SHAPE: _index_space_shape,
    GET_NUM_TILE_BLOCKS: _block,
    GET_TENSOR_SHAPE: _tensor_shape,
    GET_TILE_BLOCK_ID: _block,
    INSERT: _insert,
    IOTA: _iota,
    MAXI: _extremum,
    MINI: _extremum,
    MULHII: _high_product,
    MULI: _product,
    NEGI: _negation,
    NOTI: _complement,
    OFFSET: _offset,
    ORI: _or,
    PERMUTE: _permute,
    REMI: _remainder,
    RESHAPE: _reshape,
    SELECT: _select,
    SHLI: _shift_left,
    SHRI: _shift_right,
    SUBI: _difference,
    TRUNCI: _truncation,
    XORI: _or,
    **dict.fromkeys((CLZ, CTZ, POPCNT), _bit_count),
    **dict.fromkeys((BITCAST, INT_TO_PTR, PTR_TO_INT, PTR_TO_PTR), _same_bits),
}
