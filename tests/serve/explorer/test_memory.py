"""The view of memory in a browser: its pictures are compared with what an observer of a plain launch notes."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
from tests.serve.explorer import recorded
from tests.serve.explorer.made_answers import made_explorer

from tileir.serve.explorer.memory_cells import conflicts_answer

# Pictures of arrays as numbers, computed by the page's own modules.
_PICTURES = """async (requests) => {
    const { answersOfServer, cached } = await import("explorer/data.js");
    const { loadAccesses } = await import("explorer/accesses.js");
    const { makeGrid, piecesOf } = await import("explorer/grid.js");
    const { Picture } = await import("explorer/pictures.js");
    const ask = cached(answersOfServer);
    const summary = await ask("summary");
    const table = await loadAccesses({ summary, ask });
    return requests.map(({ array, quantity, kinds, bins, slice, upTo }) => {
        const info = summary.arrays[array];
        const grid = makeGrid(info);
        const pieces = piecesOf(grid, table, array);
        const [rows, columns] = [Math.ceil(grid.rows / bins[0]), Math.ceil(grid.columns / bins[1])];
        const frame = { slice, row: 0, column: 0, binRows: bins[0], binColumns: bins[1], rows, columns };
        const picture = new Picture(pieces, table.kind, frame, quantity, kinds);
        const happened = (row, count) => (row > 0 && row <= count ? table.block[row - 1] : -1);
        const cells = upTo.map((count) => {
            const found = Int32Array.from(picture.at(count));
            const numbers = quantity === "count" ? found : found.map((row) => happened(row, count));
            return new Uint8Array(numbers.buffer).reduce((text, byte) => text + String.fromCharCode(byte), "");
        });
        return { cells, rows, columns, fold: grid.fold, outside: pieces.outside };
    });
}"""


class Request:
    """A picture to be computed, and what it is to be compared with."""

    def __init__(self, array: int, quantity: str, **given: Any) -> None:
        self.given = {"kinds": [True] * 3, "bins": [1, 1], "slice": [], "upTo": [1 << 30], **given}
        self.given.update(array=array, quantity=quantity)
        self.cells: list[Any] = []
        self.fold = 0

    def __repr__(self) -> str:
        return str(self.given)


def _compute(page: Any, requests: list[Request]) -> None:
    answers = page.evaluate(_PICTURES, [request.given for request in requests])
    for request, answer in zip(requests, answers, strict=True):
        assert answer["outside"] == 0
        request.fold = answer["fold"]
        for text in answer["cells"]:
            numbers = numpy.frombuffer(text.encode("latin-1"), numpy.int32)
            request.cells.append(numbers.reshape(answer["rows"], answer["columns"]))


LAUNCHES: dict[str, Callable[[], recorded.Launch]] = {
    "vector_add": recorded.vector_add,
    "matmul": recorded.matmul,
    "histogram": recorded.histogram,
    "racy": recorded.racy,
    "boxes": recorded.boxes,
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_pictures_and_conflicts_are_what_an_observer_notes(name: str, page_for: Any) -> None:
    launch = LAUNCHES[name]()
    notes = launch.notes()
    recording = launch.recording()
    page = page_for(recorded.explorer_of(recording))
    compared = []
    for array, contents in enumerate(notes.arrays):
        slices = list(numpy.ndindex(contents.shape[:-2])) if contents.ndim > 2 else [()]
        for quantity in ("last", "first", "count"):
            for kinds in ([True] * 3, [True, False, False], [False, True, True]):
                names = tuple(kind for kind, wanted in zip(("read", "write", "atomic"), kinds, strict=True) if wanted)
                expected = notes.picture(array, quantity, names)
                for index in slices:
                    request = Request(array, quantity, kinds=kinds, slice=list(index))
                    compared.append((request, expected[index] if index else expected))
    _compute(page, [request for request, _ in compared])
    for request, expected in compared:
        cells = request.cells[0]
        if request.fold:
            # The last row is longer than the array.
            none = 0 if request.given["quantity"] == "count" else -1
            assert set(cells.reshape(-1)[expected.size :].tolist()) <= {none}, request
            cells = cells.reshape(-1)[: expected.size]
        assert (cells == expected).all(), request
    for array in range(len(notes.arrays)):
        expected = notes.conflicts(array).reshape(-1)
        answer = conflicts_answer(recording, array)
        starts, counts = (
            numpy.frombuffer(b64decode(answer[name]["data"]), numpy.uint32) for name in ("starts", "counts")
        )
        marked = [place for start, count in zip(starts, counts, strict=True) for place in range(start, start + count)]
        assert (answer["elements"], marked) == (expected.sum(), numpy.flatnonzero(expected).tolist())


def test_bins_count_every_access_to_their_elements(page_for: Any) -> None:
    launch = recorded.matmul()
    notes = launch.notes()
    page = page_for(recorded.explorer_of(launch.recording()))
    sizes = [(7, 16), (64, 3), (512, 512)]
    requests = [Request(array, kind, bins=size) for array in range(3) for size in sizes for kind in ("count", "last")]
    _compute(page, requests)
    for request in requests:
        array, (rows, columns) = request.given["array"], request.given["bins"]
        whole = notes.picture(array, request.given["quantity"])
        for (row, column), found in numpy.ndenumerate(request.cells[0]):
            part = whole[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
            assert found == part.sum() if request.given["quantity"] == "count" else found in part, (
                request,
                row,
                column,
            )


def test_pictures_go_forwards_and_backwards(page_for: Any) -> None:
    launch = recorded.matmul()
    notes = launch.notes()
    recording = launch.recording()
    page = page_for(recorded.explorer_of(recording))
    total = len(recording.accesses)
    moments = [0, 3, total, 5, 4, 17, 16, 1, total - 1, 9, 0, 12]
    every = notes.accesses
    requests = [Request(array, kind, upTo=moments) for array in range(3) for kind in ("last", "count")]
    _compute(page, requests)
    for request in requests:
        for count, cells in zip(moments, request.cells, strict=True):
            notes.accesses = every[:count]
            assert (cells == notes.picture(request.given["array"], request.given["quantity"])).all(), (request, count)


_COVERED = """async (cases) => {
    const { contiguous, makeGrid, piecesOf } = await import("explorer/grid.js");
    return cases.map(({ shape, strides, width, boxes }) => {
        const table = {
            rowsOfArray: () => [0],
            boxStart: [0, boxes.length],
            boxFirst: boxes.map((box) => box.first),
            extentStart: boxes.reduce((starts, box) => [...starts, starts.at(-1) + box.extents.length], [0]),
            extents: boxes.flatMap((box) => box.extents),
            strides: boxes.flatMap((box) => box.strides),
        };
        const grid = makeGrid({ id: 0, shape, strides, fold: width });
        const pieces = piecesOf(grid, table, 0);
        const step = contiguous(grid).strides;
        const found = [];
        const walk = (piece, dimension, at) => {
            if (dimension === pieces.rank) return found.push(at);
            const [start, count, by] = pieces.spans.slice(3 * (piece * pieces.rank + dimension));
            for (let k = 0; k < count; k++) walk(piece, dimension + 1, at + (start + k * by) * step[dimension]);
        };
        for (let piece = 0; piece < pieces.count; piece++) walk(piece, 0, 0);
        return { found, outside: pieces.outside };
    });
}"""


def _some_array(random: numpy.random.Generator) -> tuple[list[int], list[int]]:
    """A shape, and strides as NumPy's views have them: permuted, with gaps, backwards."""
    shape = random.integers(1, 7, int(random.integers(1, 5))).tolist()
    strides = [0] * len(shape)
    reach = 1
    for dimension in random.permutation(len(shape)).tolist():
        reach *= int(random.choice([1, 1, 1, 2]))
        strides[dimension] = reach * int(random.choice([1, 1, -1]))
        reach *= shape[dimension]
    return shape, strides


