"""`torch.cuda` and what else of torch depends on a device: random numbers, versions, backends, profiling."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated import memory, streams
from tileir.bridge.emulated.device import DEVICE, is_emulated
from tileir.bridge.emulated.memory import nothing
from tileir.execute.errors import EmulationError
from tileir.execute.gpu import gpus
from tileir.execute.gpu.gpus import Gpu

CUDA_VERSION: Final = "13.0"


def replaced(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does as the replacement does within contexts."""

    @functools.wraps(original)
    def chosen(*arguments: Any, **keywords: Any) -> Any:
        return (original if active() is None else replacement)(*arguments, **keywords)

    return chosen


def replace_functions(functions: dict[str, Callable[..., Any]]) -> None:
    """Functions of `torch.cuda`, by name."""
    for name, replacement in functions.items():
        original = getattr(torch.cuda, name, None)
        if original is not None:
            replace_class(name, replaced(original, replacement))


def replace_class(name: str, replacement: Any) -> None:
    # Names of `torch.cuda` are known in modules of their own too.
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.cuda.graphs, torch.cuda.streams):
        if hasattr(module, name):
            setattr(module, name, replacement)


# --- devices ---


def _gpu() -> Gpu:
    context = active()
    assert context is not None
    return context.gpu


class Properties(SimpleNamespace):
    """In the place of `torch._C._CudaDeviceProperties`."""

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


@functools.lru_cache
def _properties_of(gpu: Gpu) -> Properties:
    return Properties(
        name=gpu.name,
        major=gpu.major,
        minor=gpu.minor,
        total_memory=gpu.memory,
        multi_processor_count=gpu.multiprocessors,
        warp_size=gpus.WARP_SIZE,
        max_threads_per_multi_processor=gpu.limits.threads,
        max_threads_per_block=gpus.THREADS_PER_BLOCK,
        regs_per_multiprocessor=gpus.REGISTERS,
        shared_memory_per_block=gpus.SHARED_MEMORY_PER_BLOCK,
        shared_memory_per_block_optin=gpu.limits.shared_memory_per_block,
        shared_memory_per_multiprocessor=gpu.limits.shared_memory,
        L2_cache_size=gpu.l2_cache,
        clock_rate=gpu.clock,
        memory_clock_rate=gpu.memory_clock,
        memory_bus_width=gpu.memory_bus,
        is_integrated=int(gpu.integrated),
        is_multi_gpu_board=0,
        gcnArchName=gpu.name,
        uuid="00000000-0000-0000-0000-000000000000",
        pci_bus_id=0,
        pci_domain_id=0,
        pci_device_id=1,
    )


def _check_device(device: Any) -> None:
    if device is not None and not is_emulated(device):
        raise ValueError(f"Expected a cuda device, but got: {device}")


def get_device_properties(device: Any = None) -> Properties:
    _check_device(device)
    return _properties_of(_gpu())


def _get_device_capability(device: Any = None) -> tuple[int, int]:
    _check_device(device)
    return _gpu().capability


def _exchange_device(device: int) -> int:
    """Gives the device that was current; a negative number changes nothing."""
    if device >= 0:
        _check_device(device)
    return 0


def _refusing(name: str, advice: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise EmulationError(name, advice)

    return refuse


class Runtime:
    """`torch.cuda.cudart()`."""

    cudaProfilerStart = cudaProfilerStop = staticmethod(lambda *arguments: 0)
    cudaMemGetInfo = staticmethod(memory.mem_get_info)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise EmulationError(f"torch.cuda.cudart().{name}", "run the script on a machine with a GPU")


_MEASURED: Final = "it is measured on hardware: leave the call out"
_MISSING: Final = {
    **dict.fromkeys(("temperature", "power_draw", "utilization", "memory_usage", "device_memory_used"), _MEASURED),
    "_compile_kernel": "it compiles CUDA C++: write the kernel with cuda.tile, or in torch",
    "current_blas_handle": "there is no cuBLAS: use functions of torch",
    "caching_allocator_alloc": "allocate with torch.empty(.., device='cuda')",
    "caching_allocator_delete": "allocate with torch.empty(.., device='cuda')",
    "change_current_allocator": "memory is that of the host: leave the call out",
}

_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "init": nothing,
    "_lazy_init": nothing,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "set_device": _check_device,
    "get_device_properties": get_device_properties,
    "get_device_name": lambda device=None: get_device_properties(device).name,
    "get_device_capability": _get_device_capability,
    "get_arch_list": lambda: [_gpu().architecture],
    "synchronize": nothing,
    "is_bf16_supported": lambda including_emulation=True: True,
    "current_stream": streams.current_stream,
    "default_stream": streams.default_stream,
    "set_stream": streams.set_stream,
    "stream": streams.StreamContext,
    "_exchange_device": _exchange_device,
    "_maybe_exchange_device": _exchange_device,
    "cudart": Runtime,
    "_sleep": lambda cycles: time.sleep(cycles / (_gpu().clock * 1e3)),
    "can_device_access_peer": lambda device, peer_device: True,
    "is_tf32_supported": lambda: True,
    "clock_rate": lambda device=None: get_device_properties(device).clock_rate // 1000,
    "get_gencode_flags": lambda: "",
    "get_sync_debug_mode": lambda: 0,
    "set_sync_debug_mode": nothing,
    **memory.FUNCTIONS,
    **{name: _refusing(f"torch.cuda.{name}", advice) for name, advice in _MISSING.items()},
}

