"""What a tile block wrote to memory, with more digits.

For each region of memory there is a number for each element, and whether it is known.  A region is cut into elements of
the size that was stored there first; a store of another size makes all that is known of the region unknown again.
"""

from __future__ import annotations

from typing import Any

import numpy

from tileir.analyze.comparing.differences import exact_numbers
from tileir.execute.dtypes import Array, from_memory, memory_dtype
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access
from tileir.ir.types import FloatType

_MOST_BITS = 64


class ShadowMemory:
    """The shadows of what one tile block wrote."""

    def __init__(self) -> None:
        self._regions: dict[Region, _ShadowRegion] = {}

    def load(self, access: Access) -> tuple[Array, Array, int] | None:
        """Shadows of what is read, where they are known, and their significant bits; None if none is known."""
        if not self._regions:
            return None
        shape = access.addresses.shape
        numbers: Array = numpy.zeros(access.addresses.size)
        where: Array = numpy.zeros(access.addresses.size, bool)
        bits = _MOST_BITS
        for shadows, chosen, places in self._touched(access):
            if shadows.size == access.size:
                numbers[chosen] = shadows.numbers[places]
                where[chosen] = shadows.known[places]
                bits = min(bits, shadows.bits)
        return (numbers.reshape(shape), where.reshape(shape), bits) if where.any() else None

    def store(self, access: Access, numbers: Any, bits: int) -> None:
        flat = numpy.broadcast_to(numbers, access.addresses.shape).reshape(-1)
        for shadows, chosen, places in self._written(access):
            shadows.numbers[places] = flat[chosen]
            shadows.known[places] = True
            shadows.bits = min(shadows.bits, bits)

    def begin_sum(self, access: Access, element: FloatType) -> None:
        """Before numbers are added to memory: what is there now is exact where nothing better is known."""
        for shadows, _, places in self._written(access):
            fresh = numpy.unique(places[~shadows.known[places]])
            dtype = memory_dtype(element)
            start = fresh * access.size
            # Elements need not be aligned to their size.
            offsets = start[:, None] + numpy.arange(access.size)
            contents = shadows.region.data[offsets].reshape(-1).view(dtype)
            shadows.numbers[fresh] = exact_numbers(element, from_memory(element, contents))
            shadows.known[fresh] = True

    def add(self, access: Access, numbers: Any, bits: int) -> None:
        flat = numpy.broadcast_to(numbers, access.addresses.shape).reshape(-1)
        for shadows, chosen, places in self._written(access):
            # Several elements may go to one place.
            numpy.add.at(shadows.numbers, places, flat[chosen])
            shadows.bits = min(shadows.bits, bits)

    def forget(self, access: Access) -> None:
        """Something was written that has no shadow."""
        for shadows, _, places in self._touched(access):
            if shadows.size == access.size:
                shadows.known[places] = False
            else:
                shadows.known[:] = False

    def _written(self, access: Access) -> list[tuple[_ShadowRegion, Array, Array]]:
        for region in {owner for owner, _ in _owners(access)}:
            known = self._regions.get(region)
            if known is None or known.size != access.size:
                self._regions[region] = _ShadowRegion(region, access.size)
        return self._touched(access)

    def _touched(self, access: Access) -> list[tuple[_ShadowRegion, Array, Array]]:
        """For each region that is touched its shadows, which elements of the tile lie there, and where."""
        found = []
        addresses = access.addresses.reshape(-1)
        for region, chosen in _owners(access):
            shadows = self._regions.get(region)
            if shadows is not None:
                offsets = (addresses[chosen] - numpy.uint64(region.start)).astype(numpy.int64)
                found.append((shadows, chosen, offsets // shadows.size))
        return found


class _ShadowRegion:
    __slots__ = ("bits", "known", "numbers", "region", "size")

    def __init__(self, region: Region, size: int) -> None:
        count = region.size // size + 1
        self.region: Region = region
        self.size: int = size
        # Cleared memory takes no room before it is touched.
        self.numbers: Array = numpy.zeros(count)
        self.known: Array = numpy.zeros(count, bool)
        self.bits: int = _MOST_BITS


def _owners(access: Access) -> list[tuple[Region, Array]]:
    """The regions that an access touches, and which elements of its tile lie in each."""
    addresses, mask = access.addresses.reshape(-1), access.mask
    touched = numpy.arange(addresses.size) if mask is None else numpy.flatnonzero(mask)
    if not touched.size:
        return []
    memory: Memory = access.block.memory
    owners = memory.owners(addresses[touched], access.size)
    regions = memory.regions
    return [(regions[owner], touched[owners == owner]) for owner in numpy.unique(owners).tolist() if owner >= 0]
