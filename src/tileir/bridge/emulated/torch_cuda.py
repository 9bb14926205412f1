"""`torch.cuda` and what else of torch is about devices: random numbers, versions, profiling, `torch.distributed`.

Only functions that query the driver are replaced.  The others of `torch.cuda` are Python that calls these: torch's own
`get_device_name`, `max_memory_allocated`, `stream` or `manual_seed` work as they are.
"""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import math
import time
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import torch
import torch.autograd.profiler
import torch.distributed

from tileir.bridge.contexts import active
from tileir.bridge.emulated import gpu_interface
from tileir.bridge.emulated.device import DEVICE, Tensor, check_device, extent_of, is_emulated, is_on_device, marked
from tileir.bridge.emulated.gpu_interface import current_gpu, nothing, refusing
from tileir.bridge.hooks import after_import, replace
from tileir.bridge.uninitialized import note_allocation
from tileir.execute.errors import EmulationError


def replace_functions(functions: dict[str, Callable[..., Any]], *owners: Any) -> None:
    """Have functions of modules or classes, by name, do within contexts what their replacements do."""
    for owner in filter(None, owners):
        for name in [name for name in functions if hasattr(owner, name)]:
            if isinstance(functions[name], Replacing):
                setattr(owner, name, functions[name])
            else:
                replace(owner, name, functools.partial(_choose, functions[name]))


def _choose(replacement: Callable[..., Any], original: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    return (original if active() is None else replacement)(*arguments, **keywords)


class Replacing(type):
    """Classes that replace torch's: outside of contexts they make the original's objects."""

    original: Any

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if active() is None:
            return cls.original(*arguments, **keywords)
        return super().__call__(*arguments, **keywords)

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, cls.original)


