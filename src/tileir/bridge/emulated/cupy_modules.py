"""The modules `cupy`, `cupy.random`, `cupy.linalg`, `cupy.fft`, `cupy.testing`, `cupyx`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy

from tileir.bridge.emulated.cupy_arrays import called, made, ndarray, refuse_numpy, unwrapped, wrapped
from tileir.bridge.emulated.cupy_device import CUDA, cuda_modules, get_default_memory_pool
from tileir.execute.errors import EmulationError

VERSION: Final = "13.6.0"
"""Of CuPy, whose interface this is."""

_C_CODE: Final = "it compiles CUDA C++: write the kernel with cuda.tile, or with functions of cupy"
MISSING: Final[dict[str, str]] = {
    "RawKernel": _C_CODE,
    "RawModule": _C_CODE,
    "ElementwiseKernel": _C_CODE,
    "ReductionKernel": _C_CODE,
    "fuse": _C_CODE,
    "fromDlpack": "use cupy.from_dlpack",
}
_ARRAYS: Final = frozenset({"allclose", "array_equal", "array_equiv"})
"""Functions whose answer is a number in NumPy and an array in CuPy."""


def _refusing(name: str, advice: str) -> Callable[..., Any]:
    """A function or class that is not there: it says so when it is called."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise EmulationError(name, advice)

    return refuse


def _function(function: Any) -> Callable[..., Any]:
    """One of NumPy's, for arrays of the device."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        refuse_numpy(arguments)
        result = called(function, arguments, keywords)
        return made(numpy.asarray(result)) if function.__name__ in _ARRAYS else result

    return call


class _Module(ModuleType):
    """A module with the functions of one of NumPy's, made when they are first asked for."""

    def __init__(self, name: str, model: Any, names: dict[str, Any]) -> None:
        super().__init__(name, f"{name}, met with NumPy by tileir.emulate.")
        self.__dict__.update(names)
        self.__dict__["__path__"] = []
        self._model: Any = model

    def __getattr__(self, name: str) -> Any:
        advice = MISSING.get(name)
        if advice is not None:
            return _refusing(f"{self.__name__}.{name}", advice)
        model = self.__dict__.get("_model")
        found = None if name.startswith("_") or model is None else getattr(model, name, None)
        if found is None:
            raise AttributeError(
                f"module '{self.__name__}' has no attribute '{name}' (NumPy, with which tileir.emulate meets CuPy's "
                "interface, has none of this name)"
            )
        if callable(found) and not isinstance(found, type):
            found = _function(found)
        setattr(self, name, found)
        return found


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
    found = [argument for argument in arguments if isinstance(argument, ndarray)]
    return sys.modules["cupy"] if found else numpy


def _making(name: str) -> Callable[..., Any]:
    """`empty`, and `zeros_like` of an array of either side, which gives one of the device."""

    @functools.wraps(getattr(numpy, name))
    def make(*arguments: Any, **keywords: Any) -> Any:
        # NumPy's may be replaced later (`bridge.uninitialized`).
        return called(getattr(numpy, name), arguments, keywords)

    return make


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    numpy.copyto(unwrapped(dst), unwrapped(src), casting=casting, where=unwrapped(where))


# --- random numbers ---


class Generator:
    """Of random numbers: NumPy's numbers on the device."""

    def __init__(self, generator: Any) -> None:
        self._generator: Any = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _drawing(getattr(self._generator, name))


def _drawing(function: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def draw(*arguments: Any, **keywords: Any) -> Any:
        dtype = keywords.pop("dtype", None)
        chosen = {} if dtype is None else {"dtype": dtype}
        try:
            result = function(*unwrapped(arguments), **unwrapped_all(keywords), **chosen)
        except TypeError:
            if dtype is None:
                raise
            # CuPy's functions take a dtype where NumPy's do not.
            result = numpy.asarray(function(*unwrapped(arguments), **unwrapped_all(keywords))).astype(dtype)
        return wrapped(result)

    return draw


def unwrapped_all(keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: unwrapped(value) for name, value in keywords.items()}


class _Random(_Module):
    def __getattr__(self, name: str) -> Any:
        found = getattr(numpy.random, name, None)
        if name.startswith("_") or found is None or isinstance(found, type):
            return super().__getattr__(name)
        return _drawing(found)


RANDOM: Final[dict[str, Any]] = {
    "default_rng": lambda seed=None: Generator(numpy.random.default_rng(seed)),
    "Generator": Generator,
    "RandomState": lambda seed=None, method=100: Generator(numpy.random.RandomState(seed)),
    "get_random_state": lambda: Generator(numpy.random.mtrand._rand),
}

# --- the whole ---

_TESTED: Final = (
    "assert_allclose", "assert_array_almost_equal", "assert_array_almost_equal_nulp", "assert_array_equal",
    "assert_array_less",
)  # fmt: skip


def _tested(name: str) -> Callable[..., Any]:
    def check(*arguments: Any, **keywords: Any) -> None:
        getattr(numpy.testing, name)(*unwrapped(arguments), **keywords)

    return check


def _add(name: str, names: dict[str, Any], model: Any = None, kind: Any = _Module) -> Any:
    module = sys.modules[name] = kind(name, model, names)
    return module


def make_modules() -> ModuleType:
    """Put the modules where imports find them."""
    names: dict[str, Any] = {
        "__version__": VERSION,
        "ndarray": ndarray,
        "array": array,
        "asarray": asarray,
        "asanyarray": asarray,
        "ascontiguousarray": lambda a, dtype=None: asarray(a, dtype, "C"),
        "asfortranarray": lambda a, dtype=None: asarray(a, dtype, "F"),
        "from_dlpack": from_dlpack,
        "asnumpy": asnumpy,
        "copyto": copyto,
        "get_array_module": get_array_module,
        "get_default_memory_pool": get_default_memory_pool,
        "get_default_pinned_memory_pool": get_default_memory_pool,
        "is_available": CUDA["is_available"],
        "show_config": lambda: print(f"CuPy {VERSION}, met with NumPy {numpy.__version__} by tileir.emulate"),
        **{name: _making(name) for name in ("empty", "empty_like", "full_like", "ones_like", "zeros_like")},
    }
    cupy: Any = _add("cupy", names, numpy)
    cupy.random = _add("cupy.random", RANDOM, numpy.random, _Random)
    cupy.linalg = _add("cupy.linalg", {}, numpy.linalg)
    cupy.fft = _add("cupy.fft", {}, numpy.fft)
    cupy.testing = _add("cupy.testing", {name: _tested(name) for name in _TESTED})
    cupy.cuda = cuda_modules(_add)
    cupyx: Any = _add("cupyx", {"scatter_add": lambda a, slices, value: a.scatter_add(slices, value)})
    cupyx.profiler = _add(
        "cupyx.profiler", {"benchmark": _refusing("cupyx.profiler.benchmark", "time with cupy.cuda.Event")}
    )
    return sys.modules["cupy"]
