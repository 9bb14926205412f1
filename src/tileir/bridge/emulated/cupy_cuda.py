"""`cupy.cuda`: devices, streams, events, memory pools, and the functions of the runtime that describe them."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import numpy

from tileir.bridge.emulated import gpu_interface
from tileir.bridge.emulated.gpu_interface import current_gpu, nothing

_VERSION: Final = 13000  # Of CUDA, as its functions give it.


class CUDARuntimeError(RuntimeError):
    """What CuPy raises where a function of the runtime fails."""

    __module__ = "cupy.cuda.runtime"


class Device(int):
    """The one device, by its number."""

    pci_bus_id: str = "0000:00:01.0"
    synchronize = use = __exit__ = staticmethod(nothing)
    id = property(int)
    compute_capability = property(lambda self: f"{current_gpu().major}{current_gpu().minor}")
    mem_info = property(lambda self: _memory_info())
    attributes = property(lambda self: {name: value for _, _, name, value in gpu_interface.properties() if name})

    def __new__(cls, device: Any = 0) -> Device:
        if int(device):
            raise CUDARuntimeError(f"cudaErrorInvalidDevice: invalid device ordinal ({int(device)} of 1)")
        return super().__new__(cls)

    def __enter__(self) -> Device:
        return self

    def __repr__(self) -> str:
        return "<CUDA Device 0>"


class Stream(gpu_interface.BaseStream):
    entered: gpu_interface.CurrentStreams = gpu_interface.CurrentStreams()
    event: type[Any] = gpu_interface.BaseEvent
    null: Stream
    ptds: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, **more: Any) -> None:
        super().__init__(0 if null else 2 if ptds else None)

    def __repr__(self) -> str:
        return f"<Stream {self.handle} (device 0)>"


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        gpu_interface.BaseStream.__init__(self, ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)

# --- memory ---


class MemoryPointer:
    """`array.data`."""

    device_id: int = 0

    def __init__(self, array: Any) -> None:
        self.ptr: int = int(array.ctypes.data)
        self.mem: Any = array

    def __int__(self) -> int:
        return self.ptr


def _alloc(size: int) -> MemoryPointer:
    return MemoryPointer(numpy.empty(size, numpy.uint8))


class MemoryPool:
    """NumPy allocates; nothing is kept that is not in use."""

    used_bytes = total_bytes = free_bytes = n_free_blocks = get_limit = staticmethod(lambda: 0)
    free_all_blocks = set_limit = staticmethod(nothing)
    malloc = staticmethod(_alloc)


POOL: Final = MemoryPool()


def _memory_info() -> tuple[int, int]:
    return current_gpu().memory, current_gpu().memory


# --- the modules ---


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
    "memGetInfo": _memory_info,
    "is_hip": False,
    **dict.fromkeys(("runtimeGetVersion", "driverGetVersion"), lambda: _VERSION),
    **dict.fromkeys(("deviceSynchronize", "streamSynchronize", "profilerStart", "profilerStop"), nothing),
}
CUDA: Final[dict[str, Any]] = {
    **{kind.__name__: kind for kind in (Device, Stream, ExternalStream, MemoryPointer, MemoryPool)},
    "Event": gpu_interface.BaseEvent,
    "PinnedMemoryPool": MemoryPool,
    "alloc": _alloc,
    "get_current_stream": lambda device_id=-1: Stream.current(Stream.null),
    "get_elapsed_time": gpu_interface.BaseEvent.elapsed_time,
    "get_device_id": lambda: 0,
    "is_available": lambda: True,
    "get_local_runtime_version": lambda: _VERSION,
    **dict.fromkeys(("set_allocator", "set_pinned_memory_allocator"), nothing),
    **dict.fromkeys(("using_allocator", "profile"), contextlib.nullcontext),
    "runtime": gpu_interface.Runtime("cupy.cuda.runtime", _RUNTIME),
}
