"""The accesses of a launch in columns: one row for each access to an array, in the order in which they happened.

An access that touches several arrays has a row for each, and so has what lies in no array.  The boxes of a row count
elements of its array from the beginning of the array's memory; those of an access out of bounds are negative or beyond
its end.
"""

from __future__ import annotations

from array import array
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.observer import Access
from tileir.execute.recording.boxes import Box

READ: Final = 0
WRITE: Final = 1
ATOMIC: Final = 2
KINDS: Final = {"read": READ, "write": WRITE, "atomic": ATOMIC}
NO_ARRAY: Final = -1
"""In the column of arrays: memory that is no array of the launch, as what `alloca` reserves."""
OUT_OF_BOUNDS: Final = -2
"""In the column of arrays: no memory of the launch, and near no array.  `out_of_bounds` has the other codes."""

_Form = tuple[tuple[int, ...], tuple[int, ...]]

# How much a row takes beside its boxes, and a box.
_ROW_BYTES: Final = 4 + 4 + 4 + 4 + 1 + 4 + 1 + 8
_BOX_BYTES: Final = 8 + 4


def out_of_bounds(array: int) -> int:
    """In the column of arrays: outside of an array, by number."""
    return OUT_OF_BOUNDS - 1 - array


def missed_array(code: int) -> int:
    """The array that a code of the column of arrays is outside of; -1 if it is no such code."""
    return OUT_OF_BOUNDS - 1 - code if code < OUT_OF_BOUNDS else -1


