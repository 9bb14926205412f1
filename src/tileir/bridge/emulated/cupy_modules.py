"""The modules `cupy`, `cupy.random`, `cupy.linalg`, `cupy.fft`, `cupy.testing`, `cupyx`: functions of NumPy's."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy

from tileir.bridge.emulated.cupy_arrays import called, made, ndarray, refuse_numpy, unwrapped, wrapped
from tileir.bridge.emulated.cupy_cuda import CUDA, MODULES, POOL
from tileir.bridge.emulated.gpu_interface import refusing

VERSION: Final = "13.6.0"
"""Of CuPy, whose interface this is."""

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