class _TensorType(Replacing):
    """The class of old classes of tensors, as `torch.cuda.FloatTensor`, of which there are no instances."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return (is_on_device(instance) and instance.dtype is cls.dtype) or isinstance(instance, cls.original)


class _OldTensor:
    def __new__(cls, *arguments: Any) -> Any:
        # The old constructors take extents, or data.
        made = getattr(torch, cls.__name__)(*[each.cpu() if is_on_device(each) else each for each in arguments])
        if all(isinstance(each, int) for each in arguments):
            note_allocation(extent_of(made))
        return marked(made)


def get_device_properties(device: Any = None) -> Any:
    check_device(device)
    found = {name: value for name, _, _, value in gpu_interface.properties()}
    no_uuid = "00000000-0000-0000-0000-000000000000"
    return SimpleNamespace(**found, gcnArchName=found["name"], uuid=no_uuid, is_multi_gpu_board=0)


# --- memory in use, counted on request ---

_BLOCK: Final = 512
"""torch allocates in multiples of this."""
_STATISTICS: Final = ("active_bytes", "allocated_bytes", "requested_bytes", "reserved_bytes")
_peak: Final[list[int]] = [0]
"""The most that was seen: what comes and goes between two calls is not."""


def _allocated() -> int:
    """Bytes of the storages of all tensors on the device."""
    storages: dict[int, int] = {}
    for value in gc.get_objects():
        extent = extent_of(value) if issubclass(type(value), Tensor) and is_on_device(value) else None
        if extent is not None:
            storages[extent[0]] = -(-extent[1] // _BLOCK) * _BLOCK
    return sum(storages.values())


def _memory_stats(device: Any = None) -> dict[str, int]:
    now = _allocated()
    peak = _peak[0] = max(_peak[0], now)
    kinds = {"allocated": peak, "current": now, "freed": peak - now, "peak": peak}
    found = {f"{name}.all.{kind}": value for name in _STATISTICS for kind, value in kinds.items()}
    return collections.defaultdict(int, found)


def _mem_get_info(device: Any = None) -> tuple[int, int]:
    total = current_gpu().memory
    return max(total - _allocated(), 0), total


class Event(gpu_interface.BaseEvent, metaclass=Replacing):
    original: Any = torch.cuda.Event
    device = property(lambda self: None if self.time is None else DEVICE)

    def __init__(self, enable_timing: bool = False, *others: Any, **more: Any) -> None:
        super().__init__()
        self.enable_timing: bool = enable_timing

    def elapsed_time(self, end_event: Any) -> float:
        if not self.enable_timing or not end_event.enable_timing:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        return super().elapsed_time(end_event)


class Stream(gpu_interface.BaseStream, metaclass=Replacing):
    original: Any = torch.cuda.Stream
    entered: gpu_interface.CurrentStreams = gpu_interface.CurrentStreams()
    event: type[Any] = Event
    device: Any = DEVICE
    priority_range = staticmethod(lambda: (0, -5))
    is_capturing = staticmethod(lambda: torch.cuda.is_current_stream_capturing())

    def __init__(self, device: Any = None, priority: int = 0, *, cuda_stream: int | None = None, **more: Any) -> None:
        is_emulated(device)
        super().__init__(cuda_stream)
        self.priority: int = priority


class ExternalStream(Stream):
    original: Any = torch.cuda.ExternalStream

    def __init__(self, stream_ptr: int, device: Any = None, **more: Any) -> None:
        super().__init__(device, cuda_stream=stream_ptr)


_ALLOCATE: Final = "allocate with torch.empty(.., device='cuda')"
_MEASURED: Final = ("temperature", "power_draw", "utilization", "memory_usage", "device_memory_used")
_MISSING: Final = {
    **dict.fromkeys(_MEASURED, "it is measured on hardware: leave the call out"),
    "_compile_kernel": "it compiles CUDA C++: write the kernel with cuda.tile, or in torch",
    "current_blas_handle": "there is no cuBLAS: use functions of torch",
    **dict.fromkeys(("caching_allocator_alloc", "caching_allocator_delete", "change_current_allocator"), _ALLOCATE),
}
_RUNTIME: Final = gpu_interface.Runtime(
    "torch.cuda.cudart()",
    {"cudaMemGetInfo": _mem_get_info, **dict.fromkeys(("cudaProfilerStart", "cudaProfilerStop"), lambda *_: 0)},
)
_SHARED: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_stream": lambda device=None: Stream.current(Stream(device, cuda_stream=0)),
    "set_stream": lambda stream: stream and stream.use(),
    "memory_stats": _memory_stats,
    "reset_peak_memory_stats": lambda device=None: _peak.__setitem__(0, _allocated()),
    **dict.fromkeys(("synchronize", "empty_cache", "reset_accumulated_memory_stats"), nothing),
}
"""Functions of `torch.cuda` and of `torch.accelerator`."""
_NOTHING: Final = ("init", "_lazy_init", "set_sync_debug_mode", "set_per_process_memory_fraction", "ipc_collect")
_CUDA: Final[dict[str, Callable[..., Any]]] = {
    **_SHARED,
    **{name: refusing(f"torch.cuda.{name}", advice) for name, advice in _MISSING.items()},
    **dict.fromkeys(_NOTHING, nothing),
    **{kind.__name__: kind for kind in (Stream, ExternalStream, Event)},
    # They return the device that was current; a negative number changes nothing.
    **dict.fromkeys(
        ("_exchange_device", "_maybe_exchange_device"), lambda device: int(device >= 0 and not is_emulated(device))
    ),
    **dict.fromkeys(("current_device", "get_sync_debug_mode"), lambda: 0),
    "is_initialized": lambda: True,
    "set_device": check_device,
    "get_device_properties": get_device_properties,
    "get_arch_list": lambda: [current_gpu().architecture],
    "default_stream": lambda device=None: Stream(device, cuda_stream=0),
    "cudart": lambda: _RUNTIME,
    "_sleep": lambda cycles: time.sleep(cycles / (current_gpu().clock * 1e3)),
    "can_device_access_peer": lambda device, peer_device: True,
    "clock_rate": lambda device=None: get_device_properties(device).clock_rate // 1000,
    "memory_snapshot": lambda *arguments, **keywords: [],
}
_ACCELERATOR: Final[dict[str, Callable[..., Any]]] = {
    **_SHARED,
    **dict.fromkeys(("current_device_index", "current_device_idx"), lambda: 0),
    **dict.fromkeys(("set_device_index", "set_device_idx"), check_device),
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "get_memory_info": _mem_get_info,
}
CUDA_MODULES: Final = (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.graphs, torch.cuda.streams)
"""Where names of `torch.cuda` are known."""


# --- random numbers: those of the CPU, so that a script gets the numbers it would get there ---


class _ReplacingGenerator(Replacing, type(torch.Generator)):  # type: ignore[misc]
    """From torch 2.15 on its class has a class of its own."""


class Generator(torch.Generator, metaclass=_ReplacingGenerator):  # type: ignore[misc]
    """Replaces `torch.Generator`; one of the device draws the CPU's numbers."""

    original: Any = torch.Generator
    device = property(lambda self: DEVICE)

    def __new__(cls, device: Any = "cpu") -> Any:
        return super().__new__(cls, "cpu") if is_emulated(device) else cls.original(device)


class _Version(ModuleType):
    """`torch.version`, whose `cuda` is a version within contexts only."""

    cuda = property(lambda self: "13.0" if active() is not None else self.__dict__["_cuda"])


def _init_profile(original: Any, self: Any, *arguments: Any, **keywords: Any) -> None:
    # Work of the device is work of the CPU.  torch 2.15 has no `use_cuda` any more.
    if active() is not None and (keywords.pop("use_cuda", None) or keywords.get("use_device") == "cuda"):
        keywords |= {"use_device": None, "use_cpu": True}
    original(self, *arguments, **keywords)


