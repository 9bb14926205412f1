"""Where the memory of an array is: of NumPy, or of another library by the array interface, DLPack or buffers.

Arrays of other libraries report their own address, shape and strides.  All that can be checked is checked: a wrong
shape here is memory that a kernel destroys.  What cannot be checked is refused with a message.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import re
import sys
from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.execute.dtypes import DType, value_dtype
from tileir.ir.quoting import type_text
from tileir.ir.types import BF16

# Address, shape, strides in bytes, element type, whether it may be written to, what keeps it alive.
ArrayDescription = tuple[int, tuple[int, ...], tuple[int, ...], DType, bool, object]

_MOST_DIMENSIONS = 64
_ADDRESSES = 1 << 64
_BYTES = 1 << 63
_TYPE = re.compile(r"[<>|=]?[biufcmMOSUVt][0-9]{0,9}(\[[a-z0-9]+\])?", re.ASCII)


class BadArray(Exception):
    """An array that describes itself wrongly; the text follows "it ..."."""


class OnOtherDevice(Exception):
    """The memory is not the host's."""


def attribute_of(value: object, name: str) -> Any:
    """An attribute of a foreign object; whatever its getter raises becomes a `BadArray`."""
    return _guarded(lambda: getattr(value, name), f"fails when its attribute '{name}' is read")


def has_attribute(value: object, name: str) -> bool:
    """Whether an object has an attribute; one whose getter raises counts."""
    try:
        return hasattr(value, name)
    except Exception:
        return True


def _guarded(call: Callable[[], Any], failure: str) -> Any:
    """The result of a call into a foreign object; whatever it raises becomes a `BadArray`."""
    try:
        return call()
    except Exception as error:
        text = str(error).partition("\n")[0]
        message = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise BadArray(f"{failure} ({message})") from None


# --- what all of them must keep to ---


def byte_range(first: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> tuple[int, int]:
    """Where the elements of an array begin and end that has its first element somewhere; it must have elements."""
    low, high = first, first + size
    for extent, stride in zip(shape, strides, strict=True):
        if stride > 0:
            high += (extent - 1) * stride
        else:
            low += (extent - 1) * stride
    return low, high


def dense_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple([size * math.prod(shape[axis + 1 :]) for axis in range(len(shape))])


def checked(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: DType,
    writable: bool,
    owner: object,
    on_host: bool = True,
) -> ArrayDescription:
    """A consistent description of memory that exists; for memory of a GPU, the caller checks that it exists."""
    if len(shape) > _MOST_DIMENSIONS:
        raise BadArray(f"has {len(shape)} dimensions, more than {_MOST_DIMENSIONS}")
    if min(shape, default=0) < 0:
        raise BadArray(f"has a negative extent, {min(shape)}")
    if math.prod(shape) * dtype.itemsize >= _BYTES:
        raise BadArray(f"has the shape {shape}, which exceeds the available memory")
    if strides is None:
        strides = dense_strides(shape, dtype.itemsize)
    if len(strides) != len(shape):
        raise BadArray(f"has {len(shape)} dimensions and {len(strides)} strides")
    if 0 not in shape:
        low, high = byte_range(address, shape, strides, dtype.itemsize)
        if not address:
            raise BadArray("has no address")
        if low < 0 or high > _ADDRESSES:
            raise BadArray(f"reaches from {low:#x} to {high:#x}, which are no addresses")
        if on_host and not _is_mapped(low, high):
            raise BadArray(f"reports that it reaches from {low:#x} to {high:#x}, where this process has no memory")
    return address, shape, strides, dtype, writable, owner


def _is_mapped(low: int, high: int) -> bool:
    """Whether this process has mapped all of that memory; True on Windows, where this is not checked."""
    if sys.platform == "win32":
        return True
    start = low - low % mmap.PAGESIZE
    library = ctypes.CDLL(None, use_errno=True)
    library.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    # MS_ASYNC writes nothing back, and fails for pages that do not exist.
    return bool(library.msync(start, high - start, 1) == 0)


def _integer(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)):
        raise BadArray(f"has {value!r} for {what}, which is no whole number")
    return int(value)


def _integers(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, (tuple, list)):
        raise BadArray(f"has {value!r} for its {what}, which should be a tuple of whole numbers")
    return tuple([_integer(item, f"a part of its {what}") for item in value])


