"""Accesses outside of memory, misaligned, to memory that must not be written, outside a view's index space.

An access must stay in the array its pointer comes from.  The program shows that array if the pointer is a parameter or
global plus offsets; any other pointer (from a loop or a table of addresses) may go to any array of the launch.
"""

from __future__ import annotations

import sys
from typing import Any, Final, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.analysis.pointer_origins import (
    describe_miss,
    has_cast,
    is_from_memory,
    named_regions,
    origin_of,
    origin_of_access,
    past_or_before,
    where_in,
)
from tileir.execute.arguments.array_memory import byte_range
from tileir.execute.arguments.binding import ArgumentLabel
from tileir.execute.dtypes import Array
from tileir.execute.locations.script import UNCHECKED_HINT
from tileir.execute.locations.wording import ARRAY, THIS, Phrase, bracketed, phrase, python_shape, several
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import Finding, FindingLocation, Index
from tileir.execute.sanitizer.shadow import Cells, Shadow
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType

Touched = list[tuple[Shadow, Cells]]

_VERBS = {"read": "reads", "write": "writes", "atomic": "updates"}
_MASK: Final = "mask the elements outside, or correct the offsets"
_MASK_HINT: Final = Phrase(_MASK, _MASK, unchecked=UNCHECKED_HINT)


