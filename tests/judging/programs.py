"""Small programs to judge."""

from __future__ import annotations

from tileir.judging.model import SweepInput

ADDITION = """\
cuda_tile.module @m {
  entry @add(%a: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
    %offsets = iota : tile<64xi32>
    %shaped = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
    %first = broadcast %shaped : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %from = offset %first, %offsets : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %value, %token = load_ptr_tko weak %from : tile<64xptr<f32>> -> tile<64xf32>, token
    %sum = addf %value, %value rounding<nearest_even> : tile<64xf32>
    %result = reshape %c : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %result : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %to = offset %base, %offsets : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %stored = store_ptr_tko weak %to, %sum : tile<64xptr<f32>>, tile<64xf32> -> token
    return
  }
}
"""

ENDLESS = """\
// tileir: --arg zeros:f32:4
cuda_tile.module @m {
  entry @spin(%a: tile<ptr<f32>>) {
    loop {
      continue
    }
    return
  }
}
"""


def program(text: str, name: str = "p.mlir") -> SweepInput:
    return SweepInput(name, "program", text.encode())
