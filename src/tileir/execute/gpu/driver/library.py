"""libcuda: loaded when it is first needed (`TILEIR_LIBCUDA` names another file), called through ctypes.

Functions are named as the library exports them, some with a version at the end that their documentation leaves out.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from tileir.execute.errors import LaunchError
from tileir.forking import NO_FORK

INVALID_VALUE, NOT_INITIALIZED, INVALID_DEVICE, NOT_FOUND = 1, 3, 101, 500
OTHER_CONTEXT: Final = (400, 201)
"""What a launch is refused with where another context is current than that of its function, or none: INVALID_HANDLE,
INVALID_CONTEXT."""

# An illegal address, an assert that failed, a time limit, traps and their kin.
_STICKY: Final = frozenset((700, 710, 702, *range(714, 720), 721))
"""What a kernel leaves behind that has run wild: every later call in the context fails with it."""

_ADVICE: Final = {
    2: "free memory of the GPU",
    NOT_INITIALIZED: "a process that was forked from one that uses CUDA cannot use it: start it by 'spawn'",
    209: "compile it for this GPU",
}
_LOST: Final = "this process cannot use the GPU any more (CUDA_LAUNCH_BLOCKING=1 shows which kernel it is)"

LIBRARY_VARIABLE: Final = "TILEIR_LIBCUDA"
OLDEST_DRIVER: Final = 12000  # The first version of CUDA, as the driver counts, with libraries of kernels.
_LETTERS: Final[dict[str, Any]] = {
    "p": ctypes.c_void_p, "i": ctypes.c_int, "u": ctypes.c_uint, "n": ctypes.c_size_t, "s": ctypes.c_char_p,
}  # fmt: skip
# What each takes, a letter for each argument: a pointer or handle, a number, a size or address, a string.
_FUNCTIONS: Final[dict[str, str]] = {
    "cuInit": "u", "cuDriverGetVersion": "p", "cuGetErrorName": "ip", "cuGetErrorString": "ip",
    "cuDeviceGetCount": "p", "cuDeviceGet": "pi", "cuDeviceGetName": "pii",
    "cuDeviceGetAttribute": "pii", "cuDevicePrimaryCtxRetain": "pi", "cuCtxGetCurrent": "p", "cuCtxGetDevice": "p",
    "cuCtxPushCurrent_v2": "p", "cuCtxPopCurrent_v2": "p", "cuCtxSynchronize": "", "cuPointerGetAttribute": "pin",
    "cuLibraryLoadData": "ppppuppu", "cuLibraryGetKernel": "pps", "cuLibraryGetGlobal": "ppps",
    "cuLibraryUnload": "p", "cuKernelGetFunction": "pp", "cuFuncSetAttribute": "pii",
    "cuLaunchKernelEx": "pppp", "cuTensorMapEncodeTiled": "piunppppiiii", "cuMemGetInfo_v2": "pp",
    "cuMemAlloc_v2": "pn", "cuMemFree_v2": "n", "cuMemsetD8Async": "nunp", "cuMemcpyHtoD_v2": "npn",
    "cuMemcpyDtoH_v2": "pnn", "cuMemcpyHtoDAsync_v2": "npnp", "cuMemcpyDtoHAsync_v2": "pnnp",
    "cuMemcpyDtoDAsync_v2": "nnnp", "cuThreadExchangeStreamCaptureMode": "p", "cuStreamSynchronize": "p",
    "cuStreamWaitEvent": "ppu", "cuStreamIsCapturing": "pp", "cuEventCreate": "pu", "cuEventRecord": "pp",
    "cuEventQuery": "p", "cuEventSynchronize": "p", "cuEventElapsedTime": "ppp", "cuEventDestroy_v2": "p",
}  # fmt: skip
# Not one for each list of parameters: to make a class takes longer than most calls.
_KIND: Final[Any] = ctypes.CFUNCTYPE(ctypes.c_int)
_AT_ONCE: Final[Any] = {"cuCtxGetCurrent": ctypes.PYFUNCTYPE(ctypes.c_int)}
"""Functions that return at once: letting other threads run meanwhile would take longer."""
Attempt = str | Callable[[], str]  # A text for what is attempted; a function that returns it, if that takes calls.
_driver: Driver | None = None
_failure: dict[str, str] = {}  # Why there is none, by the value of `TILEIR_LIBCUDA` at the time.


class DriverError(LaunchError):
    """A call of the CUDA driver failed; the message has the driver's words and what was attempted."""

    def __init__(self, attempt: str, function: str, code: int, name: str, words: str, why: str = "") -> None:
        self.function: str = function  # The driver's function, as in "cuLaunchKernelEx".
        self.code: int = code
        self.name: str = name  # The driver's name for the error, as in "CUDA_ERROR_ILLEGAL_ADDRESS".
        self._parts: tuple[str, str] = (attempt, words)
        reported = f"{name} ({words})" if words else name
        advice = _ADVICE.get(code, "")
        if code in _STICKY:
            advice = f"{why or 'a kernel that was launched before went wrong'}; {_LOST}"
        super().__init__(f"{attempt} failed: {function} reports {reported}{f': {advice}' if advice else ''}")

    @property
    def is_sticky(self) -> bool:
        """Whether a kernel has run wild, so that every later call of this process fails too."""
        return self.code in _STICKY

    def after(self, why: str) -> DriverError:
        """The same, if it is sticky with a word on where it may come from."""
        if not self.is_sticky:
            return self
        attempt, words = self._parts
        return DriverError(attempt, self.function, self.code, self.name, words, why)


