"""Scratch memory of threads: the arenas that the buffers of a kernel lie in."""

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
"""Bytes from which it matters how many threads have an arena."""


class Arena:
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


# A number that no data left in scratch memory is likely to hold, and then the ones after it: of launches.
numbers: Final = itertools.count(int.from_bytes(os.urandom(8), "little") >> 1)

spare: list[Arena] = []
"""Arenas that no thread uses."""


def arena_of(size: int) -> Arena:
    """Scratch memory for the calling thread, to be put back into `spare`."""
    try:
        arena = spare.pop()
    except IndexError:
        return Arena(size)
    return arena if arena.size >= size else Arena(size)


def affordable(arena_bytes: int, threads: int) -> int:
    """How many threads there is scratch memory for."""
    memory = available_memory()
    if arena_bytes > memory:
        raise _too_large(arena_bytes, f"there are {memory:,}")
    return max(1, min(threads, memory // 2 // arena_bytes))


def has_memory(arena_bytes: int, threads: int) -> bool:
    """Whether there is scratch memory for so many threads at the same time."""
    return arena_bytes <= LARGE or affordable(arena_bytes, threads) == threads


class Scratch:
    """The scratch memory that a thread keeps from launch to launch."""

    __slots__ = ("arena",)

    def __init__(self) -> None:
        self.arena: Arena | None = None

    def for_launch(self, size: int, number: int) -> int:
        """The address of scratch memory for a launch of a number."""
        arena = self.arena
        if arena is None or arena.size < size:
            # The old one goes first: there may not be memory for both.
            self.arena = None
            self.arena = arena = arena_of(size)
        arena.words[0] = number
        return arena.address

    def clear(self) -> None:
        """Leave the scratch memory to others."""
        if self.arena is not None:
            spare.append(self.arena)
            self.arena = None