def _some_box(random: numpy.random.Generator, places: Any) -> tuple[dict[str, Any], Any]:
    """A box of an array whose elements have these places in memory; and what it covers, by number of the element."""
    numbers = numpy.arange(places.size).reshape(places.shape)
    if random.integers(2):
        steps = [int(random.integers(1, 4)) for _ in places.shape]
        starts = [int(random.integers(extent)) for extent in places.shape]
        part = tuple(slice(start, None, step) for start, step in zip(starts, steps, strict=True))
        chosen, covered = places[part], numbers[part]
        steps = [
            int(numpy.diff(chosen, axis=axis).flat[0]) if extent > 1 else 1 for axis, extent in enumerate(chosen.shape)
        ]
        order = random.permutation(chosen.ndim).tolist()
        extents = [chosen.shape[axis] for axis in order]
        box = {"first": int(chosen.flat[0]), "extents": extents, "strides": [steps[axis] for axis in order]}
        return box, covered
    # A run through memory, over the ends of rows, as far as it meets elements of the array only.
    there = {int(place): int(number) for place, number in zip(places.flat, numbers.flat, strict=True)}
    at, step = int(random.choice(places.reshape(-1))), int(random.integers(1, 5))
    run = [at]
    while run[-1] + step in there and len(run) < 40:
        run.append(run[-1] + step)
    return {"first": at, "extents": [len(run)], "strides": [step]}, numpy.array([there[place] for place in run])


