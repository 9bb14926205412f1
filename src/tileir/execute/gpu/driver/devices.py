"""The GPUs of this machine: what they are, their contexts and memory, and why there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tileir.execute.gpu.driver.library import (
    INVALID_DEVICE,
    INVALID_VALUE,
    Driver,
    DriverError,
    NoGpuError,
    driver,
    forked_error,
    version_words,
)
from tileir.execute.gpu.targets import target_of_device
from tileir.forking import NO_FORK, cached_property
from tileir.ir.diagnostics import OptionError

# Numbers of the driver's questions about devices, and about pointers.
_MAJOR, _MINOR = 75, 76
_POINTER_CONTEXT, _POINTER_DEVICE = 1, 9

_devices: Final[dict[int, Device]] = {}


class Device:
    """A GPU; made by `device`."""

    def __init__(self, of: Driver, ordinal: int) -> None:
        self._driver: Final = of
        self.ordinal: Final = ordinal  # Its number, as in "cuda:0".
        self.handle: Final = of.number("cuDeviceGet", f"opening GPU {ordinal}", ordinal)
        self.capability: Final = (self.attribute(_MAJOR), self.attribute(_MINOR))
        """Its compute capability, as in (9, 0)."""
        self._context: int = 0
        self.latest: str = ""  # The kernel that was launched on it last.

    @cached_property
    def name(self) -> str:
        """As in "NVIDIA H200"; empty if the driver does not report it: a message with the name is made all the same."""
        name = ctypes.create_string_buffer(256)
        failed = self._driver.forked or self._driver.function("cuDeviceGetName")(name, len(name), self.handle)
        return "" if failed else name.value.decode("utf-8", "replace")

    @property
    def target(self) -> str:
        """The best of what kernels are compiled for that it runs, as in "sm_90"; its own name if there is none."""
        major, minor = self.capability
        return target_of_device(major, minor) or f"sm_{major}{minor}"

    @property
    def words(self) -> str:
        """As in "cuda:0 (NVIDIA H200, sm_90)"."""
        return f"cuda:{self.ordinal} ({self.name or 'a GPU'}, {self.target})"

    def attribute(self, number: int) -> int:
        return self._driver.number(
            "cuDeviceGetAttribute", f"reading the properties of GPU {self.ordinal}", number, self.handle
        )

    @property
    def context(self) -> int:
        """Its primary context, which torch and CuPy use too.  It is kept until the process ends."""
        if not self._context:
            with NO_FORK:
                if not self._context:
                    self._context = self._driver.handle(
                        "cuDevicePrimaryCtxRetain", lambda: f"starting {self.words}", self.handle
                    )
        return self._context


def device_count() -> int:
    return driver().number("cuDeviceGetCount", "counting GPUs")


def device(ordinal: int) -> Device:
    found = _devices.get(ordinal)
    if found is None:
        try:
            made = Device(driver(), ordinal)
        except DriverError as error:
            if error.code not in (INVALID_VALUE, INVALID_DEVICE):
                raise
            count = device_count()
            raise NoGpuError(f"there is no GPU cuda:{ordinal}: this process sees {count}, from cuda:0 on") from None
        # Two threads may be here at once: both use the first device, which has the context.
        found = _devices.setdefault(ordinal, made)
    return found


def devices() -> list[Device]:
    return [device(ordinal) for ordinal in range(device_count())]


def why_no_gpu(oldest_driver: int = 0) -> str:
    """Why no GPU can be used here; empty if one can.  `oldest_driver` is the version of CUDA that it must support."""
    try:
        if driver().forked:
            raise forked_error("using a GPU")
        if not device_count():
            raise NoGpuError("the NVIDIA driver finds no GPU on this machine")
        require_driver(oldest_driver)
    except (NoGpuError, DriverError) as error:
        return error.why if isinstance(error, NoGpuError) else error.message
    return ""


def target_here() -> str:
    """What to compile for on this machine: the GPU that is current, if there is one."""
    missing = why_no_gpu()
    if missing:
        raise OptionError(f"choose the GPU, as in 'sm_90': {missing}")
    return device(current_ordinal()).target


def require_driver(oldest: int) -> None:
    """Refuse a driver that does not support a version of CUDA."""
    version = driver().version
    if version < oldest:
        raise NoGpuError(
            f"the NVIDIA driver of this machine is too old for the code of this backend: it supports CUDA "
            f"{version_words(version)}, and {version_words(oldest)} is needed: install a newer one"
        )


def current_context() -> int:
    return driver().handle("cuCtxGetCurrent", "reading the current context")


def current_ordinal() -> int:
    """The number of the GPU whose context is current on this thread; 0 if there is no such context."""
    if not current_context():
        return 0
    handle = driver().number("cuCtxGetDevice", "reading the current GPU")
    return next((found.ordinal for found in devices() if found.handle == handle), 0)


@contextmanager
def current(context: int) -> Iterator[None]:
    """Have a context current on this thread; afterwards it is the one that was."""
    of = driver()
    if current_context() == context:
        yield
        return
    of.call("cuCtxPushCurrent_v2", "making the context of a GPU current", context)
    try:
        yield
    except BaseException:
        # Raise the first error, not one that follows from it.
        of.function("cuCtxPopCurrent_v2")(ctypes.byref(ctypes.c_size_t()))
        raise
    of.handle("cuCtxPopCurrent_v2", "making the context current that was before")


def pointer_place(address: int) -> tuple[int, int]:
    """The GPU that an address belongs to, -1 if the driver does not know it, and the context of its memory, 0 if none.
    A GPU also reaches memory of the host that the driver knows."""
    of = driver()
    ordinal, context = ctypes.c_int(), ctypes.c_size_t()
    code = of.function("cuPointerGetAttribute")(ctypes.byref(ordinal), _POINTER_DEVICE, address)
    if code == INVALID_VALUE:
        return -1, 0
    if code:
        raise of.error("cuPointerGetAttribute", code, f"finding the owner of memory {address:#x}")
    code = of.function("cuPointerGetAttribute")(ctypes.byref(context), _POINTER_CONTEXT, address)
    return ordinal.value, 0 if code else context.value


class DeviceMemory:
    """Some memory of the current GPU, until the end of a `with`, in the context it was reserved in."""

    def __init__(self, size: int) -> None:
        self.size: Final = size
        self.address: Final = driver().handle("cuMemAlloc_v2", f"reserving {size} bytes on the GPU", size)

    def __enter__(self) -> DeviceMemory:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        code = driver().function("cuMemFree_v2")(self.address)
        if code and kind is None:
            # After another error this one adds nothing.
            raise driver().error("cuMemFree_v2", code, f"giving back {self.size} bytes of the GPU")


def copy_to_gpu(to: int, address: int, size: int, stream: int) -> None:
    """Copy memory of the host to a GPU, after what is under way in a stream."""
    driver().call("cuMemcpyHtoDAsync_v2", f"copying {size} bytes to the GPU", to, address, size, stream)


def copy_from_gpu(address: int, start: int, size: int, stream: int) -> None:
    """Copy memory of a GPU to the host, after what is under way in a stream; it is there when the stream is done."""
    driver().call("cuMemcpyDtoHAsync_v2", f"copying {size} bytes from the GPU", address, start, size, stream)
