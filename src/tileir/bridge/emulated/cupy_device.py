"""`cupy.cuda`: devices, streams, events, memory pools, and the functions of the runtime that tell about them."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from types import ModuleType
from typing import Any, Final

import numpy

from tileir.bridge.contexts import active
from tileir.execute.errors import EmulationError
from tileir.execute.gpu import gpus
from tileir.execute.gpu.gpus import DEFAULT, GPUS, Gpu

_handles: Final = itertools.count(0xC0DE0000, 0x100)
_VERSION: Final = 13000
"""Of CUDA, as its functions give it."""


def _gpu() -> Gpu:
    context = active()
    return GPUS[DEFAULT] if context is None else context.gpu


class Device:
    def __init__(self, device: Any = 0) -> None:
        self.id: int = int(device)
        if self.id:
            raise RuntimeFailure(f"cudaErrorInvalidDevice: invalid device ordinal ({self.id} of 1)")

    @property
    def compute_capability(self) -> str:
        return f"{_gpu().major}{_gpu().minor}"

    @property
    def mem_info(self) -> tuple[int, int]:
        return memGetInfo()

    @property
    def attributes(self) -> dict[str, int]:
        properties = getDeviceProperties()
        return {attribute: properties[name] for name, attribute in _ATTRIBUTES.items()}

    @property
    def pci_bus_id(self) -> str:
        return "0000:01:00.0"

    def synchronize(self) -> None:
        pass

    def use(self) -> None:
        pass

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


class RuntimeFailure(RuntimeError):
    """`cupy.cuda.runtime.CUDARuntimeError`, which CuPy raises where a function of the runtime fails."""


RuntimeFailure.__name__, RuntimeFailure.__module__ = "CUDARuntimeError", "cupy.cuda.runtime"


class Stream:
    """Work is over when the call that asked for it returns, so it orders nothing."""

    null: Stream
    ptds: Stream
    _current: list[Stream] = []

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.ptr: int = 0 if null else 2 if ptds else next(_handles)
        self.device_id: int = 0

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

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
        Stream._current[:] = [self]
        return self

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def __enter__(self) -> Stream:
        Stream._current.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        Stream._current.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.ptr == self.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__(null=True)
        self.ptr = int(ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


def get_current_stream(device_id: int = -1) -> Stream:
    return Stream._current[-1] if Stream._current else Stream.null


class Event:
    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr: int = next(_handles)
        self.time_point: float | None = None

    @property
    def done(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        self.time_point = time.perf_counter()

    def synchronize(self) -> None:
        pass


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds."""
    if start_event.time_point is None or end_event.time_point is None:
        raise RuntimeFailure("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (end_event.time_point - start_event.time_point) * 1e3


# --- memory ---


class MemoryPointer:
    """`array.data`."""

    device_id = 0

    def __init__(self, array: Any) -> None:
        self.ptr: int = int(array.ctypes.data)
        self.mem: Any = array

    def __int__(self) -> int:
        return self.ptr


class MemoryPool:
    """NumPy allocates; nothing is kept that is not in use."""

    def used_bytes(self) -> int:
        return 0

    total_bytes = free_bytes = n_free_blocks = get_limit = used_bytes

    def free_all_blocks(self, stream: Any = None) -> None:
        pass

    def set_limit(self, size: Any = None, fraction: Any = None) -> None:
        pass

    def malloc(self, size: int) -> Any:
        return alloc(size)


_POOL: Final = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    return _POOL


def alloc(size: int) -> Any:
    return MemoryPointer(numpy.empty(size, numpy.uint8))


def memGetInfo() -> tuple[int, int]:
    return _gpu().memory, _gpu().memory


# --- the runtime ---


def getDeviceProperties(device: int = 0) -> dict[str, Any]:
    gpu = _gpu()
    return {
        "name": gpu.name.encode(),
        "major": gpu.major,
        "minor": gpu.minor,
        "totalGlobalMem": gpu.memory,
        "multiProcessorCount": gpu.multiprocessors,
        "warpSize": gpus.WARP_SIZE,
        "sharedMemPerBlock": gpus.SHARED_MEMORY_PER_BLOCK,
        "sharedMemPerBlockOptin": gpu.limits.shared_memory_per_block,
        "sharedMemPerMultiprocessor": gpu.limits.shared_memory,
        "regsPerBlock": gpus.REGISTERS,
        "regsPerMultiprocessor": gpus.REGISTERS,
        "maxThreadsPerBlock": gpus.THREADS_PER_BLOCK,
        "maxThreadsPerMultiProcessor": gpu.limits.threads,
        "maxThreadsDim": (1024, 1024, 64),
        "maxGridSize": (2**31 - 1, 65535, 65535),
        "clockRate": gpu.clock,
        "memoryClockRate": gpu.memory_clock,
        "memoryBusWidth": gpu.memory_bus,
        "l2CacheSize": gpu.l2_cache,
        "integrated": int(gpu.integrated),
        "canMapHostMemory": 1,
        "concurrentKernels": 1,
        "managedMemory": 1,
        "unifiedAddressing": 1,
        "pciBusID": 1,
        "pciDeviceID": 0,
        "pciDomainID": 0,
    }


_ATTRIBUTES: Final = {
    "clockRate": "ClockRate",
    "major": "ComputeCapabilityMajor",
    "minor": "ComputeCapabilityMinor",
    "memoryBusWidth": "GlobalMemoryBusWidth",
    "integrated": "Integrated",
    "l2CacheSize": "L2CacheSize",
    "regsPerBlock": "MaxRegistersPerBlock",
    "sharedMemPerBlock": "MaxSharedMemoryPerBlock",
    "sharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin",
    "sharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor",
    "maxThreadsPerBlock": "MaxThreadsPerBlock",
    "maxThreadsPerMultiProcessor": "MaxThreadsPerMultiProcessor",
    "memoryClockRate": "MemoryClockRate",
    "multiProcessorCount": "MultiProcessorCount",
    "warpSize": "WarpSize",
}
"""The names of properties as `Device.attributes` has them."""


class _Runtime(ModuleType):
    """`cupy.cuda.runtime`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise EmulationError(f"cupy.cuda.runtime.{name}", "run the script on a machine with a GPU")


def _nothing(*arguments: Any, **keywords: Any) -> None:
    pass


RUNTIME: Final[dict[str, Any]] = {
    "CUDARuntimeError": RuntimeFailure,
    "getDeviceProperties": getDeviceProperties,
    "getDeviceCount": lambda: 1,
    "getDevice": lambda: 0,
    "setDevice": lambda device: Device(device) and None,
    "deviceSynchronize": _nothing,
    "streamSynchronize": _nothing,
    "memGetInfo": memGetInfo,
    "runtimeGetVersion": lambda: _VERSION,
    "driverGetVersion": lambda: _VERSION,
    "profilerStart": _nothing,
    "profilerStop": _nothing,
    "is_hip": False,
}

NVTX: Final[dict[str, Any]] = dict.fromkeys(("Mark", "MarkC", "RangePush", "RangePushC", "RangePop"), _nothing)

CUDA: Final[dict[str, Any]] = {
    "Device": Device,
    "Stream": Stream,
    "ExternalStream": ExternalStream,
    "Event": Event,
    "get_current_stream": get_current_stream,
    "get_elapsed_time": get_elapsed_time,
    "get_device_id": lambda: 0,
    "is_available": lambda: True,
    "get_local_runtime_version": lambda: _VERSION,
    "MemoryPool": MemoryPool,
    "PinnedMemoryPool": MemoryPool,
    "alloc": alloc,
    "set_allocator": _nothing,
    "set_pinned_memory_allocator": _nothing,
    "using_allocator": contextlib.nullcontext,
    "profile": contextlib.nullcontext,
}


def cuda_modules(add: Any) -> ModuleType:
    """`cupy.cuda` and the modules in it; `add(name, names)` makes one."""
    cuda: ModuleType = add("cupy.cuda", CUDA)
    runtime = _Runtime("cupy.cuda.runtime")
    runtime.__dict__.update(RUNTIME)
    sys.modules["cupy.cuda.runtime"] = runtime
    for name, module in (
        ("runtime", runtime),
        ("nvtx", add("cupy.cuda.nvtx", NVTX)),
        ("stream", add("cupy.cuda.stream", {name: CUDA[name] for name in ("Stream", "Event", "get_current_stream")})),
        ("device", add("cupy.cuda.device", {"Device": Device})),
        ("memory", add("cupy.cuda.memory", {"MemoryPool": MemoryPool, "alloc": alloc})),
    ):
        setattr(cuda, name, module)
    return cuda
