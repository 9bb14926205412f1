"""A recording keeps to its limit, and gives the same answers with little room as with much."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.recording.recording import Recording, record

SCHEDULES = ("forward", "reverse", "random:2", "interleaved")

# Each tile block adds to a part of its own and to one that all share, several times, and keeps what it read.
_TEXT = """
cuda_tile.module @m { entry @k(%own: tile<ptr<i32>>, %shared: tile<ptr<i32>>, %rounds: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %size = constant <i32: 128> : tile<i32>
  %first = muli %x, %size : tile<i32>
  %own_0 = offset %own, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %lane = iota : tile<128xi32>
  %own_1 = reshape %own_0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %own_2 = broadcast %own_1 : tile<1xptr<i32>> -> tile<128xptr<i32>>
  %mine = offset %own_2, %lane : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
  %shared_1 = reshape %shared : tile<ptr<i32>> -> tile<1xptr<i32>>
  %shared_2 = broadcast %shared_1 : tile<1xptr<i32>> -> tile<128xptr<i32>>
  %ours = offset %shared_2, %lane : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
  %token = make_token : token
  %last = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%t = %token) -> (token) {
    %added_1 = reshape %i : tile<i32> -> tile<1xi32>
    %added = broadcast %added_1 : tile<1xi32> -> tile<128xi32>
    %old, %t1 = atomic_rmw_tko relaxed device %ours, add, %added token = %t : tile<128xptr<i32>>, tile<128xi32> -> tile<128xi32>, token
    %seen, %t2 = load_ptr_tko weak %mine token = %t1 : tile<128xptr<i32>> -> tile<128xi32>, token
    %sum = addi %seen, %old : tile<128xi32>
    %t3 = store_ptr_tko weak %mine, %sum token = %t2 : tile<128xptr<i32>>, tile<128xi32> -> token
    continue %t3 : token
  }
  return } }
"""
BLOCKS, ROUNDS = 12, 10


def recorded(schedule: str, limit: int) -> tuple[Recording, list[Any]]:
    kernel = tileir.compile(tileir.parse(_TEXT), backend="interpreter")
    arrays = [numpy.arange(128 * BLOCKS, dtype=numpy.int32), numpy.ones(128, numpy.int32)]
    return record(kernel, BLOCKS, (*arrays, ROUNDS), schedule=schedule, limit=limit), arrays


def least_limit() -> int:
    with pytest.raises(tileir.LaunchError, match=r"takes (\d+) bytes at least") as caught:
        recorded("forward", 1000)
    return int(str(caught.value).split("takes ")[1].split(" ")[0])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_with_little_room_the_answers_are_the_same(schedule: str) -> None:
    whole, arrays = recorded(schedule, 1 << 30)
    limit = least_limit()
    little, others = recorded(schedule, limit)
    assert not whole.notes and len(little.notes) == 1 and "Not every write is kept" in little.notes[0]
    for one, other in zip(arrays, others, strict=True):
        assert one.tobytes() == other.tobytes()
    assert len(whole.accesses) == len(little.accesses) == 3 * BLOCKS * ROUNDS
    values = [number for number in range(len(whole.program.values)) if "i32" in whole.program.values[number].type.text]
    random = Random(4)
    for _ in range(40):
        block = random.randrange(BLOCKS)
        step = random.randrange(int(whole.blocks.steps[0]) + 1)
        for array in (0, 1):
            assert whole.array(array, block, step).tobytes() == little.array(array, block, step).tobytes()
        here, there = whole.values(block, step), little.values(block, step)
        assert [one[:2] for one in here] == [one[:2] for one in there]
        for one, other in zip(here, there, strict=True):
            if one[0] in values and "ptr" not in whole.program.values[one[0]].type.text:
                assert numpy.asarray(one[2]).tobytes() == numpy.asarray(other[2]).tobytes()
        assert little.bytes <= limit
    assert not whole.differs and not little.differs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_forwards_and_backwards_give_the_same_memory(schedule: str) -> None:
    for limit in (1 << 30, least_limit()):
        recording, arrays = recorded(schedule, limit)
        times = range(0, len(recording.accesses) + 1, 7)
        states = []
        for time in times:
            recording.go_to(time)
            states.append([array.contents().tobytes() for array in recording.arrays])
        for time, state in reversed(list(zip(times, states, strict=True))):
            recording.go_to(time)
            assert [array.contents().tobytes() for array in recording.arrays] == state
        assert [recording.final(number).tobytes() for number in (0, 1)] == [array.tobytes() for array in arrays]


def test_a_recording_without_room_for_its_accesses_ends_and_says_so() -> None:
    text = _TEXT
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    for schedule in ("forward", "interleaved"):
        arrays = [numpy.arange(128 * BLOCKS, dtype=numpy.int32), numpy.ones(128, numpy.int32)]
        plain = [array.copy() for array in arrays]
        kernel.launch(BLOCKS, (*plain, 100), schedule=schedule)
        limit = least_limit()
        recording = record(kernel, BLOCKS, (*arrays, 100), schedule=schedule, limit=limit)
        for one, other in zip(arrays, plain, strict=True):
            assert one.tobytes() == other.tobytes()
        assert "The recording ends after" in recording.notes[-1]
        assert 0 < len(recording.accesses) < 3 * BLOCKS * 100 and recording.bytes <= limit
        # What is there can be asked for.
        block = int(recording.blocks.number[-1])
        steps = int(recording.blocks.steps[recording.place(block)])
        assert len(recording.steps(block)) == steps
        recording.values(block, steps)
        whole = record(
            kernel,
            BLOCKS,
            (numpy.arange(128 * BLOCKS, dtype=numpy.int32), numpy.ones(128, numpy.int32), 100),
            schedule=schedule,
        )
        for time in (0, 100, len(recording.accesses)):
            recording.go_to(time)
            whole.go_to(time)
            for number in (0, 1):
                assert recording.arrays[number].contents().tobytes() == whole.arrays[number].contents().tobytes()


def test_values_of_a_long_loop_are_kept_around_the_moment_that_is_asked_for() -> None:
    text = """
    cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>, %rounds: tile<i32>) {
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %ones = constant <i32: 1> : tile<1024xi32>
      %sum = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%s = %ones) -> (tile<1024xi32>) {
        %next = addi %s, %ones : tile<1024xi32>
        continue %next : tile<1024xi32>
      }
      %end = extract %sum[%zero] : tile<1024xi32> -> tile<1xi32>
      %scalar = reshape %end : tile<1xi32> -> tile<i32>
      %t = store_ptr_tko weak %out, %scalar : tile<ptr<i32>>, tile<i32> -> token
      return } }
    """
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    out = numpy.zeros(1, numpy.int32)
    rounds = 3000
    recording = record(kernel, 1, (out, rounds), limit=2_000_000)
    assert out.tolist() == [rounds + 1]
    assert int(recording.blocks.steps[0]) == 4 + 2 * rounds + 4
    names = {recording.program.script_name(value): value for value in range(len(recording.program.values))}
    for round in (2999, 0, 1500, 7, 1501):
        # The step of the addition of a round: behind the three constants, `for`, and two steps of each round.
        step = 4 + 2 * round + 1
        assert recording.tile(0, step, names["next"]).tolist() == [round + 2] * 1024
        assert recording.bytes <= 2_000_000
    assert recording.tile(0, 4 + 2 * rounds, names["sum"])[0] == rounds + 1
