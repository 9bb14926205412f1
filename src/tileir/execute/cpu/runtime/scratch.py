"""Scratch memory of threads, which the buffers of a kernel lie in."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import sys
from typing import Any, Final

from tileir.execute.errors import LaunchError
from tileir.execute.memory import available_memory

LARGE: Final = 1 << 22
"""Bytes from which it matters how many threads have scratch memory."""


class Scratch:
    """Scratch memory of one thread, at the beginning of a page."""

    __slots__ = ("_memory", "address", "size", "words")

    def __init__(self, size: int) -> None:
        self.size: int = -(-max(size, 1 << 16) // 64) * 64
        try:
            if sys.platform == "win32":
                self._memory = mmap.mmap(-1, self.size)
            else:
                # Private: a process made by a fork must not work in the same scratch memory.
                self._memory = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError, ValueError, MemoryError) as error:
            raise _too_large(size, str(error)) from None
        if self.size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                self._memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                pass
        self.words: Any = memoryview(self._memory).cast("q")
        """The first one is the number of the launch; others are those of `launch_record`."""
        self.address: int = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))


def _too_large(size: int, why: str) -> LaunchError:
    return LaunchError(
        f"a tile block of this kernel needs {size:,} bytes of scratch memory, which cannot be had ({why}): "
        "use smaller tiles"
    )


numbers: Final = itertools.count(int.from_bytes(os.urandom(8), "little") >> 1)
"""The numbers of launches, from one on that no data left in scratch memory is likely to hold."""

spare: list[Scratch] = []
"""Scratch memory that no thread uses."""


def take(size: int) -> Scratch:
    """Scratch memory for a launch on the calling thread, to be put back into `spare`."""
    try:
        found = spare.pop()
        if found.size < size:
            # Gone first: there may not be memory for both.
            del found
            found = Scratch(size)
    except IndexError:
        found = Scratch(size)
    found.words[0] = next(numbers)
    return found


def affordable(size: int, threads: int) -> int:
    """How many threads there is scratch memory for."""
    if size <= LARGE:
        return threads
    memory = available_memory()
    if size > memory:
        raise _too_large(size, f"there are {memory:,}")
    return max(1, min(threads, memory // 2 // size))
