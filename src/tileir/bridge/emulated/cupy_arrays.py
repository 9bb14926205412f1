"""`cupy.ndarray` in main memory.

It holds an array of NumPy and is none: as with CuPy, NumPy's functions give CuPy's arrays, arrays of NumPy do not mix
with it, and nothing converts it without being asked.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy

from tileir.bridge.emulated.cupy_cuda import Device, MemoryPointer

_CUDA: Final = 2
"""DLPack's number."""


class ndarray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An array on the emulated device."""

    __slots__ = ("__weakref__", "_array")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is None and strides is None:
            self._array: Any = numpy.empty(shape, dtype, "F" if order == "F" else "C")
        elif memptr is None:
            self._array = numpy.ndarray(shape, dtype, strides=strides)
        else:
            self._array = numpy.ndarray(shape, dtype, memptr.mem.data, strides=strides)

    @staticmethod
    def __tileir_host_array__(array: Any) -> Any:
        return array._array

    # --- where it is ---

    @property
    def device(self) -> Any:
        return Device(0)

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(self._array)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        described = self._array.__array_interface__
        return {
            "shape": described["shape"],
            "typestr": described["typestr"],
            "descr": described["descr"],
            "strides": described["strides"],
            "data": (described["data"][0] if self._array.size else 0, False),
            "stream": 1,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """A copy as an array of NumPy."""
        if out is not None:
            out[...] = self._array
            return out
        return self._array.copy(order="K" if order == "A" else order)

    def set(self, arr: Any, stream: Any = None) -> None:
        self._array[...] = arr

    # --- NumPy's protocols ---

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        refuse_numpy((*inputs, *keywords.get("out", ())))
        return called(getattr(ufunc, method), inputs, keywords)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return called(func, args, kwargs)

    # --- elements ---

    def __getitem__(self, index: Any) -> Any:
        index = unwrapped(index)
        found = self._array[index]
        if isinstance(found, numpy.generic):
            # A view of one element, not a number.
            found = self._array[(*index, ...) if isinstance(index, tuple) else (index, ...)]
        return wrapped(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[unwrapped(index)] = unwrapped(value)

    def __getattr__(self, name: str) -> Any:
        """Whatever else arrays of NumPy have, for arrays of the device."""
        if name.startswith("_"):
            # NumPy would take what it needs to convert it.
            raise AttributeError(name)
        found = getattr(self._array, name)
        if not callable(found):
            return wrapped(found)

        @functools.wraps(found)
        def method(*arguments: Any, **keywords: Any) -> Any:
            refuse_numpy(arguments)
            return called(found, arguments, keywords)

        return method

    def __iter__(self) -> Iterator[Any]:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[number] for number in range(len(self._array))])

    def __format__(self, specification: str) -> str:
        return format(self._array[()] if not self._array.ndim else self._array, specification)

    def __reduce__(self) -> Any:
        return made, (self._array,)

    def __deepcopy__(self, memo: Any) -> Any:
        return made(self._array.copy())

    def __copy__(self) -> Any:
        return made(self._array.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._array.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._array.shape = shape

    def scatter_add(self, slices: Any, value: Any) -> None:
        numpy.add.at(self._array, unwrapped(slices), unwrapped(value))

    def toDlpack(self) -> Any:
        return self


_CONVERSIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    bool, int, float, complex, len, repr, str, operator.index,
)  # fmt: skip


def _converting(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: convert(self._array)


for _convert in _CONVERSIONS:
    setattr(ndarray, f"__{_convert.__name__}__", _converting(_convert))
ndarray.__module__ = "cupy"

# --- between the two ---


def made(array: Any) -> Any:
    """The array of the device in the memory of one of NumPy."""
    found = ndarray.__new__(ndarray)
    found._array = array
    return found


def wrapped(value: Any) -> Any:
    """What NumPy gave, with arrays of the device for its arrays and numbers."""
    if isinstance(value, numpy.ndarray):
        return made(value)
    if isinstance(value, numpy.generic):
        return made(numpy.asarray(value))
    if type(value) in (tuple, list):
        return type(value)([wrapped(item) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[wrapped(item) for item in value])
    return value


def unwrapped(value: Any) -> Any:
    """What NumPy can be given, with its arrays for those of the device."""
    kind = type(value)
    if kind is ndarray:
        return value._array
    if kind is tuple or kind is list:
        return kind([unwrapped(item) for item in value])
    if kind is slice:
        return slice(unwrapped(value.start), unwrapped(value.stop), unwrapped(value.step))
    return value


def called(function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """A function of NumPy's on arrays of the device."""
    result = function(*unwrapped(tuple(arguments)), **{name: unwrapped(value) for name, value in keywords.items()})
    given = keywords.get("out")
    if given is not None:
        return given[0] if isinstance(given, tuple) and len(given) == 1 else given
    return wrapped(result)


def refuse_numpy(values: Any) -> None:
    for value in values:
        if isinstance(value, numpy.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
