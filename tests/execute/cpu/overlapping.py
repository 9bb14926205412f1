"""The kernels that the tests of overlapping launches run."""

from __future__ import annotations

TILE = 64

# Each tile block: target = 3 source + target + 1, over and over again.
PROGRAM = """
cuda_tile.module @m {
  global @seen <i32: [0]> : tile<1xi32>
  entry @step(%source: tile<ptr<i32>>, %target: tile<ptr<i32>>, %turns: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %size = constant <i32: 64> : tile<i32>
    %start = muli %x, %size : tile<i32>
    %starts = reshape %start : tile<i32> -> tile<1xi32>
    %begin = broadcast %starts : tile<1xi32> -> tile<64xi32>
    %iota = iota : tile<64xi32>
    %place = addi %begin, %iota : tile<64xi32>
    %s0 = reshape %source : tile<ptr<i32>> -> tile<1xptr<i32>>
    %s1 = broadcast %s0 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %s = offset %s1, %place : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %t0 = reshape %target : tile<ptr<i32>> -> tile<1xptr<i32>>
    %t1 = broadcast %t0 : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %t = offset %t1, %place : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %three = constant <i32: 3> : tile<64xi32>
    %ones = constant <i32: 1> : tile<64xi32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %in, %k0 = load_ptr_tko weak %s : tile<64xptr<i32>> -> tile<64xi32>, token
    %old, %k1 = load_ptr_tko weak %t : tile<64xptr<i32>> -> tile<64xi32>, token
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %old) -> (tile<64xi32>) {
      %m = muli %in, %three : tile<64xi32>
      %w = addi %m, %v : tile<64xi32>
      %n = muli %w, %three : tile<64xi32>
      %o = addi %n, %ones : tile<64xi32>
      continue %o : tile<64xi32>
    }
    %k2 = store_ptr_tko weak %t, %r : tile<64xptr<i32>>, tile<64xi32> -> token
    return
  }
  entry @count(%turns: tile<i32>, %out: tile<ptr<i32>>, %other: tile<ptr<i32>>) {
    %p = get_global @seen : tile<ptr<i32>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %old, %k0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %old) -> (tile<i32>) {
      %m = muli %v, %v : tile<i32>
      %n = addi %m, %i : tile<i32>
      continue %n : tile<i32>
    }
    %k1 = store_ptr_tko weak %other, %r : tile<ptr<i32>>, tile<i32> -> token
    %new = addi %old, %one : tile<i32>
    %k2 = store_ptr_tko weak %p, %new : tile<ptr<i32>>, tile<i32> -> token
    %k3 = store_ptr_tko weak %out, %new : tile<ptr<i32>>, tile<i32> -> token
    return
  }
  entry @refuse(%target: tile<ptr<i32>>, %turns: tile<i32>, %number: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %r = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%v = %zero) -> (tile<i32>) {
      %m = muli %v, %v : tile<i32>
      %n = addi %m, %i : tile<i32>
      continue %n : tile<i32>
    }
    %k = store_ptr_tko weak %target, %r : tile<ptr<i32>>, tile<i32> -> token
    %good = cmpi less_than %number, %one, signed : tile<i32> -> tile<i1>
    assert %good, "refused" : tile<i1>
    return
  }
  entry @say(%source: tile<ptr<i32>>) {
    %v, %k0 = load_ptr_tko weak %source : tile<ptr<i32>> -> tile<i32>, token
    print_tko "first is %i\\0A", %v : tile<i32> -> token
    return
  }
  entry @indirect(%table: tile<ptr<i64>>, %out: tile<ptr<i32>>) {
    %number, %k0 = load_ptr_tko weak %table : tile<ptr<i64>> -> tile<i64>, token
    %p = int_to_ptr %number : tile<i64> -> tile<ptr<i32>>
    %v, %k1 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %k2 = store_ptr_tko weak %out, %v : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""

LONG = 20_000
"""Turns that take a launch longer than it takes to make the next ones."""
