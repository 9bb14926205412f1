"""The types of a program, for people who build one in Python: `from tileir.types import f32, i32, ptr, tile`.

Element types are names; the others are functions that check what they are given.  The classes are for those who read
programs: `isinstance(value.type, TileType)`, then `.shape` and `.element_type`.

>>> from tileir.types import f32, gather_scatter_view, i32, partition_view, ptr, strided_view, tensor_view, tile
>>> tile((8, 8), f32), tile(i32), ptr(f32)
(!cuda_tile.tile<8x8xf32>, !cuda_tile.tile<i32>, !cuda_tile.ptr<f32>)
>>> view = tensor_view((8, 16), f32, (16, 1))
>>> partition_view((4, 4), view)
!cuda_tile.partition_view<tile=(4x4), tensor_view<8x16xf32, strides=[16,1]>>
>>> strided_view((4, 4), view, (2, 2))
!cuda_tile.strided_view<tile=(4x4), traversal_strides=[2,2], tensor_view<8x16xf32, strides=[16,1]>>
>>> gather_scatter_view((4, 4), view, 0)
!cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<8x16xf32, strides=[16,1]>, sparse_dim=0>
"""

from __future__ import annotations

from tileir import interface as _interface  # noqa: F401  (gives types their pickled form)
from tileir.dialect.construct import gather_scatter_view, partition_view, ptr, strided_view, tensor_view, tile
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
from tileir.ir import types as _types
from tileir.ir.types import FloatType, FunctionType, IntegerType, Type

bf16, f16, f32, f64, tf32 = _types.BF16, _types.F16, _types.F32, _types.F64, _types.TF32
f4E2M1FN, f8E4M3FN, f8E5M2 = _types.F4E2M1FN, _types.F8E4M3FN, _types.F8E5M2
f8E8M0FNU, fnv8E5M3FNU = _types.F8E8M0FNU, _types.FNV8E5M3FNU
i1, i4, i8, i16, i32, i64 = _types.I1, _types.I4, _types.I8, _types.I16, _types.I32, _types.I64

__all__ = [
    "FloatType", "FunctionType", "GatherScatterViewType", "IntegerType", "PartitionViewType", "PointerType",
    "StridedViewType", "TensorViewType", "TileType", "TileViewType", "TokenType", "Type", "bf16", "f16", "f32",
    "f4E2M1FN", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU", "gather_scatter_view", "i1", "i16", "i32",
    "i4", "i64", "i8", "partition_view", "ptr", "strided_view", "tensor_view", "tf32", "tile", "token",
]  # fmt: skip
