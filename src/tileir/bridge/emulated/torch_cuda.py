"""`torch.cuda` and what else of torch depends on a device: memory, streams, random numbers, versions, profiling.

Only functions that ask the driver are replaced.  The others of `torch.cuda` are Python that calls these: torch's own
`get_device_name`, `max_memory_allocated`, `stream` or `manual_seed` work as they are.
"""

from __future__ import annotations

import collections
import functools
import gc
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import DEVICE, Tensor, extent_of, is_emulated, is_on_device
from tileir.bridge.emulated.gpu_interface import (
    BaseEvent,
    BaseStream,
    CurrentStreams,
    Runtime,
    current_gpu,
    nothing,
    properties,
    refusing,
)
from tileir.bridge.hooks import replace

CUDA_VERSION: Final = "13.0"


def replaced(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does as the replacement does within contexts."""

    @functools.wraps(original)
    def chosen(*arguments: Any, **keywords: Any) -> Any:
        return (original if active() is None else replacement)(*arguments, **keywords)

    return chosen


def replace_functions(functions: dict[str, Callable[..., Any]], owner: Any = torch.cuda) -> None:
    """Functions of `torch.cuda`, or of another module, by name."""
    for name, replacement in functions.items():
        original = getattr(owner, name, None)
        if original is not None:
            replace_name(name, replaced(original, replacement), owner)


def replace_name(name: str, replacement: Any, owner: Any = torch.cuda) -> None:
    # Names of `torch.cuda` are known in modules of their own too.
    parts = (torch.cuda.memory, torch.cuda.random, torch.cuda.graphs, torch.cuda.streams)
    for module in (owner, *(parts if owner is torch.cuda else ())):
        if hasattr(module, name):
            setattr(module, name, replacement)


# --- devices ---


class _CudaDeviceProperties(SimpleNamespace):
    """In the place of `torch._C._CudaDeviceProperties`."""


def _check_device(device: Any) -> None:
    if device is not None and not is_emulated(device):
        raise ValueError(f"Expected a cuda device, but got: {device}")


def get_device_properties(device: Any = None) -> Any:
    _check_device(device)
    found = {name: value for name, _, _, value in properties()}
    no_uuid = "00000000-0000-0000-0000-000000000000"
    return _CudaDeviceProperties(**found, gcnArchName=found["name"], uuid=no_uuid, is_multi_gpu_board=0)


def _exchange_device(device: int) -> int:
    """Gives the device that was current; a negative number changes nothing."""
    if device >= 0:
        _check_device(device)
    return 0


# --- memory in use, counted when it is asked for ---

_BLOCK: Final = 512
_SEGMENT: Final = 2 << 20
"""torch allocates in multiples of the first, and reserves in multiples of the second."""
_peak: Final[list[int]] = [0]
"""The most that was seen: what comes and goes between two calls is not."""


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _allocated() -> int:
    """Bytes of the storages of all tensors on the device."""
    storages: dict[int, int] = {}
    for value in gc.get_objects():
        extent = extent_of(value) if issubclass(type(value), Tensor) and is_on_device(value) else None
        if extent is not None:
            storages[extent[0]] = _rounded(extent[1], _BLOCK)
    return sum(storages.values())


def _memory_stats(device: Any = None) -> dict[str, int]:
    now = _allocated()
    _peak[0] = max(_peak[0], now)
    found: dict[str, int] = collections.defaultdict(int)
    for name in ("active_bytes", "allocated_bytes", "requested_bytes", "reserved_bytes"):
        unit = _SEGMENT if name == "reserved_bytes" else _BLOCK
        current, peak = _rounded(now, unit), _rounded(_peak[0], unit)
        for kind, value in (("allocated", peak), ("current", current), ("freed", peak - current), ("peak", peak)):
            found[f"{name}.all.{kind}"] = value
    return found


def _reset_peak(device: Any = None) -> None:
    _peak[0] = _allocated()


def _mem_get_info(device: Any = None) -> tuple[int, int]:
    total = current_gpu().memory
    return max(total - _rounded(_allocated(), _SEGMENT), 0), total


# --- streams and events ---


class Replacing(type):
    """Classes in the place of torch's: outside of contexts they make the original's objects."""

    original: Any

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if active() is None:
            return cls.original(*arguments, **keywords)
        return super().__call__(*arguments, **keywords)

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls.original)


class Stream(BaseStream, metaclass=Replacing):
    original: Any = torch.cuda.Stream
    entered: CurrentStreams = CurrentStreams()
    device: Any = DEVICE
    device_index: int = 0
    device_type: int = 1
    query = staticmethod(lambda: True)
    priority_range = staticmethod(lambda: (0, -5))

    def __init__(self, device: Any = None, priority: int = 0, *, cuda_stream: int | None = None, **more: Any) -> None:
        is_emulated(device)
        super().__init__(cuda_stream)
        self.priority: int = priority
        self.cuda_stream: int = self.handle
        self.stream_id = self.native_handle = self._as_parameter_ = self.handle

    def is_capturing(self) -> bool:
        return bool(torch.cuda.is_current_stream_capturing())

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    original: Any = torch.cuda.ExternalStream

    def __init__(self, stream_ptr: int, device: Any = None, **more: Any) -> None:
        super().__init__(device, cuda_stream=int(stream_ptr))


class Event(BaseEvent, metaclass=Replacing):
    original: Any = torch.cuda.Event
    query = staticmethod(lambda: True)

    def __init__(self, enable_timing: bool = False, *others: Any, **more: Any) -> None:
        super().__init__()
        self.enable_timing: bool = enable_timing
        self.cuda_event: int = self.handle

    device = property(lambda self: None if self.time is None else DEVICE)

    def elapsed_time(self, end_event: Any) -> float:
        if not self.enable_timing or not end_event.enable_timing:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self.time is None or end_event.time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return float((end_event.time - self.time) * 1e3)

    def __repr__(self) -> str:
        return "<torch.cuda.Event uninitialized>" if self.time is None else f"<torch.cuda.Event {self.cuda_event:#x}>"


def _default_stream(device: Any = None) -> Stream:
    return Stream(device, cuda_stream=0)


def _current_stream(device: Any = None) -> Any:
    is_emulated(device)
    return Stream.entered.streams[-1] if Stream.entered.streams else _default_stream()


def _set_stream(stream: Any) -> None:
    if stream is not None:
        Stream.entered.set(stream)


# --- the functions ---

_MEASURED: Final = "it is measured on hardware: leave the call out"
_MISSING: Final = {
    **dict.fromkeys(("temperature", "power_draw", "utilization", "memory_usage", "device_memory_used"), _MEASURED),
    "_compile_kernel": "it compiles CUDA C++: write the kernel with cuda.tile, or in torch",
    "current_blas_handle": "there is no cuBLAS: use functions of torch",
    "caching_allocator_alloc": "allocate with torch.empty(.., device='cuda')",
    "caching_allocator_delete": "allocate with torch.empty(.., device='cuda')",
    "change_current_allocator": "memory is that of the host: leave the call out",
}
_RUNTIME: Final = Runtime(
    "torch.cuda.cudart()",
    {"cudaMemGetInfo": _mem_get_info, **dict.fromkeys(("cudaProfilerStart", "cudaProfilerStop"), lambda *_: 0)},
)
_SHARED: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_stream": _current_stream,
    "set_stream": _set_stream,
    "memory_stats": _memory_stats,
    "reset_peak_memory_stats": _reset_peak,
    **dict.fromkeys(("synchronize", "empty_cache", "reset_accumulated_memory_stats"), nothing),
}
"""Those of `torch.accelerator` too."""
_CUDA: Final[dict[str, Callable[..., Any]]] = {
    **_SHARED,
    **dict.fromkeys(("init", "_lazy_init", "set_sync_debug_mode", "set_per_process_memory_fraction"), nothing),
    "ipc_collect": nothing,
    "is_initialized": lambda: True,
    "current_device": lambda: 0,
    "set_device": _check_device,
    "get_device_properties": get_device_properties,
    "get_arch_list": lambda: [current_gpu().architecture],
    "default_stream": _default_stream,
    "_exchange_device": _exchange_device,
    "_maybe_exchange_device": _exchange_device,
    "cudart": lambda: _RUNTIME,
    "_sleep": lambda cycles: time.sleep(cycles / (current_gpu().clock * 1e3)),
    "can_device_access_peer": lambda device, peer_device: True,
    "clock_rate": lambda device=None: get_device_properties(device).clock_rate // 1000,
    "get_sync_debug_mode": lambda: 0,
    "memory_snapshot": lambda *arguments, **keywords: [],
    **{name: refusing(f"torch.cuda.{name}", advice) for name, advice in _MISSING.items()},
}
_ACCELERATOR: Final[dict[str, Callable[..., Any]]] = {
    **_SHARED,
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    **dict.fromkeys(("current_device_index", "current_device_idx"), lambda: 0),
    **dict.fromkeys(("set_device_index", "set_device_idx"), _check_device),
    "get_memory_info": _mem_get_info,
}


def hook_cuda() -> None:
    replace_functions(_CUDA)
    for kind in (Stream, ExternalStream, Event):
        replace_name(kind.__name__, kind)


def hook_accelerator() -> None:
    replace_functions(_ACCELERATOR, torch.accelerator)


# --- random numbers: those of the CPU, so that a script gets the numbers it would get there ---

_Generator: Final[Any] = torch.Generator


class _AnyGenerator(type(_Generator)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Generator)


class Generator(_Generator, metaclass=_AnyGenerator):  # type: ignore[misc]
    """In the place of `torch.Generator`; one of the device draws the CPU's numbers."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return _Generator.__new__(cls, "cpu") if is_emulated(device) else _Generator(device)

    def __init__(self, device: Any = "cpu") -> None:
        pass

    device = property(lambda self: DEVICE)


def hook_random_numbers() -> None:
    if not torch.cuda.default_generators:
        torch.cuda.default_generators = (torch.default_generator,)
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    torch.Generator = Generator


# --- versions, backends, compiling ---


class _Version(ModuleType):
    """`torch.version`, whose `cuda` is a version within contexts only."""

    cuda = property(lambda self: CUDA_VERSION if active() is not None else self.__dict__["_cuda"])


def _uncompiled(model: Any = None, **keywords: Any) -> Any:
    """`torch.compile` within a context returns its function: its compiler would ask for a real GPU."""
    return model if model is not None else lambda function: function


def hook_libraries() -> None:
    version: Any = torch.version
    version.__dict__["_cuda"] = version.__dict__.pop("cuda", None)
    version.__class__ = _Version
    # Recurrent layers lay their weights out for cuDNN where it takes them.
    torch.backends.cudnn.is_acceptable = replaced(torch.backends.cudnn.is_acceptable, lambda tensor: False)
    torch.backends.cuda.is_built = replaced(torch.backends.cuda.is_built, lambda: True)
    torch.compile = replaced(torch.compile, _uncompiled)


# --- profiling ---


class _Nvtx:
    """Ranges and marks for a profiler that is not there."""

    def __init__(self, original: Any) -> None:
        self._original: Any = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name) if active() is None else lambda *arguments, **keywords: 0


def hook_profiling() -> None:
    torch.cuda.nvtx._nvtx = _Nvtx(torch.cuda.nvtx._nvtx)
    emit_nvtx: Any = torch.autograd.profiler.emit_nvtx
    emit_nvtx.__enter__ = replaced(emit_nvtx.__enter__, lambda self: self)
    emit_nvtx.__exit__ = replaced(emit_nvtx.__exit__, nothing)
    replace(torch.autograd.profiler.profile, "__init__", _init_profile)


def _init_profile(original: Any, self: Any, *arguments: Any, **keywords: Any) -> None:
    # Work of the device is work of the CPU.  torch 2.15 has no `use_cuda` any more.
    if active() is not None and (keywords.pop("use_cuda", None) or keywords.get("use_device") == "cuda"):
        keywords |= {"use_device": None, "use_cpu": True}
    original(self, *arguments, **keywords)
