"""A launch's arguments in its record, checked at the cost of a small kernel's launch.

`arguments.bind` says what a launch takes, and is what runs for anything out of the ordinary: every refusal, and every
kind of array but NumPy's own.  A contiguous NumPy array of the declared type, an `int` and a `float` take the short way
here, which accepts a part of what `bind` accepts and writes the same bits.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments import BoundArguments, accepted_dtypes, bind, may_write
from tileir.execute.cpu.record import ARGUMENTS, Record
from tileir.execute.errors import BlockId
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64, IntegerType, Type

_POINTER: Final = 0
_INTEGER: Final = 1
_FLOAT: Final = 2
_OTHER: Final = 3

_address_of: Final = ctypes.addressof
_first_byte: Final[Any] = ctypes.c_char.from_buffer


class Binding:
    """A launch ready to run: its record, and whether arrays that the kernel writes to share memory with others."""

    __slots__ = ("bound", "overlap", "record")

    def __init__(self, record: Record) -> None:
        self.record: Record = record
        self.overlap: bool = False
        self.bound: BoundArguments | None = None
        """What `arguments.bind` made, where the short way was not taken; keeps converted arrays alive."""


class Binder:
    """What fills the records of one kernel."""

    def __init__(self, entry: Operation, extra_slots: int = 0) -> None:
        self.entry: Operation = entry
        self._kinds: list[tuple[int, Any, Any]] = []
        self._writes: list[bool] = []
        """Of the pointers, in order: whether the kernel may write through it."""
        layout = [f"<{ARGUMENTS}q"]
        for number, parameter in enumerate(entry.regions[0].blocks[0].arguments):
            kind = _kind_of(parameter.type)
            self._kinds.append(kind)
            if kind[0] == _POINTER:
                self._writes.append(may_write(entry, number))
            layout.append("f4x" if kind == (_FLOAT, 32, 0) else "d" if kind[0] == _FLOAT else "Q")
        self._pack = struct.Struct("".join(layout)).pack_into
        self._pack_bits = struct.Struct(f"<{ARGUMENTS}q{len(self._kinds)}Q").pack_into
        self._slots: int = ARGUMENTS + len(self._kinds) + extra_slots
        self._spare: list[Binding] = []

    def __call__(self, arguments: tuple[object, ...], grid: BlockId, chunk: int) -> Binding:
        """Check arguments and fill a record with them; to be given back to `recycle` after the launch."""
        try:
            binding = self._spare.pop()
        except IndexError:
            binding = Binding(Record(self._slots))
        x, y, z = grid
        header = (0, x * y * z, x, y, z, 0, chunk, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        values = self._quick(arguments, binding)
        if values is not None:
            try:
                self._pack(binding.record.slots, 0, *header, *values)
                return binding
            except OverflowError:
                # A float that its type cannot hold, which `bind` rounds.
                pass
        self._thorough(arguments, binding, header)
        return binding

    def recycle(self, binding: Binding) -> None:
        """Keep a record for the next launch; not after an exception, which may leave a worker with it."""
        binding.bound = None
        self._spare.append(binding)

    def _quick(self, arguments: tuple[object, ...], binding: Binding) -> list[Any] | None:
        """What to write into the argument slots, or None if an argument is out of the ordinary."""
        kinds = self._kinds
        if len(arguments) != len(kinds):
            return None
        values: list[Any] = []
        spans: list[tuple[int, int]] = []
        value: Any
        for (kind, first, second), value in zip(kinds, arguments, strict=True):
            if kind == _POINTER:
                if type(value) is not numpy.ndarray or value.dtype not in first or not value.flags.c_contiguous:
                    return None
                try:
                    address = _address_of(_first_byte(value))
                except (TypeError, ValueError, BufferError):
                    # Read-only, empty, or of a type that buffers do not know.
                    if not value.flags.writeable or not value.size:
                        return None
                    address = value.__array_interface__["data"][0]
                values.append(address)
                spans.append((address, address + value.nbytes))
            elif kind == _INTEGER:
                if type(value) is not int or not first <= value <= second:
                    return None
                # A sign is cut off; `first` is the least value of the type, so that -2 * first wraps around.
                values.append(value if value >= 0 else value - 2 * first)
            elif type(value) is float and kind == _FLOAT:
                values.append(value)
            else:
                return None
        binding.overlap = self._overlap(spans)
        return values

    def _thorough(self, arguments: tuple[object, ...], binding: Binding, header: tuple[int, ...]) -> None:
        bound = bind(self.entry, arguments)
        self._pack_bits(binding.record.slots, 0, *header, *[_bits(value) for value in bound.values])
        # An argument that is a bare address may point anywhere.
        whole = len(bound.buffers) == len(self._writes)
        binding.overlap = not whole or self._overlap([(buffer.low, buffer.high) for buffer, _ in bound.buffers])
        binding.bound = bound

    def _overlap(self, spans: list[tuple[int, int]]) -> bool:
        """Whether a pointer that may be written through reaches memory that another one reaches."""
        for number, writes in enumerate(self._writes):
            if writes:
                low, high = spans[number]
                for other, (other_low, other_high) in enumerate(spans):
                    if low < other_high and other_low < high and other != number:
                        return True
        return False


def _kind_of(type: Type) -> tuple[int, Any, Any]:
    """How a parameter is checked, and with what."""
    if not isinstance(type, TileType):
        return (_OTHER, 0, 0)
    element = type.element
    if isinstance(element, PointerType):
        return (_POINTER, accepted_dtypes(element.pointee), 0)
    if isinstance(element, IntegerType):
        return (_INTEGER, -(1 << (element.width - 1)), (1 << element.width) - 1)
    if element is F32:
        return (_FLOAT, 32, 0)
    if element is F64:
        return (_FLOAT, 64, 0)
    return (_OTHER, 0, 0)


def _bits(value: Any) -> int:
    """A scalar by its bits, zero extended."""
    return int.from_bytes(numpy.asarray(value).tobytes(), "little")
