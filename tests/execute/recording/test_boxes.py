"""Places as boxes: they cover what is touched, exactly or marked."""

from __future__ import annotations

from random import Random

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir
from tileir.execute.recording.accesses import FEWER_BOXES, MOST_BOXES, READ, AccessTable, listed_boxes, ramp, rectangle


def covered(boxes: list[tuple[int, tuple[int, ...], tuple[int, ...]]]) -> list[int]:
    table = AccessTable()
    row = table.add((0, 1, 0, 0, READ, 0, False), boxes)
    return [int(element) for element in table.elements(row)]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=200))
@settings(max_examples=200, deadline=None)
def test_boxes_cover_exactly_the_places_they_are_made_of(places: list[int]) -> None:
    boxes, is_approximate = listed_boxes(numpy.array(places, numpy.int64))
    assert not is_approximate
    assert covered(boxes) == sorted(set(places))


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.integers(-50, 50)), max_size=3),
    st.integers(-(10**6), 10**6),
)
@settings(max_examples=200, deadline=None)
def test_ramps_of_any_rank_are_one_box(dimensions: list[tuple[int, int]], first: int) -> None:
    places = numpy.array(first, numpy.int64)
    for extent, stride in dimensions:
        places = places[..., None] + stride * numpy.arange(extent)
    box = ramp(places)
    assert box is not None
    assert covered([box]) == sorted(set(places.reshape(-1).tolist()))


def test_what_is_no_ramp_is_no_box() -> None:
    assert ramp(numpy.array([0, 1, 3])) is None
    assert ramp(numpy.array([[0, 1], [2, 4]])) is None


def test_a_mask_that_leaves_a_rectangle() -> None:
    places = numpy.arange(12).reshape(3, 4)
    mask = numpy.zeros((3, 4), bool)
    mask[1:, :2] = True
    found = rectangle(places, mask)
    assert found is not None and found.tolist() == [[4, 5], [8, 9]]
    mask[0, 3] = True
    assert rectangle(places, mask) is None
    nothing = rectangle(places, numpy.zeros((3, 4), bool))
    assert nothing is not None and nothing.size == 0


def test_a_scattered_access_is_covered_by_a_few_boxes_and_marked() -> None:
    random = Random(0)
    places = random.sample(range(10**6), 4096)
    boxes, is_approximate = listed_boxes(numpy.array(places, numpy.int64))
    assert is_approximate and len(boxes) <= FEWER_BOXES < MOST_BOXES
    assert set(places) <= set(covered(boxes))


_RESERVING = """
cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %token = make_token : token
  %last = for %i in (%zero to %four, step %one) : tile<i32> iter_values(%t = %token) -> (token) {
    %p = alloca num_elem = 16, alignment = 64 : tile<ptr<i32>>
    %q = alloca num_elem = 1, alignment = 4 : tile<ptr<i32>>
    %sum = addi %x, %i : tile<i32>
    %t1 = store_ptr_tko weak %q, %sum token = %t : tile<ptr<i32>>, tile<i32> -> token
    %back, %t2 = load_ptr_tko weak %q token = %t1 : tile<ptr<i32>> -> tile<i32>, token
    %place = offset %out, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t3 = store_ptr_tko weak %place, %back token = %t2 : tile<ptr<i32>>, tile<i32> -> token
    continue %t3 : token
  }
  return } }
"""


def test_reserved_memory_lies_at_the_same_place_when_a_tile_block_runs_again() -> None:
    for schedule in ("forward", "interleaved"):
        out = numpy.zeros(40, numpy.int32)
        recording = tileir.record(tileir.parse(_RESERVING), 40, (out,), schedule=schedule)
        assert not recording.failure and not recording.findings
        assert out.tolist() == list(range(3, 43))
        names = {recording.program.script_name(value): value for value in range(len(recording.program.values))}
        for block in (0, 39, 17):
            rows = recording.rows(block)
            assert recording.accesses.array[rows].tolist() == [-1, -1, 0] * 4
            for row in rows[recording.accesses.kind[rows] == 1].tolist()[::2]:
                pointer = recording.tile(*recording.position(row), names["q"])
                # Memory that is no array goes by its address.
                assert recording.accesses.elements(row).tolist() == [int(pointer) // 4]
