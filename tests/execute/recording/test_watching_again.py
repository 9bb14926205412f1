"""Observers of a tile block that is run again."""

from __future__ import annotations

from typing import Any

import numpy

import tileir
from tileir.execute.observer import Observer, TileBlock
from tileir.execute.recording.recording import record
from tileir.ir.core import Operation

_TEXT = """
cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
  %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
  %y = addf %x, %x : tile<f32>
  %s = store_ptr_tko weak %a, %y token = %t : tile<ptr<f32>>, tile<f32> -> token
  return } }
"""


class _Sums(Observer):
    def __init__(self) -> None:
        self.found: list[float] = []

    def watches(self, operation: Operation) -> bool:
        return operation.name == "cuda_tile.addf"

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.found.append(float(results[0]))


def test_a_tile_block_is_watched_with_memory_as_it_was() -> None:
    array = numpy.ones(1, numpy.float32)
    recording = record(tileir.compile(tileir.parse(_TEXT), backend="interpreter"), 4, array, sanitize=False)
    for block in (3, 0, 2, 1):
        sums = _Sums()
        recording.watch(block, sums)
        assert sums.found == [2.0 ** (block + 1)]
    assert recording.final(0).tolist() == [16.0] == array.tolist()
    recording.go_to(0)
    assert recording.arrays[0].contents().tolist() == [1.0]
