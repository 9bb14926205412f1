"""Small modules of TTIR, translated and run."""

from __future__ import annotations

import numpy as np

import tileir
from tileir.ttir import translate

ADD = """
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), sym_name = "add_one", sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):
    %one = "arith.constant"() <{value = dense<1.0> : tensor<16xf32>}> : () -> tensor<16xf32>
    %width = "arith.constant"() <{value = 16 : i32}> : () -> i32
    %program = "tt.get_program_id"() <{axis = 0 : i32}> : () -> i32
    %start = "arith.muli"(%program, %width) : (i32, i32) -> i32
    %range = "tt.make_range"() <{end = 16 : i32, start = 0 : i32}> : () -> tensor<16xi32>
    %starts = "tt.splat"(%start) : (i32) -> tensor<16xi32>
    %at = "arith.addi"(%starts, %range) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %ends = "tt.splat"(%n) : (i32) -> tensor<16xi32>
    %mask = "arith.cmpi"(%at, %ends) <{predicate = 2 : i64}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %xs = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %from = "tt.addptr"(%xs, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    %value = "tt.load"(%from, %mask) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<16x!tt.ptr<f32>>, tensor<16xi1>) -> tensor<16xf32>
    %sum = "arith.addf"(%value, %one) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %ys = "tt.splat"(%y) : (!tt.ptr<f32>) -> tensor<16x!tt.ptr<f32>>
    %to = "tt.addptr"(%ys, %at) : (tensor<16x!tt.ptr<f32>>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32>>
    "tt.store"(%to, %sum, %mask) : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_a_masked_elementwise_kernel_runs() -> None:
    x = np.arange(40, dtype=np.float32)
    y = np.full(48, -1, np.float32)
    tileir.compile(translate(ADD)).launch((3,), [x, y, 40])
    assert np.array_equal(y[:40], x + 1)
    assert np.all(y[40:] == -1)
