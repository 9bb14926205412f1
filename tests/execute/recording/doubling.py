"""A kernel that many moments can be asked of."""

from __future__ import annotations

# Each tile block doubles the first elements several times.
DOUBLING = """
cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>, %rounds: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %lane = iota : tile<256xi32>
  %a1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %a2 = broadcast %a1 : tile<1xptr<f32>> -> tile<256xptr<f32>>
  %all = offset %a2, %lane : tile<256xptr<f32>>, tile<256xi32> -> tile<256xptr<f32>>
  %token = make_token : token
  %last = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%t = %token) -> (token) {
    %x, %t1 = load_ptr_tko weak %all token = %t : tile<256xptr<f32>> -> tile<256xf32>, token
    %y = addf %x, %x : tile<256xf32>
    %t2 = store_ptr_tko weak %all, %y token = %t1 : tile<256xptr<f32>>, tile<256xf32> -> token
    continue %t2 : token
  }
  return } }
"""
