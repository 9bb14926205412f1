"""How much memory this process has, in numbers that tell a leak from an allocator that keeps what it was given."""

from __future__ import annotations

import ctypes
import gc
import statistics
import sys
from array import array
from typing import Any

MEGABYTE = 1 << 20


class _MallocInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def _mallinfo() -> Any:
    found = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if found is not None:
        found.restype = _MallocInfo
    return found


_ask = _mallinfo() if sys.platform.startswith("linux") else None


def can_tell_use() -> bool:
    return _ask is not None


def bytes_in_use() -> int:
    """What the C library has given out and not got back: to LLVM, to NumPy, large blocks to Python; 0 if it does not
    say."""
    if _ask is None:
        return 0
    found = _ask()
    return int(found.uordblks + found.hblkhd)


def resident_bytes() -> int:
    """What this process has in memory of its own: pages of files come and go with the memory that others need."""
    with open("/proc/self/status") as file:
        fields = dict([line.split(":", 1) for line in file])
    return int(fields["RssAnon"].split()[0]) * 1024


def python_blocks() -> int:
    """How many small blocks Python's own allocator has given out, without those of garbage."""
    gc.collect()
    return sys.getallocatedblocks()


class History:
    """The memory of a run, and whether it stays what it is."""

    def __init__(self) -> None:
        # In arrays: a list of objects would be growth itself.
        self._moments = array("d")
        self._resident = array("d")
        self._in_use = array("d")
        self.blocks: list[int] = []
        """Python's, after the warm-up and at the end: garbage may wait for so long that thirds say nothing."""

    def take(self, moment: float) -> None:
        self._moments.append(moment)
        self._resident.append(resident_bytes() / MEGABYTE)
        self._in_use.append(bytes_in_use() / MEGABYTE)

    def count_blocks(self) -> None:
        self.blocks.append(python_blocks())

    def resident(self, begin: float) -> tuple[float, float]:
        """Megabytes of the process: the medians of the first and the last third after a moment."""
        return self._thirds(self._resident, begin)

    def in_use(self, begin: float) -> tuple[float, float]:
        """The same for what the C library has given out."""
        return self._thirds(self._in_use, begin)

    def _thirds(self, values: array[float], begin: float) -> tuple[float, float]:
        counted = [value for moment, value in zip(self._moments, values, strict=True) if moment > begin]
        third = max(1, len(counted) // 3)
        return statistics.median(counted[:third]), statistics.median(counted[-third:])

    def growth(self, begin: float) -> list[str]:
        """What is more at the end than it may be, in words."""
        found = []
        for name, (first, last), most, more in (
            ("memory", self.resident(begin), 1.1, 20),
            ("memory in use", self.in_use(begin), 1.05, 10),
            ("Python's blocks", (self.blocks[0], self.blocks[-1]), 1.02, 5000),
        ):
            if last > most * first + more:
                found.append(f"{name}: {first:,.0f} at first, {last:,.0f} at last")
        return found
