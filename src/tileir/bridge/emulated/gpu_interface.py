"""What `torch.cuda` and `cupy.cuda` have in common: the properties of the GPU, streams, events, and refusals."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.execute.errors import EmulationError
from tileir.execute.gpu import gpus
from tileir.execute.gpu.gpus import DEFAULT, GPUS, Gpu


def current_gpu() -> Gpu:
    """The GPU of the innermost context; the default one outside of contexts."""
    context = active()
    return GPUS[DEFAULT] if context is None else context.gpu


def properties() -> list[tuple[str, str, str, Any]]:
    """For each property its name in torch, in CuPy, in CuPy's `Device.attributes`, and its value."""
    gpu = current_gpu()
    threads, optin, shared = gpu.limits.threads, gpu.limits.shared_memory_per_block, gpu.limits.shared_memory
    return [
        ("name", "name", "", gpu.name),
        ("major", "major", "ComputeCapabilityMajor", gpu.major),
        ("minor", "minor", "ComputeCapabilityMinor", gpu.minor),
        ("total_memory", "totalGlobalMem", "", gpu.memory),
        ("multi_processor_count", "multiProcessorCount", "MultiProcessorCount", gpu.multiprocessors),
        ("warp_size", "warpSize", "WarpSize", gpus.WARP_SIZE),
        ("max_threads_per_block", "maxThreadsPerBlock", "MaxThreadsPerBlock", gpus.THREADS_PER_BLOCK),
        ("max_threads_per_multi_processor", "maxThreadsPerMultiProcessor", "MaxThreadsPerMultiProcessor", threads),
        ("regs_per_multiprocessor", "regsPerMultiprocessor", "MaxRegistersPerBlock", gpus.REGISTERS),
        ("shared_memory_per_block", "sharedMemPerBlock", "MaxSharedMemoryPerBlock", gpus.SHARED_MEMORY_PER_BLOCK),
        ("shared_memory_per_block_optin", "sharedMemPerBlockOptin", "MaxSharedMemoryPerBlockOptin", optin),
        ("shared_memory_per_multiprocessor", "sharedMemPerMultiprocessor", "MaxSharedMemoryPerMultiprocessor", shared),
        ("L2_cache_size", "l2CacheSize", "L2CacheSize", gpu.l2_cache),
        ("clock_rate", "clockRate", "ClockRate", gpu.clock),
        ("memory_clock_rate", "memoryClockRate", "MemoryClockRate", gpu.memory_clock),
        ("memory_bus_width", "memoryBusWidth", "GlobalMemoryBusWidth", gpu.memory_bus),
        ("is_integrated", "integrated", "Integrated", int(gpu.integrated)),
        ("pci_bus_id", "pciBusID", "", 0),
        ("pci_device_id", "pciDeviceID", "", 1),
        ("pci_domain_id", "pciDomainID", "", 0),
    ]


# --- what is not there ---


def nothing(*arguments: Any, **keywords: Any) -> None:
    """Replaces functions that have no effect here."""


def refusing(name: str, advice: str) -> Callable[..., Any]:
    """A function or class that is not there: it raises when it is called."""

    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise EmulationError(name, advice)

    return refuse


class Runtime(ModuleType):
    """The functions of CUDA's runtime that can be had; others are refused when they are looked up."""

    def __init__(self, name: str, functions: dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise EmulationError(f"{self.__name__}.{name}", "run the script on a machine with a GPU")


# --- streams and events: every call returns after its work is done ---

# Made-up addresses, none of which is that of a default stream (0) or a stream per thread (1, 2).
_handles: Final = itertools.count(0x5EED0000, 0x100)


class CurrentStreams(threading.local):
    """The streams of a library that a thread is within; the last one is current."""

    def __init__(self) -> None:
        self.streams: list[Any] = []


class _StandIn:
    """A stream or an event; libraries have their own names for its handle and methods."""

    done: bool = True
    ptr = cuda_event = cuda_stream = stream_id = native_handle = _as_parameter_ = property(lambda self: self.handle)
    query = staticmethod(lambda: True)
    synchronize = wait = wait_event = wait_stream = staticmethod(nothing)

    def __init__(self, handle: int | None = None) -> None:
        self.handle: int = next(_handles) if handle is None else int(handle)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.handle:#x}>"


class BaseEvent(_StandIn):
    """An event: a point in time on this machine."""

    def __init__(self, *options: Any, **more: Any) -> None:
        super().__init__()
        self.time: float | None = None

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds."""
        if self.time is None or end_event.time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return float((end_event.time - self.time) * 1e3)


streams_made: Final[list[int]] = [0]
"""How many streams a program has made."""


class BaseStream(_StandIn):
    """A stream, which orders nothing."""

    entered: CurrentStreams
    event: type[Any]
    """The class of events of the same library."""
    device_index = device_id = 0
    device_type: int = 1

    def __init__(self, handle: int | None = None) -> None:
        super().__init__(handle)
        streams_made[0] += handle is None

    def record(self, event: Any = None) -> Any:
        event = self.event() if event is None else event
        event.record(self)
        return event

    record_event = record

    def use(self) -> Any:
        """Make it the current one, instead of the innermost that was entered."""
        self.entered.streams[-1:] = [self]
        return self

    @classmethod
    def current(cls, default: Any) -> Any:
        return cls.entered.streams[-1] if cls.entered.streams else default

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries of NVIDIA's take streams of others."""
        return 0, self.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseStream) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __enter__(self) -> Any:
        self.entered.streams.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.entered.streams.pop()