def test_boxes_of_any_layout_cover_their_elements(page_for: Any) -> None:
    random = numpy.random.default_rng(7)
    cases, expected = [], []
    for _ in range(400):
        shape, strides = _some_array(random)
        grids = numpy.meshgrid(*[numpy.arange(extent) for extent in shape], indexing="ij")
        places = sum(grid * stride for grid, stride in zip(grids, strides, strict=True))
        # Counted from the lowest address, as a recording does.
        places = numpy.asarray(places - places.min())
        boxes, covered = zip(*[_some_box(random, places) for _ in range(3)], strict=True)
        cases.append({"shape": shape, "strides": strides, "width": int(random.integers(1, 9)), "boxes": list(boxes)})
        expected.append(sorted(int(number) for one in covered for number in one.reshape(-1)))
    answers = page_for(made_explorer()).evaluate(_COVERED, cases)
    for case, answer, elements in zip(cases, answers, expected, strict=True):
        assert answer["outside"] == 0, case
        assert sorted(answer["found"]) == elements, case


# ---- The view itself ----


def _moment(page: Any) -> tuple[int, int]:
    """The place and the step that the page's address has."""
    page.wait_for_timeout(100)
    words = dict(word.split("=") for word in page.evaluate("location.hash").removeprefix("#").split("&"))
    return int(words.get("place", 0)), int(words.get("step", 0))


def _card(page: Any, array: str) -> Any:
    return page.get_by_role("region", name=f"Array {array}")


def _saved_cells(page: Any, array: str, shape: tuple[int, int], path: Path) -> Any:
    """The color of each element in the picture that the page saves, of an array without bins; empty: none."""
    with page.expect_download() as saving:
        page.get_by_role("button", name="SVG").click()
    saving.value.save_as(path)
    space = "{http://www.w3.org/2000/svg}"
    groups = ElementTree.parse(path).getroot().findall(f"{space}g")
    (group,) = [one for one in groups if str(one.findtext(f"{space}text")).startswith(f"{array} (")]
    edge = group.find(f".//{space}g/{space}path").attrib["d"]
    x, y, right, bottom = [float(number) for number in re.findall(r"[-.\d]+", edge)[:4]]
    width, height = right - x, bottom - y
    colors = numpy.full(shape, "", "U24")
    for one in group.iter(f"{space}rect"):
        if one.attrib.get("shape-rendering") == "crispEdges":
            left, right = [float(one.attrib["x"]) - x, float(one.attrib["x"]) - x + float(one.attrib["width"])]
            top, bottom = [float(one.attrib["y"]) - y, float(one.attrib["y"]) - y + float(one.attrib["height"])]
            rows = slice(round(top / height * shape[0]), round(bottom / height * shape[0]))
            columns = slice(round(left / width * shape[1]), round(right / width * shape[1]))
            colors[rows, columns] = one.attrib["fill"]
    return colors


