"""Facts about a single value or operation that all engines use."""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import DType, constant_elements, memory_bytes, value_dtype
from tileir.ir.core import Operation
from tileir.ir.traits import OPEN_BITS
from tileir.ir.types import Type
from tileir.ir.values import Value


def tile_of(value: Value) -> TileType:
    return cast(TileType, value.type)


def is_scalar(value: Value) -> bool:
    """Whether a value is a tile of one element, which lives in a register."""
    return isinstance(value.type, TileType) and value.type.count == 1


def is_tile(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.count > 1


def dtype_of(value: Value) -> DType:
    return value_dtype(tile_of(value).element)


def pointee_of(value: Value) -> Type:
    """What a pointer, or each of a tile of them, points to."""
    return cast(PointerType, tile_of(value).element).pointee


def reserved_bytes(operation: Operation) -> int:
    return operation.num_elem * memory_bytes(pointee_of(operation.results[0]))


def ordering_of(operation: Operation) -> str:
    return operation.keyword("memory_ordering_semantics") or "relaxed"


def leaves_bits_open(operation: Operation) -> bool:
    """Whether the dialect leaves the last bits of an operation's result to the code for a GPU."""
    return operation.declaration.has_trait(OPEN_BITS) or operation.keyword("rounding_mode") in ("approx", "full")


def scalar_constant(value: Value) -> int | None:
    operation = value.defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return None
    return int(constant_elements(operation.value_attribute)[0])


def is_inside(value: Value, operation: Operation) -> bool:
    """Whether a value is made in a region of an operation."""
    block = value.parent_block
    owner = block.parent_operation if block is not None else None
    return owner is not None and operation.is_ancestor_of(owner)
