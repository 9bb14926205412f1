"""The stream that a launch goes to, and what it has to wait for.

A launch goes to the stream that its caller names; otherwise to torch's current one if there is a tensor of torch among
its arrays, to CuPy's if there is an array of CuPy, to the one that an array names in `__cuda_array_interface__`, or to
the default stream.  So it comes after what made the arrays, and before what is done with them next.  Work that an array
names in another stream is waited for, by the GPU.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from tileir.execute.arguments.array_memory import BadArray, has_attribute
from tileir.execute.arguments.binding import Pointer, is_on_gpu
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.arrays import interface_stream
from tileir.execute.gpu.driver.library import driver

LEGACY: Final = 1
"""The driver's other name for the default stream, 0."""

_NO_TIMING: Final = 2


def torch_stream() -> Callable[[int], int] | None:
    """What tells the current stream of a GPU in torch; None if torch is not imported, or without CUDA."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    raw: Callable[[int], int] | None = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return raw


def cupy_stream() -> Callable[[int], int] | None:
    """The same for CuPy."""
    cupy: Any = sys.modules.get("cupy")
    if cupy is None:
        return None
    # Without the object of Python that the public function makes.
    raw: Any = getattr(sys.modules.get("cupy_backends.cuda.stream"), "get_current_stream_ptr", None)
    current: Any = cupy.cuda.get_current_stream
    device: Any = cupy.cuda.runtime.getDevice

    def find(ordinal: int) -> int:
        if device() != ordinal:
            with cupy.cuda.Device(ordinal):
                return int(current().ptr)
        return int(current().ptr if raw is None else raw())

    return find


def library_of(value: object) -> str:
    """The package that an array's class is from."""
    return type(value).__module__.partition(".")[0]


def stream_for(arguments: Iterable[object], given: object) -> int:
    """The stream that a launch goes to."""
    if given is not None:
        return stream_handle(given)
    found: int | None = None
    for value in arguments:
        if isinstance(value, Pointer):
            value = value.array
        library = library_of(value)
        if library == "torch" and getattr(value, "is_cuda", False):
            stream = torch_stream()
            return 0 if stream is None else stream(int(cast(Any, value).get_device()))
        if found is None and library == "cupy":
            stream = cupy_stream()
            found = 0 if stream is None else stream(int(cast(Any, value).data.device_id))
        elif found is None and is_on_gpu(value) and has_attribute(value, "__cuda_array_interface__"):
            try:
                found = interface_stream(value)
            except BadArray:
                # Said by who reads the array, with its name.
                pass
    return found or 0


def stream_handle(given: object) -> int:
    """The handle of a stream that a launch names: a number, or a stream of torch, CuPy or another library."""
    if isinstance(given, int) and not isinstance(given, bool):
        if not 0 <= given < 1 << 64:
            raise LaunchError(f"stream is {given}, which is no handle of a stream: pass torch.cuda.current_stream()")
        return given
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(given, name, None)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    protocol = getattr(given, "__cuda_stream__", None)
    if protocol is not None:
        found = protocol()
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], int):
            return found[1]
    raise LaunchError(
        f"stream is {given!r}: pass the handle of a CUDA stream, or a stream of torch or CuPy, as "
        "torch.cuda.current_stream()"
    )


def wait_for(stream: int, others: Iterable[int]) -> None:
    """Have a stream of the current context wait for what is under way in others."""
    waiting = {other or LEGACY for other in others} - {stream or LEGACY}
    if not waiting:
        return
    of = driver()
    attempt = "having a stream wait for another"
    for other in sorted(waiting):
        event = of.handle("cuEventCreate", attempt, _NO_TIMING)
        try:
            of.call("cuEventRecord", attempt, event, other)
            of.call("cuStreamWaitEvent", attempt, stream, event, 0)
        finally:
            # The driver keeps it as long as somebody waits for it.
            of.call("cuEventDestroy_v2", attempt, event)


def synchronize(stream: int, attempt: str) -> None:
    """Wait until all is done that is under way in a stream of the current context."""
    driver().call("cuStreamSynchronize", attempt, ctypes.c_void_p(stream))


def is_capturing(stream: int) -> bool:
    """Whether launches to a stream make a graph, and do not run."""
    status = ctypes.c_int()
    driver().call("cuStreamIsCapturing", "asking about a stream", stream, ctypes.byref(status))
    return status.value != 0
