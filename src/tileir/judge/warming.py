"""Small programs judged in the server itself: what is imported or built on first use is there before a child is."""

from __future__ import annotations

import os
from typing import Final

from tileir.analyze.cost.processor import processor
from tileir.analyze.cost.targets import ProcessorTarget, target_named, target_names
from tileir.judge.items import MODULES, Item
from tileir.judge.judging.parts import parts_of
from tileir.judge.judging.work import Work
from tileir.judge.kernels.warming import warm as warm_kernels
from tileir.judge.plans import Plan
from tileir.judge.requests import Request

_ADDITION: Final = """\
cuda_tile.module @warm {
  entry @add(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {
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


class Warmth:
    """What this process has done already."""

    def __init__(self) -> None:
        self._known: set[tuple[str, Plan]] = set()

    def warm(self, request: Request) -> bool:
        """Judge small programs with a plan if that has not been done; gives whether it was."""
        item, plan = request.item, request.plan
        if item.kind in MODULES:
            warm_kernels(with_torch=request.with_torch)
        if (item.kind, plan) in self._known:
            return False
        self._known.add((item.kind, plan))
        for text in (_ADDITION,):
            small = Item("warm", "program", text.encode())
            for part in parts_of(small, plan):
                if not part.processes:
                    part.judge(Work(small, plan, os.getcwd(), b"", lambda data: None))
        if any(isinstance(target_named(name), ProcessorTarget) for name in plan.cost if name in target_names()):
            # It is measured, which takes a second.
            processor()
        return True
