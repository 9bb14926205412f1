"""The view of memory in a browser: its pictures are compared with what an observer of a plain launch notes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.serve.explorer import recorded

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
