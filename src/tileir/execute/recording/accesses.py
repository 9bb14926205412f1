"""The accesses of a launch in columns: one row for each array that an access touches, in order of execution.

A row has boxes of elements, counted from the start of the array's memory; out of bounds they are negative or too large.
A box is its first element, its extents, and the distances between elements.  A tile of a view, or of pointers computed
from ramps, is one box.  Other pointers become runs of neighbors, and equal runs at equal distances one box of two
dimensions.  If a scattered access has too many runs, the nearest are joined: a box then covers more than was touched.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import prod
from typing import Final, overload

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.observing.observer import Access, even_steps

Box = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The first element, the extents, the distances; in bytes or in elements, as its owner states."""

READ: Final = 0
WRITE: Final = 1
ATOMIC: Final = 2
KINDS: Final = {"read": READ, "write": WRITE, "atomic": ATOMIC}
NO_ARRAY: Final = -1  # In the column of arrays: memory that is no array of the launch, as what `alloca` reserves.
OUT_OF_BOUNDS: Final = -2  # In the column of arrays: near no array of the launch; other codes: `out_of_bounds`.
MOST_BOXES: Final = 256  # An access in more boxes than this is kept in fewer that cover it.
FEWER_BOXES: Final = 64

_Form = tuple[tuple[int, ...], tuple[int, ...]]

# How much a row takes beside its boxes, a box, and a form without dimensions.
_ROW_BYTES: Final = 4 + 4 + 4 + 4 + 1 + 4 + 1 + 8
_BOX_BYTES: Final = 8 + 4
_FORM_BYTES: Final = 200


class Column:
    """A column of a table, declared in its class; do not keep the array of an instance while rows are added."""

    def __init__(self, dtype: str) -> None:
        self.dtype: str = dtype

    def __set_name__(self, owner: type, name: str) -> None:
        self.name: str = name

    @overload
    def __get__(self, table: None, owner: type) -> Column: ...
    @overload
    def __get__(self, table: Table, owner: type) -> Array: ...
    def __get__(self, table: Table | None, owner: type) -> Column | Array:
        return self if table is None else numpy.frombuffer(table.data[self.name], self.dtype)


class Table:
    """Rows of numbers; the columns are the `Column`s of the class."""

    def __init__(self) -> None:
        self.data: dict[str, array[int]] = {
            name: array(numpy.dtype(dtype).char) for name, dtype in self.columns().items()
        }

    @classmethod
    def columns(cls) -> dict[str, str]:
        return {name: each.dtype for name, each in vars(cls).items() if isinstance(each, Column)}

    def _load(self, columns: Mapping[str, Array]) -> None:
        for name, column in self.data.items():
            del column[:]
            column.frombytes(columns[name].tobytes())


def out_of_bounds(array: int) -> int:
    """In the column of arrays: outside of an array, by number."""
    return OUT_OF_BOUNDS - 1 - array


def missed_array(code: int) -> int:
    """The array that a code of the column of arrays is outside of; -1 if it is no such code."""
    return OUT_OF_BOUNDS - 1 - code if code < OUT_OF_BOUNDS else -1


