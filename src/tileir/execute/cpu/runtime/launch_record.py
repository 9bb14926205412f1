"""The launch record: what Python and the workers of a launch share, an array of 64-bit slots.

Python fills it before the launch and looks at it afterwards; generated code takes tile blocks from it and leaves the
first failure in it.  Every thread calls

    i64 worker(ptr record, ptr scratch)

which runs tile blocks until none is left, `STOP` is set, or a tile block failed.  `scratch` is scratch memory of the
thread, aligned to 64 bytes, of the size the compiled kernel states.  Only its first words matter: a number that differs
from launch to launch (packed panels from an earlier launch are void), `RANGE` and `BUDGET`.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import Final

NEXT: Final = 0  # The next number to hand out, advanced atomically by CHUNK, or less within TAIL.
COUNT: Final = 1  # Where the numbers end: how many tile blocks there are, or fewer where a launch is made in slices.
GRID: Final = 2  # Three slots: the extents of the grid.
STOP: Final = 5  # Not zero: finish the tile block or loop iteration and return (interrupt, failed worker)
CHUNK: Final = 6  # How many tile blocks a worker takes at a time.
FAILED: Final = 7  # Zero, or one more than the number of the failed check; the first failing worker sets it.
FAILURE: Final = 8  # Four slots: the tile block's number, the element's row-major index, two details
CALLBACK: Final = 12  # The address of `void callback(i64 site, i64 block, ptr values)`, called by `print_tko`.
REGIONS: Final = 13
"""Two slots: the address of a table of known memory, and its number of entries.  For the sanitizer it is sorted, and an
entry has the words of `sites`; otherwise `REGION_WORDS`, and there is one only where the launch has more memory than
that of its own arguments and globals (`Layout`)."""
TAIL: Final = 15  # How many of the last tile blocks go in small chunks, so that no thread waits long
TAIL_SHIFT: Final = 3  # The binary logarithm of how much smaller these are.
RANGES: Final = 16
"""The address of the first of several ranges of tile blocks, `RANGE_WORDS` apart.  A worker begins with its own
(`RANGE`) and goes on with those after it.  Only where tile blocks may run in any order (`order`)."""
RANGE_COUNT: Final = 17  # If 0, all workers take numbers from `NEXT`; if negative, there must be none
CACHED: Final = 18  # How many bytes of the launch the caches hold: it streams only if it moves more
ARGUMENTS: Final = 19  # From here on addresses, and scalars by their bits, zero extended (`Layout`)
INSPECTION_SLOTS: Final = 2

RANGE: Final = 1  # A word of scratch memory: the range that the worker takes tile blocks from.
BUDGET: Final = 2  # In scratch memory: chunks until the worker returns, counted down; 0 for no limit

RANGE_NEXT: Final = 0  # A word of a range: the next number to hand out.
RANGE_END: Final = 1  # A word of a range: where its numbers end.
RANGE_WORDS: Final = 32  # Each has two cache lines, since processors fetch them by the pair

Callback: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)  # Site, tile block, values

SLOT_BYTES: Final = 8

REGION_WORDS: Final = 3  # A region of memory: where it begins, where it ends, whether it may be written to.
Span = tuple[int, int, bool]  # From where to where, and whether the kernel may write there.

UNSUITED: Final = -1
"""Stands for a failure: a view leaves the array it is made from, so arrays may alias.  No tile block has begun; the
version for arguments that share memory has to run."""


class PoolWords:
    """64-bit slots in the pool's memory; those that different threads write are at least 128 bytes apart."""

    SIGNAL: Final = 0  # 32 bits, a futex: changes with each launch.  Workers watch it, then sleep on it.
    SLEEPERS: Final = 1  # 32 bits: how many workers sleep or are about to.
    OPEN: Final = 16  # How many workers may enter, those in the first slots; 0 if no launch is open.
    FUNCTION: Final = 17  # Seven words about a launch: the kernel's worker, the record, its number, and what follows
    RECORD: Final = 18
    NUMBER: Final = 19
    WORKERS: Final = 20  # How many workers take part.
    LEFT: Final = 21  # Left to the workers: it is over when one of them finds no tile block left
    WAKES: Final = 22  # How many sleeping workers to wake.
    SPIN: Final = 23  # Nanoseconds to spin before sleeping.
    SYSCALL: Final = 24  # The address of `syscall`.
    CLOCK: Final = 25  # The address of `clock_gettime`.
    TIMEOUT: Final = 26  # Two words, a timespec: how long `finish` sleeps, after which Python looks for signals.
    FINISHED: Final = 32  # 32 bits, a futex: whether a worker has found no tile block left.
    SLOTS: Final = 48  # The caller's, then those of the workers; a slot begins with a range
    INSIDE: Final = 16  # In a slot, 32 bits, a futex: 0 outside, 1 inside a launch, 2 inside while the caller sleeps.
    SCRATCH: Final = 17  # In a slot: the scratch memory of the worker.


class Layout:
    """What stands where behind the arguments of a kernel: the memory of those that are pointers, in order, and that of
    the module's globals, `REGION_WORDS` each; two slots for the sanitizer (the address of `inspector` (`sites`), and
    that of a table with an entry for each site, the memory its pointers must stay in); what each `alloca` had
    reserved when an access failed, two words each; a lock, for atomic operations that no machine has one for; and two
    slots for multimem operations, the address of a table (`codegen.statements`) and its number of entries."""

    def __init__(self, arguments: int, pointers: list[int], globals: list[str], reserves: int) -> None:
        self.pointers: list[int] = pointers
        self.regions: int = ARGUMENTS + arguments
        self.region_count: int = len(pointers) + len(globals)
        self.inspection: int = self.regions + REGION_WORDS * self.region_count
        self.reserves: int = self.inspection + INSPECTION_SLOTS
        self.reserve_count: int = reserves
        self.lock: int = self.reserves + 2 * reserves
        self.multicasts: int = self.lock + 1
        self.total: int = self.multicasts + 2
        slots = range(self.regions, self.inspection, REGION_WORDS)
        self.slots: dict[int | str, int] = dict(zip([*pointers, *globals], slots, strict=True))
        """The first slot about the memory of a parameter, by its number, and of a global, by its name."""


class Record:
    """The memory of a launch record: its slots as integers with a sign, and its address."""

    __slots__ = ("address", "slots")

    def __init__(self, count: int) -> None:
        self.slots: array[int] = array("q", bytes(SLOT_BYTES * count))
        self.address: int = self.slots.buffer_info()[0]
