"""Arrays of a launch, in the memory of a GPU or copied there, and the stream that it goes to.

Arrays of torch, CuPy, `__cuda_array_interface__` and DLPack are used where they are, checked as on the host
(`execute/arguments/array_memory.py`).  Arrays of the host are copied to the GPU, and back if the kernel may write to
them; arrays that share memory share its copy.  The stream is the one that the caller names, else torch's current one if
there is a tensor, CuPy's, the one that an array names, or the default one.  The GPU waits for other streams of arrays.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import Any, Final, cast

from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.array_memory import (
    ArrayDescription,
    BadArray,
    attribute_of,
    from_gpu_dlpack,
    from_interface,
    has_attribute,
)
from tileir.execute.arguments.binding import (
    ArgumentLabel,
    BoundArguments,
    Buffer,
    Pointer,
    buffer_of,
    described_tensor,
    is_on_gpu,
    is_tensor,
)
from tileir.execute.errors import HostCopyWarning, LaunchError, warn_caller
from tileir.execute.gpu.driver.devices import DeviceMemory, copy_from_gpu, copy_to_gpu, pointer_place
from tileir.execute.gpu.driver.library import driver
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text

LEGACY: Final = 1  # The driver's other name for the default stream, 0.
_NO_TIMING: Final = 2


class DeviceBuffer(Buffer):
    """Memory of a GPU that is the caller's."""

    __slots__ = ("context", "ordinal", "stream")

    def __init__(
        self, described: ArrayDescription, kind: str, ordinal: int, context: int = 0, stream: int | None = None
    ) -> None:
        super().__init__(*described, kind)
        self.ordinal: int = ordinal
        self.context: int = context
        """The context that the memory was reserved in; 0 if that is the primary one, or all are as good."""
        self.stream: int | None = stream
        """The stream in which work on it may be under way; None if the array does not report it."""


def device_buffer(value: object, what: str, stream: int = 0) -> Buffer:
    """The memory of an array, a `DeviceBuffer` on a GPU, ready for `stream`; `what` begins the message if there is
    none."""
    if not is_on_gpu(value):
        return buffer_of(value, what)
    if is_tensor(value):
        tensor = cast(Any, value)
        return DeviceBuffer(described_tensor(tensor, what), "tensor", int(tensor.get_device()))
    try:
        if has_attribute(value, "__cuda_array_interface__"):
            return _from_interface(value)
        described, ordinal = from_gpu_dlpack(value, stream)
        return DeviceBuffer(described, "array", ordinal)
    except BadArray as error:
        raise LaunchError(f"{what} is {type_text(value)} that {error}: pass a tensor or a CuPy array") from None


def _from_interface(value: object) -> DeviceBuffer:
    described = from_interface(value, on_host=False)
    address, shape = described[0], described[1]
    ordinal, context = pointer_place(address) if address else (-1, 0)
    if ordinal < 0 and 0 not in shape:
        raise BadArray(f"reports that it is at {address:#x}, where no GPU has memory")
    return DeviceBuffer(described, "array", ordinal, context, interface_stream(value))


def interface_stream(value: object) -> int | None:
    """The stream that an array with `__cuda_array_interface__` names; None if none has to be waited for."""
    interface = attribute_of(value, "__cuda_array_interface__")
    stream = interface.get("stream") if isinstance(interface, dict) else None
    if stream is None:
        return None
    if isinstance(stream, bool) or not isinstance(stream, int) or stream <= 0:
        raise BadArray(f"has {stream!r} for its stream, which should be a number above 0")
    return stream


