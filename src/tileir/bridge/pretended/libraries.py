"""What else of torch depends on a CUDA device: versions, backends, `torch.accelerator`, profiling, `torch.compile`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended import memory, streams
from tileir.bridge.pretended.cuda_module import replace_functions, replaced
from tileir.bridge.pretended.devices import DEVICES
from tileir.execute.errors import EmulationError

CUDA_VERSION: Final = "13.0"


class _Version(ModuleType):
    """`torch.version`, whose `cuda` is a version within contexts only."""

    cuda = property(lambda self: CUDA_VERSION if active() is not None else self.__dict__["_cuda"])


class _Nvtx:
    """Ranges and marks for a profiler that is not there."""

    def __init__(self, original: Any) -> None:
        self._original: Any = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name) if active() is None else _nothing


def _nothing(*arguments: Any, **keywords: Any) -> int:
    return 0


class Runtime:
    """`torch.cuda.cudart()`."""

    cudaProfilerStart = cudaProfilerStop = staticmethod(_nothing)
    cudaMemGetInfo = staticmethod(memory.mem_get_info)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise EmulationError(f"torch.cuda.cudart().{name}", "run the script on a machine with a GPU")


def _sleep(cycles: int) -> None:
    context = active()
    assert context is not None
    time.sleep(cycles / (context.gpu.clock * 1e3))


def _missing(name: str, advice: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keywords: Any) -> Any:
        raise EmulationError(name, advice)

    return refuse


_MEASURED: Final = "it is measured on hardware: leave the call out"
_COMPILED: Final = "it compiles CUDA C++: write the kernel with cuda.tile, or in torch"
MISSING: Final = {
    "temperature": _MEASURED,
    "power_draw": _MEASURED,
    "utilization": _MEASURED,
    "memory_usage": _MEASURED,
    "device_memory_used": _MEASURED,
    "_compile_kernel": _COMPILED,
    "current_blas_handle": "there is no cuBLAS: use functions of torch",
    "caching_allocator_alloc": "allocate with torch.empty(.., device='cuda')",
    "caching_allocator_delete": "allocate with torch.empty(.., device='cuda')",
    "change_current_allocator": "memory is that of the host: leave the call out",
}

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "cudart": Runtime,
    "_sleep": _sleep,
    "can_device_access_peer": lambda device, peer_device: True,
    "is_tf32_supported": lambda: True,
    "clock_rate": lambda device=None: int(torch.cuda.get_device_properties(device).clock_rate) // 1000,
    "get_gencode_flags": lambda: "",
    "get_sync_debug_mode": lambda: 0,
    "set_sync_debug_mode": _nothing,
    **{name: _missing(f"torch.cuda.{name}", advice) for name, advice in MISSING.items()},
}

ACCELERATOR: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "device_count": lambda: DEVICES.count,
    "current_accelerator": lambda check_available=False: torch.device("cuda"),
    "current_device_index": lambda: DEVICES.current,
    "current_device_idx": lambda: DEVICES.current,
    "set_device_index": lambda device, /: torch.cuda.set_device(device),
    "set_device_idx": lambda device, /: torch.cuda.set_device(device),
    "current_stream": streams.current_stream,
    "set_stream": streams.set_stream,
    "synchronize": _nothing,
    "empty_cache": _nothing,
    "get_memory_info": memory.mem_get_info,
    **{
        name: memory.FUNCTIONS[name]
        for name in (
            "max_memory_allocated",
            "max_memory_reserved",
            "memory_allocated",
            "memory_reserved",
            "memory_stats",
            "reset_peak_memory_stats",
        )
    },
}


def _compiled(original: Any) -> Any:
    """`torch.compile` within a context gives its function back: its compiler would ask for a real GPU."""

    @functools.wraps(original)
    def compile(model: Any = None, **keywords: Any) -> Any:
        if active() is None:
            return original(model, **keywords)
        return model if model is not None else lambda function: function

    return compile


def _profiled(original: Any) -> Any:
    """Work of the device is work of the CPU: asked for the device's own, torch complains at every operation."""

    @functools.wraps(original)
    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        # torch 2.15 has no `use_cuda` any more.
        if active() is not None and (keywords.pop("use_cuda", None) or keywords.get("use_device") == "cuda"):
            keywords = {**keywords, "use_device": None, "use_cpu": True}
        original(self, *arguments, **keywords)

    return __init__


def _left_out(cls: Any) -> None:
    """A context for a profiler that is not there: within emulation it does nothing."""
    enter, leave = cls.__enter__, cls.__exit__

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        self._tileir_is_left_out = active() is not None
        return self if self._tileir_is_left_out else enter(self)

    @functools.wraps(leave)
    def __exit__(self: Any, *error: Any) -> Any:
        return None if self._tileir_is_left_out else leave(self, *error)

    cls.__enter__, cls.__exit__ = __enter__, __exit__


def hook_libraries() -> None:
    replace_functions(FUNCTIONS)
    version: Any = torch.version
    version.__dict__["_cuda"] = version.__dict__.pop("cuda", None)
    version.__class__ = _Version
    # Recurrent layers lay their weights out for cuDNN where it takes them.
    torch.backends.cudnn.is_acceptable = replaced(torch.backends.cudnn.is_acceptable, lambda tensor: False)
    torch.backends.cuda.is_built = replaced(torch.backends.cuda.is_built, lambda: True)
    torch.compile = _compiled(torch.compile)
    for name, replacement in ACCELERATOR.items():
        original = getattr(torch.accelerator, name, None) if hasattr(torch, "accelerator") else None
        if original is not None:
            setattr(torch.accelerator, name, replaced(original, replacement))


def hook_profiling() -> None:
    torch.cuda.nvtx._nvtx = _Nvtx(torch.cuda.nvtx._nvtx)
    _left_out(torch.autograd.profiler.emit_nvtx)
    profiler: Any = torch.autograd.profiler.profile
    profiler.__init__ = _profiled(profiler.__init__)