class AccessTable(Table):
    """The rows; columns are given as arrays that must not be kept while rows are added."""

    block = Column("<i4")  # The tile block of each access, by number.
    step = Column("<u4")  # The step of the tile block in which it happened.
    operation = Column("<i4")
    array = Column("<i4")  # By number in the recording, or `NO_ARRAY`, `OUT_OF_BOUNDS`, `out_of_bounds(number)`.
    kind = Column("|u1")  # `READ`, `WRITE` or `ATOMIC`.
    masked = Column("<i4")  # How many elements of the tile are not touched: masked off, outside the tensor.
    approximate = Column("|u1")  # Where boxes cover more than was touched.
    box_start = Column("<i8")  # Row r has the boxes from `box_start[r]` to `box_start[r + 1]`.
    box_first = Column("<i8")  # The first element of each box.
    box_form = Column("<i4")  # Which of `forms` each box has.

    def __init__(self) -> None:
        super().__init__()
        # One entry for each row, and those of boxes.
        *self._per_row, self._box_start, self._box_first, self._box_form = self.data.values()
        self._blocks, self._steps, *_ = self._per_row
        self._box_start.append(0)
        self.forms: list[_Form] = []  # The extents and strides that boxes have, in elements: few different ones.
        self._form_numbers: dict[_Form, int] = {}
        self._form_bytes: int = 0

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def nbytes(self) -> int:
        # Once for each access.
        return _ROW_BYTES * len(self._blocks) + _BOX_BYTES * len(self._box_first) + self._form_bytes

    def add(self, numbers: tuple[int, ...], boxes: list[Box]) -> int:
        """Add a row, by its numbers in the columns before the boxes, and return its number."""
        row = len(self._blocks)
        for column, number in zip(self._per_row, numbers, strict=True):
            column.append(number)
        for first, extents, strides in boxes:
            form = (extents, strides)
            number = self._form_numbers.setdefault(form, len(self.forms))
            if number == len(self.forms):
                self.forms.append(form)
                self._form_bytes += _FORM_BYTES + 32 * len(form[0])
            self._box_first.append(first)
            self._box_form.append(number)
        self._box_start.append(len(self._box_first))
        return row

    def restore(self, columns: Mapping[str, Array], forms: list[_Form]) -> None:
        self._load(columns)
        self.forms = forms
        self._form_numbers = {form: number for number, form in enumerate(forms)}
        self._form_bytes = sum([_FORM_BYTES + 32 * len(extents) for extents, _ in forms])

    def truncate(self, rows: int) -> None:
        """Forget what comes behind so many rows."""
        boxes = self._box_start[rows]
        for column in self._per_row:
            del column[rows:]
        del self._box_start[rows + 1 :], self._box_first[boxes:], self._box_form[boxes:]

    def behind(self, row: int) -> int:
        """The row behind those of the access that a row begins."""
        blocks, steps = self._blocks, self._steps
        end = row + 1
        while end < len(blocks) and steps[end] == steps[row] and blocks[end] == blocks[row]:
            end += 1
        return end

    def boxes(self, row: int) -> list[Box]:
        boxes = range(self._box_start[row], self._box_start[row + 1])
        return [(self._box_first[one], *self.forms[self._box_form[one]]) for one in boxes]

    def touching(self, array: int, element: int) -> Array:
        """The rows whose boxes have an element of an array, in order."""
        starts = self.box_start
        owners = numpy.repeat(numpy.arange(len(self)), numpy.diff(starts))
        chosen = numpy.flatnonzero(self.array[owners] == array)
        # How far the element is from the first one of each box, computed for all boxes of a form together.
        offsets = element - self.box_first[chosen]
        forms = self.box_form[chosen]
        found = numpy.zeros(chosen.size, numpy.bool_)
        for form in numpy.unique(forms).tolist():
            same = numpy.flatnonzero(forms == form)
            found[same] = _are_in(offsets[same], *self.forms[form])
        rows: Array = numpy.unique(owners[chosen[found]])
        return rows

    def touches(self, row: int, element: int) -> bool:
        return any(bool(_are_in(numpy.array([element - first]), *form)[0]) for first, *form in self.boxes(row))

    def elements(self, row: int) -> Array:
        """The elements that the boxes of a row cover, sorted, each once."""
        parts = [numpy.zeros(0, numpy.int64)]
        for first, extents, strides in self.boxes(row):
            positions: Array = numpy.array([first], numpy.int64)
            for extent, stride in zip(extents, strides, strict=True):
                positions = (positions[:, None] + stride * numpy.arange(extent)).reshape(-1)
            parts.append(positions)
        return numpy.unique(numpy.concatenate(parts))


class Allowed:
    """Which elements of its tile an access touched where the sanitizer masked some, by its first row."""

    def __init__(self) -> None:
        self.bits: dict[int, Array] = {}
        self.nbytes: int = 0

    def add(self, row: int, allowed: Array) -> None:
        bits = self.bits[row] = numpy.packbits(allowed)
        self.nbytes += bits.nbytes + 200

    def find(self, row: int, access: Access) -> Array | None:
        bits = self.bits.get(row)
        if bits is None:
            return None
        addresses = access.addresses
        flags: Array = numpy.unpackbits(bits, count=addresses.size).astype(numpy.bool_).reshape(addresses.shape)
        return flags


