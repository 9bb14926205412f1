"""The launch record: what Python and the workers of a launch share, an array of 64-bit slots.

Python fills it before the launch and looks at it afterwards; generated code takes tile blocks from it and leaves the
first failure in it.  The worker of every thread is one function

    i64 worker(ptr record, ptr arena)

which runs tile blocks until none is left, `STOP` is set, or a tile block failed.  `arena` is scratch memory of the
thread, aligned to 64 bytes, of the size the compiled kernel states; its content does not matter, except that the first
8 bytes of it hold a number that differs from launch to launch (panels kept from an earlier launch are void).
"""

from __future__ import annotations

from array import array
from typing import Final

NEXT: Final = 0
"""The next number to hand out, advanced atomically by CHUNK, or less within TAIL."""
COUNT: Final = 1
"""Where the numbers end: how many tile blocks there are, or fewer where a launch is made in slices."""
GRID: Final = 2
"""Three slots: the extents of the grid."""
STOP: Final = 5
"""Not zero: finish the tile block, or the turn of its loop, and return (an interrupt, or another worker failed)."""
CHUNK: Final = 6
"""How many tile blocks a worker takes at a time."""
FAILED: Final = 7
"""Zero, or one more than the number of the failed check; the first failing worker sets it."""
FAILURE: Final = 8
"""Four slots about the failure: the tile block's number, the element's index in row-major order, two details."""
CALLBACK: Final = 12
"""The address of `void callback(i64 site, i64 block, ptr values)`, called by `print_tko`."""
REGIONS: Final = 13
"""Two slots, for the sanitizer: the address of a table of known memory (`sites`; sorted), and its number of entries."""
TAIL: Final = 15
"""How many of the last tile blocks are taken in small chunks, so that no thread waits long for the others to end."""
TAIL_SHIFT: Final = 3
"""The binary logarithm of how much smaller these are."""
ARGUMENTS: Final = 16
"""From here on the arguments of the kernel: addresses, and scalars by their bits, zero extended.  The addresses of the
module's globals follow, and two slots for the sanitizer: the address of `inspector` (`sites`), and that of a table with
an entry for each site, the memory its pointers must stay in."""
INSPECTION_SLOTS: Final = 2

SLOT_BYTES: Final = 8


class Record:
    """The memory of a launch record: its slots as integers with a sign, and its address."""

    __slots__ = ("address", "slots")

    def __init__(self, count: int) -> None:
        self.slots: array[int] = array("q", bytes(SLOT_BYTES * count))
        self.address: int = self.slots.buffer_info()[0]
