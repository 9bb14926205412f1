"""The types of a program, for people who build one in Python: `from tileir.types import f32, i32, ptr, tile`.

Element types are names; the others are functions that check what they are given.  The classes are for those who read
programs: `isinstance(value.type, TileType)`, then `.shape` and `.element_type`.
"""

from __future__ import annotations

from tileir import interface as _interface  # noqa: F401  (gives types their pickled form)
from tileir.dialect.construct import (
    gather_scatter_view,
    partition_view,
    ptr,
    strided_view,
    tensor_view,
    tile,
)
from tileir.dialect.types import TOKEN as token
from tileir.dialect.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
)
from tileir.ir.types import BF16 as bf16
from tileir.ir.types import F4E2M1FN as f4E2M1FN
from tileir.ir.types import F8E4M3FN as f8E4M3FN
from tileir.ir.types import F8E5M2 as f8E5M2
from tileir.ir.types import F8E8M0FNU as f8E8M0FNU
from tileir.ir.types import F16 as f16
from tileir.ir.types import F32 as f32
from tileir.ir.types import F64 as f64
from tileir.ir.types import FNV8E5M3FNU as fnv8E5M3FNU
from tileir.ir.types import I1 as i1
from tileir.ir.types import I4 as i4
from tileir.ir.types import I8 as i8
from tileir.ir.types import I16 as i16
from tileir.ir.types import I32 as i32
from tileir.ir.types import I64 as i64
from tileir.ir.types import TF32 as tf32
from tileir.ir.types import FloatType, FunctionType, IntegerType, Type

__all__ = [
    "FloatType", "FunctionType", "GatherScatterViewType", "IntegerType", "PartitionViewType", "PointerType",
    "StridedViewType", "TensorViewType", "TileType", "TileViewType", "TokenType", "Type", "bf16", "f16", "f32",
    "f4E2M1FN", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU", "gather_scatter_view", "i1", "i16", "i32",
    "i4", "i64", "i8", "partition_view", "ptr", "strided_view", "tensor_view", "tf32", "tile", "token",
]  # fmt: skip
