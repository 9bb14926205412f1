"""What steps read and wrote: which elements of which array, and what writes changed."""

from __future__ import annotations

from typing import Final, Literal

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import bracketed, several
from tileir.execute.recording.accesses import ATOMIC, READ, WRITE
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recording import Recording
from tileir.execute.recording.tiles import texts_of
from tileir.serve.debugger.moments import Moment

_SHOWN: Final = 4
"""Elements whose contents are told."""
_LISTED: Final = 1 << 20
"""Of an access to more elements, no more are looked at than the first."""

AccessKind = Literal["read", "write", "atomic"]
_KINDS: Final[dict[int, AccessKind]] = {READ: "read", WRITE: "write", ATOMIC: "atomic"}


class Touched:
    """One access of a step to one array; None is memory that is no array, as what `alloca` reserves."""

    __slots__ = ("array", "count", "elements", "kind", "masked", "new", "old", "operation", "row", "step", "where")

    def __init__(self, kind: AccessKind, array: RecordedArray | None, operation: int, step: int, row: int) -> None:
        self.kind: AccessKind = kind
        self.array: RecordedArray | None = array
        self.operation: int = operation
        self.step: int = step
        self.row: int = row
        self.count: int = 0
        """How many elements it touches."""
        self.masked: int = 0
        """How many elements of the tile it does not touch: masked off, or outside of the tensor."""
        self.where: str = ""
        """As in `c[0:64, 32:64]`."""
        self.elements: list[tuple[int, ...]] = []
        """The first elements, by index."""
        self.old: list[str] = []
        """What they were before."""
        self.new: list[str] = []
        """What they are behind it."""

    @property
    def shown(self) -> str:
        """The access in a line."""
        name = self.where or "memory"
        masked = f", {several(self.masked, 'element')} masked" if self.masked else ""
        if not self.count:
            return f"{_VERBS[self.kind]} nothing of {name}{masked}"
        more = ", .." if self.count > len(self.old) else ""
        if self.kind == "read" or self.old == self.new:
            values = f"  [{', '.join(self.old)}{more}]" if self.old else ""
        else:
            values = f"  [{', '.join(self.old)}{more}] -> [{', '.join(self.new)}{more}]"
        return f"{_VERBS[self.kind]} {name}{values}{masked}"

    def __repr__(self) -> str:
        return self.shown


_VERBS: Final = {"read": "reads", "write": "writes", "atomic": "updates"}


def touched_by(recording: Recording, moment: Moment, since: int) -> list[Touched]:
    """What a tile block has accessed from behind a step up to a moment, in order."""
    rows = recording.rows(moment.block)
    steps = recording.accesses.step[rows]
    chosen = rows[(steps > since) & (steps <= moment.step)]
    del steps
    with recording.lock:
        return [_touched(recording, int(row)) for row in chosen.tolist()]


def _touched(recording: Recording, row: int) -> Touched:
    table = recording.accesses
    number = int(table.array[row])
    array = recording.arrays[number] if number >= 0 else None
    found = Touched(_KINDS[int(table.kind[row])], array, int(table.operation[row]), int(table.step[row]), row)
    found.masked = int(table.masked[row])
    counts = [int(numpy.prod(extents, dtype=numpy.int64)) for _, extents, _ in table.boxes(row)]
    found.count = sum(counts)
    if array is None:
        return found
    if found.count > _LISTED:
        found.where = f"{several(found.count, 'element')} of {array.name}"
        return found
    places = table.elements(row)
    indices = _indices(array, places)
    if indices is None:
        found.where = f"{several(found.count, 'element')} of {array.name}"
        return found
    found.where = _worded(array, indices, bool(table.approximate[row]))
    first = [tuple([int(one) for one in index]) for index in indices[:, :_SHOWN].T]
    found.elements = first
    end = table.behind(row)
    recording.go_to(row)
    found.old = _contents(array, first)
    if found.kind == "read":
        found.new = found.old
    else:
        recording.go_to(end)
        found.new = _contents(array, first)
    return found


def _contents(array: RecordedArray, elements: list[tuple[int, ...]]) -> list[str]:
    contents = array.contents()
    if not elements:
        return []
    return texts_of(array.element, numpy.array([contents[index] for index in elements], contents.dtype))


def _indices(array: RecordedArray, places: Array) -> Array | None:
    """The indices of elements, a column for each; None where the array does not have them in order."""
    offset = (array.address - array.low) // array.size
    rest = places - offset
    found = []
    for extent, stride in sorted(zip(array.shape, array.strides, strict=True), key=lambda pair: -abs(pair[1])):
        if stride <= 0:
            return None
        number = rest // stride if extent > 1 else numpy.zeros_like(rest)
        rest = rest - number * stride if extent > 1 else rest
        if number.size and (int(number.min()) < 0 or int(number.max()) >= extent):
            return None
        found.append(number)
    if rest.size and rest.any():
        return None
    order = sorted(range(len(array.shape)), key=lambda axis: -abs(array.strides[axis]))
    rows: list[Array] = [found[order.index(axis)] for axis in range(len(array.shape))]
    return numpy.array(rows, numpy.int64).reshape(len(array.shape), places.size)


def _worded(array: RecordedArray, indices: Array, approximate: bool) -> str:
    count = indices.shape[1]
    if not count:
        return array.name
    if not len(array.shape):
        return array.name
    low, high = indices.min(axis=1).tolist(), indices.max(axis=1).tolist()
    if approximate:
        return f"elements of {array.name} between {bracketed(tuple(low))} and {bracketed(tuple(high))}"
    spans = [last - first + 1 for first, last in zip(low, high, strict=True)]
    if int(numpy.prod(spans)) != count:
        return (
            f"{several(count, 'element')} of {array.name} between {bracketed(tuple(low))} and {bracketed(tuple(high))}"
        )
    parts = [str(first) if last == first else f"{first}:{last + 1}" for first, last in zip(low, high, strict=True)]
    return f"{array.name}[{', '.join(parts)}]"
