"""TTIR written by hand."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {
    "num_warps": 4,
    "num_stages": 3,
    "enable_fp_fusion": False,
    "enable_reflect_ftz": False,
}

ADD = """
module {
  tt.func public @add(%a: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %p = tt.get_program_id x : i32
    %k = arith.constant 128 : i32
    %o = arith.muli %p, %k : i32
    %r = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
    %s = tt.splat %o : i32 -> tensor<128xi32>
    %i = arith.addi %s, %r : tensor<128xi32>
    %pa = tt.splat %a : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %pb = tt.splat %b : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %qa = tt.addptr %pa, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %qb = tt.addptr %pb, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %x = tt.load %qa : tensor<128x!tt.ptr<f32>>
    %y = arith.addf %x, %x : tensor<128xf32>
    tt.store %qb, %y : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""

# The body of a kernel that has x as f32 and gives y.
_BODY = "%y = arith.addf %x, %x : tensor<128xf32>"


def with_body(lines: str) -> str:
    """The kernel above with another computation."""
    return ADD.replace(_BODY, lines)
