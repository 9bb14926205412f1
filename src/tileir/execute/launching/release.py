"""`release_memory`: what is kept for later, given back now."""

from __future__ import annotations

import gc
from collections.abc import Callable

from tileir.ir.interning import POOL

# Functions of modules that keep memory; a module that is not imported keeps none.
_KEEPERS: list[Callable[[], None]] = []


def release_with(release: Callable[[], None]) -> None:
    """Register a function for `release_memory`, which frees what its module keeps."""
    _KEEPERS.append(release)


def release_memory() -> None:
    """Give back memory that is kept for later: for a process that goes on, and is done with its programs for now.

    That is the scratch memory of native code that no launch uses, and types, attributes and locations that no program
    holds any more.  Nothing a caller holds is touched, and everything is made again when it is needed.
    """
    for release in _KEEPERS:
        release()
    # Operations and values refer to each other: a program that is gone keeps its types until it is collected.
    gc.collect()
    POOL.release()
