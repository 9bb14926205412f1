"""A launch's arguments in its record, checked at the cost of a small kernel's launch.

`arguments.bind` defines what a launch takes, and runs for refusals and most kinds of arrays.  A contiguous, writable
NumPy array of the declared type, a contiguous tensor of torch on the CPU, an `int` and a `float` take the short way
here, which writes the same bits: a Python function written for the kernel, twice as fast as a loop over parameters.
"""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final, cast

import numpy

from tileir.dialect.ops import ALLOCA, GET_GLOBAL
from tileir.execute.analysis.parameters import is_multicast, may_write
from tileir.execute.arguments import array_memory as array_addresses
from tileir.execute.arguments.array_memory import address_expression, address_of
from tileir.execute.arguments.binding import BoundArguments, accepted_dtypes, bind
from tileir.execute.binder import (
    Slots,
    bits_of,
    pointee_of,
    slots_of_numbers,
    slots_of_objects,
    torch_classes,
    torch_dtypes,
)
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, REGION_WORDS, SLOT_BYTES, Layout, Record, Span
from tileir.execute.engine.interface import Again, ArgumentKind
from tileir.execute.errors import BlockId
from tileir.execute.memory import Region
from tileir.execute.overlap import overlapped
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.types import Type

Arguments = tuple[object, ...] | Again  # The arguments of a launch, or a function that returns them, and its `memory`


def listed(arguments: Arguments) -> tuple[object, ...]:
    return arguments if isinstance(arguments, tuple) else arguments()[0]


class Binding:
    """A launch ready to run: its record, and whether arrays share memory of which the kernel writes to one."""

    __slots__ = ("bound", "overlap", "record", "table")

    def __init__(self, record: Record) -> None:
        self.record: Record = record
        self.overlap: bool = False
        self.bound: BoundArguments | None = None  # What `arguments.bind` made, with converted arrays
        self.table: object = None  # The table of the launch's memory that the record names.


class Binder:
    """What fills the records of one kernel."""

    def __init__(self, entry: Operation, globals: Mapping[str, Region] | None = None) -> None:
        regions = globals or {}
        self.entry: Operation = entry
        self.types: list[Type] = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
        self._pointers: list[int] = [number for number, type in enumerate(self.types) if pointee_of(type) is not None]
        self.has_multicast: bool = any(is_multicast(type) for type in self.types)
        operations = list(entry.walk())
        reserves = sum([each.declaration is ALLOCA for each in operations])
        self.layout: Layout = Layout(len(self.types), self._pointers, list(regions), reserves)
        self._writes: list[bool] = [may_write(entry, number) for number in self._pointers]
        count = len(self.types) + REGION_WORDS * len(self._pointers)
        self._pack_bits = struct.Struct(f"{HEADER_FORMAT}{count}Q").pack_into
        used = {str(each.attributes["name"]).removeprefix("@") for each in operations if each.declaration is GET_GLOBAL}
        self._globals: list[Region] = [region for name, region in regions.items() if name in used]
        """The memory of globals that the kernel names: an argument may be some of it."""
        self._fixed: list[int] = [
            word for region in regions.values() for word in (region.start, region.end, int(region.writable))
        ]
        """What records contain about globals, which do not move."""
        self._spare: list[Binding] = []

    @cached_property
    def quick(self) -> Fill:
        """Fills a record with arguments of the usual kinds, given as one tuple."""
        return _quick_function(self)

    def __call__(
        self, arguments: Arguments, grid: BlockId, chunk: int, fill: Fill | None = None, numbers: tuple[Any, ...] = ()
    ) -> Binding:
        """Check arguments and fill a record with them, to give back to `recycle` after the launch.  `fill` does it with
        `numbers`, where the arguments are checked already (`filling`)."""
        binding = self.take()
        x, y, z = grid
        slots = binding.record.slots
        count = x * y * z
        if fill is None:
            fill, numbers = self.quick, (arguments,)
        overlap = fill(slots, count, x, y, z, chunk, *numbers)
        if overlap is None:
            self._thorough(listed(arguments), binding, (0, count, x, y, z, 0, chunk))
        else:
            binding.overlap = overlap
        return binding

    def take(self) -> Binding:
        """A record for a launch, to be filled; not one that another launch has."""
        try:
            return self._spare.pop()
        except IndexError:
            record = Record(self.layout.total)
            for slot, word in enumerate(self._fixed, self.layout.regions + REGION_WORDS * len(self._pointers)):
                record.slots[slot] = word
            return Binding(record)

    def recycle(self, binding: Binding) -> None:
        """Keep a record for the next launch; not after an exception, which may leave a worker with it."""
        binding.bound = binding.table = None
        self._spare.append(binding)

    def spans(self, binding: Binding) -> list[Span] | None:
        """The memory of a launch's arguments; None if one is a bare or a multicast address, which may be any."""
        bound = binding.bound
        if bound is not None and (bound.multicasts or len(bound.buffers) < len(self._writes)):
            return None
        words = binding.record.slots[self.layout.regions :]
        slots = [(REGION_WORDS * number, writes) for number, writes in enumerate(self._writes)]
        return [(words[slot] & _ALL_BITS, words[slot + 1] & _ALL_BITS, writes) for slot, writes in slots]

    def _thorough(self, arguments: tuple[object, ...], binding: Binding, header: tuple[int, ...]) -> None:
        binding.bound = bound = bind(self.entry, arguments)
        own = {label.number: buffer for buffer, label in bound.buffers}
        # An argument that is a bare address has no memory of its own.
        regions = [
            word
            for buffer in map(own.get, self._pointers)
            for word in ((0, 0, 0) if buffer is None else (buffer.low, buffer.high, int(buffer.writable)))
        ]
        self._pack_bits(binding.record.slots, 0, *header, *[bits_of(value) for value in bound.values], *regions)
        spans = [(buffer.low, buffer.high) for buffer, _ in bound.buffers]
        # It may point anywhere, too.
        binding.overlap = (
            bool(bound.multicasts)
            or len(spans) < len(self._writes)
            or any(
                spans[one][0] < spans[other][1] and spans[other][0] < spans[one][1]
                for one, other in self._overlapping_pairs(list(range(len(spans))))
            )
            or any(self._is_global(low, high) for low, high in spans)
        )

    def meetings(self, names: dict[str, Any]) -> str:
        """Python code: whether pointers share memory of which some is written; pointer 2 has it from p2 to q2."""
        meets = [f"p{one} < q{other} and p{other} < q{one}" for one, other in self._overlapping_pairs(self._pointers)]
        if self._globals:
            names["is_global"] = self._is_global
            meets += [f"is_global(p{number}, q{number})" for number in self._pointers]
        return " or ".join(meets) or "False"

    def _is_global(self, low: int, high: int) -> bool:
        """Whether some of these bytes are a global's."""
        return low < high and any(region.start < high and low < region.end for region in self._globals)

    def _overlapping_pairs(self, names: list[int]) -> list[tuple[int, int]]:
        """The pairs of pointers of which one at least may be written through, as it is they that must not overlap."""
        return [
            (name, names[other])
            for one, name in enumerate(names)
            for other in range(one)
            if self._writes[one] or self._writes[other]
        ]


