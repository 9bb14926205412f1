"""Inputs and results as bytes: arrays of NumPy, torch and CuPy, numbers, and what is made of them.

Written by one process and read by another, which may not trust the first: a header of JSON lists the values, and the
elements of all arrays follow.  An array keeps the order of its axes in memory, which kernels are sensitive to; gaps and
repetitions it loses.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import stat
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import ml_dtypes
import numpy

from tileir.execute.dtypes import Array, DType
from tileir.ir.quoting import type_text

_MAGIC: Final = b"tileir values 1\n"
_ALIGNMENT: Final = 64
_MOST_VALUES: Final = 10_000
_MOST_DIMENSIONS: Final = 32

LIBRARIES = NUMPY, SCALAR, TORCH, CUDA, CUPY = "numpy", "numpy scalar", "torch", "torch on cuda", "cupy"


class NotCarried(Exception):
    """What cannot be carried or read, or is not what was to be carried; the message describes it."""


class Disguised(NotCarried):
    """A value that claims to be an array and is none of a library's own: it may compute when it is read."""


def dump(value: object, what: str = "it") -> bytes:
    """A value as bytes; `what` begins the message if it cannot be."""
    arrays: list[dict[str, object]] = []
    data = bytearray()

    def keep(array: Array, library: str) -> int:
        order = _memory_order(array.strides)
        data.extend(bytes(-len(data) % _ALIGNMENT))
        described = {"dtype": array.dtype.name, "shape": array.shape, "order": order, "place": len(data)}
        arrays.append({**described, "library": library})
        data.extend(numpy.ascontiguousarray(array.transpose(order)).tobytes())
        return len(arrays) - 1

    tree = _tree(value, what, keep, 0)
    header = json.dumps({"tree": tree, "arrays": arrays}, separators=(",", ":")).encode()
    head = _MAGIC + len(header).to_bytes(8, "little") + header
    return head + bytes(-len(head) % _ALIGNMENT) + bytes(data)


def _memory_order(strides: Sequence[int]) -> list[int]:
    """The axes of an array, the one whose elements are farthest apart in memory first."""
    return sorted(range(len(strides)), key=lambda axis: (-abs(strides[axis]), axis))