# --- the array interface ---


def from_interface(value: object, on_host: bool = True) -> ArrayDescription:
    """The memory of an object with `__array_interface__`, or `__cuda_array_interface__` where it is a GPU's."""
    called = "__array_interface__" if on_host else "__cuda_array_interface__"
    interface = attribute_of(value, called)
    if not isinstance(interface, dict):
        raise BadArray(f"has an {called} that is {type_text(interface)} and no dictionary")
    for name in ("shape", "typestr"):
        if name not in interface:
            raise BadArray(f"has an {called} without '{name}'")
    if interface.get("mask") is not None:
        raise BadArray("has a mask, which kernels do not look at")
    dtype = _dtype(interface["typestr"])
    shape = _integers(interface["shape"], "shape")
    given = interface.get("strides")
    strides = None if given is None else _integers(given, "strides")
    data = interface.get("data")
    if isinstance(data, tuple):
        if len(data) != 2:
            raise BadArray(f"has {data!r} for its data, which should be an address and whether it is read-only")
        address = _integer(data[0], "its address")
        return checked(address, shape, strides, dtype, not data[1], (value, interface), on_host)
    if not on_host:
        raise BadArray(f"has {data!r} for its data, which should be an address and whether it is read-only")
    offset = _integer(interface.get("offset", 0), "its offset")
    return _in_buffer(value if data is None else data, offset, shape, strides, dtype, (value, interface))


def _dtype(spelled: object) -> DType:
    if not isinstance(spelled, str) or not _TYPE.fullmatch(spelled):
        raise BadArray(f"has {spelled!r} for the type of its elements, as no array has")
    found: DType = _guarded(lambda: numpy.dtype(spelled), f"has {spelled!r} for the type of its elements")
    if not found.itemsize or found.hasobject:
        raise BadArray(f"has elements of type {spelled!r}, which are no numbers")
    return found


def _in_buffer(
    holder: object, offset: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: DType, owner: object
) -> ArrayDescription:
    """An array inside an object with Python's buffer protocol."""
    failure = "has no address and no buffer"
    memory = _guarded(lambda: numpy.frombuffer(memoryview(cast(Any, holder)), numpy.uint8), failure)
    start = int(memory.ctypes.data)
    described = checked(start + offset, shape, strides, dtype, bool(memory.flags.writeable), (owner, memory))
    low, high = byte_range(offset, shape, described[2], dtype.itemsize)
    if 0 not in shape and (low < 0 or high > memory.size):
        raise BadArray(f"reaches from byte {low} to byte {high} of a buffer of {memory.size} bytes")
    return described


def from_buffer(value: object) -> Any:
    """A NumPy array of the memory of `bytes`, a `bytearray` or a `memoryview`."""
    return _guarded(lambda: numpy.asarray(memoryview(cast(Any, value))), "has no buffer that NumPy understands")


# --- DLPack ---


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


HOST_DEVICES = (1, 3)  # the CPU, and memory of the host that a GPU sees too
GPU_DEVICES = (2, 13)  # CUDA's memory, and what CUDA moves between host and GPU
_READ_ONLY = 1
_DTYPES: Final = {
    **{(code, 8 * size): numpy.dtype(f"{kind}{size}") for code, kind in ((0, "i"), (1, "u")) for size in (1, 2, 4, 8)},
    **{(2, 8 * size): numpy.dtype(f"f{size}") for size in (2, 4, 8)},
    **{(5, 8 * size): numpy.dtype(f"c{size}") for size in (8, 16)},
    (4, 16): value_dtype(BF16),
    (6, 8): numpy.dtype(bool),
}
"""By code and number of bits."""


def device_of(value: object) -> int:
    if not has_attribute(value, "__dlpack_device__"):
        return 1
    device = _guarded(attribute_of(value, "__dlpack_device__"), "fails when its device is read")
    if not isinstance(device, tuple) or len(device) != 2:
        raise BadArray(f"reports that its device is {device!r}, which should be a kind and a number")
    return int(device[0]) if isinstance(device[0], int) else _integer(device[0], "the kind of its device")


def from_dlpack(value: object) -> ArrayDescription:
    """The memory of an object with `__dlpack__`.  The capsule is kept, not used up: it lets the memory go."""
    return _from_dlpack(value, HOST_DEVICES, {})[0]


