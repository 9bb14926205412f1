"""`cupy.cuda`: devices, streams, events, memory pools, and the functions of the runtime that describe them."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import numpy

from tileir.bridge.emulated.gpu_interface import (
    BaseEvent,
    BaseStream,
    CurrentStreams,
    Runtime,
    current_gpu,
    nothing,
    properties,
)
from tileir.execute.errors import EmulationError

_VERSION: Final = 13000  # Of CUDA, as its functions give it.


class RuntimeFailure(RuntimeError):
    """`cupy.cuda.runtime.CUDARuntimeError`, which CuPy raises where a function of the runtime fails."""


RuntimeFailure.__name__, RuntimeFailure.__module__ = "CUDARuntimeError", "cupy.cuda.runtime"


class Device:
    pci_bus_id: str = "0000:00:01.0"
    synchronize = use = __exit__ = staticmethod(nothing)

    def __init__(self, device: Any = 0) -> None:
        self.id: int = int(device)
        if self.id:
            raise RuntimeFailure(f"cudaErrorInvalidDevice: invalid device ordinal ({self.id} of 1)")

    compute_capability = property(lambda self: f"{current_gpu().major}{current_gpu().minor}")
    mem_info = property(lambda self: _memory_info())
    attributes = property(lambda self: {name: value for _, _, name, value in properties() if name})

    def __enter__(self) -> Device:
        return self

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


# --- streams and events ---


class Stream(BaseStream):
    null: Stream
    ptds: Stream
    entered: CurrentStreams = CurrentStreams()
    device_id: int = 0
    done: bool = True

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, **more: Any) -> None:
        super().__init__(0 if null else 2 if ptds else None)

    ptr = property(lambda self: self.handle)

    def record(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def launch_host_func(self, callback: Any, arg: Any) -> None:
        callback(arg)

    def add_callback(self, callback: Any, arg: Any) -> None:
        callback(self, 0, arg)

    def begin_capture(self, mode: Any = None) -> None:
        raise EmulationError(
            "cupy.cuda.Stream.begin_capture", "capture with torch.cuda.graph, or call the function again"
        )

    def use(self) -> Stream:
        self.entered.set(self)
        return self

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__()
        self.handle = int(ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


def _current_stream(device_id: int = -1) -> Any:
    return Stream.entered.streams[-1] if Stream.entered.streams else Stream.null


class Event(BaseEvent):
    done: bool = True

    def __init__(self, *options: Any, **more: Any) -> None:
        super().__init__()

    ptr = property(lambda self: self.handle)


def _elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds."""
    if start_event.time is None or end_event.time is None:
        raise RuntimeFailure("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (end_event.time - start_event.time) * 1e3


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

    def used_bytes(self) -> int:
        return 0

    total_bytes = free_bytes = n_free_blocks = get_limit = used_bytes
    free_all_blocks = set_limit = staticmethod(nothing)
    malloc = staticmethod(_alloc)


POOL: Final = MemoryPool()


def _memory_info() -> tuple[int, int]:
    return current_gpu().memory, current_gpu().memory


# --- the modules ---


def _properties(device: int = 0) -> dict[str, Any]:
    found = {name: value for _, name, _, value in properties()}
    flags = ("canMapHostMemory", "concurrentKernels", "managedMemory", "unifiedAddressing")
    return {
        **found,
        "name": found["name"].encode(),
        "regsPerBlock": found["regsPerMultiprocessor"],
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        **dict.fromkeys(flags, 1),
    }


_RUNTIME: Final[dict[str, Any]] = {
    "CUDARuntimeError": RuntimeFailure,
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
    "Device": Device,
    "Stream": Stream,
    "ExternalStream": ExternalStream,
    "Event": Event,
    "MemoryPool": MemoryPool,
    "PinnedMemoryPool": MemoryPool,
    "alloc": _alloc,
    "get_current_stream": _current_stream,
    "get_elapsed_time": _elapsed_time,
    "get_device_id": lambda: 0,
    "is_available": lambda: True,
    "get_local_runtime_version": lambda: _VERSION,
    **dict.fromkeys(("set_allocator", "set_pinned_memory_allocator"), nothing),
    **dict.fromkeys(("using_allocator", "profile"), contextlib.nullcontext),
    "runtime": Runtime("cupy.cuda.runtime", _RUNTIME),
}
MODULES: Final[dict[str, dict[str, Any]]] = {
    "nvtx": dict.fromkeys(("Mark", "MarkC", "RangePush", "RangePushC", "RangePop"), nothing),
    "stream": {name: CUDA[name] for name in ("Stream", "Event", "get_current_stream")},
    "device": {"Device": Device},
    "memory": {"MemoryPool": MemoryPool, "alloc": _alloc},
}
"""The other modules in `cupy.cuda`, with their names."""
