"""The arguments of launches as the driver takes them, in memory that is laid out once.

`cuLaunchKernelEx` takes a description of the grid, a table with the address of each argument, and the arguments, of
which it reads as many bytes as the kernel's code declares.  A `Record` holds all of these: a launch fills in numbers,
and what points from one to another stays.

Cubins of NVIDIA's assembler need no descriptors for the tensor memory accelerator: the driver makes them.  Code that
takes them as parameters has slots of 128 bytes, aligned to 64, which belong here, in `Record`.

As for the CPU, a function written for the kernel looks at arguments of the usual kinds and fills a record at once; it
knows contiguous arrays of torch or CuPy and numbers of Python, and leaves everything else to `arguments.bind`.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Set
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments import TORCH_DTYPES, accepted_dtypes, tensor_dtype
from tileir.execute.generated_functions import generated
from tileir.execute.gpu.streams import cupy_stream, library_of, torch_stream
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64, IntegerType, Type

CONFIGURATION: Final = "<7I4xQQI4x"
"""CUlaunchConfig: the grid, threads and shared memory, the stream, attributes and how many there are."""

THREADS: Final = "1, 1, 1, 0"
"""Of a tile block, and its shared memory: both are in the kernel's code, and the driver takes them from there."""

_SLOT: Final = 8
_STREAM_OFFSET: Final = 32

_set_stream: Final = struct.Struct("<Q").pack_into


class Record:
    """Memory for one launch; in use by one thread at a time."""

    __slots__ = ("configuration", "current", "current_reference", "memory", "parameters", "stream")

    def __init__(self, count: int) -> None:
        size = struct.calcsize(CONFIGURATION)
        self.memory: Any = (ctypes.c_char * (size + 2 * _SLOT * max(count, 1)))()
        start = ctypes.addressof(self.memory)
        table = size + _SLOT * count
        for number in range(count):
            struct.pack_into("<Q", self.memory, table + _SLOT * number, start + size + _SLOT * number)
        self.configuration: Final = ctypes.c_void_p(start)
        self.parameters: Final = ctypes.c_void_p(start + table)
        self.stream: int = 0
        """The one that is in it, for who looks whether another is current."""
        self.current: Final = ctypes.c_size_t()
        """Where the driver writes which context is current."""
        self.current_reference: Any = ctypes.byref(self.current)

    def set_stream(self, stream: int) -> None:
        self.stream = stream
        _set_stream(self.memory, _STREAM_OFFSET, stream)


Quick = Callable[..., int]
"""Of arguments, the memory of a record, x, y and z: fills it and gives the number of the GPU; -1 if arguments have to
be looked at more closely."""


class Packer:
    """What fills the records of one kernel."""

    def __init__(self, entry: Operation) -> None:
        self.types: Final = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
        self._pack: Final = struct.Struct(f"{CONFIGURATION}{len(self.types)}Q").pack_into
        self._spare: list[Record] = []
        self._library: _Library | None = None
        """The one whose arrays `quick` knows."""
        self.quick: Quick = _thorough
        self.give: Final = self._spare.append
        """Take back a record after its launch."""

    def take(self) -> Record:
        """A record for a launch, not one that another has."""
        try:
            return self._spare.pop()
        except IndexError:
            return Record(len(self.types))

    def fill(self, record: Record, grid: tuple[int, int, int], stream: int, values: list[Any]) -> None:
        """Fill a record with what `arguments.bind` makes of arguments."""
        record.stream = stream
        self._pack(record.memory, 0, *grid, 1, 1, 1, 0, stream, 0, 0, *[_bits(value) for value in values])

    def learn(self, arguments: tuple[object, ...]) -> None:
        """Have the short way for arguments like these, if there is one, from the next launch on."""
        for value in arguments:
            library = _LIBRARIES.get(library_of(value))
            if library is not None:
                if library is not self._library:
                    self._library = library
                    self.quick = self._first_quick
                return

    def _first_quick(self, arguments: tuple[object, ...], memory: Any, x: int, y: int, z: int) -> int:
        """Written when it is first needed: many kernels are launched once in a process."""
        assert self._library is not None, "there is a library to write it for"
        self.quick = quick = _quick_function(self.types, self._library)
        return quick(arguments, memory, x, y, z)


def _thorough(*given: object) -> int:
    """What has no short way: a kernel that was not launched yet goes without, too."""
    return -1


def _bits(value: Any) -> int:
    """A scalar by its bits, zero extended."""
    return int.from_bytes(numpy.asarray(value).tobytes(), "little")


def pointee_of(type: Type) -> Type | None:
    if isinstance(type, TileType) and isinstance(type.element, PointerType):
        return type.element.pointee
    return None