def _are_in(offsets: Array, extents: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    backwards = sum([(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True) if stride < 0])
    steps = [(abs(stride), extent) for extent, stride in zip(extents, strides, strict=True) if stride and extent > 1]
    return _are_sums(offsets - backwards, sorted(steps, reverse=True))


def _are_sums(offsets: Array, steps: list[tuple[int, int]]) -> Array:
    """Which offsets are sums of fewer than `extent` steps of each size; large steps come first.

    The offset determines the count of the largest step, up to the sum of the others: in boxes of tiles that is none.
    """
    if len(steps) < 2:
        size, extent = steps[0] if steps else (1, 1)
        plain: Array = (offsets >= 0) & (offsets % size == 0) & (offsets // size < extent)
        return plain
    (size, extent), others = steps[0], steps[1:]
    room = sum([other * (count - 1) for other, count in others])
    found = numpy.zeros(offsets.size, numpy.bool_)
    inside = numpy.flatnonzero((offsets >= 0) & (offsets <= room + size * (extent - 1)))
    for fewer in range(min(room // size + 1, extent)):
        if not inside.size:
            break
        times = numpy.minimum(offsets[inside] // size, extent - 1) - fewer
        inside, times = inside[times >= 0], times[times >= 0]
        reached = _are_sums(offsets[inside] - times * size, others)
        found[inside[reached]] = True
        inside = inside[~reached]
    return found


def rectangle(positions: Array, mask: Array | None) -> Array | None:
    """The positions that a mask selects, if they are a rectangle; a tile without elements if it selects none."""
    if mask is None:
        return positions
    if mask.shape != positions.shape:
        mask = numpy.broadcast_to(mask, positions.shape)
    count = int(numpy.count_nonzero(mask))
    if count == positions.size:
        return positions
    if not count:
        return positions.reshape(-1)[:0]
    # From where to where it has something along each dimension.
    spans = [(int(along.min()), int(along.max()) + 1) for along in numpy.nonzero(mask)]
    if prod([end - start for start, end in spans]) != count:
        return None
    return positions[tuple([slice(start, end) for start, end in spans])]


def ramp(positions: Array) -> Box | None:
    """A tile of positions as one box, if evenly spaced; dimensions of one position or of step 0 are left out."""
    steps = even_steps(positions)
    if steps is None:
        return None
    found = [step for step in steps if step[1]]
    # As memory lies: the largest distance first.
    found.sort(key=lambda dimension: -abs(dimension[1]))
    return int(positions.item(0)), tuple([extent for extent, _ in found]), tuple([stride for _, stride in found])


def listed_boxes(positions: Array) -> tuple[list[Box], bool]:
    """The boxes of positions in any order, and whether they cover more."""
    sorted_positions = numpy.unique(positions)
    breaks = numpy.flatnonzero(numpy.diff(sorted_positions) != 1) + 1
    at = numpy.concatenate(([0], breaks))
    starts, lengths = sorted_positions[at], numpy.diff(numpy.append(at, sorted_positions.size))
    boxes = _grouped(starts, lengths)
    if len(boxes) <= MOST_BOXES:
        return boxes, False
    # The widest gaps stay.
    gaps = starts[1:] - (starts[:-1] + lengths[:-1])
    kept = numpy.sort(numpy.argpartition(gaps, -(FEWER_BOXES - 1))[-(FEWER_BOXES - 1) :])
    firsts = starts[numpy.concatenate(([0], kept + 1))]
    ends = (starts + lengths)[numpy.concatenate((kept, [len(starts) - 1]))]
    found: list[Box] = [
        (first, (end - first,), (1,)) for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
    ]
    return found, True


def _grouped(starts: Array, lengths: Array) -> list[Box]:
    """Runs as boxes: those of one length at equal distances are one box of two dimensions."""
    found: list[Box] = []
    count = len(starts)
    distances = numpy.diff(starts)
    same = numpy.diff(lengths) == 0
    # Where a run goes on as the two before it do.
    along = numpy.zeros(count, numpy.bool_)
    if count > 2:
        along[2:] = same[1:] & same[:-1] & (distances[1:] == distances[:-1])
    # A group is a first run, a second of its length, and all that go on.
    at = 0
    while at < count:
        end = at + 1
        if end + 1 < count and bool(along[end + 1]):
            stops = numpy.flatnonzero(~along[end + 1 :])
            end = end + 1 + int(stops[0]) if stops.size else count
        start, length, number = int(starts[at]), int(lengths[at]), end - at
        if number > 1:
            stride = int(distances[at])
            found.append((start, (number,), (stride,)) if length == 1 else (start, (number, length), (stride, 1)))
        else:
            found.append((start, (length,), (1,)) if length > 1 else (start, (), ()))
        at = end
        if len(found) > MOST_BOXES:
            break
    return found
