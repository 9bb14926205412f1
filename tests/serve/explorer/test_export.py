"""A page that was exported: it opens from its file, without a server, and answers what it carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.serve.explorer.made_answers import made_explorer, packed

from tileir.serve.explorer.export import exported
from tileir.serve.explorer.questions import QuestionError

ASK = """async ([question, parameters]) => {
    const { answersInside, cached } = await import("explorer/data.js");
    const embedded = JSON.parse(document.getElementById("embedded").textContent);
    try {
        const answer = await cached(answersInside(embedded.bundles))(question, parameters);
        return ArrayBuffer.isView(answer.data) ? { ...answer, data: Array.from(answer.data) } : answer;
    } catch (error) { return error.message; }
}"""

UNPACK = """async (packed) => {
    const { unpack } = await import("explorer/data.js");
    return Array.from(unpack(packed));
}"""


def tile_of(numbers: Any) -> dict[str, Any]:
    array = numpy.asarray(numbers, "float64")
    return {
        "element": "f32",
        "shape": list(array.shape),
        "statistics": {},
        "start": [0] * array.ndim,
        "extents": list(array.shape),
        "data": packed(array, "float64"),
        "binned": None,
        "text": [str(number) for number in array.ravel()],
    }


def explorer_of(blocks: int = 4, elements: int = 16) -> Any:
    """Three steps a block: one loads a tile, one stores it, one returns; the tile has the number of its block."""

    def values(block: int, step: int) -> dict[str, Any]:
        known = [{"value": 0, "step": 1, "text": f"tile of block {block}"}] if step else []
        return {"block": block, "step": step, "values": known}

    def tile(block: int, step: int, value: int, start: Any, extents: Any) -> dict[str, Any]:
        assert (step, value) == (1, 0)
        return tile_of(numpy.full((elements // 4, 4), block) + numpy.arange(elements).reshape(-1, 4) / 100)

    def array(array: int, block: int, step: int, start: Any, extents: Any) -> dict[str, Any]:
        return tile_of([block + (step >= 2)] * 4)

    def accesses(first: int, count: int) -> dict[str, Any]:
        rows = numpy.arange(blocks).repeat(2)
        return {
            "first": first,
            "count": 2 * blocks,
            "total": 2 * blocks,
            "block": packed(rows, "uint32"),
            "masked": packed(rows == 2, "uint32"),
        }

    summary = made_explorer().summary
    operations = [dict(operation) for operation in summary["operations"]]
    operations[1]["writes"] = True
    return made_explorer(
        {
            "grid": [blocks, 1, 1],
            "operations": operations,
            "forms": [
                {"id": "tile", "title": "Tile program", "reason": None},
                {"id": "llvm", "title": "LLVM", "reason": None},
            ],
            "targets": [{"id": "h200", "title": "H200"}],
            "recording": {
                **summary["recording"],
                "order": packed(numpy.arange(blocks), "uint32"),
                "steps": packed([3] * blocks, "uint32"),
                "accesses": 2 * blocks,
            },
        },
        values=values,
        history=lambda block, last: {"block": block, "values": values(block, last)["values"]},
        tile=tile,
        array=array,
        accesses=accesses,
        steps=lambda block: {"block": block, "id": [block, 0, 0], "operation": packed([0, 1, 2], "uint32")},
        form=form,
        cost=lambda target: {"target": target},
        findings={"findings": []},
    )


def form(id: str) -> dict[str, Any]:
    if id == "llvm":
        raise QuestionError("llvmlite is not installed")
    rest = {"title": "Tile program", "language": "tile", "changed": None, "removed": None, "notes": []}
    return {"id": id, "lines": ["a"], "links": [[0]], **rest}


@pytest.fixture
def opened(tmp_path: Path, open_page: Any) -> Any:
    def with_explorer(explorer: Any, **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(exported(explorer, **options).text)
        return open_page(path)

    return with_explorer


def test_exported_page_opens_from_its_file(opened: Any) -> None:
    page = opened(explorer_of())
    assert page.url.startswith("file://")
    assert page.locator("#title").inner_text() == "made"
    assert page.evaluate(ASK, ["form", {"id": "tile"}])["lines"] == ["a"]
    assert page.evaluate(ASK, ["cost", {"target": "h200"}]) == {"target": "h200"}
    assert page.evaluate(ASK, ["findings", {}]) == {"findings": []}
    assert page.evaluate(ASK, ["accesses", {"first": 0, "count": 77}])["total"] == 8


def test_values_tiles_and_arrays_are_those_of_the_moment(opened: Any) -> None:
    page = opened(explorer_of())
    assert page.evaluate(ASK, ["values", {"block": 2, "step": 0}])["values"] == []
    found = page.evaluate(ASK, ["values", {"block": 2, "step": 3}])
    assert found == {"block": 2, "step": 3, "values": [{"value": 0, "step": 1, "text": "tile of block 2"}]}
    # Asked for at a later step than the one it was computed at.
    tile = page.evaluate(ASK, ["tile", {"block": 2, "step": 3, "value": 0}])
    assert page.evaluate(UNPACK, tile["data"])[:2] == [2, 2.01]
    for step, expected in ((0, 2), (1, 2), (2, 3), (3, 3)):
        array = page.evaluate(ASK, ["array", {"array": 0, "block": 2, "step": step}])
        assert page.evaluate(UNPACK, array["data"]) == [expected] * 4


def test_parts_of_tiles_are_cut_in_the_page(opened: Any) -> None:
    page = opened(explorer_of())
    part = page.evaluate(ASK, ["tile", {"block": 1, "step": 1, "value": 0, "start": "1,2", "extents": "2,5"}])
    assert part["start"] == [1, 2] and part["extents"] == [2, 2] and part["shape"] == [4, 4]
    assert part["data"] == [1.06, 1.07, 1.10, 1.11]
    assert part["text"] == ["1.06", "1.07", "1.1", "1.11"]


def test_what_is_not_carried_is_said(opened: Any) -> None:
    page = opened(explorer_of(), blocks=[1])
    words = "This page carries the values of tile blocks 1 of 4. What they access is all here."
    assert page.get_by_text(words).count() == 1
    assert "carries no values of tile block 2" in page.evaluate(ASK, ["values", {"block": 2, "step": 0}])
    page.get_by_role("tab", name="Stages").click()
    choice = page.get_by_role("combobox", name="Form in pane 1")
    missing = choice.locator("option").filter(has_text="(not available)").first
    choice.select_option(missing.get_attribute("value"))
    page.get_by_text("llvmlite is not installed").wait_for()


def test_values_fill_the_size_that_is_given() -> None:
    explorer = explorer_of(blocks=1000, elements=1024)
    whole = exported(explorer, blocks=[0])
    one_block = len(whole.text) - len(exported(explorer, blocks=[]).text)
    found = exported(explorer, size=int(5.5 * one_block))
    assert 4 <= len(found.blocks) <= 6
    # First and last, the edge (block 2 has masked elements), then some of the others.
    assert found.blocks[:3] == [0, 999, 2]
    assert len(found.notes) == 1 and "of 1000; more would make it larger than" in found.notes[0]


def test_the_same_launch_gives_the_same_page() -> None:
    assert exported(explorer_of()).text == exported(explorer_of()).text


def test_a_block_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(QuestionError, match="tile block 7 is not in the recording, which has 4"):
        exported(explorer_of(), blocks=[7])
