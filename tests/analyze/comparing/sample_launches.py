"""Small launches whose values are worth comparing."""

from __future__ import annotations

from typing import Any

import numpy

import tileir
from tileir.execute.recording.recording import Recording, record

# A sum of halves along rows, kept in a half, and then what f16 makes of its square.
SUM = """
cuda_tile.module @m {
  entry @total(%source: tile<ptr<f16>>, %target: tile<ptr<f16>>, %count: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = constant <f16: 0.0> : tile<64xf16>
    %tensor = make_tensor_view %source, shape = [%count], strides = [1] : tile<i32> -> tensor_view<?xf16, strides=[1]>
    %parts = make_partition_view %tensor : partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>
    %n = get_index_space_shape %parts : partition_view<tile=(64), tensor_view<?xf16, strides=[1]>> -> tile<i32>
    %sums = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %start) -> (tile<64xf16>) {
      %x, %t = load_view_tko weak %parts[%i] : partition_view<tile=(64), tensor_view<?xf16, strides=[1]>>, tile<i32> -> tile<64xf16>, token
      %next = addf %sum, %x : tile<64xf16>
      continue %next : tile<64xf16>
    }
    %total = reduce %sums dim=0 identities=[0.0 : f16] : tile<64xf16> -> tile<f16>
    (%a: tile<f16>, %b: tile<f16>) {
      %s = addf %a, %b : tile<f16>
      yield %s : tile<f16>
    }
    %square = mulf %total, %total : tile<f16>
    %stored = store_ptr_tko weak %target, %square : tile<ptr<f16>>, tile<f16> -> token
    return
  }
}
"""

# Tiles of many kinds: three dimensions, truth values, eight-bit floats, addresses, one with NaNs and infinities, and
# one too large to be drawn element by element.
KINDS = """
cuda_tile.module @m {
  entry @kinds(%source: tile<ptr<f32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %tensor = make_tensor_view %source, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
    %view = make_partition_view %tensor : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
    %x, %t = load_view_tko weak %view[%zero, %zero] : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token
    %log = log %x : tile<64x64xf32>
    %boxes = reshape %log : tile<64x64xf32> -> tile<4x32x32xf32>
    %zeros = constant <f32: 0.0> : tile<64x64xf32>
    %positive = cmpf greater_than ordered %x, %zeros : tile<64x64xf32> -> tile<64x64xi1>
    %eight = ftof %x : tile<64x64xf32> -> tile<64x64xf8E4M3FN>
    %whole = ftoi %x signed : tile<64x64xf32> -> tile<64x64xi64>
    %row = iota : tile<64xi32>
    %pointer = reshape %source : tile<ptr<f32>> -> tile<1xptr<f32>>
    %pointers = broadcast %pointer : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %places = offset %pointers, %row : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %flat = reshape %log : tile<64x64xf32> -> tile<4096x1xf32>
    %large = broadcast %flat : tile<4096x1xf32> -> tile<4096x64xf32>
    return
  }
}
"""


def recorded(text: str, grid: int, *arguments: Any) -> Recording:
    return record(tileir.compile(tileir.parse(text), backend="interpreter"), grid, arguments)


def sum_recording(rows: int = 40, blocks: int = 2) -> Recording:
    numbers = (numpy.random.default_rng(1).random(64 * rows) + 0.5).astype(numpy.float16)
    return recorded(SUM, blocks, numbers, numpy.zeros(1, numpy.float16), 64 * rows)


def kinds_recording() -> Recording:
    numbers = (numpy.arange(4096, dtype=numpy.float32).reshape(64, 64) - 130) / 64
    return recorded(KINDS, 1, numbers)
