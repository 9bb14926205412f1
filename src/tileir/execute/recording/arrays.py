"""The arrays of a recorded launch, and which of them an access touches."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy

from tileir.dialect.ops import GLOBAL
from tileir.execute.analysis.pointer_origins import NEAR, origin_of_access
from tileir.execute.analysis.values import pointee_of
from tileir.execute.arguments.array_memory import byte_range, dense_strides
from tileir.execute.arguments.binding import ArgumentLabel, Buffer
from tileir.execute.dtypes import Array, element_of_dtype, from_memory, memory_bytes, memory_dtype
from tileir.execute.errors import LaunchError
from tileir.execute.locations.wording import bracketed, script_name
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access
from tileir.execute.recording.accesses import NO_ARRAY, OUT_OF_BOUNDS, Box, listed_boxes, out_of_bounds, ramp, rectangle
from tileir.execute.recording.memory_states import box_of
from tileir.execute.recording.program import NumberedProgram
from tileir.ir.core import Operation
from tileir.ir.types import I8, Type

_REPEATED: Final = 1 << 24
"""An array with more elements than this, and than its memory (strides of 0), is kept as its memory: its shape may be
too large to iterate over."""


@dataclass(eq=False)
class RecordedArray:
    """An array of the launch: an argument, one of `memory=`, or a global variable."""

    number: int
    name: str
    origin: str  # As `pointer_origins` names it: "argument 2", "global @g"; empty for one of `memory=`.
    element: Type
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # In elements.
    region: Region

    def __post_init__(self) -> None:
        self.size: int = memory_bytes(self.element)  # The bytes of an element.
        self.low: int = self.address
        self.high: int = self.address
        if 0 not in self.shape:
            self.low, self.high = byte_range(self.address, self.shape, self.byte_strides, self.size)

    @property
    def byte_strides(self) -> tuple[int, ...]:
        return tuple([stride * self.size for stride in self.strides])

    @property
    def parameter(self) -> int:
        """The number of the parameter that it is given for; -1 if it is no argument."""
        return int(self.origin.removeprefix("argument ")) if self.origin.startswith("argument ") else -1

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.size

    def place(self, index: tuple[int, ...]) -> int:
        """The position of an element in the memory of the array, counted in elements from its beginning."""
        if len(index) != len(self.shape) or any(
            not 0 <= i < extent for i, extent in zip(index, self.shape, strict=True)
        ):
            raise LaunchError(f"{self.name} has no element {bracketed(tuple(index))}: its shape is {list(self.shape)}")
        offset = sum([i * stride for i, stride in zip(index, self.strides, strict=True)])
        return (self.address - self.low) // self.size + offset

    def contents(self) -> Array:
        """The array as it is now: tile values; those of most element types are the memory itself."""
        if 0 in self.shape:
            return numpy.zeros(self.shape, from_memory(self.element, numpy.zeros(0, memory_dtype(self.element))).dtype)
        offset = self.address - self.region.start
        raw: Array = numpy.ndarray(self.shape, memory_dtype(self.element), self.region.data, offset, self.byte_strides)
        return from_memory(self.element, raw)


def arrays_of(program: NumberedProgram, memory: Memory, regions: list[Region]) -> list[RecordedArray]:
    """The arrays of a launch: arguments in order, those of `memory=`, global variables."""
    buffers = [label for region in regions for label in region.labels if isinstance(label, ArgumentLabel)]
    found: list[RecordedArray] = []
    parameters = program.entry.regions[0].blocks[0].arguments
    names = program.parameter_names

    def add(name: str, origin: str, element: Type, buffer: Buffer) -> None:
        region = memory.find(buffer.low) or Region(0, 0, None, (), False)
        size = memory_bytes(element)
        address, shape = buffer.address, buffer.shape
        strides = tuple([stride // size for stride in buffer.strides])
        memory_size = (buffer.high - buffer.low) // size
        if prod(shape) > max(memory_size, _REPEATED):
            address, shape, strides = buffer.low, (memory_size,), (1,)
        found.append(RecordedArray(len(found), name, origin, element, address, shape, strides, region))

    # Those of `memory=` have no number, and come behind.
    for label in sorted(buffers, key=lambda label: label.number % (1 << 40)):
        if label.number >= 0:
            element = pointee_of(parameters[label.number])
            name = script_name(label.what)
            if label.what.startswith("the table of "):
                name = f"table of {name}"
            if name.startswith("argument "):
                name = names[label.number]
            add(name, f"argument {label.number}", element, label.buffer)
        else:
            add(script_name(label.what), "", element_of_dtype(label.buffer.dtype) or I8, label.buffer)
    variables = {each.symbol_name: each for each in program.module.walk() if each.declaration is GLOBAL}
    for region in memory.regions:
        for text in region.labels:
            variable = variables.get(text.partition("@")[2]) if isinstance(text, str) else None
            if variable is not None:
                value = variable.value_attribute
                shape = tuple(value.shape)
                name, strides = f"@{variable.symbol_name}", dense_strides(shape, 1)
                array = RecordedArray(
                    len(found), name, str(text), value.element_type, region.start, shape, strides, region
                )
                found.append(array)
    return found


@dataclass(slots=True, eq=False)
class Part:
    """What an access touches of one array: boxes in elements; `target` and `where` as in `Write`, None if no array."""

    array: int
    boxes: list[Box]
    approximate: bool = False
    region: Region | None = None
    target: Array | None = None
    where: Array | None = None


class Finder:
    def __init__(self, memory: Memory, arrays: list[RecordedArray]) -> None:
        self._memory: Memory = memory
        self.arrays: list[RecordedArray] = arrays
        self._by_origin: dict[str, RecordedArray] = {array.origin: array for array in arrays if array.origin}
        self._in_region: dict[int, list[RecordedArray]] = {}
        for array in arrays:
            self._in_region.setdefault(array.region.start, []).append(array)
        self._homes: dict[Operation, RecordedArray | None] = {}

    def find(self, access: Access) -> tuple[list[Part], int]:
        """The parts of an access, and how many elements of the tile it does not touch."""
        box = access.box
        if box is not None:
            view: Any = access.view
            address, counts, strides = box
            masked = prod(view.shape) - prod(counts)
            if 0 in counts:
                return [self._nothing(access)], masked
            part = self._box(access, address, counts, strides)
            return ([part] if part is not None else self._listed(access)), masked
        addresses = access.addresses
        chosen = rectangle(addresses.view(numpy.int64), access.mask)
        if chosen is not None:
            masked = addresses.size - chosen.size
            if not chosen.size:
                return [self._nothing(access)], masked
            found = ramp(chosen)
            if found is not None:
                part = self._box(access, *found)
                if part is not None:
                    return [part], masked
        return self._listed(access), addresses.size - int(access.touched.size)

    def _nothing(self, access: Access) -> Part:
        home = self._home(access.operation)
        return Part(home.number if home is not None else NO_ARRAY, [])

    def _home(self, operation: Operation) -> RecordedArray | None:
        if operation not in self._homes:
            self._homes[operation] = self._by_origin.get(origin_of_access(operation))
        return self._homes[operation]

    def _box(self, access: Access, address: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Part | None:
        """The part of an access to one box, in bytes, if all of it is in one array."""
        size = access.size
        low, high = byte_range(address, extents, strides, size)
        array = self._home(access.operation)
        if array is None or not array.low <= low <= high <= array.high:
            region = self._memory.find(low)
            near = self._in_region.get(region.start, ()) if region is not None else ()
            array = next((one for one in near if one.low <= low <= high <= one.high), None)
            if array is None:
                return None
        if size % array.size or any(stride % array.size for stride in strides):
            return None
        pairs = [(extent, stride) for extent, stride in zip(extents, strides, strict=True) if extent > 1]
        if size > array.size:
            pairs.append((size // array.size, array.size))
        form = tuple([extent for extent, _ in pairs]), tuple([stride // array.size for _, stride in pairs])
        first, rest = divmod(address - array.low, array.size)
        if rest:
            return None
        # The distance of a dimension with one position means nothing, and may be as large as it likes.
        steps = [stride if extent > 1 else 0 for extent, stride in zip(extents, strides, strict=True)]
        target = box_of(array.region, address, size, extents, tuple(steps)) if access.kind != "read" else None
        return Part(array.number, [(first, *form)], False, array.region, target)

    def _listed(self, access: Access) -> list[Part]:
        """The parts of an access in many places, in several arrays, or partly in none."""
        size = access.size
        left = access.touched
        parts: list[Part] = []
        home = self._home(access.operation)
        regions = self._memory.regions
        owners = numpy.unique(self._memory.owners(left, size)).tolist()
        for region in [regions[number] for number in owners if number >= 0]:
            arrays = self._in_region.get(region.start, [])
            if home in arrays:
                assert home is not None
                arrays = [home, *[array for array in arrays if array is not home]]
            for array in arrays:
                inside = (left >= numpy.uint64(array.low)) & (left <= numpy.uint64(max(array.high - size, 0)))
                if inside.any():
                    boxes = listed_boxes(_elements(array, left[inside], size))
                    places = (left[inside] - numpy.uint64(region.start)).view(numpy.int64)
                    target, where = region.typed(numpy.dtype(f"u{size}")), places // size
                    if (places % size).any():
                        target, where = region.data, (places[:, None] + numpy.arange(size)).reshape(-1)
                    parts.append(Part(array.number, *boxes, region, target, where))
                    left = left[~inside]
        outside = self._memory.owners(left, size) < 0
        if not outside.all():
            parts.append(Part(NO_ARRAY, *listed_boxes((left[~outside] // numpy.uint64(size)).view(numpy.int64))))
        if outside.any():
            parts.append(self._outside(left[outside], size, home))
        return parts or [self._nothing(access)]

    def _outside(self, addresses: Array, size: int, home: RecordedArray | None) -> Part:
        """An access outside of the array that the pointer comes from, where that is known, else of the nearest."""
        array = home
        if array is None:
            address = int(addresses[0])
            distances = [max(one.low - address, address - one.high, 0) for one in self.arrays]
            least = min(distances, default=NEAR)
            if least >= NEAR:
                return Part(OUT_OF_BOUNDS, *listed_boxes((addresses // numpy.uint64(size)).view(numpy.int64)))
            array = self.arrays[distances.index(least)]
        return Part(out_of_bounds(array.number), *listed_boxes(_elements(array, addresses, size)))


def _elements(array: RecordedArray, addresses: Array, size: int) -> Array:
    offsets = (addresses - numpy.uint64(array.low)).view(numpy.int64)
    if size == array.size and not (offsets % size).any():
        return offsets // size
    found: Array = ((offsets[:, None] + numpy.arange(size)) // array.size).reshape(-1)
    return found
