"""Accesses out of bounds are called that, near which array, and by how much, wherever the page names memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.serve.explorer import recorded

import tileir
from tileir.serve.explorer.export import exported
from tileir.serve.explorer.pictures import memory_picture

# Tile block i writes x[i - 3], y[2 i, 3], and memory that it reserves.
_MISSING = """cuda_tile.module @kernels {
  entry @misses(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %i, %j, %k = get_tile_block_id : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %one = constant <f32: 1.0> : tile<f32>
    %before = subi %i, %three : tile<i32>
    %p = offset %x, %before : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %t = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token
    %row = muli %i, %eight : tile<i32>
    %place = addi %row, %three : tile<i32>
    %q = offset %y, %place : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %u = store_ptr_tko weak %q, %one : tile<ptr<f32>>, tile<f32> -> token
    %own = alloca num_elem = 4, alignment = 16 : tile<ptr<f32>>
    %v = store_ptr_tko weak %own, %one : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


@pytest.fixture(scope="module")
def recording() -> Any:
    x, y = numpy.zeros(8, numpy.float32), numpy.zeros((4, 4), numpy.float32)
    return tileir.record(tileir.parse(_MISSING), 4, (x, y))


def test_accesses_know_the_array_that_they_miss(recording: Any, tmp_path: Path) -> None:
    recording.save(tmp_path / "missing.tilerec")
    for one in (recording, tileir.recording.load(tmp_path / "missing.tilerec")):
        arrays = one.accesses.array.reshape(4, 3).tolist()
        assert arrays == [[-3, 1, -1], [-3, 1, -1], [-3, -4, -1], [0, -4, -1]]
        # Elements are counted from the beginning of the array, wherever that is in memory now.
        firsts = [one.accesses.boxes(row)[0][0] for row in (0, 3, 6, 7, 9, 10)]
        assert firsts == [-3, -2, -1, 19, 0, 27]


def check_memory(page: Any) -> None:
    x = page.get_by_role("region", name="Array x")
    x.get_by_text("Out of bounds: 3 writes 1 to 3 elements before the start of x.").wait_for()
    y = page.get_by_role("region", name="Array y")
    sentence = "Out of bounds: 2 writes 4 to 12 elements past the end of y, from where y[4, 3] would be."
    assert sentence in y.inner_text()
    assert page.locator(".legends .legend-entry", has_text="out of bounds").count() == 1
    assert "kernel's own" not in page.locator("#content").inner_text()
    assert page.get_by_text("4 accesses to memory that tile blocks reserve (alloca).").is_visible()
    y.get_by_role("button", name="Show the first").click()
    marked = page.get_by_role("list", name="Marked accesses").get_by_role("listitem")
    marked.filter(has_text="out of bounds: 4 elements past the end of y, where y[4, 3] would be").wait_for()
    assert "place=2" in page.evaluate("location.hash")


def test_the_view_of_memory_names_what_is_missed(page_for: Callable[..., Any], recording: Any) -> None:
    check_memory(page_for(recorded.explorer_of(recording), "memory"))


def test_an_exported_page_does_so_too(open_page: Callable[..., Any], recording: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(exported(recorded.explorer_of(recording)).text, encoding="utf-8")
    page = open_page(path)
    page.get_by_role("tab", name="Memory").click()
    check_memory(page)


def test_a_finding_says_outside_of_which_array(page_for: Callable[..., Any], recording: Any) -> None:
    page = page_for(recorded.explorer_of(recording), "findings")
    places = page.locator(".finding-place")
    places.nth(1).wait_for()
    texts = places.all_inner_texts()
    assert any("outside of array x" in text for text in texts) and any("outside of array y" in text for text in texts)


def test_a_saved_picture_counts_them(recording: Any) -> None:
    assert "1 access; 3 out of bounds" in memory_picture(recording, "x")
