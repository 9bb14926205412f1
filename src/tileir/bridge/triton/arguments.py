"""The arguments of a launch of a Triton kernel, as its tile program takes them.

A parameter of the signature that is a constant is compiled in, a pointer is the array, a tuple is its items, and a
tensor descriptor is a pointer, whether elements outside of the array read as NaN, extents and strides.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy

from tileir.bridge.contexts import torch_functions_off
from tileir.bridge.parameters import ConstantParameter, Description, Parameter, TypedParameter, constant_key
from tileir.execute.arguments.binding import Pointer, is_array, is_tensor
from tileir.execute.errors import LaunchError
from tileir.execute.locations.wording import argument_name, item_name

CONSTANT: Final = "constexpr"
_DESCRIPTOR: Final = "tensordesc"
_ALIGNMENT: Final = 16
# Triton's names of types that torch names otherwise; one without a name in torch is read as its bytes.
_TORCH_NAMES: Final = {
    "int1": "bool",
    "fp8e5": "float8_e5m2",
    "fp8e4nv": "float8_e4m3fn",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
}


class ArrayArgument:
    """An array of NumPy, or of another library, with the interface that Triton needs of tensors."""

    def __init__(self, array: Any) -> None:
        self.array: Any = array
        self.dtype: Any = array.dtype
        self.shape: tuple[int, ...] = tuple(array.shape)

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0])

    def stride(self) -> tuple[int, ...]:
        return tuple([stride // self.dtype.itemsize for stride in self.array.strides])


def as_triton_takes_them(arguments: Sequence[object]) -> list[object]:
    """Arguments with an `ArrayArgument` around each array that is no tensor."""
    return [
        ArrayArgument(value) if is_array(value) and not hasattr(value, "data_ptr") else value for value in arguments
    ]


def parameters_of(source: Any) -> dict[str, Parameter]:
    """What a kernel is compiled for: a parameter for each leaf of its signature."""
    constants, attributes = getattr(source, "constants", {}), getattr(source, "attrs", {})
    names = list(source.signature)
    found: dict[str, Parameter] = {}
    for path, kind in _leaves(list(source.signature.values())):
        name = str(names[path[0]])
        for number in path[1:]:
            name = item_name(number, name)
        if kind == CONSTANT:
            value = constants.get(path)
            found[name] = ConstantParameter(constant_key(value), value)
        else:
            is_aligned = any(attribute == "tt.divisibility" for attribute, _ in attributes.get(path, ()))
            found[name] = TypedParameter(kind, _ALIGNMENT if is_aligned else 1)
    return found


def _leaves(kinds: Sequence[Any], path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], str]]:
    for number, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            yield from _leaves(kind, (*path, number))
        else:
            yield (*path, number), kind


def describe(kernel: str, signature: Mapping[str, Any], arguments: Sequence[object], follows: bool) -> Description:
    """The values of a launch; with `follows` the kernel follows addresses that it reads from memory."""
    description = Description()
    if len(arguments) != len(signature):
        takes = f"takes {len(signature)} arguments with its constants ({', '.join(signature)})"
        raise LaunchError(f"{kernel} {takes}, but {len(arguments)} were given")
    with torch_functions_off():
        for (name, kind), value in zip(signature.items(), arguments, strict=True):
            _add(description, kind, value, argument_name(name, kernel))
        if follows:
            description.memory += _tensors()
    return description


def _add(description: Description, kind: Any, value: Any, name: str) -> None:
    if isinstance(kind, tuple):
        for number, (inner, item) in enumerate(zip(kind, value, strict=True)):
            _add(description, inner, item, item_name(number, name))
    elif kind.startswith("*"):
        description.values.append(_pointer(description, value, name))
    elif kind.startswith(_DESCRIPTOR):
        if getattr(value, "round_f32_to_tf32", False):
            raise LaunchError(f"{name} is a descriptor that rounds to tf32, which is not supported")
        pads_with_nan = getattr(value, "padding", "zero") == "nan"
        description.values += (_pointer(description, value.base, name), pads_with_nan, *value.shape, *value.strides)
    elif kind != CONSTANT:
        description.values.append(value)


def _pointer(description: Description, value: Any, name: str) -> object:
    if isinstance(value, ArrayArgument):
        value = value.array
    if not is_array(value) and hasattr(value, "base"):
        # Triton's `TensorWrapper`: a tensor whose elements the kernel reads as of another type.
        name_of_type = str(value.dtype)
        dtype = getattr(sys.modules["torch"], _TORCH_NAMES.get(name_of_type, name_of_type), None)
        value = value.base if dtype is None else value.base.view(dtype)
    if not is_array(value):
        return int(value.data_ptr())
    if is_tensor(value):
        whole = _storage(value)
        if whole is not None:
            description.memory.append(Pointer(whole, f"the storage of {name}"))
    return Pointer(value, name)


def _storage(tensor: Any) -> Any:
    """The memory that a tensor is a view of, if it is not all of it: a pointer reaches that as well."""
    try:
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        if tensor.device.type != "cpu" or size == tensor.nbytes or not size:
            return None
        address = storage.data_ptr()
    except (RuntimeError, NotImplementedError, AttributeError):
        return None
    return numpy.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _tensors() -> list[Pointer]:
    """All tensors of this process: which of them a kernel reaches through addresses is not known before it runs."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    found: dict[int, Pointer] = {}
    for tensor in [each for each in gc.get_objects() if type(each) is torch.Tensor]:
        try:
            if tensor.is_cpu and tensor.layout is torch.strided and tensor.untyped_storage().data_ptr():
                found.setdefault(tensor.untyped_storage().data_ptr(), Pointer(tensor, "a tensor"))
        except (RuntimeError, NotImplementedError):
            # One without plain memory.
            continue
    return list(found.values())
