"""Where the elements of a NumPy array are, read at the least cost.

`array.ctypes.data` takes longer than all else that a launch has to look at.  A NumPy array is an object of the public C
interface of NumPy, which never changes it: its first field, behind what all objects begin with, is the address of the
data.  Where a few arrays show that this interpreter and this NumPy keep to that, it is read there.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

import numpy

_OFFSET: Final = object.__basicsize__
NAMES: Final[dict[str, Any]] = {"word_at": ctypes.c_size_t.from_address}
"""What the code of `address_expression` uses."""


def _reads_headers() -> bool:
    if sys.implementation.name != "cpython":
        # What `id` gives is no address.
        return False
    whole = numpy.zeros((4, 6), numpy.float32)
    arrays = [whole, whole[1:, ::2], whole.T, whole[2:2], whole.astype("u1")[3]]
    return all(ctypes.c_size_t.from_address(id(array) + _OFFSET).value == array.ctypes.data for array in arrays)


READS_HEADERS: Final = _reads_headers()


def address_expression(name: str) -> str:
    """Python code for the address of the first element of a variable that is a `numpy.ndarray`, and no subclass."""
    return f"word_at(id({name}) + {_OFFSET}).value" if READS_HEADERS else f"{name}.ctypes.data"


if READS_HEADERS:

    def address_of(array: Any) -> int:
        """The address of the first element of a `numpy.ndarray`."""
        return ctypes.c_size_t.from_address(id(array) + _OFFSET).value

else:

    def address_of(array: Any) -> int:
        """The address of the first element of a `numpy.ndarray`."""
        return int(array.ctypes.data)
