"""What each operation lets one know about its result, given what is known about its operands.

One rule per operation, in the table at the end and in that of `fact_integers.py`.  A rule takes the operation, the
number of the result and the facts of the operands; it must be right for every program without undefined behavior, in
particular under wrapping.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.ops import (
    ALLOCA,
    ASSUME,
    ATOMIC_CAS_TKO,
    ATOMIC_LOAD_TKO,
    ATOMIC_RMW_TKO,
    BREV,
    BROADCAST,
    CAT,
    CMPF,
    CONSTANT,
    EXTRACT,
    FTOI,
    GET_GLOBAL,
    GET_INDEX_SPACE_SHAPE,
    GET_NUM_TILE_BLOCKS,
    GET_TENSOR_SHAPE,
    GET_TILE_BLOCK_ID,
    INSERT,
    IOTA,
    LOAD_PTR_TKO,
    LOAD_VIEW_TKO,
    MMAI,
    PACK,
    PERMUTE,
    REDUCE,
    RESHAPE,
    SCAN,
    SELECT,
    UNPACK,
    UNREALIZED_CONVERSION_CAST,
)
from tileir.dialect.types import DYNAMIC, PartitionViewType, TensorViewType
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, element_bytes, signed_value
from tileir.ir.types import IntegerType
from tileir.rewrite.fact import (
    Fact,
    anything,
    common_groups,
    full,
    greatest_common_divisor,
    joined,
    narrowed,
    shape_of,
    single_groups,
    trailing_zeros,
    width_of,
)
from tileir.rewrite.fact_integers import INTEGER_RULES, Rule, groups_of_result

# Constants with more elements than this are not read through.
_LARGEST_CONSTANT: Final = 4096
# A grid has at most so many tile blocks along a dimension.
_MOST_BLOCKS: Final = (1 << 31) - 1


def fact_of_result(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    """The fact about a result of an operation without regions."""
    rule = RULES.get(operation.declaration)
    if rule is not None:
        return rule(operation, index, operands)
    type = operation.results[index].type
    return full(width_of(type), groups_of_result(operation, index, operands))


# --- sources ---


def _constant(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    type = operation.results[0].type
    value = operation.attributes.get("value")
    if not isinstance(value, DenseAttribute):
        return anything(type)
    groups = shape_of(type) if value.is_splat else single_groups(type)
    element = value.element_type
    if not isinstance(element, IntegerType) or len(value.data) > _LARGEST_CONSTANT * element_bytes(element):
        return full(width_of(type), groups)
    mask = (1 << element.width) - 1
    bits = [pattern & mask for pattern in value.values()]
    signed = [_signed(element.width, pattern) for pattern in bits]
    zeros = min([trailing_zeros(pattern) if pattern else element.width for pattern in bits])
    return narrowed(element.width, groups, (min(signed), max(signed)), (min(bits), max(bits)), zeros)


def _signed(width: int, bits: int) -> int:
    # For one bit, two's complement reads 1 as -1; the spelling of constants does not.
    return -bits if width == 1 else signed_value(width, bits)


def _iota(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    type = operation.results[0].type
    return narrowed(width_of(type), single_groups(type), unsigned=(0, shape_of(type)[0] - 1))


def _block_id(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    return narrowed(32, (), signed=(0, _MOST_BLOCKS - 1))


def _block_count(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    return narrowed(32, (), signed=(1, _MOST_BLOCKS))


def _tensor_shape(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    view = operation.operands[0].type
    type = operation.results[index].type
    if isinstance(view, TensorViewType) and view.shape[index] != DYNAMIC:
        return narrowed(width_of(type), (), unsigned=(view.shape[index], view.shape[index]))
    return anything(type)


def _index_space_shape(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    view = operation.operands[0].type
    type = operation.results[index].type
    if isinstance(view, PartitionViewType):
        extent = view.tensor.shape[view.dim_map[index]]
        if extent != DYNAMIC:
            count = -(-extent // view.tile_shape[index])
            return narrowed(width_of(type), (), unsigned=(count, count))
    return anything(type)


def _assume(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    fact = operands[0]
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, SameElementsAttribute):
        # Alike along each dimension for either reason; 0 promises nothing.
        groups = [max(old, new) for old, new in zip(fact.groups, predicate.values, strict=True)]
        return fact.with_groups(tuple(groups))
    if fact.width == 0:
        return fact
    low, high, zeros = fact.signed_low, fact.signed_high, fact.zeros
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


def _select(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    condition, if_true, if_false = operands
    if condition.value is not None:
        return if_true if condition.value else if_false
    either = joined(if_true, if_false)
    if condition.groups == ():
        return either
    return either.with_groups(common_groups(either.groups, condition.groups))


def _broadcast(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    source, target = shape_of(operation.operands[0].type), shape_of(operation.results[0].type)
    if len(source) != len(target):
        return a.with_groups(target if not source else single_groups(operation.results[0].type))
    groups = [group if old == new else new for group, old, new in zip(a.groups, source, target, strict=True)]
    return a.with_groups(tuple(groups))


def _reshape(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    source, type = shape_of(operation.operands[0].type), operation.results[0].type
    return a.with_groups(shape_of(type) if a.groups == source else single_groups(type))


def _permute(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    (a,) = operands
    order = operation.attributes.get("permutation")
    if isinstance(order, DenseArrayAttribute):
        return a.with_groups(tuple([a.groups[axis] for axis in order.values]))
    return a.with_groups(single_groups(operation.results[0].type))


def _extract(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    # The part begins at a multiple of its own extent.
    a = operands[0]
    shape = shape_of(operation.results[0].type)
    return a.with_groups(common_groups(a.groups, shape))


def _insert(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    source, destination = operands[0], operands[1]
    type = operation.results[0].type
    return joined(source.with_groups(single_groups(type)), destination.with_groups(single_groups(type)))


def _concatenation(operation: Operation, index: int, operands: list[Fact]) -> Fact:
    both = joined(operands[0], operands[1])
    left, target = shape_of(operation.operands[0].type), shape_of(operation.results[0].type)
    # Along the axis that grows the right part begins where the left one ends.
    groups = [
        group if old == new else greatest_common_divisor(group, old)
        for group, old, new in zip(both.groups, left, target, strict=True)
    ]
    return both.with_groups(tuple(groups))


# --- the table ---

RULES: Final[dict[OperationDeclaration, Rule]] = {
    **INTEGER_RULES,
    ASSUME: _assume,
    BROADCAST: _broadcast,
    CAT: _concatenation,
    CONSTANT: _constant,
    EXTRACT: _extract,
    GET_INDEX_SPACE_SHAPE: _index_space_shape,
    GET_NUM_TILE_BLOCKS: _block_count,
    GET_TENSOR_SHAPE: _tensor_shape,
    GET_TILE_BLOCK_ID: _block_id,
    INSERT: _insert,
    IOTA: _iota,
    PERMUTE: _permute,
    RESHAPE: _reshape,
    SELECT: _select,
}

_MEMORY: Final = "memory may hold anything"
_FLOATS: Final = "nothing is known about floats"
_PACKED: Final = "bits of several elements"
_ADDRESS: Final = "an address is the launch's; the alignment that was asked for is not read"

# The operations that give integers or pointers and have no rule: all that is known are the widths of the elements.
WITHOUT_RULE: Final[dict[OperationDeclaration, str]] = {
    ALLOCA: _ADDRESS,
    ATOMIC_CAS_TKO: _MEMORY,
    ATOMIC_LOAD_TKO: _MEMORY,
    ATOMIC_RMW_TKO: _MEMORY,
    BREV: "reversed bits are in no range",
    CMPF: _FLOATS,
    FTOI: _FLOATS,
    GET_GLOBAL: _ADDRESS,
    LOAD_PTR_TKO: _MEMORY,
    LOAD_VIEW_TKO: _MEMORY,
    MMAI: "sums of products are not bounded",
    PACK: _PACKED,
    REDUCE: "what a body makes of elements is not followed",
    SCAN: "what a body makes of elements is not followed",
    UNPACK: _PACKED,
    UNREALIZED_CONVERSION_CAST: "it stands in for a conversion that is not there",
}
