# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.dialect.construct import gather_scatter_view as gather_scatter_view, partition_view as partition_view, ptr as ptr, strided_view as strided_view, tensor_view as tensor_view, tile as tile
from tileir.dialect.types import GatherScatterViewType as GatherScatterViewType, PartitionViewType as PartitionViewType, PointerType as PointerType, StridedViewType as StridedViewType, TOKEN as token, TensorViewType as TensorViewType, TileType as TileType, TileViewType as TileViewType, TokenType as TokenType
from tileir.ir.types import BF16 as bf16, F16 as f16, F32 as f32, F4E2M1FN as f4E2M1FN, F64 as f64, F8E4M3FN as f8E4M3FN, F8E5M2 as f8E5M2, F8E8M0FNU as f8E8M0FNU, FNV8E5M3FNU as fnv8E5M3FNU, FloatType as FloatType, FunctionType as FunctionType, I1 as i1, I16 as i16, I32 as i32, I4 as i4, I64 as i64, I8 as i8, IntegerType as IntegerType, TF32 as tf32, Type as Type

__all__ = ["FloatType", "FunctionType", "GatherScatterViewType", "IntegerType", "PartitionViewType", "PointerType", "StridedViewType", "TensorViewType", "TileType", "TileViewType", "TokenType", "Type", "bf16", "f16", "f32", "f4E2M1FN", "f64", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "fnv8E5M3FNU", "gather_scatter_view", "i1", "i16", "i32", "i4", "i64", "i8", "partition_view", "ptr", "strided_view", "tensor_view", "tf32", "tile", "token"]
