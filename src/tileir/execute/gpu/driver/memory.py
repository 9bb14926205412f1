"""Memory of a GPU, and copies to it and from it; all of it in the context that is current."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from tileir.execute.gpu.driver.library import driver


class DeviceMemory:
    """Some memory of the current GPU, until the end of a `with`, in the context it was reserved in."""

    __slots__ = ("address", "size")

    def __init__(self, size: int) -> None:
        self.size: Final = size
        self.address: Final = driver().handle("cuMemAlloc_v2", f"reserving {size} bytes on the GPU", size)

    def __enter__(self) -> DeviceMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = driver().function("cuMemFree_v2")(self.address)
        if code and kind is None:
            # After another error this one says nothing new.
            raise driver().error("cuMemFree_v2", code, f"giving back {self.size} bytes of the GPU")


def copy_to_gpu(to: int, address: int, size: int, stream: int) -> None:
    """Copy memory of the host to a GPU, after what is under way in a stream."""
    driver().call("cuMemcpyHtoDAsync_v2", f"copying {size} bytes to the GPU", to, address, size, stream)


def copy_from_gpu(address: int, start: int, size: int, stream: int) -> None:
    """Copy memory of a GPU to the host, after what is under way in a stream; it is there when the stream is done."""
    driver().call("cuMemcpyDtoHAsync_v2", f"copying {size} bytes from the GPU", address, start, size, stream)
