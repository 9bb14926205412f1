"""What lowering, emission and the loop form ask of a single value or operation."""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.execute.dtypes import DType, constant_elements, value_dtype
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.enums import EnumAttribute
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


def ordering_of(operation: Operation) -> str:
    found = operation.attributes.get("memory_ordering_semantics")
    return found.keyword if isinstance(found, EnumAttribute) else "relaxed"


def scalar_constant(value: Value) -> int | None:
    operation = value.defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return None
    return int(constant_elements(cast(DenseAttribute, operation.attributes["value"]))[0])
