"""Memory that nobody has written to yet holds what no result is, and the same each time.

A kernel that leaves a part of its output unwritten would otherwise return what happened to be there: right by luck,
when that is the output of the run before, or wrong in another way each time.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy

_PERTURB: Final = -6
"""The option of glibc's `mallopt` for what new memory holds: the complement of a byte."""
_BYTE: Final = 0xFE
"""As a float this is -1.7e38 or not a number, as an integer negative."""


def fill_fresh_memory() -> None:
    """From now on, and for good: of NumPy, and where the C library is glibc, of torch and everybody else."""
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).mallopt(_PERTURB, _BYTE ^ 0xFF)
        except (OSError, AttributeError):
            # Another C library.
            pass
    # It keeps small pieces of memory for itself, and gives them out again as they are.
    for name in ("empty", "empty_like"):
        setattr(numpy, name, _filling(getattr(numpy, name)))


def _filling(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def filled(*arguments: Any, **keywords: Any) -> Any:
        found = make(*arguments, **keywords)
        if type(found) is numpy.ndarray and not found.dtype.hasobject and found.size:
            # Whatever the order of its axes, all of it is its own.
            order = sorted(range(found.ndim), key=lambda axis: -abs(found.strides[axis]))
            dense = found.transpose(order)
            if dense.flags.c_contiguous:
                dense.reshape(-1).view(numpy.uint8)[:] = _BYTE
        return found

    return filled
