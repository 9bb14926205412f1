"""The memory a launch can see: the caller's arrays, the globals of the module, and what `alloca` reserves.

Pointers are real addresses of this process.  An access outside of the regions that were added here is an
`OutsideMemory`, for which the engine raises an error that names the operation.  The caller adds arrays that a kernel
reaches through addresses in memory (`memory=` of `Kernel.launch`).  Regions never overlap: arrays that share memory
make one region with several names.
"""

from __future__ import annotations

import os
from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from math import prod
from operator import attrgetter
from typing import Any, Final

import numpy

from tileir.dialect.ops import GLOBAL
from tileir.execute.arguments.multicast import MulticastRange
from tileir.execute.dtypes import Array, DType, constant_elements, to_memory
from tileir.execute.errors import LaunchError
from tileir.ir.core import Operation


@dataclass(eq=False)
class OutsideMemory(Exception):
    """The first element, `index`, of an access in row-major order that is in no region, or writes to `read_only`."""

    address: int
    size: int
    index: int
    read_only: Region | None = None


@dataclass(slots=True, eq=False)
class Region:
    """A range of memory; `data` is its bytes, `owner` keeps it alive, `labels`, spelled in messages only, name it."""

    start: int
    size: int
    owner: object
    labels: tuple[object, ...]
    writable: bool
    data: Array = field(init=False)
    end: int = field(init=False)

    def __post_init__(self) -> None:
        self.data, self.end = bytes_at(self.start, self.size, self.writable), self.start + self.size

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([str(label) for label in self.labels]))

    def typed(self, dtype: DType) -> Array:
        """The region as a flat array of elements, as many as fit."""
        return self.data[: self.size - self.size % dtype.itemsize].view(dtype)


class _AddressOwner:
    """Something NumPy takes for an array at an address."""

    def __init__(self, start: int, size: int, writable: bool) -> None:
        data = (start, not writable)
        self.__array_interface__: Any = {"data": data, "shape": (size,), "typestr": "|u1", "version": 3}


def bytes_at(start: int, size: int, writable: bool) -> Array:
    """The bytes at an address; the caller keeps the memory alive."""
    if size == 0:
        return numpy.empty(0, numpy.uint8)
    return numpy.asarray(_AddressOwner(start, size, writable))


def describe_array(array: Array) -> str:
    return f"{array.dtype.name}[{', '.join([str(extent) for extent in array.shape])}]"


