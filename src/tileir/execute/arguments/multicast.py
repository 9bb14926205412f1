"""Arrays that several devices hold, behind one multicast address.

As on hardware, a multicast address is one of its own: it lies in none of the arrays, so an ordinary access of it is an
access outside of memory.  Only multimem operations find the arrays behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy

from tileir.ir.quoting import type_text

_ALIGNMENT: Final = 256  # Of multicast addresses, in bytes: what CUDA guarantees for memory that it allocates.


NOT_MULTICAST: Final = "accesses {:#x}, which is not an address of a MulticastArray of the launch"


class MulticastArray:
    """An array for a multicast pointer: the same array on several devices, `arrays[i]` on device i.

    A multimem load combines the elements of all devices, a multimem store or reduction changes those of all.

    >>> team = [numpy.ones(8, numpy.float32), numpy.zeros(8, numpy.float32)]
    >>> tileir.kernels.MulticastArray(team)
    <MulticastArray of 2 arrays>
    """

    def __init__(self, arrays: Iterable[object]) -> None:
        is_list = isinstance(arrays, Iterable) and not isinstance(arrays, (str, bytes)) and not hasattr(arrays, "dtype")
        self.arrays: list[object] = list(arrays) if is_list else []
        if not self.arrays:
            given = "an empty list" if is_list else type_text(arrays)
            raise TypeError(f"a MulticastArray needs a list with the array of each device, not {given}")

    def __repr__(self) -> str:
        return f"<MulticastArray of {len(self.arrays)} arrays>"

    @property
    def nbytes(self) -> int:
        """The bytes that each device has."""
        return int(getattr(self.arrays[0], "nbytes", 0))


class MulticastRange(NamedTuple):
    """Multicast addresses of a launch, and the addresses on each device; `owner` keeps them from being used again."""

    start: int
    size: int
    members: tuple[int, ...]
    owner: Any

    def addresses(self, address: int) -> list[int]:
        """An address on each device; empty if it is not one of these."""
        offset = address - self.start
        return [first + offset for first in self.members] if 0 <= offset < max(self.size, 1) else []


def multicast_rows(ranges: Iterable[MulticastRange]) -> list[tuple[int, int, int]]:
    """For each device of each range: where the multicast addresses begin, where they end, and how far the array of the
    device is from there, modulo 2^64."""
    return [
        (each.start, each.start + max(each.size, 1), (member - each.start) % (1 << 64))
        for each in ranges
        for member in each.members
    ]


def reserved_range(size: int, members: list[int]) -> MulticastRange:
    """New addresses for arrays of so many bytes.  Nothing reads or writes there, so it takes no memory."""
    room = numpy.empty(size + 2 * _ALIGNMENT, numpy.uint8)
    base = int(room.ctypes.data)
    return MulticastRange(base + -base % _ALIGNMENT, size, tuple(members), room)
