"""CuPy's interface over NumPy: `cupy.ndarray`, and the modules `cupy`, `cupy.random` and others.

An array holds one of NumPy and is none: as with CuPy, NumPy's functions give CuPy's arrays, arrays of NumPy do not mix
with it, and every conversion is explicit.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy

from tileir.bridge.emulated import gpu_interface
from tileir.bridge.emulated.gpu_interface import current_gpu, nothing, refusing

# --- cupy.cuda ---

_VERSION: Final = 13000  # Of CUDA, as its functions give it.


CUDARuntimeError: Final[Any] = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy.cuda.runtime"})


class Device(int, contextlib.AbstractContextManager[Any]):
    """The one device, by its number."""

    pci_bus_id: str = "0000:00:01.0"
    synchronize = use = __exit__ = staticmethod(nothing)
    id = property(int)
    compute_capability = property(lambda self: f"{current_gpu().major}{current_gpu().minor}")
    mem_info = property(lambda self: (current_gpu().memory, current_gpu().memory))
    attributes = property(lambda self: {name: value for _, _, name, value in gpu_interface.properties() if name})

    def __new__(cls, device: Any = 0) -> Device:
        if int(device):
            raise CUDARuntimeError(f"cudaErrorInvalidDevice: invalid device ordinal ({int(device)} of 1)")
        return super().__new__(cls)

    def __repr__(self) -> str:
        return "<CUDA Device 0>"


class Stream(gpu_interface.BaseStream):
    entered: gpu_interface.CurrentStreams = gpu_interface.CurrentStreams()
    event: type[Any] = gpu_interface.BaseEvent
    null: Stream
    ptds: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, **more: Any) -> None:
        super().__init__(0 if null else 2 if ptds else None)


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        gpu_interface.BaseStream.__init__(self, ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class MemoryPointer:
    """`array.data`."""

    device_id: int = 0
    ptr = property(int)

    def __init__(self, array: Any) -> None:
        self.mem: Any = array

    def __int__(self) -> int:
        return int(self.mem.ctypes.data)


class MemoryPool:
    """NumPy allocates; nothing is kept that is not in use."""

    used_bytes = total_bytes = free_bytes = n_free_blocks = get_limit = staticmethod(lambda: 0)
    free_all_blocks = set_limit = staticmethod(nothing)
    malloc = staticmethod(lambda size: MemoryPointer(numpy.empty(size, numpy.uint8)))


POOL: Final = MemoryPool()


def _properties(device: int = 0) -> dict[str, Any]:
    found = {name: value for _, name, _, value in gpu_interface.properties()}
    flags = ("canMapHostMemory", "concurrentKernels", "managedMemory", "unifiedAddressing")
    return {
        **found,
        **dict.fromkeys(flags, 1),
        "name": found["name"].encode(),
        "regsPerBlock": found["regsPerMultiprocessor"],
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
    }


_RUNTIME: Final[dict[str, Any]] = {
    "CUDARuntimeError": CUDARuntimeError,
    "getDeviceProperties": _properties,
    "getDeviceCount": lambda: 1,
    "getDevice": lambda: 0,
    "setDevice": lambda device: Device(device) and None,
    "memGetInfo": lambda: Device().mem_info,
    "is_hip": False,
    **dict.fromkeys(("runtimeGetVersion", "driverGetVersion"), lambda: _VERSION),
    **dict.fromkeys(("deviceSynchronize", "streamSynchronize", "profilerStart", "profilerStop"), nothing),
}
_CUDA: Final[dict[str, Any]] = {
    **{kind.__name__: kind for kind in (Device, Stream, ExternalStream, MemoryPointer, MemoryPool)},
    "Event": gpu_interface.BaseEvent,
    "PinnedMemoryPool": MemoryPool,
    "alloc": POOL.malloc,
    "get_current_stream": lambda device_id=-1: Stream.current(Stream.null),
    "get_elapsed_time": gpu_interface.BaseEvent.elapsed_time,
    "get_device_id": lambda: 0,
    "is_available": lambda: True,
    "get_local_runtime_version": lambda: _VERSION,
    **dict.fromkeys(("set_allocator", "set_pinned_memory_allocator"), nothing),
    **dict.fromkeys(("using_allocator", "profile"), contextlib.nullcontext),
    "runtime": gpu_interface.Runtime("cupy.cuda.runtime", _RUNTIME),
}


class ndarray(numpy.lib.mixins.NDArrayOperatorsMixin):
    """An array on the emulated device."""

    __slots__ = ("__weakref__", "_array")
    __hash__ = None  # type: ignore[assignment]
    device = property(lambda self: Device(0))
    data = property(lambda self: MemoryPointer(self._array))
    shape = property(lambda self: self._array.shape, lambda self, shape: setattr(self._array, "shape", shape))

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is None and strides is None:
            self._array: Any = numpy.empty(shape, dtype, "F" if order == "F" else "C")
        else:
            self._array = numpy.ndarray(shape, dtype, None if memptr is None else memptr.mem.data, strides=strides)

    @staticmethod
    def __tileir_host_array__(array: Any) -> Any:
        return array._array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        described = self._array.__array_interface__
        data = (described["data"][0] if self._array.size else 0, False)
        return {**described, "data": data, "stream": 1, "version": 3}

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """A copy as an array of NumPy."""
        if out is not None:
            out[...] = self._array
            return out
        return self._array.copy(order="K" if order == "A" else order)

    def set(self, arr: Any, stream: Any = None) -> None:
        self._array[...] = arr

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        return called(getattr(ufunc, method), inputs, keywords)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return called(func, args, kwargs)

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
        return _function(self._array, name) if callable(found) else wrapped(found)

    def __iter__(self) -> Any:
        return map(self.__getitem__, range(len(self._array)))

    def __format__(self, specification: str) -> str:
        return format(self._array[()], specification)

    def __reduce__(self) -> Any:
        return made, (self._array,)

    def __copy__(self) -> Any:
        return made(self._array.copy())


def _converting(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: convert(self._array)


for _convert in (bool, int, float, complex, len, repr, str, operator.index):
    setattr(ndarray, f"__{_convert.__name__}__", _converting(_convert))
ndarray.__module__ = "cupy"


def made(array: Any) -> Any:
    """The array of the device in the memory of one of NumPy."""
    found = ndarray.__new__(ndarray)
    found._array = array
    return found


def wrapped(value: Any) -> Any:
    """A result of NumPy, with arrays of the device for its arrays and numbers."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return made(numpy.asarray(value))
    if isinstance(value, (tuple, list)):
        items = [wrapped(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
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


def called(function: Any, arguments: Any, keywords: dict[str, Any], takes_numpy: bool = False) -> Any:
    """A function of NumPy's on arrays of the device."""
    given = keywords.get("out")
    out = given if isinstance(given, tuple) else (given,)
    for value in () if takes_numpy else (*arguments, *out):
        if isinstance(value, numpy.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
    result = function(*unwrapped(tuple(arguments)), **{name: unwrapped(value) for name, value in keywords.items()})
    return wrapped(result) if given is None else given if len(out) > 1 else out[0]


# --- modules ---

VERSION: Final = "13.6.0"  # Of CuPy, whose interface this is.

_C_CODE: Final = "it compiles CUDA C++: write the kernel with cuda.tile, or with functions of cupy"
_MISSING: Final = ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel", "fuse")
_ARRAYS: Final = frozenset({"allclose", "array_equal", "array_equiv"})
"""Functions whose answer is a number in NumPy and an array in CuPy."""
_OF_BOTH: Final = frozenset({"empty", "empty_like", "full_like", "ones_like", "zeros_like", "copyto"})
"""Functions that take arrays of NumPy as well, as those of `cupy.testing` do."""


class _Module(ModuleType):
    """Some names, and those of a module of NumPy's, `model`, each made on first use."""

    def __init__(self, name: str, model: Any, names: dict[str, Any]) -> None:
        super().__init__(name, f"{name}, met with NumPy by tileir.emulate.")
        self.__dict__.update(names, __path__=[])
        self._model: Any = model

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else getattr(self._model, name, None)
        if found is None:
            raise AttributeError(f"module '{self.__name__}', which tileir.emulate meets with NumPy, has no '{name}'")
        if callable(found) and not isinstance(found, type):
            found = _function(self._model, name)
        setattr(self, name, found)
        return found


def _function(model: Any, name: str) -> Callable[..., Any]:
    """A function or method of NumPy's for arrays of the device."""

    @functools.wraps(getattr(model, name))
    def call(*arguments: Any, **keywords: Any) -> Any:
        takes_numpy = name in _OF_BOTH or model is numpy.testing
        # NumPy's may be replaced later (`bridge.uninitialized`).
        function = getattr(model, name)
        try:
            result = called(function, arguments, keywords, takes_numpy)
        except TypeError:
            if "dtype" not in keywords:
                raise
            # CuPy's functions of random numbers take a dtype where NumPy's do not.
            dtype = keywords.pop("dtype")
            result = wrapped(numpy.asarray(unwrapped(called(function, arguments, keywords)), dtype))
        return made(numpy.asarray(result)) if name in _ARRAYS else result

    return call


def array(object: Any, dtype: Any = None, copy: Any = True, order: Any = "K", ndmin: int = 0, **more: Any) -> Any:
    object = _shared_with_torch(object)
    return made(numpy.array(unwrapped(object), dtype=dtype, copy=copy or None, order=order, ndmin=ndmin))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False) -> Any:
    a = _shared_with_torch(a)
    if not isinstance(a, ndarray):
        # The memory of NumPy's arrays is the host's.
        return array(a, dtype, order=order)
    same = numpy.asarray(a._array, dtype=dtype, order=order)
    return a if same is a._array else made(same)


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


def asnumpy(a: Any, stream: Any = None, order: Any = "C", out: Any = None, **more: Any) -> Any:
    return a.get(stream, order, out) if isinstance(a, ndarray) else numpy.asarray(a, order=order)


def get_array_module(*arguments: Any) -> Any:
    return sys.modules["cupy"] if any(isinstance(argument, ndarray) for argument in arguments) else numpy


class Generator:
    """A generator of random numbers: NumPy's numbers on the device."""

    def __init__(self, model: Any) -> None:
        self._model: Any = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _function(self._model, name)


_RANDOM: Final[dict[str, Any]] = {
    "default_rng": lambda seed=None: Generator(numpy.random.default_rng(seed)),
    "RandomState": lambda seed=None, method=None: Generator(numpy.random.RandomState(seed)),
    "get_random_state": lambda: Generator(numpy.random.mtrand._rand),
    "Generator": Generator,
}
_CUPY: Final[dict[str, Any]] = {
    "__version__": VERSION,
    "ndarray": ndarray,
    "array": array,
    **dict.fromkeys(("asarray", "asanyarray"), asarray),
    "ascontiguousarray": lambda a, dtype=None: asarray(a, dtype, "C"),
    "asfortranarray": lambda a, dtype=None: asarray(a, dtype, "F"),
    "from_dlpack": from_dlpack,
    "asnumpy": asnumpy,
    "get_array_module": get_array_module,
    **dict.fromkeys(("get_default_memory_pool", "get_default_pinned_memory_pool"), lambda: POOL),
    "is_available": lambda: True,
    "show_config": lambda: print(f"CuPy {VERSION}, met with NumPy {numpy.__version__} by tileir.emulate"),
    **{name: refusing(f"cupy.{name}", _C_CODE) for name in _MISSING},
}
_MODULES: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "cupy": (numpy, _CUPY),
    "cupy.random": (numpy.random, _RANDOM),
    **{f"cupy.{name}": (getattr(numpy, name), {}) for name in ("linalg", "fft", "testing")},
    "cupy.cuda": (None, _CUDA),
    **{f"cupy.cuda.{name}": (None, _CUDA) for name in ("stream", "device", "memory")},
}
"""NumPy's module, and names of its own, for each module."""


def make_modules() -> None:
    """Put the modules where imports find them."""
    for name, (model, names) in _MODULES.items():
        module = sys.modules[name] = _Module(name, model, names)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    sys.modules["cupy.cuda.runtime"] = _CUDA["runtime"]