_ALL_BITS: Final = (1 << 64) - 1
HEADER: Final = "0, count, x, y, z, 0, chunk"  # Up to the size of the chunks; the rest of a record is zero
HEADER_FORMAT: Final = f"<7q{SLOT_BYTES * (ARGUMENTS - 7)}x"


# --- the function written for a kernel ---


Fill = Callable[..., "bool | None"]
"""Of slots, count, x, y, z, chunk and the numbers of the arguments: whether arrays share memory of which the kernel
writes to one; None if `arguments.bind` has to look at them."""


def _quick_function(binder: Binder) -> Fill:
    """A function that fills a record and returns whether arguments overlap; None if one is out of the ordinary."""

    def array_checks(slots: Slots, number: int, pointee: Type) -> list[str]:
        slots.names[f"accepted{number}"] = accepted_dtypes(pointee)
        slots.names[f"tensors{number}"] = tensors_for(pointee)
        name = f"a{number}"
        return [
            f"if type({name}) is ndarray:",
            # Aligned, contiguous and writable; an empty one goes the thorough way.
            f"    if not ({name}.dtype in accepted{number} and {name}.flags.carray and {name}.size): return None",
            f"    p{number} = {address_expression(name)}",
            # The data of an empty tensor is nowhere.
            f"elif not (p{number} := tensors{number}.address({name})): return None",
            f"q{number} = p{number} + {name}.nbytes",
        ]

    slots = slots_of_objects(binder.types, HEADER_FORMAT, "return None", array_checks)
    if slots is None or binder.has_multicast:
        return lambda *_: None
    slots.names |= {"ndarray": numpy.ndarray, **array_addresses.NAMES}
    # Another number of arguments; a tensor of an old torch, or one without accessible data.
    unusual = "TypeError, ValueError, AttributeError, RuntimeError"
    return _filling(binder, slots, "slots, count, x, y, z, chunk, arguments", slots.lines, unusual)


