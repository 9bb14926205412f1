"""The arguments of launches as the driver takes them, in memory that is laid out once.

`cuLaunchKernelEx` takes a description of the grid, a table with the address of each argument, and the arguments, of
which it reads as many bytes as the kernel's code declares.  A `Record` holds all of these: a launch fills in numbers,
and what points from one to another stays.

Cubins of NVIDIA's assembler need no descriptors for the tensor memory accelerator: the driver makes them.  Code that
takes them as parameters has slots of 128 bytes, aligned to 64, which belong here, in `Record`.

Functions that are written for kernels fill them at once: `usual_launches.py`, `direct.py`, `repeating.py`.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final

import numpy

from tileir.ir.core import Operation
from tileir.ir.types import F32, F64, IntegerType, Type

CONFIGURATION: Final = "<7I4xQQI4x"
"""CUlaunchConfig: the grid, threads and shared memory, the stream, attributes and how many there are."""

THREADS: Final = "1, 1, 1, 0"
"""Of a tile block, and its shared memory: both are in the kernel's code, and the driver takes them from there."""

_SLOT: Final = 8


class Record:
    """Memory for one launch; in use by one thread at a time."""

    __slots__ = ("configuration", "memory", "parameters")

    def __init__(self, count: int) -> None:
        size = struct.calcsize(CONFIGURATION)
        self.memory: Any = (ctypes.c_char * (size + 2 * _SLOT * max(count, 1)))()
        start = ctypes.addressof(self.memory)
        table = size + _SLOT * count
        for number in range(count):
            struct.pack_into("<Q", self.memory, table + _SLOT * number, start + size + _SLOT * number)
        self.configuration: Final = ctypes.c_void_p(start)
        self.parameters: Final = ctypes.c_void_p(start + table)


class Packer:
    """What fills the records of one kernel."""

    def __init__(self, entry: Operation) -> None:
        self.types: Final = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
        self._pack: Final = struct.Struct(f"{CONFIGURATION}{len(self.types)}Q").pack_into
        self.spare: Final[list[Record]] = []
        """Those that no launch has."""
        self.give: Final = self.spare.append
        """Take back a record after its launch."""

    def take(self) -> Record:
        """A record for a launch, not one that another has."""
        try:
            return self.spare.pop()
        except IndexError:
            return self.make()

    def make(self) -> Record:
        """A record that was not there."""
        return Record(len(self.types))

    def fill(self, record: Record, grid: tuple[int, int, int], stream: int, values: list[Any]) -> None:
        """Fill a record with what `arguments.bind` makes of arguments."""
        self._pack(record.memory, 0, *grid, 1, 1, 1, 0, stream, 0, 0, *[_bits(value) for value in values])


def _bits(value: Any) -> int:
    """A scalar by its bits, zero extended."""
    return int.from_bytes(numpy.asarray(value).tobytes(), "little")


def scalar_slot(element: Type, name: str) -> tuple[str, str, str] | None:
    """For a scalar of the usual kinds: a condition under which it is none of them, what is packed, and its format."""
    if isinstance(element, IntegerType):
        low, high = -(1 << (element.width - 1)), (1 << element.width) - 1
        return f"type({name}) is not int or not {low} <= {name} <= {high}", f"{name} & {high}", "Q"
    if element is F32 or element is F64:
        return f"type({name}) is not float", name, "f4x" if element is F32 else "d"
    return None
