"""The arguments of launches as the driver takes them, in memory that is laid out once.

A `Record` holds all that `cuLaunchKernelEx` takes; a launch fills in numbers, and pointers between them stay.  In
order: grid and threads, the arguments of 8 bytes each, hidden parameters, the address of each parameter.  Cubins of
NVIDIA's assembler take the kernel's arguments alone.  Other code also takes TMA descriptors, 128 bytes aligned to 64,
and addresses of memory of its own: its `LaunchForm` lists where its parameters are from.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from tileir.execute.binder import SLOT_BYTES, bits_of
from tileir.ir.core import Operation

CONFIGURATION: Final = "<7I4xQQI4x"
"""CUlaunchConfig: the grid, threads and shared memory, the stream, attributes and how many there are."""

_FIRST: Final = struct.calcsize(CONFIGURATION)  # Where the arguments begin.
_CLUSTER: Final = "<I4x3I52x"  # CUlaunchAttribute: which it is, and a value of 64 bytes, here three extents.
_CLUSTER_EXTENTS: Final = 4


class Hidden(NamedTuple):
    """A parameter of code that is no argument of the kernel."""

    size: int = 8
    alignment: int = 8


class LaunchForm(NamedTuple):
    """How code is launched, and what its parameters are."""

    threads: int = 1
    """Of a tile block; 1, with shared memory 0, where both are in the code and the driver takes them from there."""
    shared: int = 0  # Bytes of shared memory that a launch reserves for each tile block.
    cluster: int = 1  # Thread blocks that a tile block is spread over.
    parameters: tuple[int | Hidden, ...] | None = None
    """For each, the number of the argument that it is, or what it is beside; None for all arguments in order."""


PLAIN: Final = LaunchForm()


class Report(Protocol):
    """What a launch prints, in memory that others use after `give_back`."""

    def give_back(self) -> None: ...


class Record:
    """Memory for one launch; in use by one thread at a time."""

    __slots__ = ("attributes", "configuration", "memory", "parameters", "report")

    def __init__(self, packer: Packer) -> None:
        # The system aligns memory to 16 bytes.
        raw: Any = (ctypes.c_char * (packer.size + packer.alignment))()
        skipped = -ctypes.addressof(raw) % packer.alignment
        self.memory: Any = (ctypes.c_char * packer.size).from_buffer(raw, skipped)
        start = ctypes.addressof(self.memory)
        addresses = [start + place for place in packer.places]
        struct.pack_into(f"<{len(addresses)}Q", self.memory, packer.table, *addresses)
        self.attributes: int = 0  # The address of the driver's attributes of the launch; 0 if there are none.
        if packer.form.cluster > 1:
            struct.pack_into(_CLUSTER, self.memory, packer.cluster, _CLUSTER_EXTENTS, packer.form.cluster, 1, 1)
            self.attributes = start + packer.cluster
        self.configuration: Final = ctypes.c_void_p(start)
        self.parameters: Final = ctypes.c_void_p(start + packer.table)
        self.report: Report | None = None
        """Where the launch writes what it prints, of code that writes it to memory of its own."""


class Packer:
    """What fills the records of one kernel."""

    def __init__(self, entry: Operation, form: LaunchForm = PLAIN) -> None:
        self.types: Final = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
        self.form: Final = form
        self.sources: Final = list(range(len(self.types)) if form.parameters is None else form.parameters)
        self.places: Final = [0 if isinstance(each, Hidden) else _FIRST + SLOT_BYTES * each for each in self.sources]
        """Where each parameter of the code stands in a record; hidden ones of one alignment in order, without gaps."""
        self.alignment: int = 16
        end = _FIRST + SLOT_BYTES * len(self.types)
        hidden = [(number, each) for number, each in enumerate(self.sources) if isinstance(each, Hidden)]
        for number, each in sorted(hidden, key=lambda pair: -pair[1].alignment):
            self.alignment = max(self.alignment, each.alignment)
            end += -end % each.alignment
            self.places[number] = end
            end += each.size
        self.cluster: Final = end + -end % SLOT_BYTES
        self.table: Final = self.cluster + (struct.calcsize(_CLUSTER) if form.cluster > 1 else 0)
        self.size: Final = self.table + SLOT_BYTES * max(len(self.places), 1)
        self._pack: Final = struct.Struct(f"{CONFIGURATION}{len(self.types)}Q").pack_into
        self.spare: Final[list[Record]] = []  # Those that no launch has.

    def take(self) -> Record:
        """A record for a launch, not one that another has."""
        try:
            return self.spare.pop()
        except IndexError:
            return Record(self)

    def fill(self, record: Record, grid: tuple[int, int, int], stream: int, values: Sequence[Any]) -> None:
        """Fill a record with what `arguments.bind` makes of arguments."""
        x, y, z = grid
        threads, shared, cluster, _ = self.form
        configuration = (x * cluster, y, z, threads, 1, 1, shared, stream, record.attributes, bool(record.attributes))
        self._pack(record.memory, 0, *configuration, *[bits_of(value) for value in values])
