"""The sanitizer on the CPU backend, where pointers are looked at a tile at a time: no mistake in a tile is missed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.cpu.pointer_products import program
from tests.execute.cpu.test_sanitizer import texts

import tileir

SIZE = 64
LANES = 16

# Elements p[start + lane * step] where lane < count; they are read, added to, and stored at the same places of q.
STRIDED = f"""cuda_tile.module @m {{
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %start: tile<INDEX>, %step: tile<INDEX>, %count: tile<INDEX>) {{
    %lane = iota : tile<{LANES}xINDEX>
    %start1 = reshape %start : tile<INDEX> -> tile<1xINDEX>
    %starts = broadcast %start1 : tile<1xINDEX> -> tile<{LANES}xINDEX>
    %step1 = reshape %step : tile<INDEX> -> tile<1xINDEX>
    %steps = broadcast %step1 : tile<1xINDEX> -> tile<{LANES}xINDEX>
    %count1 = reshape %count : tile<INDEX> -> tile<1xINDEX>
    %counts = broadcast %count1 : tile<1xINDEX> -> tile<{LANES}xINDEX>
    %mask = cmpi less_than %lane, %counts, signed : tile<{LANES}xINDEX> -> tile<{LANES}xi1>
    %moved = muli %lane, %steps : tile<{LANES}xINDEX>
    %places = addi %starts, %moved : tile<{LANES}xINDEX>
    %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %ps = broadcast %p1 : tile<1xptr<i32>> -> tile<{LANES}xptr<i32>>
    %from = offset %ps, %places : tile<{LANES}xptr<i32>>, tile<{LANES}xINDEX> -> tile<{LANES}xptr<i32>>
    %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %qs = broadcast %q1 : tile<1xptr<i32>> -> tile<{LANES}xptr<i32>>
    %to = offset %qs, %places : tile<{LANES}xptr<i32>>, tile<{LANES}xINDEX> -> tile<{LANES}xptr<i32>>
    %zero = constant <i32: 0> : tile<{LANES}xi32>
    %v, %t = load_ptr_tko weak %from, %mask, %zero : tile<{LANES}xptr<i32>>, tile<{LANES}xi1>, tile<{LANES}xi32> -> tile<{LANES}xi32>, token
    %one = constant <i32: 1> : tile<{LANES}xi32>
    %sum = addi %v, %one : tile<{LANES}xi32>
    %u = store_ptr_tko weak %to, %sum, %mask : tile<{LANES}xptr<i32>>, tile<{LANES}xi32>, tile<{LANES}xi1> -> token
    return
  }}
}}
"""

# Bytes at some places, taken as words.
CAST = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i8>>, %start: tile<i32>) {
    %base = offset %p, %start : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
    %base1 = reshape %base : tile<ptr<i8>> -> tile<1xptr<i8>>
    %bases = broadcast %base1 : tile<1xptr<i8>> -> tile<4xptr<i8>>
    %places = constant <i32: [0, MIDDLE, 8, 12]> : tile<4xi32>
    %bytes = offset %bases, %places : tile<4xptr<i8>>, tile<4xi32> -> tile<4xptr<i8>>
    %words = ptr_to_ptr %bytes : tile<4xptr<i8>> -> tile<4xptr<i32>>
    %lane = iota : tile<4xi32>
    %further = offset %words, %lane : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
    %v, %t = load_ptr_tko weak %further : tile<4xptr<i32>> -> tile<4xi32>, token
    return
  }
}
"""


class Both:
    """A kernel on both engines; a launch gives the kinds of findings, which are told alike."""

    def __init__(self, text: str) -> None:
        self.kernels = [tileir.compile(tileir.parse(text, "k.mlir"), backend=name) for name in ("interpreter", "cpu")]

    def launch(self, arrays: list[Any], *numbers: int, uninitialized: int | None = None) -> list[str]:
        reports, contents = [], []
        # In the same memory: what lies next to an array is told.
        own = [array.copy() for array in arrays]
        for kernel in self.kernels:
            for array, given in zip(own, arrays, strict=True):
                array[...] = given
            empty = [] if uninitialized is None else [own[uninitialized]]
            sanitizer = tileir.sanitizer.Sanitizer(uninitialized=empty)
            kernel.launch(1, (*own, *numbers), observer=sanitizer)
            reports.append(sanitizer.report)
            contents.append([array.copy() for array in own])
        assert texts(reports[1]) == texts(reports[0])
        for one, other in zip(*contents, strict=True):
            assert numpy.array_equal(one, other)
        return [finding.kind for finding in reports[1].findings]