def _tree(value: object, what: str, keep: Callable[[Array, str], int], depth: int) -> object:
    if depth > 20:
        raise NotCarried(f"{what} is nested too deeply")
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, (tuple, list)):
        items = [_tree(item, f"{what}[{number}]", keep, depth + 1) for number, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {"dict": [[str(key), _tree(item, f"{what}[{key!r}]", keep, depth + 1)] for key, item in value.items()]}
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    return {"array": keep(*_array(value, what, torch))}


def _array(value: Any, what: str, torch: Any) -> tuple[Array, str]:
    """An array of whatever library as one of NumPy."""
    if isinstance(value, numpy.generic):
        return numpy.asarray(value), SCALAR
    # A subclass may compute what it holds when it is read, after the clock has stopped.
    if type(value) is numpy.ndarray:
        dtype_named(value.dtype.name, what)
        return value, NUMPY
    if torch is not None and isinstance(value, torch.Tensor):
        # Only where there is torch.
        from tileir.bridge.emulated.device import functions_off, is_on_device

        if type(value) in (torch.Tensor, torch.nn.Parameter):
            library = CUDA if is_on_device(value) or value.is_cuda else TORCH
            with functions_off():
                return _of_tensor(value.detach(), what, torch), library
    host = getattr(type(value), "__tileir_host_array__", None)
    if host is not None and type(value).__module__.partition(".")[0] in ("cupy", "tileir"):
        return host(value), CUPY
    kind = Disguised if _pretends(value) else NotCarried
    raise kind(f"{what} is {type_text(value)}: pass arrays of NumPy, torch or CuPy, numbers, and tuples of them")


def _pretends(value: object) -> bool:
    """Whether a value of a type that no library made can be taken for an array."""
    kind = type(value)
    foreign = kind.__module__.partition(".")[0] not in ("numpy", "torch", "cupy", "tileir", "builtins")
    names = ("__array__", "__array_interface__", "__dlpack__", "__torch_function__", "__torch_dispatch__")
    return foreign and any(hasattr(kind, name) for name in names)


def _of_tensor(host: Any, what: str, torch: Any) -> Array:
    name = str(host.dtype).removeprefix("torch.")
    dtype = dtype_named(name, what)
    try:
        host = host.cpu()
        order = _memory_order(host.stride())
        dense = host.permute(order).contiguous()
        flat = dense.reshape(-1).view(torch.uint8).numpy() if dense.numel() else numpy.empty(0, numpy.uint8)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        words = str(error).partition("\n")[0]
        raise NotCarried(f"{what} is a tensor without plain memory ({words})") from None
    return flat.view(dtype).reshape(tuple(dense.shape)).transpose(numpy.argsort(order))


def dtype_named(name: str, what: str) -> DType:
    """A dtype by the name that torch, NumPy and ml_dtypes have for it; the last registers its own with NumPy."""
    try:
        found = numpy.dtype(name)
    except TypeError:
        found = numpy.dtype(object)
    if found.hasobject or (found.kind in "SUVMm" and found.name not in vars(ml_dtypes)):
        raise NotCarried(f"{what} has elements of {name}, which cannot be carried")
    return found


def results_of(value: Any) -> list[Any]:
    """What a computation returned, as a list."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in results_of(part)]
    return [] if value is None else [value]


def load(data: bytes, *, as_numpy: bool = False) -> Any:
    """The value again; with `as_numpy` all arrays are NumPy's, and no other library is needed."""
    if not data.startswith(_MAGIC):
        raise NotCarried("this is no file of values")
    begin = len(_MAGIC) + 8
    length = int.from_bytes(data[len(_MAGIC) : begin], "little")
    try:
        header = json.loads(data[begin : begin + length])
        start = begin + length + -(begin + length) % _ALIGNMENT
        described = header["arrays"]
        if len(described) > _MOST_VALUES:
            raise NotCarried("there are too many arrays")
        arrays = [_read(data, start, entry) for entry in described]
        return _value(header["tree"], arrays, as_numpy)
    except NotCarried:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise NotCarried(f"the values are damaged ({type(error).__name__})") from None


def replaced(data: bytes, change: Callable[[Array], Array]) -> bytes:
    """A dumped value with other contents of its arrays: `change` returns one of the same shape and type."""
    begin = len(_MAGIC) + 8
    length = int.from_bytes(data[len(_MAGIC) : begin], "little")
    start = begin + length + -(begin + length) % _ALIGNMENT
    found = bytearray(data)
    for entry in json.loads(data[begin : begin + length])["arrays"]:
        array, _ = _read(data, start, entry)
        new = numpy.ascontiguousarray(change(array).astype(array.dtype, copy=False).transpose(entry["order"])).tobytes()
        found[start + entry["place"] : start + entry["place"] + len(new)] = new
    return bytes(found)


def _read(data: bytes, start: int, entry: Any) -> tuple[Array, str]:
    dtype = dtype_named(str(entry["dtype"]), "an array")
    shape = [int(extent) for extent in entry["shape"]]
    order = [int(axis) for axis in entry["order"]]
    place, library = int(entry["place"]), entry["library"]
    is_wrong = library not in LIBRARIES or len(shape) > _MOST_DIMENSIONS or sorted(order) != list(range(len(shape)))
    if is_wrong or min(shape, default=0) < 0 or place < 0:
        raise NotCarried("an array is described wrongly")
    count = math.prod(shape)
    if start + place + count * dtype.itemsize > len(data):
        raise NotCarried("an array is longer than the file")
    found: Array = numpy.frombuffer(data, dtype, count, start + place) if count else numpy.empty(0, dtype)
    dense = found.reshape([shape[axis] for axis in order])
    return dense.transpose(numpy.argsort(order)), library


def _value(tree: Any, arrays: list[tuple[Array, str]], as_numpy: bool) -> Any:
    if isinstance(tree, list):
        return [_value(item, arrays, as_numpy) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, held),) = tree.items()
    if kind == "tuple":
        return tuple(_value(held, arrays, as_numpy))
    if kind == "dict":
        return {str(key): _value(item, arrays, as_numpy) for key, item in held}
    if kind == "dtype":
        return f"torch.{held}" if as_numpy else getattr(importlib.import_module("torch"), str(held))
    if kind == "array":
        array, library = arrays[held]
        return array if as_numpy else _in_library(array, library)
    raise NotCarried(f"there is no kind of value '{kind}'")


def _in_library(array: Array, library: str) -> Any:
    """An array of its own library, in memory of its own that may be written to."""
    if library == SCALAR:
        return array[()]
    order = _memory_order(array.strides)
    back = numpy.argsort(order).tolist()
    dense = array.transpose(order).copy()
    if library in (NUMPY, CUPY):
        # CuPy's, or its emulation.
        own = dense if library == NUMPY else importlib.import_module("cupy").asarray(dense)
        return own.transpose(back)
    torch: Any = importlib.import_module("torch")
    tensor = torch.empty(dense.shape, dtype=getattr(torch, array.dtype.name))
    if dense.size:
        tensor.reshape(-1).view(torch.uint8).copy_(torch.from_numpy(dense.reshape(-1).view(numpy.uint8)))
    return (tensor.cuda() if library == CUDA else tensor).permute(back)


# --- files that foreign code may have written ---


def read_foreign(directory: str, name: str, most: int) -> bytes:
    """The contents of a plain file in a directory, of at most so many bytes.

    A candidate may leave anything under the name of its results: a link to what others write later, a pipe that never
    ends, a file that does not fit into memory."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    path = os.path.join(directory, name)
    try:
        if os.path.islink(directory) or os.path.islink(path):
            raise NotCarried(f"{name} is a link")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise NotCarried(f"{name} is missing") from None
    except OSError as error:
        raise NotCarried(f"{name} cannot be read ({error.strerror})") from None
    found = os.fstat(descriptor)
    why = ""
    if not stat.S_ISREG(found.st_mode):
        why = "is no plain file"
    elif found.st_nlink > 1:
        # Another name of a file that somebody else writes.
        why = "is a link"
    elif found.st_size > most:
        why = f"has {found.st_size} bytes, more than {most}"
    if why:
        os.close(descriptor)
        raise NotCarried(f"{name} {why}")
    with open(descriptor, "rb") as file:
        return file.read(most)