_ACCELERATOR: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_device_index": lambda: 0,
    "current_device_idx": lambda: 0,
    "set_device_index": _check_device,
    "set_device_idx": _check_device,
    "current_stream": streams.current_stream,
    "set_stream": streams.set_stream,
    "synchronize": nothing,
    "empty_cache": nothing,
    "get_memory_info": memory.mem_get_info,
    **{name: function for name, function in memory.FUNCTIONS.items() if name.startswith(("max_", "memory_", "reset_"))},
}


def hook_cuda() -> None:
    replace_functions(_FUNCTIONS)
    for kind in (streams.Stream, streams.ExternalStream, streams.Event):
        replace_class(kind.__name__, kind)


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

    @property
    def device(self) -> Any:
        return DEVICE


def hook_random_numbers() -> None:
    generator = torch.default_generator

    def set_state(new_state: Any, device: Any = "cuda") -> None:
        generator.set_state(new_state[0] if isinstance(new_state, (list, tuple)) else new_state)

    if not torch.cuda.default_generators:
        torch.cuda.default_generators = (generator,)
    replace_functions(
        {
            "manual_seed": lambda seed: generator.manual_seed(int(seed)) and None,
            "manual_seed_all": lambda seed: generator.manual_seed(int(seed)) and None,
            "seed": generator.seed,
            "seed_all": generator.seed,
            "initial_seed": generator.initial_seed,
            "get_rng_state": lambda device="cuda": generator.get_state(),
            "get_rng_state_all": lambda: [generator.get_state()],
            "set_rng_state": set_state,
            "set_rng_state_all": set_state,
        }
    )
    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    torch.Generator = Generator


# --- versions, backends, compiling ---


class _Version(ModuleType):
    """`torch.version`, whose `cuda` is a version within contexts only."""

    cuda = property(lambda self: CUDA_VERSION if active() is not None else self.__dict__["_cuda"])


def _returned(model: Any = None, **keywords: Any) -> Any:
    """`torch.compile` within a context returns its function: its compiler would ask for a real GPU."""
    return model if model is not None else lambda function: function


def hook_libraries() -> None:
    version: Any = torch.version
    version.__dict__["_cuda"] = version.__dict__.pop("cuda", None)
    version.__class__ = _Version
    # Recurrent layers lay their weights out for cuDNN where it takes them.
    torch.backends.cudnn.is_acceptable = replaced(torch.backends.cudnn.is_acceptable, lambda tensor: False)
    torch.backends.cuda.is_built = replaced(torch.backends.cuda.is_built, lambda: True)
    torch.compile = replaced(torch.compile, _returned)
    for name, replacement in _ACCELERATOR.items():
        original = getattr(getattr(torch, "accelerator", None), name, None)
        if original is not None:
            setattr(torch.accelerator, name, replaced(original, replacement))


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
    profiler: Any = torch.autograd.profiler.profile
    original = profiler.__init__

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        # Work of the device is work of the CPU.  torch 2.15 has no `use_cuda` any more.
        if active() is not None and (keywords.pop("use_cuda", None) or keywords.get("use_device") == "cuda"):
            keywords = {**keywords, "use_device": None, "use_cpu": True}
        original(self, *arguments, **keywords)

    profiler.__init__ = __init__
