"""Which of several overlapping launches wait for each other."""

from __future__ import annotations

import random

import numpy
import pytest

import tileir
from tileir.execute.cpu.runtime.conflicts import Accesses


@pytest.mark.parametrize("seed", range(20))
def test_accesses_order_all_that_conflict_and_only_those(seed: int) -> None:
    choice = random.Random(seed)
    accesses: Accesses[int] = Accesses()
    spans: list[list[tuple[int, int, bool]]] = []
    before: list[set[int]] = []
    for number in range(60):
        own = []
        for _ in range(choice.randrange(1, 4)):
            low = choice.randrange(40)
            own.append((low, low + choice.randrange(0, 12), choice.random() < 0.4))
        waits = set(accesses.add(number, own))
        conflicting = {
            earlier
            for earlier in range(number)
            for low, high, writes in own
            for other_low, other_high, other_writes in spans[earlier]
            if max(low, other_low) < min(high, other_high) and (writes or other_writes)
        }
        assert waits <= conflicting
        spans.append(own)
        before.append(waits.union(*[before[earlier] for earlier in waits]))
        assert conflicting <= before[number]


# --- views that lead from one argument into another ---

_TENSOR = "tensor_view<?xi32, strides=[1]>"
_PARTS = f"partition_view<tile=(8), {_TENSOR}>"
WRITER = f"""cuda_tile.module @m {{
  entry @write(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %n: tile<i32>, %o: tile<i32>, %turns: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    BASE
    %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v = make_partition_view %t : {_PARTS}
    %lane = iota : tile<8xi32>
    %c = for %i in (%zero to %turns, step %one) : tile<i32> iter_values(%sum = %lane) -> (tile<8xi32>) {{
      %s = muli %sum, %sum : tile<8xi32>
      %more = addi %s, %lane : tile<8xi32>
      continue %more : tile<8xi32>
    }}
    %k = store_view_tko weak %c, %v[%x] : tile<8xi32>, {_PARTS}, tile<i32> -> token
    return }} }}"""
READER = f"""cuda_tile.module @m {{ entry @read(%b: tile<ptr<i32>>, %c: tile<ptr<i32>>, %n: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %t = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v = make_partition_view %t : {_PARTS}
    %t1 = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> {_TENSOR}
    %v1 = make_partition_view %t1 : {_PARTS}
    %l, %k = load_view_tko weak %v[%x] : {_PARTS}, tile<i32> -> tile<8xi32>, token
    %k1 = store_view_tko weak %l, %v1[%x] : tile<8xi32>, {_PARTS}, tile<i32> -> token
    return }} }}"""
MOVED = "%p = offset %a, %o : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"
MOVED_BY_BLOCK = "%0 = subi %x, %x : tile<i32>\n%1 = addi %o, %0 : tile<i32>\n" + MOVED.replace("%o", "%1")


@pytest.mark.parametrize("base", [MOVED, MOVED_BY_BLOCK])
def test_a_view_that_leads_into_another_argument(base: str) -> None:
    """Also where the program writes to the first alone."""
    writer = tileir.compile(tileir.parse(WRITER.replace("BASE", base)), backend="cpu")
    reader = tileir.compile(tileir.parse(READER), backend="cpu")
    count = 8 * 256
    for _ in range(5):
        whole, copy = numpy.zeros(2 * count, numpy.int32), numpy.zeros(count, numpy.int32)
        with tileir.kernels.overlap():
            writer.launch(256, (whole[:count], whole[count:], 2 * count, count, 10_000))
            reader.launch(256, (whole[count:], copy, count))
        assert whole[count:].any() and (copy == whole[count:]).all()
