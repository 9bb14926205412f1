"""The way from a caller's values to a kernel's arguments, shared by all engines.

An array stands for a pointer to its first element and is never copied: the kernel works in the caller's memory.  A
number stands for a scalar.  Everything that does not fit is a `LaunchError` with a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, cast

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.array_memory import (
    GPU_DEVICES,
    HOST_DEVICES,
    ArrayDescription,
    BadArray,
    OnOtherDevice,
    attribute_of,
    byte_range,
    dense_strides,
    device_of,
    from_buffer,
    from_dlpack,
    from_interface,
    has_attribute,
)
from tileir.execute.arguments.multicast import MulticastArray, MulticastRange, reserved_range
from tileir.execute.dtypes import Array, DType, bits_dtype, memory_dtype, scalar_array, value_dtype
from tileir.execute.errors import LaunchError, WrongDeviceError
from tileir.execute.launching.entries import check_number
from tileir.execute.memory import Memory, Region
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text
from tileir.ir.types import F32, I1, TF32, FloatType, IntegerType, Type


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory of the caller: the address of its first element, and the bytes from `low` to `high` that belong to it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    writable: bool
    owner: object
    kind: str
    low: int = field(init=False)
    high: int = field(init=False)

    def __post_init__(self) -> None:
        self.low = self.high = self.address
        if 0 not in self.shape:
            self.low, self.high = byte_range(self.address, self.shape, self.strides, self.dtype.itemsize)

    @property
    def contiguous(self) -> bool:
        # Strides of an array without elements, and along a dimension of one, may be any.
        expected = dense_strides(self.shape, self.dtype.itemsize)
        pairs = zip(self.shape, self.strides, expected, strict=True)
        return 0 in self.shape or all(extent == 1 or stride == dense for extent, stride, dense in pairs)

    @property
    def description(self) -> str:
        """What it is, as in `array float32[4, 4]`."""
        return f"{self.kind} {self.dtype.name}[{', '.join([str(extent) for extent in self.shape])}]"


class ArgumentLabel(NamedTuple):
    """The name of an argument's memory, formatted only when it is shown; `number` is -1 if it is no parameter."""

    what: str
    buffer: Buffer
    number: int = -1

    def __str__(self) -> str:
        return f"{self.what} ({self.buffer.description})"


@dataclass(slots=True, eq=False)
class Pointer:
    """An array whose strides the kernel knows, and its name in messages; made by `pointer_to`."""

    array: object
    name: str = ""


def pointer_to(array: object) -> Pointer:
    """A pointer to the first element of an array that need not be contiguous.

    A kernel that takes strides as arguments can work on any array; one that does not would read a strided array
    wrongly.  That is why `launch` refuses strided arrays that are not passed this way.
    """
    return Pointer(array)


TORCH_DTYPES: Final = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
)  # fmt: skip


def tensor_dtype(name: str) -> DType:
    return numpy.dtype(name)


def is_array(value: object) -> bool:
    """Whether a value is an array of some library, on whatever device."""
    if isinstance(value, (Pointer, numpy.ndarray)):
        return True
    if isinstance(value, numpy.generic):
        return False
    names = ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    return isinstance(value, (bytes, bytearray, memoryview)) or any(has_attribute(value, name) for name in names)


_PLAIN = frozenset((int, float, bool, type(None), numpy.ndarray))


def is_on_gpu(value: object) -> bool:
    """Whether a value reports that it is an array in GPU memory; loads no library."""
    value = value.array if isinstance(value, Pointer) else value
    if type(value) in _PLAIN or isinstance(value, (numpy.ndarray, numpy.generic)) or _is_emulated(value):
        return False
    if is_tensor(value):
        return bool(cast(Any, value).device.type == "cuda")
    try:
        return _has_gpu_interface(value) or (has_attribute(value, "__dlpack__") and device_of(value) in GPU_DEVICES)
    except BadArray:
        return False


EMULATED_STORAGE = "tileir_is_emulated"
"""An attribute of the storage of a tensor that is on an emulated GPU: its memory is the host's."""
PINNED_STORAGE = "tileir_is_pinned"
"""An attribute of the storage of a tensor in pinned memory, which an emulated GPU reaches."""


HOST_ARRAY = "__tileir_host_array__"
"""A method of arrays of an emulated GPU, which returns the array of NumPy that has their memory."""