class HostCopies:
    """The copies of one launch, in the context that is current."""

    def __init__(self, entry: Operation, buffers: list[tuple[Buffer, ArgumentLabel]], stream: int) -> None:
        self._stream: Final = stream
        self._ranges: Final[list[tuple[int, int, bool]]] = []
        """Where memory of the host begins and ends, and whether the kernel may write to it."""
        self._copies: Final[list[int]] = []  # Where the copy of each is.
        found = [
            (buffer.low, buffer.high, buffer.writable and may_write(entry, label.number))
            for buffer, label in buffers
            if buffer.low < buffer.high and is_on_host(buffer)
        ]
        for low, high, is_written in sorted(found):
            if self._ranges and low < self._ranges[-1][1]:
                before = self._ranges.pop()
                low, high, is_written = before[0], max(before[1], high), before[2] or is_written
            self._ranges.append((low, high, is_written))

    def copy_there(self, bound: BoundArguments, stack: ExitStack) -> list[Any]:
        """Copy them to the GPU until the end of `stack`; returns the arguments with addresses of the copies."""
        for low, high, _ in self._ranges:
            self._copies.append(stack.enter_context(DeviceMemory(high - low)).address)
            copy_to_gpu(self._copies[-1], low, high - low, self._stream)
        values = list(bound.values)
        for buffer, label in bound.buffers:
            if is_on_host(buffer):
                copies = zip(self._ranges, self._copies, strict=True)
                found = [copy + buffer.address - low for (low, high, _), copy in copies if low <= buffer.low < high]
                values[label.number] = found[0] if found else 0
        return values

    def copy_back(self) -> None:
        """Have what was written copied back; it is there when the stream is done."""
        for (low, high, is_written), copy in zip(self._ranges, self._copies, strict=True):
            if is_written:
                copy_from_gpu(low, copy, high - low, self._stream)


def is_on_host(buffer: Buffer) -> bool:
    return not isinstance(buffer, DeviceBuffer)


def warn_of_copies(name: str, buffers: list[tuple[Buffer, ArgumentLabel]], where: str) -> None:
    """Warn that arrays are copied, at the line that launches."""
    labels = [str(label) for buffer, label in buffers if is_on_host(buffer)]
    warn_caller(
        f"@{name} runs on {where}, and {', '.join(labels)} {'is' if len(labels) == 1 else 'are'} on the host: copied "
        "there and back in each launch",
        HostCopyWarning,
    )


def torch_stream() -> Callable[[int], int] | None:
    """Returns the current stream of a GPU in torch; None if torch is not imported, or without CUDA."""
    internals = getattr(sys.modules.get("torch"), "_C", None)
    raw: Callable[[int], int] | None = getattr(internals, "_cuda_getCurrentRawStream", None)
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
            # The code that reads the array reports the error, with the array's name.
            with suppress(BadArray):
                found = interface_stream(value)
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
    found = given.__cuda_stream__() if hasattr(given, "__cuda_stream__") else None
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], int):
        return found[1]
    raise LaunchError(
        f"stream is {given!r}: pass the handle of a CUDA stream, or a stream of torch or CuPy, as "
        "torch.cuda.current_stream()"
    )


def wait_for(stream: int, others: Iterable[int | None]) -> None:
    """Have a stream of the current context wait for what is under way in others; None is no stream."""
    waiting = {other or LEGACY for other in others if other is not None} - {stream or LEGACY}
    of = driver()
    attempt = "having a stream wait for another"
    for other in sorted(waiting):
        event = of.handle("cuEventCreate", attempt, _NO_TIMING)
        try:
            of.call("cuEventRecord", attempt, event, other)
            of.call("cuStreamWaitEvent", attempt, stream, event, 0)
        finally:
            # The driver keeps it as long as a stream waits for it.
            of.call("cuEventDestroy_v2", attempt, event)


def synchronize(stream: int, attempt: str) -> None:
    """Wait until all is done that is under way in a stream of the current context."""
    driver().call("cuStreamSynchronize", attempt, ctypes.c_void_p(stream))


def is_capturing(stream: int) -> bool:
    """Whether launches to a stream make a graph, and do not run."""
    status = ctypes.c_int()
    driver().call("cuStreamIsCapturing", "reading a stream", stream, ctypes.byref(status))
    return status.value != 0