@cache
def available_memory() -> int:
    """The memory of this machine or container, in bytes."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        found = 1 << 62
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            return min(found, int(file.read()))
    except (OSError, ValueError):
        return found


_start: Final = attrgetter("start")


class Memory:
    """The memory that a launch sees: the regions that its arrays are in."""

    def __init__(self) -> None:
        self._regions: list[Region] = []
        self.multicasts: list[MulticastRange] = []
        # For look-ups of many addresses at once, made when first needed.
        self._ends: tuple[Array, Array] | None = None
        self.last: Region = Region(0, 0, None, (), False)

    @property
    def regions(self) -> list[Region]:
        """In order of address."""
        return list(self._regions)

    def add(self, start: int, size: int, owner: object, label: object, writable: bool) -> None:
        """Make memory known.  What overlaps a known region becomes one with it."""
        if size == 0:
            return
        labels: tuple[object, ...] = (label,)
        end = start + size
        index = max(bisect_right(self._regions, start, key=_start) - 1, 0)
        while index < len(self._regions) and self._regions[index].start < end:
            known = self._regions[index]
            if known.end <= start:
                index += 1
                continue
            start, end = min(start, known.start), max(end, known.end)
            labels = known.labels + labels
            owner = (known.owner, owner)
            writable = writable or known.writable
            self._remove(index)
        self._insert(Region(start, end - start, owner, labels, writable))

    def allocate(self, size: int, alignment: int, name: str) -> Region:
        """New memory, aligned and cleared, so that a program that reads it first does the same every time."""
        if size + alignment > available_memory():
            # The system may grant addresses for more than it has.
            raise MemoryError
        room = numpy.zeros(max(size, 1) + alignment, numpy.uint8)
        base = int(room.ctypes.data)
        region = Region(base + -base % alignment, max(size, 1), room, (name,), True)
        self._insert(region)
        return region

    def release(self, region: Region) -> None:
        index = bisect_right(self._regions, region.start, key=_start) - 1
        if index >= 0 and self._regions[index] is region:
            self._remove(index)

    def _insert(self, region: Region) -> None:
        insort(self._regions, region, key=_start)
        self._ends = None

    def _remove(self, index: int) -> None:
        if self.last is self._regions[index]:
            self.last = Region(0, 0, None, (), False)
        del self._regions[index]
        self._ends = None

    def find(self, address: int) -> Region | None:
        last = self.last
        if last.start <= address < last.end:
            return last
        index = bisect_right(self._regions, address, key=_start) - 1
        if index < 0 or address >= self._regions[index].end:
            return None
        self.last = self._regions[index]
        return self.last

    def multicast_addresses(self, address: int) -> list[int]:
        """Where a multicast address leads on each device; empty if it is an ordinary address."""
        return [found for each in self.multicasts for found in each.addresses(address)]

    def gather(self, addresses: Array, dtype: DType) -> Array:
        """The elements at these addresses, in the shape of `addresses`: a new array."""
        region, indices = self._in_one_region(addresses, dtype.itemsize)
        if region is not None:
            return numpy.asarray(region.typed(dtype)[indices])
        result = numpy.empty((addresses.size, dtype.itemsize), numpy.uint8)
        for region, chosen, offsets in self._byte_offsets(addresses.reshape(-1), dtype.itemsize, False):
            result[chosen] = region.data[offsets]
        return result.view(dtype).reshape(addresses.shape)

    def scatter(self, addresses: Array, values: Array) -> None:
        """Write elements; where addresses repeat, the last one in row-major order stays."""
        size = values.dtype.itemsize
        region, indices = self._in_one_region(addresses, size)
        if region is not None and region.writable:
            region.typed(values.dtype)[indices] = values
            return
        data = numpy.ascontiguousarray(values).reshape(-1).view(numpy.uint8).reshape(-1, size)
        for region, chosen, offsets in self._byte_offsets(addresses.reshape(-1), size, True):
            region.data[offsets] = data[chosen]

    def _in_one_region(self, addresses: Array, size: int) -> tuple[Region | None, Array]:
        """The region that all addresses are in, and the indices of the elements in it, if they are aligned."""
        region = self.find(int(addresses.flat[0])) if addresses.size else None
        if region is None:
            return None, addresses
        offsets = addresses - numpy.uint64(region.start)
        if int(offsets.max()) > region.size - size or (offsets & numpy.uint64(size - 1)).any():
            return None, addresses
        return region, (offsets // numpy.uint64(size)).view(numpy.int64)

    def _byte_offsets(self, flat: Array, size: int, writing: bool) -> list[tuple[Region, Array, Array]]:
        """For each region: which elements lie in it, misaligned as they may be, and the offsets of their bytes."""
        owners = self.owners(flat, size)
        lost = numpy.flatnonzero(owners < 0)
        if lost.size:
            raise OutsideMemory(int(flat[lost[0]]), size, int(lost[0]))
        found = []
        for number in numpy.unique(owners):
            region = self._regions[int(number)]
            (chosen,) = numpy.nonzero(owners == number)
            if writing and not region.writable:
                raise OutsideMemory(int(flat[chosen[0]]), size, int(chosen[0]), region)
            starts = (flat[chosen] - numpy.uint64(region.start)).view(numpy.int64)
            found.append((region, chosen, starts[:, None] + numpy.arange(size)))
        return found

    def owners(self, addresses: Array, size: int) -> Array:
        """For each address the number of the region that holds `size` bytes there, -1 where there is none."""
        if self._ends is None:
            bounds = numpy.array([(region.start, region.end) for region in self._regions], numpy.uint64).reshape(-1, 2)
            self._ends = (bounds[:, 0].copy(), bounds[:, 1].copy())
        starts, ends = self._ends
        number = numpy.searchsorted(starts, addresses, "right") - 1
        if not len(starts):
            return number
        inside = (number >= 0) & (addresses <= ends[number] - numpy.uint64(size)) & (ends[number] >= size)
        return numpy.where(inside, number, -1)


class Globals:
    """The global variables of a loaded module: allocated for its first kernel, shared with `Kernel.sibling`."""

    def __init__(self, module: Operation | None) -> None:
        self.regions: dict[str, Region] = {}
        self._memory = Memory()
        for operation in module.regions[0].blocks[0] if module is not None else ():
            if operation.declaration is GLOBAL:
                self._add(operation)

    def _add(self, operation: Operation) -> None:
        value, alignment = operation.value_attribute, operation.alignment
        content = to_memory(value.element_type, numpy.resize(constant_elements(value), prod(value.shape)))
        name = operation.symbol_name or ""
        try:
            region = self._memory.allocate(content.nbytes, max(alignment, 16), f"global @{name}")
        except MemoryError:
            raise LaunchError(
                f"the global @{name} takes {content.nbytes} bytes aligned to {alignment}, more than is available"
            ) from None
        region.data[: content.nbytes] = numpy.ascontiguousarray(content).view(numpy.uint8)
        if operation.constant:
            region.writable = False
            region.data.flags.writeable = False
        self.regions[name] = region

    def array(self, name: str) -> Any:
        """The bytes of a global variable."""
        return self.regions[name].data


def read_only(region: Region) -> str:
    return f"writes to read-only memory: {' or '.join(region.names)}"


def reserved_label(block: tuple[int, int, int]) -> str:
    return f"what 'alloca' reserved in tile block {block}"


def are_distinct(strides: Iterable[int], extents: Iterable[int]) -> bool:
    """Whether no two elements of a strided array share memory for sure; False where that would need a closer look."""
    covered = 1
    for stride, extent in sorted([pair for pair in zip(strides, extents, strict=True) if pair[1] > 1]):
        if stride < covered:
            return False
        covered += stride * (extent - 1)
    return True
