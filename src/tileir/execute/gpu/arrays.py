"""Arrays in the memory of a GPU: tensors of torch, arrays of CuPy, `__cuda_array_interface__`, DLPack.

None is copied.  What an array says is checked as for the host (`execute/arguments/array_memory.py`); the driver says
whose memory it is.
"""

from __future__ import annotations

from typing import Any, cast

from tileir.execute.arguments.array_memory import (
    ArrayDescription,
    BadArray,
    attribute_of,
    from_gpu_dlpack,
    from_interface,
    has_attribute,
)
from tileir.execute.arguments.binding import Buffer, buffer_of, described_tensor, is_on_gpu, is_tensor
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.driver.devices import pointer_place
from tileir.ir.quoting import type_text


class DeviceBuffer(Buffer):
    """Memory of a GPU that is the caller's."""

    __slots__ = ("context", "ordinal", "stream")

    def __init__(
        self, described: ArrayDescription, kind: str, ordinal: int, context: int = 0, stream: int | None = None
    ) -> None:
        super().__init__(*described, kind)
        self.ordinal: int = ordinal
        """The number of the GPU."""
        self.context: int = context
        """The context that the memory was reserved in; 0 if that is the primary one, or all are as good."""
        self.stream: int | None = stream
        """The stream in which work on it may be under way; None if the array does not say."""


def device_buffer(value: object, what: str, stream: int = 0) -> Buffer:
    """The memory of an array, a `DeviceBuffer` if it is a GPU's; `what` begins the message if there is none.

    `stream` is where the launch goes, for which an array that comes by DLPack makes itself ready.
    """
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
    except BadArray as mistake:
        raise LaunchError(f"{what} is {type_text(value)} that {mistake}: pass a tensor or a CuPy array") from None


def _from_interface(value: object) -> DeviceBuffer:
    described = from_interface(value, on_host=False)
    address, shape = described[0], described[1]
    ordinal, context = pointer_place(address) if address else (-1, 0)
    if ordinal < 0 and 0 not in shape:
        raise BadArray(f"says that it is at {address:#x}, where no GPU has memory")
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
