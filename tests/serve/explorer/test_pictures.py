"""Pictures without a browser, compared with what an observer of a plain launch notes."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
from tests.serve.explorer import recorded
from tests.serve.explorer.made_answers import made_explorer

import tileir
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import record
from tileir.serve.explorer.memory_cells import MemoryCells
from tileir.serve.explorer.pictures import AMOUNTS, COLORS, THINGS, amount_color, block_color, memory_picture

_SPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["vector_add", "matmul", "histogram", "racy", "boxes"])
def test_cells_are_what_an_observer_notes(name: str) -> None:
    launch = getattr(recorded, name)()
    notes, recording = launch.notes(), launch.recording()
    blocks = numpy.append(recording.accesses.block, -1)
    for number, contents in enumerate(notes.arrays):
        memory = MemoryCells(recording, recording.arrays[number])
        assert memory.conflicts == int(notes.conflicts(number).sum())
        for index in numpy.ndindex(memory.slices):
            cells = memory.cells(index, 1, 1)
            present = cells.present
            assert int(present.sum()) == contents[index].size
            for found, quantity in (
                (blocks[cells.last], "last"),
                (blocks[cells.first], "first"),
                (cells.count, "count"),
            ):
                expected = notes.picture(number, quantity)[index]
                assert (found[present] == expected.reshape(-1)).all(), (number, quantity)
            assert (cells.conflicts[present] == notes.conflicts(number)[index].reshape(-1)).all()


def test_bins_join_their_elements() -> None:
    launch = recorded.matmul()
    notes, recording = launch.notes(), launch.recording()
    cells = MemoryCells(recording, recording.arrays[0]).cells((), 32, 16)
    counts = notes.picture(0, "count")
    blocks = notes.picture(0, "last")
    assert cells.count.shape == (4, 5)
    for (row, column), mean in numpy.ndenumerate(cells.count):
        part = slice(32 * row, 32 * row + 32), slice(16 * column, 16 * column + 16)
        assert mean == counts[part].mean()
        assert recording.accesses.block[cells.last[row, column]] == blocks[part].max()


def test_views_of_numpy_are_drawn_by_their_indices() -> None:
    # A transposed array, written by a kernel that knows its strides.
    source = """cuda_tile.module @m {
      entry @k(%x: tile<ptr<f32>>) {
        %t = make_tensor_view %x, shape = [4, 6], strides = [1, 4] : tensor_view<4x6xf32, strides=[1,4]>
        %v = make_partition_view %t : partition_view<tile=(2x2), tensor_view<4x6xf32, strides=[1,4]>>
        %i, %j, %k = get_tile_block_id : tile<i32>
        %one = constant <f32: 1.0> : tile<2x2xf32>
        %d = store_view_tko weak %one, %v[%i, %j] : tile<2x2xf32>, partition_view<tile=(2x2), tensor_view<4x6xf32, strides=[1,4]>>, tile<i32> -> token
        return
      }
    }"""
    transposed = numpy.zeros((6, 4), numpy.float32).T
    recording = record(
        tileir.compile(tileir.parse(source), entry="k"), (2, 3), (tileir.kernels.pointer_to(transposed),)
    )
    cells = MemoryCells(recording, recording.arrays[0]).cells((), 1, 1)
    rows, columns = numpy.indices((4, 6))
    assert (recording.accesses.block[cells.last] == rows // 2 + 2 * (columns // 2)).all()


def test_svg_has_a_rectangle_for_each_block() -> None:
    recording = recorded.matmul().recording()
    root = ElementTree.fromstring(memory_picture(recording, "c"))
    (cells,) = [group for group in root.iter(f"{_SPACE}g") if group.get("shape-rendering")]
    expected = [f"#{color.tobytes().hex()}" for color in block_color(numpy.arange(4), recording.grid)]
    assert sorted(str(one.get("fill")) for one in cells) == sorted(expected)
    assert len(root.findall(f"{_SPACE}path")) == 0


@pytest.mark.parametrize("color", COLORS)
def test_every_color_draws_every_array(color: str) -> None:
    for launch in (recorded.vector_add(), recorded.boxes(), recorded.racy()):
        recording = launch.recording()
        for array in recording.arrays:
            root = ElementTree.fromstring(memory_picture(recording, array.number, color))
            assert root.findtext(f"{_SPACE}title")
    assert root.findall(f"{_SPACE}path"), "the total of the racy kernel is crossed"


def test_mistakes_are_told_in_words() -> None:
    recording = recorded.boxes().recording()
    with pytest.raises(LaunchError, match="has no array 'z': it has x, y"):
        memory_picture(recording, "z")
    with pytest.raises(LaunchError, match="colored by one of block"):
        memory_picture(recording, "x", "color")


def test_names_are_text() -> None:
    recording = recorded.racy().recording()
    recording.arrays[0].name = '<script>alert("&")</script>'
    root = ElementTree.fromstring(memory_picture(recording, 0))
    assert recording.arrays[0].name in str(root.findtext(f"{_SPACE}title"))
    assert not list(root.iter(f"{_SPACE}script"))


def test_colors_are_those_of_the_page(page_for: Any) -> None:
    page = page_for(made_explorer())
    colors = page.evaluate(
        """async () => {
            const { AMOUNTS, THINGS, amountColor, blockColor } = await import("explorer/palette.js");
            const amounts = Array.from({ length: 256 }, (_, index) => amountColor(index / 255));
            const blocks = Array.from({ length: 60 }, (_, block) => blockColor(block, [3, 4, 5]));
            const few = Array.from({ length: 6 }, (_, block) => blockColor(block, [3, 2, 1]));
            return { AMOUNTS, THINGS, amounts, blocks, few };
        }"""
    )
    assert [tuple(one) for one in colors["AMOUNTS"]] == list(AMOUNTS)
    assert [tuple(one) for one in colors["THINGS"]] == list(THINGS)
    assert amount_color(numpy.arange(256) / 255).tolist() == colors["amounts"]
    assert block_color(numpy.arange(60), (3, 4, 5)).tolist() == colors["blocks"]
    assert block_color(numpy.arange(6), (3, 2, 1)).tolist() == colors["few"]


def test_no_two_tile_blocks_have_one_color() -> None:
    for blocks in range(1, 201):
        for grid in ((blocks, 1, 1), (1, blocks, 1), (1, 1, blocks)):
            colors = block_color(numpy.arange(blocks), grid).astype(numpy.int64)
            assert len(numpy.unique(colors, axis=0)) == blocks, grid
            # Neighbors are told apart at first sight, and so are all blocks where there are few.
            neighbors = numpy.abs(numpy.diff(colors, axis=0)).max(axis=1)
            assert (neighbors >= 40).all(), grid
            if blocks <= len(THINGS):
                apart = numpy.abs(colors[:, None] - colors[None]).max(axis=2)
                assert (apart + 255 * numpy.eye(blocks) >= 40).all(), grid


@pytest.mark.parametrize("blocks", [1, 7, 8, 9, 64, 200])
def test_no_two_entries_of_a_legend_have_one_color(page_for: Any, blocks: int) -> None:
    recording = recorded.vector_add(128 * blocks).recording()
    svg = ElementTree.fromstring(memory_picture(recording, "c"))
    swatches = [str(one.get("fill")) for one in svg.findall(f"{_SPACE}rect") if one.get("width") == "10"]
    page = page_for(recorded.explorer_of(recording), "memory")
    page.locator(".legends .legend").first.wait_for()
    shown = page.locator(".legends .legend").first
    fills = [str(one.get_attribute("fill")) for one in shown.locator("rect").all()]
    for colors in (swatches, fills):
        assert len(colors) == len(set(colors)), colors
        assert len(colors) == blocks if blocks <= len(THINGS) else len(colors) > len(THINGS)
    # The first and the last tile block are named.
    assert "(0)" in shown.inner_text() and f"({blocks - 1})" in shown.inner_text()