def test_saved_picture_has_the_color_of_the_last_block(page_for: Any, tmp_path: Path) -> None:
    launch = recorded.matmul()
    notes = launch.notes()
    recording = launch.recording()
    last = len(recording.blocks.number) - 1
    page = page_for(recorded.explorer_of(recording), view=f"memory&place={last}&step=1000")
    _card(page, "c").locator("canvas").wait_for()
    colors = _saved_cells(page, "c", (100, 120), tmp_path / "picture.svg")
    blocks = notes.picture(2, "last")
    pairs = set(zip(blocks.reshape(-1).tolist(), colors.reshape(-1).tolist(), strict=True))
    assert len(pairs) == len({color for _, color in pairs}) == 4, pairs
    assert all(color for _, color in pairs)
    # The legend says which is which.
    legend = page.locator(".legends .legend-entry").filter(has_text="(1, 0)").locator("rect").get_attribute("fill")
    assert (1, legend) in pairs


def test_picture_up_to_the_moment_shows_what_has_happened(page_for: Any, tmp_path: Path) -> None:
    launch = recorded.matmul()
    recording = launch.recording()
    page = page_for(recorded.explorer_of(recording), view="memory&place=2&step=0")
    _card(page, "c").locator("canvas").wait_for()
    colors = _saved_cells(page, "c", (100, 120), tmp_path / "before.svg")
    assert (colors != "").sum() == (64 + 36) * 64
    page.get_by_label("Accesses", exact=True).select_option("launch")
    assert (_saved_cells(page, "c", (100, 120), tmp_path / "after.svg") != "").all()
    page.get_by_label("writes", exact=True).uncheck()
    assert (_saved_cells(page, "c", (100, 120), tmp_path / "reads.svg") == "").all()


def test_elements_that_blocks_share_are_marked(page_for: Any) -> None:
    launch = recorded.racy()
    assert launch.notes().conflicts(1).tolist() == [True]
    page = page_for(recorded.explorer_of(launch.recording()), view="memory")
    expect = "1 element that several tile blocks touch, one of them writing"
    _card(page, "total").get_by_text(expect).wait_for()
    assert not _card(page, "values").get_by_text("several tile blocks").count()


def test_race_shows_its_two_accesses(page_for: Any) -> None:
    page = page_for(recorded.explorer_of(recorded.racy().recording()), view="memory")
    race = page.get_by_role("region", name="Races").get_by_role("button").first
    assert "total[0]" in race.inner_text()
    race.click()
    page.wait_for_url("**marked=*")
    place, step = _moment(page)
    assert place > 0
    assert step > 0


def test_keys_move_through_steps_and_blocks(page_for: Any) -> None:
    recording = recorded.vector_add().recording()
    page = page_for(recorded.explorer_of(recording), view="memory")
    steps, blocks = recording.blocks.steps.tolist(), len(recording.blocks.number)
    slider = page.get_by_label("Step of the tile block")
    slider.focus()
    for key, moment in [
        ("ArrowRight", (0, 1)),
        ("ArrowRight", (0, 2)),
        ("ArrowLeft", (0, 1)),
        ("Shift+ArrowRight", (1, 1)),
        ("End", (1, steps[1])),
        ("ArrowRight", (2, 0)),
        ("ArrowLeft", (1, steps[1])),
        ("Home", (1, 0)),
        ("Shift+End", (blocks - 1, steps[-1])),
        ("ArrowRight", (blocks - 1, steps[-1])),
        ("Shift+Home", (0, 0)),
        ("ArrowLeft", (0, 0)),
    ]:
        slider.press(key)
        assert _moment(page) == moment, key
    rows = [row for row in range(len(recording.accesses)) if recording.accesses.block[row] == 0]
    for row in rows:
        slider.press("PageDown")
        assert _moment(page) == (0, int(recording.accesses.step[row]))
        line = recording.program.script_line(int(recording.accesses.operation[row]))
        assert line is not None
        assert line.text.strip() in page.get_by_label("The operation of this step").inner_text()
    slider.press("PageUp")
    assert _moment(page) == (0, int(recording.accesses.step[rows[-2]]))
    page.get_by_role("button", name="Next tile block").focus()
    page.keyboard.press(".")
    assert _moment(page) == (0, int(recording.accesses.step[rows[-2]]) + 1)


