"""How much memory this process has, in three numbers that tell a leak from an allocator that keeps what it was given."""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

MEGABYTE = 1 << 20


class Sample(NamedTuple):
    moment: float
    resident: float
    """Megabytes of the process in memory, whoever has them."""
    in_use: float
    """Megabytes that the C library has given out and not got back: LLVM's, NumPy's, large ones of Python; 0 where it
    cannot be asked."""
    blocks: int
    """Small blocks that Python's own allocator has given out."""


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
    """What the C library has given out and not got back."""
    if _ask is None:
        return 0
    found = _ask()
    return int(found.uordblks + found.hblkhd)


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sample(moment: float) -> Sample:
    return Sample(moment, resident_bytes() / MEGABYTE, bytes_in_use() / MEGABYTE, sys.getallocatedblocks())


def thirds(samples: Sequence[Sample], begin: float) -> tuple[Sample, Sample]:
    """The medians of the first and the last third of what came after a moment."""
    counted = [each for each in samples if each.moment > begin]
    third = max(1, len(counted) // 3)
    return _median(counted[:third]), _median(counted[-third:])


def _median(samples: Sequence[Sample]) -> Sample:
    moment, resident, in_use, blocks = map(statistics.median, zip(*samples, strict=True))
    return Sample(moment, resident, in_use, round(blocks))


def growth(first: Sample, last: Sample) -> list[str]:
    """What is more at the end than it may be, in words."""
    found = []
    for name, before, after, most in (
        ("resident memory", first.resident, last.resident, 1.1 * first.resident + 20),
        ("memory in use", first.in_use, last.in_use, 1.05 * first.in_use + 10),
    ):
        if after > most:
            found.append(f"{name} grows from {before:.0f} to {after:.0f} MB")
    if last.blocks > 1.05 * first.blocks + 10_000:
        found.append(f"Python's blocks grow from {first.blocks:,} to {last.blocks:,}")
    return found