class AccessTable:
    """The rows; columns are given as arrays that must not be kept while rows are added."""

    def __init__(self) -> None:
        self._block: array[int] = array("i")
        self._step: array[int] = array("I")
        self._operation: array[int] = array("i")
        self._array: array[int] = array("i")
        self._kind: array[int] = array("B")
        self._masked: array[int] = array("i")
        self._approximate: array[int] = array("B")
        self._box_start: array[int] = array("q", [0])
        self._box_first: array[int] = array("q")
        self._box_form: array[int] = array("i")
        # Extents and strides of boxes: few different ones.
        self._forms: list[_Form] = []
        self._form_numbers: dict[_Form, int] = {}
        self._form_bytes: int = 0

    def __len__(self) -> int:
        return len(self._block)

    @property
    def nbytes(self) -> int:
        return _ROW_BYTES * len(self._block) + _BOX_BYTES * len(self._box_first) + self._form_bytes

    def add(
        self,
        block: int,
        step: int,
        operation: int,
        array: int,
        kind: int,
        masked: int,
        boxes: list[Box],
        approximate: bool,
    ) -> int:
        """Add a row, and give its number."""
        row = len(self._block)
        self._block.append(block)
        self._step.append(step)
        self._operation.append(operation)
        self._array.append(array)
        self._kind.append(kind)
        self._masked.append(masked)
        self._approximate.append(approximate)
        for first, extents, strides in boxes:
            form = (extents, strides)
            number = self._form_numbers.get(form)
            if number is None:
                number = self._form_numbers[form] = len(self._forms)
                self._forms.append(form)
                self._form_bytes += 200 + 32 * len(extents)
            self._box_first.append(first)
            self._box_form.append(number)
        self._box_start.append(len(self._box_first))
        return row

    def restore(
        self, columns: list[Array], box_start: Array, box_first: Array, box_form: Array, forms: list[_Form]
    ) -> None:
        """Take the columns of a table: block, step, operation, array, kind, masked, approximate, and boxes."""
        own = (self._block, self._step, self._operation, self._array, self._kind, self._masked, self._approximate)
        for column, values in zip(own, columns, strict=True):
            column.frombytes(values.tobytes())
        self._box_start = array("q", box_start.tobytes())
        self._box_first.frombytes(box_first.tobytes())
        self._box_form.frombytes(box_form.tobytes())
        self._forms = forms
        self._form_numbers = {form: number for number, form in enumerate(forms)}
        self._form_bytes = sum([200 + 32 * len(extents) for extents, _ in forms])

    def truncate(self, rows: int) -> None:
        """Forget what comes behind so many rows."""
        boxes = self._box_start[rows]
        own = (self._block, self._step, self._operation, self._array, self._kind, self._masked, self._approximate)
        for column in own:
            del column[rows:]
        del self._box_start[rows + 1 :], self._box_first[boxes:], self._box_form[boxes:]

    # --- columns ---

    @property
    def block(self) -> Array:
        """The tile block of each access, by number."""
        return numpy.frombuffer(self._block, numpy.int32)

    @property
    def step(self) -> Array:
        """The step of the tile block in which it happened."""
        return numpy.frombuffer(self._step, numpy.uint32)

    @property
    def operation(self) -> Array:
        return numpy.frombuffer(self._operation, numpy.int32)

    @property
    def array(self) -> Array:
        """The array, by its number in the recording; or `NO_ARRAY`, `OUT_OF_BOUNDS`, `out_of_bounds(number)`."""
        return numpy.frombuffer(self._array, numpy.int32)

    @property
    def kind(self) -> Array:
        """`READ`, `WRITE` or `ATOMIC`."""
        return numpy.frombuffer(self._kind, numpy.uint8)

    @property
    def masked(self) -> Array:
        """How many elements of the tile are not touched: masked off, outside the tensor."""
        return numpy.frombuffer(self._masked, numpy.int32)

    @property
    def approximate(self) -> Array:
        """Where boxes cover more than was touched."""
        return numpy.frombuffer(self._approximate, numpy.uint8)

    @property
    def box_start(self) -> Array:
        """Row r has the boxes from `box_start[r]` to `box_start[r + 1]`."""
        return numpy.frombuffer(self._box_start, numpy.int64)

    @property
    def box_first(self) -> Array:
        """The first element of each box."""
        return numpy.frombuffer(self._box_first, numpy.int64)

    @property
    def box_form(self) -> Array:
        """Which of `forms` each box has."""
        return numpy.frombuffer(self._box_form, numpy.int32)

    @property
    def forms(self) -> list[_Form]:
        """The extents and strides that boxes have, in elements."""
        return self._forms

    def behind(self, row: int) -> int:
        """The row behind those of the access that a row begins."""
        block, step = self._block[row], self._step[row]
        end = row + 1
        while end < len(self._block) and self._step[end] == step and self._block[end] == block:
            end += 1
        return end

    def boxes(self, row: int) -> list[Box]:
        """The boxes of a row."""
        start, end = self._box_start[row], self._box_start[row + 1]
        return [(self._box_first[one], *self._forms[self._box_form[one]]) for one in range(start, end)]

    def touching(self, array: int, element: int) -> Array:
        """The rows whose boxes have an element of an array, in order."""
        starts = self.box_start
        owners = numpy.repeat(numpy.arange(len(self)), numpy.diff(starts))
        chosen = numpy.flatnonzero(self.array[owners] == array)
        # How far the element is from the first one of each box, looked at for all boxes of a form together.
        offsets = element - self.box_first[chosen]
        forms = self.box_form[chosen]
        found = numpy.zeros(chosen.size, numpy.bool_)
        for form in numpy.unique(forms).tolist():
            same = numpy.flatnonzero(forms == form)
            found[same] = _are_in(offsets[same], *self._forms[form])
        rows: Array = numpy.unique(owners[chosen[found]])
        return rows

    def touches(self, row: int, element: int) -> bool:
        """Whether the boxes of a row have an element."""
        return any(bool(_are_in(numpy.array([element - first]), *form)[0]) for first, *form in self.boxes(row))

    def elements(self, row: int) -> Array:
        """The elements that the boxes of a row cover, sorted, each once."""
        parts = [numpy.zeros(0, numpy.int64)]
        for first, extents, strides in self.boxes(row):
            places: Array = numpy.array([first], numpy.int64)
            for extent, stride in zip(extents, strides, strict=True):
                places = (places[:, None] + stride * numpy.arange(extent)).reshape(-1)
            parts.append(places)
        return numpy.unique(numpy.concatenate(parts))


class Allowed:
    """Where the sanitizer kept elements of an access from happening: which of its tile did, by the access's first
    row."""

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
    """Which offsets from its first element a box has."""
    backwards = sum([(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True) if stride < 0])
    steps = [(abs(stride), extent) for extent, stride in zip(extents, strides, strict=True) if stride and extent > 1]
    return _are_sums(offsets - backwards, sorted(steps, reverse=True))


def _are_sums(offsets: Array, steps: list[tuple[int, int]]) -> Array:
    """Which offsets are sums of fewer than `extent` steps of each size; large steps come first.

    How often the largest is taken follows from the offset, but for the room that the others leave: in boxes of tiles
    that is none, so large ones cost as little as small ones.
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