def filling(binder: Binder, kind: Sequence[ArgumentKind]) -> Fill | None:
    """What fills records with arguments of a kind that the caller (the cuTile bridge, a bound launch) has checked; None
    if the kernel takes something else."""
    slots = slots_of_numbers(binder.types, kind, HEADER_FORMAT, "return None")
    if slots is None or list(slots.arrays) != binder.layout.pointers or binder.has_multicast:
        return None
    slots.checks += [f"q{number} = p{number} + n{number}" for number in slots.arrays]
    return _filling(binder, slots, ", ".join(["slots, count, x, y, z, chunk", *slots.inputs]), slots.checks, "")


def _filling(binder: Binder, slots: Slots, parameters: str, looks: list[str], unusual: str) -> Fill:
    """The function; an argument is out of the ordinary where one of the `looks` at them raises some errors."""
    for number, writable in slots.arrays.items():
        slots.add(f"p{number}, q{number}, {int(writable)}", f"{REGION_WORDS}Q")
    slots.names["pack"] = slots.pack()
    overlap = binder.meetings(slots.names)
    if not all(slots.arrays.values()):
        # An overlap with a read-only array needs a table of regions: `arguments.bind` handles it.
        overlap = f"None if {overlap} else False"
    lines = [
        "try:",
        *[f"    {line}" for line in looks],
        f"    pack(slots, 0, {', '.join([HEADER, *slots.values])})",
        # A float that its type cannot hold.
        f"except (OverflowError, {unusual}):",
        "    return None",
        f"return {overlap}",
    ]
    return slots.function(parameters, lines)


class Tensors:
    """The tensors of torch that a pointer takes, known once torch is imported: by others, never from here."""

    def __init__(self, pointee: Type) -> None:
        self._pointee: Type = pointee
        self._types: tuple[object, ...] = ()
        self._dtypes: Set[object] = frozenset()

    def address(self, value: Any) -> int:
        """The address of a contiguous tensor on the CPU; 0 for anything else."""
        if type(value) not in self._types and not self._learns(value):
            return 0
        if value.dtype not in self._dtypes or not value.is_cpu or value.is_nested or not value.is_contiguous():
            return 0
        address = cast(int, value.data_ptr())
        storage = value.untyped_storage()
        # The storage of a tensor whose memory was freed is smaller than the tensor.
        is_whole = address + value.nbytes <= storage.data_ptr() + storage.nbytes()
        return address if is_whole and not value.is_neg() else 0

    def _learns(self, value: object) -> bool:
        if "torch" not in sys.modules or type(value).__module__.partition(".")[0] != "torch" or self._types:
            return False
        self._dtypes = torch_dtypes(self._pointee)
        self._types = torch_classes()
        return type(value) in self._types


tensors_for = functools.cache(Tensors)


# --- launches that are made again and again with the same arguments ---

Where = tuple[Any, int, Any, int]
"""An array, the address it had, the object that has the size of its memory in bytes, and that size.  While the storage
is referenced, no other tensor gets its memory."""


def memory_of(arrays: Sequence[object]) -> tuple[list[Where], list[Where]] | None:
    """Where arrays of NumPy and tensors of torch are; None if there is something else among them."""
    found: list[Where] = []
    tensors: list[Where] = []
    for array in arrays:
        if type(array) is numpy.ndarray:
            found.append((array, address_of(array), array, array.nbytes))
        elif hasattr(array, "untyped_storage") and hasattr(array, "data_ptr"):
            storage = array.untyped_storage()
            tensors.append((array, array.data_ptr(), storage, storage.nbytes()))
        else:
            return None
    return found, tensors


class Repeated:
    """A launch whose record is filled once.  `run` makes it; if it returns False, and in unusual cases (an array that
    was moved, a context of `overlap`, a second thread at the same time), `once` makes it."""

    def __init__(
        self,
        record: Record,
        memory: tuple[list[Where], list[Where]],
        run: Callable[[Record, object], bool],
        once: Callable[[], None],
    ) -> None:
        self._header: Any = record.slots[:ARGUMENTS]
        self._arrays, self._tensors = memory
        self._run: Callable[[Record, object], bool] = run
        self._once: Callable[[], None] = once
        # Empty while a thread uses it.
        self._records: list[Record] = [record]

    def __call__(self) -> None:
        if not self._is_made():
            self._once()

    def _is_made(self) -> bool:
        """Make the launch, unless something is out of the ordinary."""
        for array, address, _, size in self._arrays:
            if address_of(array) != address or array.nbytes != size:
                return False
        for tensor, address, storage, size in self._tensors:
            if tensor.data_ptr() != address or storage.nbytes() != size:
                return False
        if overlapped() is not None:
            return False
        try:
            record = self._records.pop()
        except IndexError:
            return False
        record.slots[:ARGUMENTS] = self._header
        # What an exception leaves behind may be in use: the calls after it take the long way, as they do where arrays
        # share memory.
        if not self._run(record, self):
            return False
        self._records.append(record)
        return True
