"""Memory that nobody has written to yet holds what no result is, and the same each time.

A kernel that leaves a part of its output unwritten would otherwise return what happened to be there: right by luck,
when that is the output of the run before, or wrong in another way each time.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

from tileir.bridge.uninitialized import watch_allocations

_PERTURB: Final = -6
"""The option of glibc's `mallopt` for what new memory holds: the complement of a byte."""
_BYTE: Final = 0xFE
"""As a float this is -1.7e38 or not a number, as an integer negative."""


def fill_fresh_memory() -> None:
    """From now on, and for good: what NumPy's, torch's and CuPy's functions allocate, and most of what others do."""
    watch_allocations(everywhere=True)
    _fill_in_c()


def _fill_in_c() -> None:
    """What is allocated without those functions, where the C library is glibc; it gives some memory out as it is."""
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).mallopt(_PERTURB, _BYTE ^ 0xFF)
        except (OSError, AttributeError):
            # Another C library.
            pass
