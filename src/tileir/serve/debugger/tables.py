"""Tiles and arrays as tables: windows of rows and columns of any two dimensions, the others at an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType
from tileir.execute.errors import LaunchError
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.tiles import texts_of
from tileir.ir.types import Type
from tileir.serve.debugger.values import address_shown

ROWS: Final = 16
COLUMNS: Final = 12
_MOST_CELLS: Final = 1 << 16


class Table:
    """A window: the texts of its cells, and which rows and columns these are."""

    __slots__ = ("cells", "columns", "index", "rows", "shape")

    def __init__(
        self, cells: list[list[str]], rows: range, columns: range, index: tuple[int, ...], shape: tuple[int, ...]
    ) -> None:
        self.cells: list[list[str]] = cells
        self.rows: range = rows
        self.columns: range = columns
        self.index: tuple[int, ...] = index
        """Where it is along all dimensions but the last two."""
        self.shape: tuple[int, ...] = shape
        """The shape of the whole."""

    @property
    def text(self) -> str:
        """The table with heads, for a terminal."""
        heads = ["", *[str(column) for column in self.columns]]
        lines = [heads, *[[str(row), *cells] for row, cells in zip(self.rows, self.cells, strict=True)]]
        widths = [max([len(line[place]) for line in lines]) for place in range(len(heads))]
        shown = ["  ".join([cell.rjust(width) for cell, width in zip(line, widths, strict=True)]) for line in lines]
        if len(self.shape) > 2:
            shown.insert(0, f"[{', '.join([str(one) for one in self.index])}, :, :]")
        total_rows = self.shape[-2] if len(self.shape) > 1 else 1
        total_columns = self.shape[-1] if self.shape else 1
        if len(self.rows) < total_rows or len(self.columns) < total_columns:
            shown.append(f"rows {_span(self.rows)} of {total_rows}, columns {_span(self.columns)} of {total_columns}")
        return "\n".join(shown)


def _span(numbers: range) -> str:
    return f"{numbers.start} to {numbers.stop - 1}" if len(numbers) else "none"


def table_of(
    element: Type,
    content: Any,
    *,
    row: int = 0,
    column: int = 0,
    rows: int = ROWS,
    columns: int = COLUMNS,
    index: Sequence[int] | None = None,
    arrays: Sequence[RecordedArray] = (),
) -> Table:
    """A window of a tile or an array; `index` says where along all dimensions but the last two, 0 if not given."""
    array = numpy.asarray(content)
    leading = array.shape[:-2] if array.ndim > 2 else ()
    place = tuple(index) if index is not None else (0,) * len(leading)
    if len(place) != len(leading) or any(not 0 <= one < extent for one, extent in zip(place, leading, strict=True)):
        raise LaunchError(f"there is no table {list(place)}: the dimensions before the last two are {list(leading)}")
    plane = array[place] if leading else array
    flat = plane.reshape((1, -1)) if plane.ndim < 2 else plane
    if rows * columns > _MOST_CELLS:
        raise LaunchError(f"a table has {_MOST_CELLS} cells at most")
    across = range(min(max(row, 0), flat.shape[0]), min(max(row, 0) + max(rows, 0), flat.shape[0]))
    along = range(min(max(column, 0), flat.shape[1]), min(max(column, 0) + max(columns, 0), flat.shape[1]))
    window = flat[across.start : across.stop, along.start : along.stop]
    if isinstance(element, PointerType):
        texts = [address_shown(int(one), arrays) for one in window.reshape(-1).tolist()]
    else:
        texts = texts_of(element, numpy.ascontiguousarray(window))
    width = len(along)
    cells = [texts[start * width : (start + 1) * width] for start in range(len(across))]
    return Table(cells, across, along, place, array.shape)
