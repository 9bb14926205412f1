"""Memory stays what it was, however a tile block that runs again ends."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.recording.doubling import DOUBLING

import tileir
from tileir.execute.observing.observer import Observer, TileBlock
from tileir.execute.recording.recording import Recording, record
from tileir.ir.core import Operation

_RESERVING = """
cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>, %bad: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %p = alloca num_elem = 4, alignment = 4 : tile<ptr<i32>>
  %t = make_token : token
  %t1 = store_ptr_tko weak %p, %x token = %t : tile<ptr<i32>>, tile<i32> -> token
  %v, %t2 = load_ptr_tko weak %p token = %t1 : tile<ptr<i32>> -> tile<i32>, token
  %ok = cmpi not_equal %x, %bad, signed : tile<i32> -> tile<i1>
  assert %ok, "bad" : tile<i1>
  %o = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t3 = store_ptr_tko weak %o, %v token = %t2 : tile<ptr<i32>>, tile<i32> -> token
  return } }
"""


def _kernel(text: str) -> tileir.Kernel:
    return tileir.compile(tileir.parse(text), backend="interpreter")


def test_what_abandoned_tile_blocks_reserved_is_given_back() -> None:
    out = numpy.zeros(8, numpy.int32)
    recording = record(_kernel(_RESERVING), 8, (out, 3), schedule="interleaved", sanitize=False)
    assert "bad" in recording.failure
    values = recording.program.values
    load = next(value for value in values if value.defining_operation and "load" in value.defining_operation.name)
    value = recording.program.value_numbers[load]
    for block in (0, 2, 3, 0):
        assert recording.tile(block, 6, value) == block


class _Interrupt(Observer):
    """Raises something when a tile block has stored so many times."""

    def __init__(self, stores: int) -> None:
        self.left = stores

    def watches(self, operation: Operation) -> bool:
        return "store" in operation.name

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("schedule", ["forward", "interleaved"])
@pytest.mark.parametrize("limit", [1 << 30, 80_000])
def test_an_interrupted_run_leaves_memory_as_the_launch_had_it(schedule: str, limit: int) -> None:
    blocks, rounds = 4, 8
    array = numpy.ones(256, numpy.float32)
    recording = record(_kernel(DOUBLING), blocks, (array, rounds), schedule=schedule, limit=limit, sanitize=False)
    assert bool(recording.notes) == (limit < 1 << 30)
    times = range(len(recording.accesses) + 1)
    states = [_state(recording, time) for time in times]
    for block in range(blocks):
        for stores in (1, 5, rounds):
            with pytest.raises(KeyboardInterrupt):
                recording.watch(block, _Interrupt(stores))
            for time in (*times[::9], *times[-1::-7]):
                assert _state(recording, time) == states[time], (block, stores, time)
    assert states[-1] == array.tobytes() and not recording.differs


def _state(recording: Recording, time: int) -> bytes:
    recording.go_to(time)
    return recording.arrays[0].contents().tobytes()