class Bounds:
    """Checks where accesses go, and finds the shadow cells of what is fine."""

    def __init__(self, ledger: Ledger, memory: Memory) -> None:
        self._ledger: Ledger = ledger
        self._memory: Memory = memory
        self._named: dict[str, Region] = named_regions(memory)
        self._homes: dict[Operation, Region | None] = {}

    def check(self, access: Access) -> tuple[Touched, Array | None]:
        """The cells of what may be touched, and which elements those are (None: all)."""
        if access.box is not None:
            return self._check_box(access)
        mask = access.mask
        addresses = access.addresses.reshape(-1) if mask is None or mask.all() else access.touched
        count = addresses.size
        if count == 0:
            return [], None
        size = access.size
        view: Any = access.view
        operation = access.operation
        if view is None and operation not in self._homes:
            self._homes[operation] = self._named.get(origin_of(operation.operands[0]))
        # The region the pointers of an access must stay in.
        home = self._homes[operation] if view is None else cast("Region | None", view.tensor.region)
        first = int(addresses[0])
        region = home if home is not None else self._memory.find(first)
        if region is not None and (region.writable or access.kind == "read"):
            if region.start <= first and not first & (size - 1) and int(addresses[-1]) == first + (count - 1) * size:
                # Mostly they are contiguous: then the first and the last decide.
                steps = addresses[1:] - addresses[:-1]
                if first + count * size <= region.end and steps.tobytes() == size.to_bytes(8, sys.byteorder) * (
                    count - 1
                ):
                    shadow = self._ledger.shadow(region, size)
                    return [(shadow, shadow.box(first, size, (count,), (size,)))], None
            offsets = addresses - numpy.uint64(region.start)
            bits = int(numpy.bitwise_or.reduce(offsets))
            inside = bits <= region.size - size or int(offsets.max()) <= region.size - size
            if inside and not (bits | region.start) & (size - 1):
                shadow = self._ledger.shadow(region, size)
                return [(shadow, shadow.listed(offsets.view(numpy.int64), size, bits))], None
        return self._check_slowly(access, home)

    def _check_box(self, access: Access) -> tuple[Touched, Array | None]:
        assert access.box is not None
        address, counts, strides = access.box
        if 0 in counts:
            self._outside_index_space(access, counts)
            return [], None
        size = access.size
        view: Any = access.view
        region: Region | None = view.tensor.region
        if region is not None and (region.writable or access.kind == "read"):
            low, high = byte_range(address, counts, strides, size)
            if region.start <= low and high <= region.end and not address & (size - 1):
                # The stride of a dimension with one position means nothing, and may be as large as it likes.
                steps = [stride if count > 1 else 0 for count, stride in zip(counts, strides, strict=True)]
                shadow = self._ledger.shadow(region, size)
                return [(shadow, shadow.box(address, size, counts, tuple(steps)))], None
        return self._check_slowly(access, region)

    def _check_slowly(self, access: Access, home: Region | None) -> tuple[Touched, Array | None]:
        """Something is unusual: several regions, or an error."""
        memory, size = self._memory, access.size
        flat = access.touched
        regions = memory.regions
        owners = memory.owners(flat, size)
        wrong = owners < 0
        if home is not None and home in regions:
            wrong |= owners != regions.index(home)
        if wrong.any():
            self._outside(access, flat, wrong, home)
        misaligned = (flat & numpy.uint64(size - 1)) != 0
        if misaligned.any():
            self._misaligned(access, flat, misaligned)
        if access.kind != "read":
            # One more, for a launch that has no memory at all.
            closed = numpy.array([*[not region.writable for region in regions], False])
            forbidden = ~wrong & closed[owners]
            if forbidden.any():
                self._read_only(access, flat, forbidden, regions[int(owners[int(forbidden.argmax())])])
                wrong = wrong | forbidden
        touched: Touched = []
        for number in numpy.unique(owners[~wrong]).tolist():
            region = regions[number]
            offsets = (flat[~wrong & (owners == number)] - numpy.uint64(region.start)).view(numpy.int64)
            shadow = self._ledger.shadow(region, size)
            touched.append((shadow, shadow.listed(offsets, size, int(numpy.bitwise_or.reduce(offsets)))))
        if not wrong.any():
            return touched, None
        allowed = numpy.ones(access.addresses.shape, bool)
        mask = access.mask
        if mask is None:
            allowed = ~wrong.reshape(allowed.shape)
        else:
            allowed[numpy.broadcast_to(mask, allowed.shape)] = ~wrong
        return touched, allowed

    def _outside(self, access: Access, flat: Array, wrong: Array, home: Region | None) -> None:
        target = " or ".join(home.names) if home is not None else "every array of the launch"
        title = phrase(f"{THIS} {_VERBS[access.kind]} outside of {target}", access.operation)
        first = int(wrong.argmax())
        address = int(flat[first])
        if home is None:
            missed = f"it {describe_miss(self._memory, address, access.size, origin_of_access(access.operation))}"
        else:
            missed = f"the address is {address:#x}: {past_or_before(home, address, access.size)}"
            other = self._memory.find(address)
            if other is not None and other is not home:
                missed += f", in {where_in(other, address)}"
        details = [missed]
        details += _how_many(int(wrong.sum()), flat.size, "outside")
        hint: str = _MASK_HINT
        if access.view is not None:
            hint = "the shape and strides of the tensor view reach beyond its array: correct the extents passed in"
        elif home is None and is_from_memory(access.operation.operands[0]):
            hint = "name arrays that are reached through addresses from memory in `memory=` of the launch"
        self._ledger.add(Finding("out-of-bounds", title, location_of(access, wrong), details, hint))

    def _misaligned(self, access: Access, flat: Array, misaligned: Array) -> None:
        address = int(flat[int(misaligned.argmax())])
        size = access.size
        verb = f"{THIS} {_VERBS[access.kind]}"
        title = phrase(f"{verb} {size}-byte elements at addresses that are not multiples of {size}", access.operation)
        region = self._memory.find(address)
        missed = f", in {where_in(region, address)}" if region is not None else ""
        details = [
            f"the address is {address:#x}: {several(address % size, 'byte')} past a multiple{missed}",
            *_how_many(int(misaligned.sum()), flat.size, "misaligned"),
        ]
        hint = "offsets count elements of the pointer's type: correct those before a cast (ptr_to_ptr, int_to_ptr)"
        if region is not None and region.start % size and not has_cast(access.operation.operands[0]):
            hint = f"pass an array whose address is a multiple of {size}"
        self._ledger.add(Finding("misaligned", title, location_of(access, misaligned), details, hint))

    def _read_only(self, access: Access, flat: Array, forbidden: Array, region: Region) -> None:
        title = phrase(f"{THIS} writes to read-only memory: {' or '.join(region.names)}", access.operation)
        address = int(flat[int(forbidden.argmax())])
        details = [f"the address is {address:#x}: {where_in(region, address)}"]
        is_argument = any(isinstance(label, ArgumentLabel) for label in region.labels)
        hint = "pass a writable array" if is_argument else "drop `constant` from the global"
        self._ledger.add(Finding("read-only", title, location_of(access, forbidden), details, hint))

    def _outside_index_space(self, access: Access, counts: tuple[int, ...]) -> None:
        view: Any = access.view
        space = view.index_space()
        axis = counts.index(0)
        tiles = several(space[axis], "tile")
        index = access.index[axis]
        width = cast(IntegerType, cast(TileType, access.operation.index[axis].type).element).width
        spelled = f"{index} ({index - (1 << width)}, read as unsigned)" if index >> (width - 1) else str(index)
        title = phrase(
            f"{THIS} has an index outside of the view's index space",
            access.operation,
            script=f"{THIS} has an index outside of the tile space of {ARRAY}",
        )
        extents = python_shape(tuple(space)), python_shape(view.tensor.shape)
        details = [
            phrase(
                f"dimension {axis}: index {spelled} is none of the view's {tiles} there, counted from 0",
                script=f"index {spelled} along axis {axis}: {ARRAY} has {space[axis]} of these tiles there, "
                "counted from 0",
            ),
            phrase(
                f"the index space is {bracketed(tuple(space))}, the tensor {bracketed(view.tensor.shape)}",
                script=f"the tile space is {extents[0]}, the shape of {ARRAY} {extents[1]}",
            ),
        ]
        hint = "guard the access with `if`, or correct the index: the behavior is undefined, even with padding"
        location = FindingLocation(access.operation, access.block.id)
        self._ledger.outside.setdefault(access.operation, set()).add(access.block.id)
        self._ledger.add(Finding("index-space", title, location, details, hint))


def location_of(access: Access, chosen: Array) -> FindingLocation:
    """The location of the first touched element that is chosen."""
    return FindingLocation(access.operation, access.block.id, element_of(access, int(chosen.argmax())))


def element_of(access: Access, number: int) -> Index | None:
    """The index in the tile of a touched element, by its number among them."""
    shape = access.addresses.shape
    if not shape:
        return None
    mask = access.mask
    if mask is not None:
        number = int(numpy.flatnonzero(numpy.broadcast_to(mask, shape))[number])
    return tuple([int(position) for position in numpy.unravel_index(number, shape)])


def _how_many(count: int, total: int, what: str) -> list[str]:
    return [f"{count} of the {total} elements it touches {'is' if count == 1 else 'are'} {what}"] if total > 1 else []
