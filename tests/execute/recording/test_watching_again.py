"""Observers of a tile block that is run again."""

from __future__ import annotations

from typing import Any

import numpy

import tileir
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.recording import record
from tileir.ir.core import Operation

_TEXT = """
cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
  %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
  %y = addf %x, %x : tile<f32>
  %s = store_ptr_tko weak %a, %y token = %t : tile<ptr<f32>>, tile<f32> -> token
  return } }
"""

_LARGE = """
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %lane = iota : tile<4096xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p2 = broadcast %p1 : tile<1xptr<f32>> -> tile<4096xptr<f32>>
  %a = offset %p2, %lane : tile<4096xptr<f32>>, tile<4096xi32> -> tile<4096xptr<f32>>
  %x, %t = load_ptr_tko weak %a : tile<4096xptr<f32>> -> tile<4096xf32>, token
  %y = addf %x, %x : tile<4096xf32>
  %s = store_ptr_tko weak %a, %y token = %t : tile<4096xptr<f32>>, tile<4096xf32> -> token
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
    recording = record(tileir.compile(tileir.parse(_TEXT), backend="interpreter"), 4, (array,), sanitize=False)
    for block in (3, 0, 2, 1):
        sums = _Sums()
        recording.watch(block, sums)
        assert sums.found == [2.0 ** (block + 1)]
    assert recording.final(0).tolist() == [16.0] == array.tolist()
    recording.go_to(0)
    assert recording.arrays[0].contents().tolist() == [1.0]


class _Blocks(Observer):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.seen.append(block.number)

    def access(self, access: Access) -> None:
        self.seen.append(access.block.number)


def test_an_observer_is_told_of_one_tile_block_even_if_others_run_with_it() -> None:
    array = numpy.ones(4096, numpy.float32)
    kernel = tileir.compile(tileir.parse(_LARGE), backend="interpreter")
    recording = record(kernel, 12, (array,), schedule="interleaved", sanitize=False, limit=150_000)
    assert "Not every write is kept" in recording.notes[0]
    for block in (11, 0, 5):
        watch = _Blocks()
        recording.watch(block, watch)
        assert set(watch.seen) == {block} and len(watch.seen) == len(recording.steps(block)) + 2
