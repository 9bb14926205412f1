"""How often tile blocks wait: counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileir
from tileir.execute.launching.entries import select_entry
from tileir.execute.work.counting import count_work
from tileir.execute.work.operations import Work

EXAMPLES = Path(__file__).parents[3] / "examples"


class Bytes:
    nbytes = 1 << 20


def work_of(module: tileir.Operation, blocks: int, *scalars: object) -> Work:
    entry = select_entry(module, None)
    arrays = len(entry.regions[0].blocks[0].arguments) - len(scalars)
    return count_work(entry, (blocks, 1, 1), [*[Bytes() for _ in range(arrays)], *scalars])


@pytest.mark.parametrize(
    ("name", "scalars", "waits", "exchanges", "chained", "iterations"),
    [
        # Two loads at once.
        ("vector_add", (1024,), 1, 0, 0, 0),
        # One row in each tile block: the largest element, and the sum.
        ("softmax", (8, 1000), 1, 2, 2 * 1023, 0),
        ("layer_norm", (8, 1000, 1e-5), 1, 2, 2 * 1023, 0),
        # The queries; keys and values are loaded ahead, and 64 rows are reduced side by side.
        ("attention", (512, 0.125), 1, 0, 0, 0),
        # The values, and what they say where to count.
        ("histogram", (1024,), 1, 0, 0, 0),
    ],
)
def test_examples(
    name: str, scalars: tuple[object, ...], waits: int, exchanges: int, chained: int, iterations: int
) -> None:
    work = work_of(tileir.load(EXAMPLES / f"{name}.mlir"), 8, *scalars)
    assert work.waits == (8 * waits, 8 * exchanges, 8 * chained, 8 * iterations)
    assert work.imbalance == 1.0


def test_loads_of_a_product_are_not_waited_for() -> None:
    work = work_of(tileir.load(EXAMPLES / "matmul.mlir"), 4, 256, 64, 320)
    assert work.waits == (0, 0, 0, 0)


LOOP = """
cuda_tile.module @m {{
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %v = make_partition_view %t : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>
    for %i in (%zero to %n, step %one) : tile<i32> {{
      %a, %at = load_view_tko weak %v[%i] : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
      {body}
    }}
    return
  }}
}}
"""
CHASED = """%b = reshape %a : tile<1xi32> -> tile<i32>
      %c, %ct = load_view_tko weak %v[%b] : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
      %s = store_view_tko weak %c, %v[%i] : tile<1xi32>, partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token"""
STORED = """%s = store_view_tko weak %a, %v[%x] : tile<1xi32>, partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> token"""


@pytest.mark.parametrize(("body", "waits"), [("", 0), (STORED, 0), (CHASED, 1)])
def test_place_that_comes_from_memory_is_waited_for(body: str, waits: int) -> None:
    work = work_of(tileir.parse(LOOP.format(body=body)), 3, 10)
    assert work.waits.waits == 3 * 10 * waits
    assert work.waits.iterations == 3 * 10


def test_heaviest_tile_block_is_told_from_the_others() -> None:
    text = LOOP.format(body="").replace("to %n", "to %x")
    work = work_of(tileir.parse(text), 100, 100)
    # Block 99 does 99 iterations, on average it is 49.5; each block does a little beside.
    assert 1.5 < work.imbalance <= 2.0
