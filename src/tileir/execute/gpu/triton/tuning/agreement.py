"""Whether two codes of one kernel have computed the same.

The schedule may change what the dialect leaves open: the order of sums and the last bits of functions.  Kernels without
such operations have to give the same bits, others the same numbers up to a part of the largest one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.analysis.values import leaves_bits_open
from tileir.execute.dtypes import is_float_dtype, memory_dtype
from tileir.ir.core import Operation
from tileir.ir.types import Type

_TOLERANCES: Final = {1: 2.0**-3, 2: 2.0**-7, 4: 2.0**-12, 8: 2.0**-40}
"""By bytes of a float: differences of this part of the largest number are last bits."""


def leaves_open(entry: Operation) -> bool:
    """Whether results of a kernel may depend on how it is compiled."""
    return any(leaves_bits_open(each) for each in entry.walk())


def agree(expected: Any, found: Any, element: Type, is_open: bool) -> bool:
    """Whether what two codes wrote, given as bytes, is the same."""
    if numpy.array_equal(expected, found):
        return True
    dtype = memory_dtype(element)
    if not is_open or not is_float_dtype(dtype) or expected.size % dtype.itemsize:
        return False
    ours, theirs = expected.view(dtype).astype(numpy.float64), found.view(dtype).astype(numpy.float64)
    special = ~numpy.isfinite(ours)
    if not numpy.array_equal(ours[special], theirs[special], equal_nan=True):
        return False
    largest = numpy.abs(ours[~special]).max(initial=0.0)
    return bool((numpy.abs(ours - theirs)[~special] <= _TOLERANCES[dtype.itemsize] * largest).all())
