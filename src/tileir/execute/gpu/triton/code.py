"""Compiled code, with what a launch of it needs beside its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.triton.launch_values import LaunchValue
from tileir.execute.gpu.triton.options import Schedule, Specialization


class TensorMap(NamedTuple):
    """A descriptor for TMA that the launcher encodes (`cuTensorMapEncodeTiled`), dimensions as in the program."""

    base: LaunchValue
    """The address."""
    shape: tuple[LaunchValue, ...]
    strides: tuple[LaunchValue, ...]
    """In elements; the last is 1."""
    element_bytes: int
    box: tuple[int, ...]
    """What a single copy moves; a tile may take several."""
    element_type: int
    """A number of CUtensorMapDataType."""
    swizzle: int
    """A number of CUtensorMapSwizzle."""
    fill_nan: bool = False
    """Whether elements outside are NaN, and not zero."""


class Slot(NamedTuple):
    """What the code has as one of its parameters.

    | kind       | content                                                         |
    |------------|-----------------------------------------------------------------|
    | argument   | the number of a parameter of the kernel                         |
    | descriptor | a `TensorMap`                                                   |
    | global     | the name of a global variable: its address                      |
    | table      | bytes of a constant tile: the address of a copy on the GPU      |
    | scratch    | bytes for each tile block, and their alignment: an address      |
    | failures   | the asserts: the address of where failures are written          |
    | output     | the prints: the address of where they are written               |
    | nothing    | none: Triton's own, a null pointer                              |
    """

    kind: str
    content: Any = None


class Code(NamedTuple):
    """A kernel compiled for a GPU."""

    cubin: Cubin
    threads: int
    """Of a tile block."""
    shared: int
    """Bytes of shared memory that a launch reserves."""
    slots: tuple[Slot, ...]
    schedule: Schedule
    specialization: Specialization
    cluster: int = 1
    notes: tuple[str, ...] = ()
    """What there is to say about it, in sentences."""
