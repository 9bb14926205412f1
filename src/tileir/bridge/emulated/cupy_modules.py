"""CuPy's interface over NumPy: `cupy.ndarray`, and the modules `cupy`, `cupy.random` and others, `cupyx`.

An array holds one of NumPy and is none: as with CuPy, NumPy's functions give CuPy's arrays, arrays of NumPy do not mix
with it, and nothing converts it without being asked.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import numpy

from tileir.bridge.emulated.cupy_cuda import CUDA, MODULES, POOL, Device, MemoryPointer
from tileir.bridge.emulated.gpu_interface import refusing

_CUDA: Final = 2  # DLPack's number.


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

    device = property(lambda self: Device(0))
    data = property(lambda self: MemoryPointer(self._array))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        described = self._array.__array_interface__
        data = (described["data"][0] if self._array.size else 0, False)
        return {**described, "data": data, "stream": 1, "version": 3}

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

    def __deepcopy__(self, memo: Any = None) -> Any:
        return made(self._array.copy())

    __copy__ = __deepcopy__
    shape = property(lambda self: self._array.shape, lambda self, shape: setattr(self._array, "shape", shape))

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


# --- modules ---

VERSION: Final = "13.6.0"  # Of CuPy, whose interface this is.

_C_CODE: Final = "it compiles CUDA C++: write the kernel with cuda.tile, or with functions of cupy"
_MISSING: Final[dict[str, str]] = {
    **dict.fromkeys(("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel", "fuse"), _C_CODE),
    "fromDlpack": "use cupy.from_dlpack",
}
_ARRAYS: Final = frozenset({"allclose", "array_equal", "array_equiv"})
"""Functions whose answer is a number in NumPy and an array in CuPy."""
_OF_BOTH: Final = frozenset({"empty", "empty_like", "full_like", "ones_like", "zeros_like", "copyto"})
"""Functions that take arrays of NumPy as well, as those of `cupy.testing` do."""


class _Module(ModuleType):
    """A module with the functions of one of NumPy's, `model`, made by `adapt` when they are first asked for."""

    def __init__(self, name: str, model: Any, names: dict[str, Any], adapt: Callable[[Any, str], Any]) -> None:
        super().__init__(name, f"{name}, met with NumPy by tileir.emulate.")
        self.__dict__.update(names)
        self.__dict__["__path__"] = []
        self._model: Any = model
        self._adapt: Callable[[Any, str], Any] = adapt

    def __getattr__(self, name: str) -> Any:
        if name in _MISSING:
            return refusing(f"{self.__name__}.{name}", _MISSING[name])
        found = None if name.startswith("_") else getattr(self._model, name, None)
        if found is None:
            raise AttributeError(
                f"module '{self.__name__}' has no attribute '{name}' (NumPy, with which tileir.emulate meets CuPy's "
                "interface, has none of this name)"
            )
        if callable(found) and not isinstance(found, type):
            found = self._adapt(self._model, name)
        setattr(self, name, found)
        return found


def _function(model: Any, name: str) -> Callable[..., Any]:
    """A function for arrays of the device."""

    @functools.wraps(getattr(model, name))
    def call(*arguments: Any, **keywords: Any) -> Any:
        if name not in _OF_BOTH and model is not numpy.testing:
            refuse_numpy(arguments)
        # NumPy's may be replaced later (`bridge.uninitialized`).
        result = called(getattr(model, name), arguments, keywords)
        return made(numpy.asarray(result)) if name in _ARRAYS else result

    return call


# --- functions that CuPy has of its own ---


def array(
    object: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0, **more: Any
) -> Any:
    object = _shared_with_torch(object)
    return made(numpy.array(unwrapped(object), dtype=dtype, copy=copy or None, order=order, ndmin=ndmin))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> Any:
    a = _shared_with_torch(a)
    if isinstance(a, ndarray):
        same = numpy.asarray(a._array, dtype=dtype, order=order)
        return a if same is a._array else made(same)
    # The memory of NumPy's arrays is the host's.
    return made(numpy.array(unwrapped(a), dtype=dtype, order=order))


def _shared_with_torch(value: Any) -> Any:
    """The array in the memory of a tensor on the emulated device; any other value as it is."""
    device: Any = sys.modules.get("tileir.bridge.emulated.device")
    if device is None or not device.is_on_device(value):
        return value
    with device.functions_off():
        return made(value.detach().numpy())


def from_dlpack(array: Any) -> Any:
    array = _shared_with_torch(array)
    return made(array._array if isinstance(array, ndarray) else numpy.from_dlpack(array))


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, **more: Any) -> Any:
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    return numpy.asarray(a, order="C" if order == "C" else None)


def get_array_module(*arguments: Any) -> Any:
    return sys.modules["cupy"] if any(isinstance(argument, ndarray) for argument in arguments) else numpy


# --- random numbers ---


class Generator:
    """Of random numbers: NumPy's numbers on the device."""

    def __init__(self, generator: Any) -> None:
        self._generator: Any = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _drawing(self._generator, name)


def _drawing(model: Any, name: str) -> Callable[..., Any]:
    function = getattr(model, name)

    @functools.wraps(function)
    def draw(*arguments: Any, dtype: Any = None, **keywords: Any) -> Any:
        if dtype is None:
            return called(function, arguments, keywords)
        try:
            return called(function, arguments, {**keywords, "dtype": dtype})
        except TypeError:
            # CuPy's functions take a dtype where NumPy's do not.
            return wrapped(numpy.asarray(unwrapped(called(function, arguments, keywords))).astype(dtype))

    return draw


_RANDOM: Final[dict[str, Any]] = {
    "default_rng": lambda seed=None: Generator(numpy.random.default_rng(seed)),
    "Generator": Generator,
    "RandomState": lambda seed=None, method=100: Generator(numpy.random.RandomState(seed)),
    "get_random_state": lambda: Generator(numpy.random.mtrand._rand),
}

# --- the whole ---


def make_modules() -> None:
    """Put the modules where imports find them."""
    cupy = {
        "__version__": VERSION,
        "ndarray": ndarray,
        "array": array,
        "asarray": asarray,
        "asanyarray": asarray,
        "ascontiguousarray": lambda a, dtype=None: asarray(a, dtype, "C"),
        "asfortranarray": lambda a, dtype=None: asarray(a, dtype, "F"),
        "from_dlpack": from_dlpack,
        "asnumpy": asnumpy,
        "get_array_module": get_array_module,
        **dict.fromkeys(("get_default_memory_pool", "get_default_pinned_memory_pool"), lambda: POOL),
        "is_available": CUDA["is_available"],
        "show_config": lambda: print(f"CuPy {VERSION}, met with NumPy {numpy.__version__} by tileir.emulate"),
    }
    profiler = {"benchmark": refusing("cupyx.profiler.benchmark", "time with cupy.cuda.Event")}
    for name, model, names, adapt in (
        ("cupy", numpy, cupy, _function),
        ("cupy.random", numpy.random, _RANDOM, _drawing),
        ("cupy.linalg", numpy.linalg, {}, _function),
        ("cupy.fft", numpy.fft, {}, _function),
        ("cupy.testing", numpy.testing, {}, _function),
        ("cupy.cuda", None, CUDA, _function),
        *[(f"cupy.cuda.{name}", None, names, _function) for name, names in MODULES.items()],
        ("cupyx", None, {"scatter_add": lambda a, slices, value: a.scatter_add(slices, value)}, _function),
        ("cupyx.profiler", None, profiler, _function),
    ):
        module = sys.modules[name] = _Module(name, model, names, adapt)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    sys.modules["cupy.cuda.runtime"] = CUDA["runtime"]