def host_array(value: object) -> Any:
    """The NumPy array in the memory of an array of an emulated GPU; None for anything else."""
    read = getattr(type(value), HOST_ARRAY, None)
    return None if read is None else read(value)


def _is_emulated(value: object) -> bool:
    if hasattr(type(value), HOST_ARRAY):
        return True
    try:
        return is_tensor(value) and hasattr(cast(Any, value).untyped_storage(), EMULATED_STORAGE)
    except (RuntimeError, NotImplementedError, AttributeError):
        # Without storage, or of an old torch.
        return False


def _has_gpu_interface(value: object) -> bool:
    name = "__cuda_array_interface__"
    return has_attribute(value, name) and attribute_of(value, name) is not None


def buffer_of(value: object, what: str) -> Buffer:
    """The memory of an array; `what` begins the message if there is none."""
    if isinstance(value, numpy.ndarray):
        return _numpy_buffer(value)
    host = host_array(value)
    if host is not None:
        return _numpy_buffer(host, value)
    if is_tensor(value):
        tensor = cast(Any, value)
        if tensor.device.type != "cpu" and not _is_emulated(tensor):
            raise WrongDeviceError(f"{what} is a tensor on {tensor.device}: pass tensor.cpu(), or use a GPU backend")
        return Buffer(*described_tensor(tensor, what), "tensor")
    try:
        if _has_gpu_interface(value):
            raise OnOtherDevice
        if has_attribute(value, "__array_interface__"):
            return Buffer(*from_interface(value), "array")
        if isinstance(value, (bytes, bytearray, memoryview)):
            return _numpy_buffer(from_buffer(value), value)
        if has_attribute(value, "__dlpack__"):
            if device_of(value) not in HOST_DEVICES:
                raise OnOtherDevice
            return Buffer(*from_dlpack(value), "array")
    except OnOtherDevice:
        hint = "copy it to the host first (tensor.cpu(), cupy.asnumpy(x)), or use a GPU backend"
        raise WrongDeviceError(f"{what} is in the memory of a GPU: {hint}") from None
    except BadArray as error:
        raise LaunchError(f"{what} is {type_text(value)} that {error}: pass a NumPy array") from None
    raise LaunchError(f"{what} is {type_text(value)}, which is not an array: pass a NumPy array or a CPU tensor")


def _numpy_buffer(array: Array, owner: object = None) -> Buffer:
    address, writable = int(array.ctypes.data), bool(array.flags.writeable)
    return Buffer(address, array.shape, array.strides, array.dtype, writable, (array, owner), "array")


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of torch, which describes itself in torch's own way."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr")


def described_tensor(tensor: Any, what: str) -> ArrayDescription:
    """The memory of a tensor, on whatever device; `what` begins the message if there is none."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in TORCH_DTYPES:
        raise LaunchError(
            f"{what} is a tensor of {name}, which no element type of the dialect matches: convert it, as tensor.float()"
        )
    dtype = tensor_dtype(name)
    try:
        if tensor.is_neg():
            raise LaunchError(f"{what} is a lazily negated tensor: pass tensor.resolve_neg()")
        shape = tuple(tensor.shape)
        strides = tuple([stride * dtype.itemsize for stride in tensor.stride()])
        found = Buffer(tensor.data_ptr(), shape, strides, dtype, True, tensor, "tensor")
        # An old torch has only typed storage, which does not report its size in bytes.
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else None
        begin, size = (storage.data_ptr(), storage.nbytes()) if storage is not None else (found.low, 1 << 64)
    except (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError) as error:
        # Sparse, nested, or inside a transformation.
        words = str(error).partition("\n")[0]
        raise LaunchError(
            f"{what} is a tensor without plain memory of its own ({words}): pass a plain one, as tensor.to_dense()"
        ) from None
    if found.low < found.high and (not begin or found.low < begin or found.high > begin + size):
        # The memory was freed, or never existed: fake tensors, expanded zeros.
        raise LaunchError(
            f"{what} is a {found.description} with only {size if begin else 0} bytes of memory behind it: "
            "pass one that has all of its memory, as tensor.clone() of a whole one"
        )
    return found.address, shape, strides, dtype, True, tensor


@dataclass(slots=True)
class BoundArguments:
    """What a launch runs with: the values of the kernel's parameters and the memory they reach."""

    values: list[Any] = field(default_factory=list)
    buffers: list[tuple[Buffer, ArgumentLabel]] = field(default_factory=list)
    multicasts: list[MulticastRange] = field(default_factory=list)