def test_blocks_are_reached_by_their_coordinates(page_for: Any) -> None:
    page = page_for(recorded.explorer_of(recorded.matmul().recording(schedule="reverse")), view="memory&step=3")
    jump = page.get_by_label("Go to the tile block with these coordinates")
    jump.fill("0, 1")
    jump.press("Enter")
    # In reverse, block 2 of 4 is the second.
    assert _moment(page) == (1, 3)
    assert page.get_by_text("(0, 1), 2 of 4").count() == 1
    jump.fill("2,0")
    jump.press("Enter")
    assert jump.get_attribute("aria-invalid") == "true"
    assert _moment(page) == (1, 3)


def test_an_element_tells_its_value_and_who_touched_it(page_for: Any) -> None:
    recording = recorded.vector_add().recording()
    page = page_for(recorded.explorer_of(recording), view="memory&place=3&step=1000")
    canvas = _card(page, "c").locator("canvas")
    canvas.focus()
    for key in ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "Enter"]:
        canvas.press(key)
    panel = page.get_by_role("complementary", name="The element that is chosen")
    # Two rows of 128 down and two columns right, as the first key only shows the cursor.
    panel.get_by_role("heading", name="c[258]").wait_for()
    panel.get_by_text("Value at this step: 774.0").wait_for()
    (touch,) = panel.get_by_role("listitem").all()
    assert "write" in touch.inner_text()
    assert "block (2)" in touch.inner_text()
    touch.get_by_role("button").click()
    row = next(
        row
        for row in range(len(recording.accesses))
        if recording.accesses.block[row] == 2 and recording.accesses.kind[row] == 1
    )
    assert _moment(page) == (2, int(recording.accesses.step[row]))
    page.keyboard.press(",")
    panel.get_by_text("Value at this step: 0.0").wait_for()


def test_slices_of_three_dimensions(page_for: Any) -> None:
    page = page_for(recorded.explorer_of(recorded.boxes().recording()), view="memory&place=11&step=1000")
    card = _card(page, "y")
    slider = card.get_by_label("Index in dimension 0")
    slider.focus()
    slider.press("End")
    canvas = card.locator("canvas")
    canvas.press("ArrowRight")
    canvas.press("Enter")
    panel = page.get_by_role("complementary", name="The element that is chosen")
    panel.get_by_role("heading", name="y[3, 0, 0]").wait_for()
    panel.get_by_text("Value at this step: 720.0").wait_for()


def test_large_arrays_are_binned_and_zooming_in_shows_elements(page_for: Any) -> None:
    page = page_for(recorded.explorer_of(recorded.vector_add(300_000).recording()), view="memory&array=2")
    card = _card(page, "c")
    card.get_by_text("a cell is").wait_for()
    canvas = card.locator("canvas")
    canvas.focus()
    for _ in range(12):
        canvas.press("+")
    assert not card.get_by_text("a cell is").count()
    canvas.press("0")
    card.get_by_text("a cell is").wait_for()
    canvas.press("ArrowRight")
    canvas.press("Enter")
    page.get_by_text("A bin of elements: zoom in for values.").wait_for()


def test_page_opens_with_the_whole_launch_until_the_moment_moves(page_for: Any, tmp_path: Path) -> None:
    page = page_for(recorded.explorer_of(recorded.matmul().recording()), view="memory")
    _card(page, "c").locator("canvas").wait_for()
    assert page.get_by_label("Accesses", exact=True).input_value() == "launch"
    assert (_saved_cells(page, "c", (100, 120), tmp_path / "whole.svg") != "").all()
    page.get_by_label("Step of the tile block").press("ArrowRight")
    assert _moment(page) == (0, 1)
    assert page.get_by_label("Accesses", exact=True).input_value() == "moment"
    assert (_saved_cells(page, "c", (100, 120), tmp_path / "begin.svg") == "").all()
