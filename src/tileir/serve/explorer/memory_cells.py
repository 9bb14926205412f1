"""What a recorded launch did to an array, as numbers for each cell of a picture.

A cell is an element, or a bin of rows and columns of them where the array is larger than the picture.  The page
requests conflicts; `assets/pictures.js` computes the other numbers, for any step; here they are for the whole launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, prod, sqrt
from typing import Any, Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.recording.accesses import ATOMIC, READ, WRITE, out_of_bounds
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recording import Recording
from tileir.execute.recording.tiles import packed
from tileir.serve.explorer.questions import check_number

_NONE: Final = -1
_SEVERAL: Final = -2
_NEVER: Final = 2**31 - 1
_SAMPLED: Final = 2000


@dataclass(slots=True)
class Cells:
    """The picture of one slice: rows of accesses (-1: none), how often, and where tile blocks meet."""

    last: Array
    first: Array
    count: Array
    """How many accesses an element has, on average of the cell."""
    conflicts: Array
    """Whether any element is touched by several tile blocks, one of them writing."""
    present: Array
    """False beyond the end of a folded array."""


class MemoryCells:
    """The elements of an array, each with the accesses that touched it."""

    def __init__(self, recording: Recording, array: RecordedArray) -> None:
        self.array: RecordedArray = array
        self.fold: int = fold_width(recording, array)
        """The width that an array of one dimension is folded to, else 0."""
        reach = (array.high - array.low) // array.size
        last = numpy.full(reach, _NONE, numpy.int32)
        first = numpy.full(reach, _NONE, numpy.int32)
        count = numpy.zeros(reach, numpy.int32)
        rows = numpy.flatnonzero(recording.accesses.array == array.number)
        self.accesses: int = len(rows)
        self.outside: int = int(numpy.count_nonzero(recording.accesses.array == out_of_bounds(array.number)))
        """How many accesses miss the array."""
        for row, places in _touched(recording, rows):
            last[places] = row
            count[places] += 1
        for row, places in _touched(recording, rows[::-1]):
            first[places] = row
        conflicts = _conflicts(recording, rows, reach)
        self.conflicts: int = int(numpy.count_nonzero(conflicts))
        self._parts: list[Array] = [_elements(array, one) for one in (last, first, count, conflicts)]
        self.slices: tuple[int, ...] = array.shape[:-2]
        """The extents of the dimensions that are not drawn."""
        self.rows: int = ceil(prod(array.shape) / self.fold) if self.fold else array.shape[-2]
        self.columns: int = self.fold or array.shape[-1]

    def cells(self, index: Sequence[int], bin_rows: int, bin_columns: int) -> Cells:
        """The picture of a slice, in bins."""
        last, first, count, conflicts = [part[tuple(index)] for part in self._parts]

        def binned(part: Array, joining: numpy.ufunc, fill: int) -> Array:
            return _binned(self._grid(part, fill), bin_rows, bin_columns, joining, fill)

        sizes = binned(numpy.broadcast_to(numpy.int32(1), last.shape), numpy.add, 0)
        # The first of a bin is the least of those that are there.
        earliest = binned(numpy.where(first < 0, _NEVER, first), numpy.minimum, _NEVER)
        return Cells(
            binned(last, numpy.maximum, _NONE),
            numpy.where(earliest == _NEVER, _NONE, earliest),
            binned(count, numpy.add, 0) / numpy.maximum(sizes, 1),
            binned(conflicts, numpy.logical_or, 0),
            sizes > 0,
        )

    def _grid(self, part: Array, fill: int) -> Array:
        if not self.fold:
            return part
        grid = numpy.full(self.rows * self.fold, fill, part.dtype)
        grid[: part.size] = part.reshape(-1)
        return grid.reshape(self.rows, self.fold)


def conflicts_answer(recording: Recording, array: int) -> dict[str, Any]:
    """The answer to `conflicts`."""
    check_number("array", array, len(recording.arrays))
    one = recording.arrays[array]
    rows = numpy.flatnonzero(recording.accesses.array == array)
    conflicts = _elements(one, _conflicts(recording, rows, (one.high - one.low) // one.size)).reshape(-1)
    edges = numpy.flatnonzero(numpy.diff(conflicts, prepend=False, append=False)).astype(numpy.uint32)
    starts, ends = edges[::2], edges[1::2]
    return {"elements": int(numpy.count_nonzero(conflicts)), "starts": packed(starts), "counts": packed(ends - starts)}


def _elements(array: RecordedArray, memory: Array) -> Array:
    """What is known of memory, in the order of the array's indices."""
    if 0 in array.shape:
        return numpy.zeros(array.shape, memory.dtype)
    if array.strides == tuple([prod(array.shape[axis + 1 :]) for axis in range(len(array.shape))]):
        return memory.reshape(array.shape)
    places: Array = numpy.full(array.shape, (array.address - array.low) // array.size, numpy.int64)
    for stride, along in zip(array.strides, numpy.indices(array.shape, sparse=True), strict=True):
        places += stride * along
    found: Array = memory[places]
    return found


def fold_width(recording: Recording, array: RecordedArray) -> int:
    """A width to fold an array of one dimension to, else 0: rows of the kernel's views, or that its tiles fill."""
    if len(array.shape) > 1:
        return 0
    length = prod(array.shape)
    stride = max(1, abs(array.strides[0])) if array.strides else 1
    widths: dict[int, int] = {}
    tiles: dict[int, int] = {}
    rows = numpy.flatnonzero(recording.accesses.array == array.number)
    for row in rows[:: max(1, len(rows) // _SAMPLED)].tolist():
        for _, extents, strides in recording.accesses.boxes(row)[:8]:
            steps = [(extent, abs(one) // stride) for extent, one in zip(extents, strides, strict=True)]
            inner = max([extent for extent, step in steps if step == 1], default=1)
            outer = min([step for extent, step in steps if step > 1 and extent > 1], default=0)
            if outer and inner > 1:
                widths[outer] = widths.get(outer, 0) + 1
            tiles[inner] = tiles.get(inner, 0) + 1
    view = _most(widths)
    if 1 < view < length:
        return view
    target = sqrt(2 * length)
    width = _most(tiles)
    if width <= 1:
        width = 2 ** floor(log2(max(1.0, target)) + 0.5)
    elif width <= target:
        width *= 2 ** floor(log2(target / width))
    while width > 4 * target and width % 2 == 0:
        width //= 2
    return max(1, min(width, length))


def _most(counts: dict[int, int]) -> int:
    """What at least half of them are, or 0."""
    best = max(counts, key=lambda value: (counts[value], value), default=0)
    return best if counts and 2 * counts[best] >= sum(counts.values()) else 0


def _touched(recording: Recording, rows: Array) -> Iterator[tuple[int, Array | slice]]:
    """The offsets in the array's memory that each access touches, each once."""
    for row in rows.tolist():
        boxes = recording.accesses.boxes(row)
        if len(boxes) == 1 and boxes[0][2] == (1,):
            yield row, slice(boxes[0][0], boxes[0][0] + boxes[0][1][0])
        else:
            yield row, recording.accesses.elements(row)


def _conflicts(recording: Recording, rows: Array, reach: int) -> Array:
    """The elements that two tile blocks touch, one of them writing, unless both do so in one atomic step."""
    accesses = recording.accesses
    kinds, blocks = accesses.kind[rows], accesses.block[rows]
    if not (kinds != READ).any() or len(numpy.unique(blocks)) < 2:
        return numpy.zeros(reach, numpy.bool_)
    users = [numpy.full(reach, _NONE, numpy.int32) for _ in (READ, WRITE, ATOMIC)]
    for row, places in _touched(recording, rows):
        user, block = users[accesses.kind[row]], int(accesses.block[row])
        known = user[places]
        user[places] = numpy.where((known == _NONE) | (known == block), block, _SEVERAL)
    reader, writer, atomic = users
    wrote = writer != _NONE
    read, updated = reader != _NONE, atomic != _NONE
    with_writer = (writer == _SEVERAL) | (read & (reader != writer)) | (updated & (atomic != writer))
    with_atomic = updated & read & ((atomic == _SEVERAL) | (reader != atomic))
    found: Array = numpy.where(wrote, with_writer, with_atomic)
    return found


def _binned(grid: Array, rows: int, columns: int, join: numpy.ufunc, fill: int) -> Array:
    """The elements of each bin joined into one number."""
    height, width = ceil(grid.shape[0] / rows), ceil(grid.shape[1] / columns)
    if grid.shape != (height * rows, width * columns):
        padded = numpy.full((height * rows, width * columns), fill, grid.dtype)
        padded[: grid.shape[0], : grid.shape[1]] = grid
        grid = padded
    found: Array = join.reduce(grid.reshape(height, rows, width, columns), axis=(1, 3))
    return found