def bind(
    entry: Operation, arguments: tuple[object, ...], read: Callable[[object, str], Buffer] = buffer_of
) -> BoundArguments:
    """Check a launch's arguments against a kernel's parameters; `read` returns the buffer of an array."""
    check_number(entry, arguments)
    parameters = entry.regions[0].blocks[0].arguments
    bound = BoundArguments()
    for number, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        what = f"argument {number} of @{entry.symbol_name}"
        type = parameter.type
        if not isinstance(type, TileType):
            raise LaunchError(f"{what} has type {type.spelling}: only pointers and scalars can be given to a launch")
        if not isinstance(type.element, PointerType):
            bound.values.append(_bind_scalar(type.element, value, what))
            continue
        if isinstance(value, MulticastArray) or type.element.attribute == "multicast":
            _bind_multicast(bound, type.element, value, what, number, read)
            continue
        name = value.name if isinstance(value, Pointer) else ""
        found = _bind_pointer(type.element.pointee, value, name or what, read)
        if isinstance(found, Buffer):
            if not found.writable and may_write(entry, number):
                raise LaunchError(
                    f"{name or what} is read-only ({found.description}), but the kernel may write to it: "
                    "pass a writable copy"
                )
            bound.buffers.append((found, ArgumentLabel(name or f"argument {number}", found, number)))
        bound.values.append(numpy.uint64(found.address if isinstance(found, Buffer) else found))
    return bound


def _bind_multicast(
    bound: BoundArguments,
    type: PointerType,
    value: object,
    what: str,
    number: int,
    read: Callable[[object, str], Buffer],
) -> None:
    if not isinstance(value, MulticastArray):
        hint = "tileir.kernels.MulticastArray([a, b]), the same array on each device"
        raise LaunchError(f"{what} is a multicast pointer, but {type_text(value)} was given: pass {hint}")
    if type.attribute != "multicast":
        raise LaunchError(f"{what} is not a multicast pointer, but a MulticastArray was given: pass one array")
    buffers: list[Buffer] = []
    for device, array in enumerate(value.arrays):
        name = f"{what} on device {device}"
        buffer = _bind_pointer(type.pointee, array, name, read)
        if not isinstance(buffer, Buffer):
            raise LaunchError(f"{name} is an address: pass an array")
        if not buffer.writable:
            raise LaunchError(f"{name} is read-only ({buffer.description}): pass a writable copy")
        first = buffers[0] if buffers else buffer
        if (buffer.shape, buffer.dtype) != (first.shape, first.dtype):
            raise LaunchError(
                f"{name} is {buffer.description}, but {first.description} on device 0: "
                "pass arrays of one shape and dtype"
            )
        for other, known in enumerate(buffers):
            if buffer.low < known.high and known.low < buffer.high:
                raise LaunchError(f"{name} shares memory with that on device {other}: pass an array for each device")
        buffers.append(buffer)
        bound.buffers.append((buffer, ArgumentLabel(f"argument {number} on device {device}", buffer)))
    found = reserved_range(buffers[0].high - buffers[0].low, [buffer.address for buffer in buffers])
    bound.multicasts.append(found)
    bound.values.append(numpy.uint64(found.start))


def known_memory(globals: Iterable[Region], bound: BoundArguments, more: Iterable[object]) -> Memory:
    """The memory a launch can see: global variables, arguments, and what the caller names besides."""
    known = Memory()
    known.multicasts = bound.multicasts
    for region in globals:
        known.add(region.start, region.size, region, region.labels[0], region.writable)
    for buffer, label in bound.buffers:
        known.add(buffer.low, buffer.high - buffer.low, buffer, label, buffer.writable)
    for number, array in enumerate(more):
        what = f"element {number} of `memory`"
        if isinstance(array, Pointer):
            what, array = array.name or what, array.array
        buffer = buffer_of(array, what)
        known.add(buffer.low, buffer.high - buffer.low, buffer, ArgumentLabel(what, buffer), buffer.writable)
    return known