def arrays_of() -> list[Any]:
    return [numpy.arange(SIZE, dtype="i4"), numpy.zeros(SIZE, "i4")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("index", "bits"), [("i8", 8), ("i32", 32), ("i64", 64)])
def test_tiles_are_judged_as_their_elements_are(index: str, bits: int) -> None:
    both = Both(STRIDED.replace("INDEX", index))
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    found = set()
    for start in (0, 3, SIZE - LANES, SIZE - LANES + 1, SIZE - 1, SIZE, -1, least, greatest, greatest - LANES):
        for step in (0, 1, 2, -1, 17, least):
            for count in (LANES, LANES - 1, 1, 0):
                places = [(start + lane * step - least) % (1 << bits) + least for lane in range(count)]
                # Addresses are numbers modulo 2^64.
                outside = any(4 * place % (1 << 64) >= 4 * SIZE for place in places)
                kinds = both.launch(arrays_of(), start, step, count)
                assert ("out-of-bounds" in kinds) == outside, (start, step, count)
                found.add(outside)
    assert found == {False, True}


def test_tiles_of_what_nobody_wrote_are_found() -> None:
    both = Both(STRIDED.replace("INDEX", "i32"))
    assert both.launch(arrays_of(), 3, 1, LANES, uninitialized=0) == ["uninitialized"]
    assert both.launch(arrays_of(), 3, 1, 0, uninitialized=0) == []
    assert both.launch(arrays_of(), 3, 1, LANES, uninitialized=1) == []


@pytest.mark.parametrize("gap", [0, 4])
@pytest.mark.parametrize("is_first", [True, False])
def test_neighbor_that_an_access_reaches_is_told_alike(gap: int, is_first: bool) -> None:
    """Wherever the allocator puts arrays: an access outside of one may be inside of the other, and is wrong still."""
    kernels = Both(STRIDED.replace("INDEX", "i32")).kernels
    whole = numpy.zeros(4 * SIZE + gap, "i4")
    low, high = whole[SIZE : 2 * SIZE], whole[2 * SIZE + gap : 3 * SIZE + gap]
    p, q = (low, high) if is_first else (high, low)
    start = SIZE + gap if is_first else -SIZE - gap
    told = []
    for kernel in kernels:
        sanitizer = tileir.sanitizer.Sanitizer()
        kernel.launch(1, (p, q, start, 1, LANES), observer=sanitizer)
        told.append(sanitizer.report.render())
        assert [finding.kind for finding in sanitizer.report.findings] == ["out-of-bounds"] * 2
        assert not whole.any(), "what is outside is not written to"
    assert told[0] == told[1]
    assert "in argument 1 (array int32[64]) at [0]" in told[0]


@pytest.mark.parametrize("middle", [4, 5])
def test_one_misaligned_element_between_others_is_found(middle: int) -> None:
    both = Both(CAST.replace("MIDDLE", str(middle)))
    for start in (0, 1, 4, 36, 40):
        expected = []
        if start + 12 + 12 + 4 > 64:
            expected.append("out-of-bounds")
        if start % 4 or middle % 4:
            expected.append("misaligned")
        assert both.launch([numpy.zeros(64, numpy.int8)], start) == expected


def test_pointers_that_are_kept_for_a_store_after_a_loop_are_checked() -> None:
    text = program((4, 16, 8), counts="elements", memory="f16", factors="f32")
    both = Both(text)
    a, b, c = numpy.ones((4, 16), "f2"), numpy.ones((16, 16), "f2"), numpy.zeros((4, 16), "f4")
    assert both.launch([a, b, c], 4, 16, 16, 16, 16, 16) == []
    assert set(both.launch([a, b, c[:3].copy()], 4, 16, 16, 16, 16, 16)) == {"out-of-bounds"}