def from_gpu_dlpack(value: object, stream: int) -> tuple[ArrayDescription, int]:
    """The same for memory of a GPU, with its number; what `stream` does next waits for what is under way there."""
    # DLPack has a number of its own for the stream that is 0 elsewhere.
    return _from_dlpack(value, GPU_DEVICES, {"stream": stream or 1})


def _from_dlpack(value: object, devices: tuple[int, ...], options: dict[str, int]) -> tuple[ArrayDescription, int]:
    capsule = _capsule(value, options)
    version, address = _address(capsule)
    if version:
        managed = _Versioned.from_address(address)
        if managed.major != 1:
            raise BadArray(f"returns a DLPack capsule of version {managed.major}.{managed.minor}, and 1 is known here")
        tensor, writable = managed.tensor, not managed.flags & _READ_ONLY
    else:
        # This version of DLPack has no flag for read-only memory: as in NumPy, it counts as read-only.
        tensor, writable = _Tensor.from_address(address), False
    if tensor.device_type not in devices:
        raise OnOtherDevice
    rank = int(tensor.ndim)
    if not 0 <= rank <= _MOST_DIMENSIONS:
        raise BadArray(f"has {rank} dimensions")
    if rank and not tensor.shape:
        raise BadArray("has no shape")
    dtype = _DTYPES.get((int(tensor.code), int(tensor.bits))) if tensor.lanes == 1 else None
    if dtype is None:
        given = f"type {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes"
        raise BadArray(f"has elements of DLPack's {given}, which no kernel takes")
    shape = tuple((ctypes.c_int64 * rank).from_address(tensor.shape)) if rank else ()
    strides: tuple[int, ...] | None = None
    if rank and tensor.strides:
        strides = tuple([s * dtype.itemsize for s in (ctypes.c_int64 * rank).from_address(tensor.strides)])
    start = int(tensor.data or 0)
    address = start + int(tensor.byte_offset) if start else 0
    owner, on_host = (value, capsule), devices is HOST_DEVICES
    return checked(address, shape, strides, dtype, writable, owner, on_host), int(tensor.device_id)


def _capsule(value: object, options: dict[str, int]) -> object:
    method = attribute_of(value, "__dlpack__")

    def share() -> object:
        try:
            return method(max_version=(1, 1), **options)
        except TypeError:
            return method(**options)

    return _guarded(share, "cannot be shared through DLPack")


# Functions of our own: the types of those in `pythonapi` are everybody's to set.
_capsule_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _address(capsule: object) -> tuple[int, int]:
    """Whether a capsule is of the kind with a version, and where its structure is."""
    if type(capsule).__name__ != "PyCapsule":
        raise BadArray(f"returns {type_text(capsule)} for a DLPack capsule")
    for version, name in enumerate((b"dltensor", b"dltensor_versioned")):
        if _capsule_is_valid(capsule, name):
            return version, int(_capsule_pointer(capsule, name))
    raise BadArray("returns a DLPack capsule that was used already, or that is for something else")


# --- addresses of NumPy arrays ---

# `array.ctypes.data` takes longer than all else that a launch has to check.  NumPy's public C interface has the address
# in the first field of an array, behind the header of all objects: it is read there where a few arrays confirm that.
DATA_OFFSET: Final = object.__basicsize__
word_at: Final = ctypes.c_size_t.from_address
NAMES: Final[dict[str, Any]] = {"word_at": word_at}  # What the code of `address_expression` uses.


def _reads_headers() -> bool:
    if sys.implementation.name != "cpython":
        # `id` is an address in CPython only.
        return False
    whole = numpy.zeros((4, 6), numpy.float32)
    arrays = [whole, whole[1:, ::2], whole.T, whole[2:2], whole.astype("u1")[3]]
    return all(word_at(id(array) + DATA_OFFSET).value == array.ctypes.data for array in arrays)


READS_HEADERS: Final = _reads_headers()


def address_expression(name: str) -> str:
    """Python code for the address of the first element of a variable that is a `numpy.ndarray`, and no subclass."""
    return f"word_at(id({name}) + {DATA_OFFSET}).value" if READS_HEADERS else f"{name}.ctypes.data"


def address_of(array: Any) -> int:
    return word_at(id(array) + DATA_OFFSET).value if READS_HEADERS else int(array.ctypes.data)
