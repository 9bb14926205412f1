"""The view of memory in a browser: its pictures are compared with what an observer of a plain launch notes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.serve.explorer import recorded
from tests.serve.explorer.made_answers import made_explorer

# Pictures of arrays as numbers, computed by the page's own modules.
_PICTURES = """async (requests) => {
    const { asking, server } = await import("explorer/data.js");
    const { loadAccesses } = await import("explorer/accesses.js");
    const { foldWidth, makeGrid, piecesOf } = await import("explorer/grid.js");
    const { Picture } = await import("explorer/pictures.js");
    const ask = asking(server());
    const summary = await ask("summary");
    const table = await loadAccesses({ summary, ask });
    return requests.map(({ array, quantity, kinds, bins, slice, upTo }) => {
        const info = summary.arrays[array];
        const grid = makeGrid(info, foldWidth(info, table));
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
        return { cells, rows, columns, fold: grid.fold, outside: pieces.outside, bounded: pieces.bounded };
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
        assert (answer["outside"], answer["bounded"]) == (0, 0)
        request.fold = answer["fold"]
        for text in answer["cells"]:
            numbers = numpy.frombuffer(text.encode("latin-1"), numpy.int32)
            request.cells.append(numbers.reshape(answer["rows"], answer["columns"]))


LAUNCHES = {
    "vector_add": recorded.vector_add,
    "matmul": recorded.matmul,
    "histogram": recorded.histogram,
    "racy": recorded.racy,
    "boxes": recorded.boxes,
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_pictures_are_what_an_observer_notes(name: str, page_for: Any) -> None:
    launch = LAUNCHES[name]()
    notes = launch.notes()
    page = page_for(recorded.explorer_of(launch.recording()))
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
        const grid = makeGrid({ id: 0, shape, strides }, width);
        const pieces = piecesOf(grid, table, 0);
        const step = contiguous(grid).strides;
        const found = [];
        const walk = (piece, dimension, at) => {
            if (dimension === pieces.rank) return found.push(at);
            const [start, count, by] = pieces.spans.slice(3 * (piece * pieces.rank + dimension));
            for (let k = 0; k < count; k++) walk(piece, dimension + 1, at + (start + k * by) * step[dimension]);
        };
        for (let piece = 0; piece < pieces.count; piece++) walk(piece, 0, 0);
        return { found, outside: pieces.outside, bounded: pieces.bounded };
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
        strides = [s // places.itemsize for s in chosen.strides]
        memory = [
            int(numpy.diff(chosen, axis=axis).flat[0]) if chosen.shape[axis] > 1 else strides[axis]
            for axis in range(chosen.ndim)
        ]
        box = {"first": int(chosen.flat[0]), "extents": list(chosen.shape), "strides": memory}
        order = random.permutation(chosen.ndim).tolist()
        box["extents"], box["strides"] = [box["extents"][at] for at in order], [box["strides"][at] for at in order]
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
        assert (answer["outside"], answer["bounded"]) == (0, 0), case
        assert sorted(answer["found"]) == elements, case