def _bind_pointer(pointee: Type, value: object, what: str, read: Callable[[object, str], Buffer]) -> Buffer | int:
    """The memory that a pointer is given, or a bare address."""
    array = value.array if isinstance(value, Pointer) else value
    if isinstance(array, (int, numpy.integer)) and not isinstance(array, bool):
        if not 0 <= int(array) < 1 << 64:
            raise LaunchError(f"{what} is {int(array)}, which is not an address: pass an array")
        return int(array)
    if not is_array(array):
        hint = "pass numpy.array(..)" if isinstance(array, (list, tuple)) else "pass an array"
        raise LaunchError(f"{what} is a pointer to {pointee.spelling}, but {type_text(array)} was given: {hint}")
    buffer = read(array, what)
    if not buffer.dtype.isnative:
        raise LaunchError(
            f"{what} has the byte order of another machine ({buffer.dtype}): "
            "pass array.astype(array.dtype.newbyteorder('='))"
        )
    if buffer.dtype not in accepted_dtypes(pointee):
        given = f"{'an' if buffer.kind == 'array' else 'a'} {buffer.description}"
        dtype = value_dtype(F32 if pointee is TF32 else pointee).name
        raise LaunchError(
            f"{what} is a pointer to {pointee.spelling}, but {given} was given: pass one of dtype {dtype}"
        )
    if not buffer.contiguous and not isinstance(value, Pointer):
        raise LaunchError(
            f"{what} is not contiguous ({buffer.description}): pass a contiguous copy, or "
            "tileir.kernels.pointer_to(array) if the kernel takes the strides into account"
        )
    return buffer


@cache
def accepted_dtypes(pointee: Type) -> set[DType]:
    """The dtypes an array may have for a pointer: its own, integers of either sign, bits of formats NumPy lacks."""
    found = {value_dtype(pointee), memory_dtype(pointee)}
    own = value_dtype(pointee)
    if isinstance(pointee, IntegerType) or own.kind not in "fb":
        found |= {bits_dtype(pointee), numpy.dtype(f"i{own.itemsize}")}
    if pointee is I1:
        found.add(numpy.dtype(numpy.int8))
    return found


def _bind_scalar(element: Type, value: object, what: str) -> Any:
    if isinstance(value, numpy.ndarray) and value.ndim == 0:
        value = value[()]
    if is_array(value):
        raise LaunchError(f"{what} is a scalar {element.spelling}, but an array was given: pass a number, as x.item()")
    if isinstance(element, IntegerType):
        if not isinstance(value, (bool, numpy.bool_, int, numpy.integer)):
            raise LaunchError(
                f"{what} is a scalar {element.spelling}, but {type_text(value)} was given: pass an integer"
            )
        low, high = -(1 << (element.width - 1)), (1 << element.width) - 1
        if not low <= int(value) <= high:
            given = f"{what} is a scalar {element.spelling}, which cannot hold {int(value)}"
            raise LaunchError(f"{given}: pass {low} to {high}")
        return scalar_array(element, int(value))[()]
    if not isinstance(element, FloatType):
        raise LaunchError(f"{what} has element type {element.spelling}, which cannot be given to a launch")
    if isinstance(value, numpy.generic) and value.dtype == value_dtype(element):
        return value
    # Or a scalar of an ml_dtypes format.
    is_small = isinstance(value, numpy.generic) and hasattr(value, "__float__") and value.dtype.kind in "Vf"
    if isinstance(value, (int, float, numpy.integer, numpy.floating)) or is_small:
        return scalar_array(element, float(cast(float, value)))[()]
    raise LaunchError(f"{what} is a scalar {element.spelling}, but {type_text(value)} was given: pass a number")


MOST_THREADS = 1024  # More than any machine needs, and few enough for the system to start them.


def checked_arrays(given: object, name: str) -> list[object]:
    if is_array(given) or isinstance(given, (str, dict)) or not isinstance(given, Iterable):
        raise LaunchError(f"{name} is {type_text(given)}: pass a list of arrays, as {name}=[array]")
    found = list(given)
    for number, array in enumerate(found):
        if not is_array(array):
            what = f"element {number} of `{name}` is {type_text(array)}"
            raise LaunchError(f"{what}, which is not an array: pass a NumPy array")
    return found