def _empty_strided(size: tuple[int, ...], stride: tuple[int, ...], dtype: Any) -> Any:
    return torch.empty_strided(size, stride, dtype=dtype, device=DEVICE)


def hook_cuda() -> None:
    replace_functions(_CUDA, *CUDA_MODULES)
    replace_functions(_ACCELERATOR, torch.accelerator, getattr(torch.accelerator, "memory", None))
    if not torch.cuda.default_generators:
        torch.cuda.default_generators = (torch.default_generator,)
    Generator.__module__ = "torch"
    torch.Generator = Generator
    for name, original in list(vars(torch.cuda).items()):
        dtype = getattr(getattr(torch, name, None), "dtype", None) if name.endswith("Tensor") else None
        if isinstance(dtype, torch.dtype):
            names = {"dtype": dtype, "original": original, "__module__": "torch.cuda"}
            setattr(torch.cuda, name, _TensorType(name, (_OldTensor,), names))
    version: Any = torch.version
    version.__dict__["_cuda"] = version.__dict__.pop("cuda", None)
    version.__class__ = _Version
    # Recurrent layers lay their weights out for cuDNN where it takes them.
    replace_functions({"is_acceptable": lambda tensor: False}, torch.backends.cudnn)
    replace_functions({"is_built": lambda: True}, torch.backends.cuda)
    # The compiler would need a real GPU.
    replace_functions({"compile": lambda model=None, **more: (lambda each: each) if model is None else model}, torch)
    # What the scripts call that inductor writes.
    replace_functions({"_empty_strided_cuda": _empty_strided}, torch._C._dynamo.guards)
    replace_functions({"_cuda_getCurrentRawStream": lambda device: 0}, torch._C)
    marks = ("range_push", "range_pop", "range_start", "range_end", "mark")
    replace_functions(dict.fromkeys(marks, lambda *arguments, **keywords: 0), torch.cuda.nvtx)
    replace_functions({"__enter__": lambda self: self, "__exit__": nothing}, torch.autograd.profiler.emit_nvtx)
    replace(torch.autograd.profiler.profile, "__init__", _init_profile)


# --- several processes, of which each has the one GPU: NCCL is Gloo, in main memory ---


def _with_gloo(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """A function that makes a group, with Gloo for NCCL, also in a list of several (`cpu:gloo,cuda:nccl`)."""
    if active() is None:
        return original(*arguments, **keywords)
    given = inspect.signature(original).bind(*arguments, **keywords).arguments
    given.pop("device_id", None)
    backend = given.get("backend")
    given["backend"] = "gloo" if backend is None or "nccl" in str(backend).lower() else backend
    return original(**given)


def _scatter(tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None) -> Any:
    parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    return tuple([part.to(DEVICE) for part in parts])


def _gather(tensors: Sequence[Any], dim: int = 0, destination: Any = None) -> Any:
    whole = torch.cat([tensor.to(DEVICE) for tensor in tensors], dim)
    return whole if destination is None or is_emulated(destination) else whole.to(destination)


class _Rendezvous:
    """Memory that all GPUs of a group can access, for a group of one: each process has its own."""

    # Every call returns after its work is done.
    barrier = staticmethod(nothing)

    def __init__(self, tensor: Any, group: Any) -> None:
        self.rank: int = torch.distributed.get_rank(group)
        self.world_size: int = torch.distributed.get_world_size(group)
        if self.world_size != 1:
            raise EmulationError("symmetric memory of several GPUs", "gather with torch.distributed.all_gather")
        self._tensor: Any = tensor

    def get_buffer(self, rank: int, sizes: Any, dtype: Any, storage_offset: int = 0) -> Any:
        count = math.prod(sizes)
        return self._tensor.reshape(-1).view(dtype)[storage_offset : storage_offset + count].view(tuple(sizes))


def hook_distributed() -> None:
    replace_functions({"scatter": _scatter, "gather": _gather}, torch.nn.parallel.comm)
    distributed: Any = torch.distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        return
    core: Any = torch.distributed.distributed_c10d
    replace_functions({"is_nccl_available": lambda: True}, core, distributed)
    for module in (core, distributed):
        for name in ("init_process_group", "new_group"):
            replace(module, name, _with_gloo)
    # Builds without NCCL lack this class, which torch 2.6 looks up wherever NCCL is available: no group is one of it.
    core.ProcessGroupNCCL = getattr(core, "ProcessGroupNCCL", type("ProcessGroupNCCL", (), {}))

    group_named = torch.distributed.distributed_c10d._resolve_process_group

    def rendezvous(tensor: Any, group: Any) -> _Rendezvous:
        return _Rendezvous(tensor, group_named(group) if isinstance(group, str) else group)

    functions = {"empty": torch.empty, "rendezvous": rendezvous}
    after_import("torch.distributed._symmetric_memory", lambda module: replace_functions(functions, module))