class _Library:
    """How arrays of a library are looked at: Python code in which {a} is an array and {n} the number of its parameter.

    It is none of the usual kind if `unusual` holds; `device` and `address` tell where it is, the address of one without
    data is 0.
    """

    def __init__(
        self,
        unusual: str,
        device: str,
        address: str,
        stream: Callable[[], Callable[[int], int] | None],
        classes: Callable[[], tuple[object, ...]],
        dtypes: Callable[[Type], Set[object]],
    ) -> None:
        self.unusual: str = unusual
        self.device: str = device
        self.address: str = address
        self.stream: Callable[[], Callable[[int], int] | None] = stream
        self.classes: Callable[[], tuple[object, ...]] = classes
        self.dtypes: Callable[[Type], Set[object]] = dtypes


def _torch_dtypes(pointee: Type) -> Set[object]:
    """The dtypes of torch that a pointer takes."""
    torch: Any = sys.modules["torch"]
    accepted = accepted_dtypes(pointee)
    return frozenset([getattr(torch, name, None) for name in TORCH_DTYPES if tensor_dtype(name) in accepted])


def _torch_classes() -> tuple[object, ...]:
    """These two and no other class: another one's data may be elsewhere."""
    torch: Any = sys.modules["torch"]
    return torch.Tensor, torch.nn.Parameter


def _cupy_classes() -> tuple[object, ...]:
    cupy: Any = sys.modules["cupy"]
    return (cupy.ndarray,)


# What is in the memory of the host is on device -1 in torch.
_LIBRARIES: Final = {
    "torch": _Library(
        "type({a}) not in classes or {a}.dtype not in dtypes{n} or not {a}.is_contiguous() or {a}.is_neg()",
        "{a}.get_device()",
        "{a}.data_ptr()",
        torch_stream,
        _torch_classes,
        _torch_dtypes,
    ),
    "cupy": _Library(
        "type({a}) not in classes or {a}.dtype not in dtypes{n} or not {a}.flags.c_contiguous",
        "{a}.data.device_id",
        "{a}.data.ptr",
        cupy_stream,
        _cupy_classes,
        accepted_dtypes,
    ),
}


def scalar_slot(element: Type, name: str) -> tuple[str, str, str] | None:
    """For a scalar of the usual kinds: a condition under which it is none of them, what is packed, and its format."""
    if isinstance(element, IntegerType):
        low, high = -(1 << (element.width - 1)), (1 << element.width) - 1
        return f"type({name}) is not int or not {low} <= {name} <= {high}", f"{name} & {high}", "Q"
    if element is F32 or element is F64:
        return f"type({name}) is not float", name, "f4x" if element is F32 else "d"
    return None


def _quick_function(types: list[Type], library: _Library) -> Quick:
    stream = library.stream()
    names: dict[str, Any] = {"classes": library.classes(), "stream_of": stream}
    checks: list[str] = []
    values: list[str] = []
    layout = [CONFIGURATION]
    dtypes: dict[Type, Set[object]] = {}
    is_first = True
    for number, type in enumerate(types):
        name = f"a{number}"
        pointee = pointee_of(type)
        if pointee is not None:
            if pointee not in dtypes:
                dtypes[pointee] = library.dtypes(pointee)
            names[f"dtypes{number}"] = dtypes[pointee]
            unusual, device, address = [
                text.format(a=name, n=number) for text in (library.unusual, library.device, library.address)
            ]
            checks += [
                f"if {unusual}: return -1",
                f"if (device := {device}) < 0: return -1" if is_first else f"if {device} != device: return -1",
                f"if not (p{number} := {address}): return -1",
            ]
            values.append(f"p{number}")
            layout.append("Q")
            is_first = False
            continue
        slot = scalar_slot(type.element, name) if isinstance(type, TileType) else None
        if slot is None:
            return _thorough
        checks.append(f"if {slot[0]}: return -1")
        values.append(slot[1])
        layout.append(slot[2])
    if is_first or stream is None:
        # Nothing tells the GPU, or the stream.
        return _thorough
    names["pack"] = struct.Struct("".join(layout)).pack_into
    unpacked = "".join([f"a{number}, " for number in range(len(types))])
    lines = [
        "def quick(arguments, memory, x, y, z):",
        "    try:",
        f"        [{unpacked}] = arguments",
        *[f"        {check}" for check in checks],
        f"        pack(memory, 0, {', '.join(['x, y, z', THREADS, 'stream_of(device), 0, 0', *values])})",
        # Another number of arguments; a float that its type cannot hold; a tensor whose data cannot be had.
        "    except (TypeError, ValueError, OverflowError, AttributeError, RuntimeError, NotImplementedError):",
        "        return -1",
        "    return device",
    ]
    return generated("quick", lines, names)