class NoGpuError(LaunchError):
    """No GPU here can be used; the message has the reason, and names a backend that works."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; {alternative()}")
        self.why: str = why


@cache
def alternative() -> str:
    """What to choose where no GPU can be used."""
    return f"here, choose backend='{'cpu' if find_spec('llvmlite') is not None else 'interpreter'}'"


class Driver:
    """The functions of libcuda, initialized; made by `driver`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.forked: bool = False
        """Whether this process was forked from the one that initialized it, and cannot use it."""
        self._library: Final = library
        self._functions: dict[str, Any] = {}
        self.version: int = 0  # The version of CUDA that it supports, as in 13000.

    def function(self, name: str) -> Any:
        """A function to call with what ctypes takes; returns an error code."""
        found = self._functions.get(name)
        if found is None:
            try:
                # Of a type of its own: types of arguments of the library's functions are everybody's to set.
                made = _AT_ONCE.get(name, _KIND)((name, self._library))
            except AttributeError:
                raise NoGpuError(
                    f"the NVIDIA driver of this machine is too old: it supports CUDA {version_words(self.version)} "
                    f"and has no {name}"
                ) from None
            # Launches pass pointers of ctypes only, which need no conversion.
            if name != "cuLaunchKernelEx":
                made.argtypes = [_LETTERS[letter] for letter in _FUNCTIONS[name]]
            found = self._functions.setdefault(name, made)
        return found

    def call(self, name: str, attempt: Attempt, *arguments: object) -> None:
        """Call a function; if it fails, raise an error that names what was attempted."""
        if self.forked:
            raise forked_error(attempt if isinstance(attempt, str) else attempt())
        code = self.function(name)(*arguments)
        if code:
            raise self.error(name, code, attempt if isinstance(attempt, str) else attempt())

    def error(self, name: str, code: int, attempt: str) -> DriverError:
        """The exception for the error code of a function."""
        words = self._words("cuGetErrorName", code) or f"error {code}"
        return DriverError(attempt, name.removesuffix("_v2"), code, words, self._words("cuGetErrorString", code))

    def _words(self, function: str, code: int) -> str:
        text = ctypes.c_char_p()
        if self.function(function)(code, ctypes.byref(text)) or text.value is None:
            return ""
        return text.value.decode("utf-8", "replace")

    def number(self, name: str, attempt: Attempt, *arguments: object, kind: type[Any] = ctypes.c_int) -> int:
        """What a function writes to where its first argument points."""
        result = kind()
        self.call(name, attempt, ctypes.byref(result), *arguments)
        return int(result.value or 0)

    def handle(self, name: str, attempt: Attempt, *arguments: object) -> int:
        """The same, if that is a handle or an address."""
        return self.number(name, attempt, *arguments, kind=ctypes.c_size_t)


def version_words(version: int) -> str:
    """As in "13.0"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def forked_error(attempt: str) -> NoGpuError:
    return NoGpuError(
        f"{attempt} is not possible: this process was forked from one that uses CUDA, whose contexts do not survive "
        "that: start processes by 'spawn' (multiprocessing.set_start_method), or launch in the child alone"
    )


def driver() -> Driver:
    """The driver, loaded and initialized; a `NoGpuError` if there is none."""
    global _driver, _failure
    if _driver is not None:
        return _driver
    with NO_FORK:
        if _driver is None:
            given = os.environ.get(LIBRARY_VARIABLE, "")
            if given in _failure:
                raise NoGpuError(_failure[given])
            try:
                _driver = _initialized(given)
            except NoGpuError as error:
                _failure = {given: error.why}
                raise
        return _driver


def _initialized(given: str) -> Driver:
    name = given or ("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    try:
        found = Driver(ctypes.CDLL(name))
    except OSError as error:
        what = f"{name}, which {LIBRARY_VARIABLE} names," if given else name
        raise NoGpuError(f"this machine has no NVIDIA driver: {what} cannot be loaded ({error})") from None
    code = found.function("cuInit")(0)
    if code:
        failed = found.error("cuInit", code, "starting the NVIDIA driver")
        if code == NOT_INITIALIZED:
            raise NoGpuError(failed.message)
        raise NoGpuError(f"there is no NVIDIA GPU that this process can use: {failed.message}")
    found.version = found.number("cuDriverGetVersion", "reading the version of the NVIDIA driver")
    if found.version < OLDEST_DRIVER:
        raise NoGpuError(
            f"the NVIDIA driver of this machine is too old: it supports CUDA {version_words(found.version)}, and "
            f"{version_words(OLDEST_DRIVER)} is needed: install a newer one"
        )
    return found


def _after_fork() -> None:
    if _driver is not None:
        _driver.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
