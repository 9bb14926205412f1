"""The driver that describes the GPU to Triton in a context: the emulated GPU, or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.bridge.emulated.gpu_interface import current_gpu
from tileir.bridge.triton.frontend import gpu_target
from tileir.bridge.triton.kernel import REQUESTED
from tileir.execute.errors import LaunchError
from tileir.execute.gpu import gpus


class _Utilities:
    """What a driver of Triton's knows of the CUDA driver."""

    @staticmethod
    def get_device_properties(device: int = 0) -> dict[str, int]:
        gpu = current_gpu()
        return {
            "max_shared_mem": gpu.limits.shared_memory_per_block,
            "max_num_regs": gpus.REGISTERS,
            "multiprocessor_count": gpu.multiprocessors,
            "warpSize": gpus.WARP_SIZE,
            "sm_clock_rate": gpu.clock,
            "mem_clock_rate": gpu.memory_clock,
            "mem_bus_width": gpu.memory_bus,
        }

    @staticmethod
    def load_binary(name: str, *rest: object) -> None:
        raise LaunchError(f"{name} is code for a GPU, which cannot be emulated: launch the kernel")

    @staticmethod
    def cuOccupancyMaxActiveClusters(function: object, shared: int, blocks: int) -> int:
        return current_gpu().multiprocessors // blocks

    @staticmethod
    def unload_module(module: object) -> None:
        """Nothing was loaded."""


class EmulatedDriver:
    """Replaces Triton's driver for CUDA."""

    utils: _Utilities = _Utilities()

    @staticmethod
    def is_active() -> bool:
        return True

    @staticmethod
    def get_current_device() -> int:
        return 0

    @staticmethod
    def set_current_device(device: object) -> None:
        """There is one."""

    @staticmethod
    def get_current_stream(device: object = None) -> int:
        return 0

    @staticmethod
    def get_current_target() -> Any:
        return gpu_target(*current_gpu().capability)

    @staticmethod
    def get_device_capability(device: object = None) -> tuple[int, int]:
        return current_gpu().capability

    @staticmethod
    def get_active_torch_device() -> Any:
        import torch

        return torch.device("cpu") if active() is None else torch.device("cuda", 0)

    @staticmethod
    def get_device_interface() -> Any:
        import torch

        return torch.cuda

    @staticmethod
    def map_python_to_cpp_type(kind: str) -> str:
        raise LaunchError(f"{kind} has no type in C++ here: there is no launcher in C++")

    @staticmethod
    def get_benchmarker() -> Callable[..., Sequence[float]]:
        return benchmark

    @staticmethod
    def get_empty_cache_for_benchmark() -> Any:
        import torch

        return torch.empty(1, dtype=torch.int)

    @staticmethod
    def clear_cache(cache: object) -> None:
        """The cache of a processor is not emptied: there is no portable way."""


_RUNS: Final = 2


def benchmark(call: Callable[[], object], *, quantiles: Sequence[float] = (0.5,), **options: object) -> list[float]:
    """Milliseconds of a launch, for `triton.autotune`: the second one counts, as the first one is compiled.

    Where launches are observed, or only requested, the first configuration is as good as any.
    """
    context = active()
    if context is None or context.watching is not None:
        return [0.0] * len(quantiles)
    taken = 0.0
    before = REQUESTED.set(None)
    try:
        for _ in range(_RUNS):
            begin = time.perf_counter()
            call()
            taken = (time.perf_counter() - begin) * 1e3
    finally:
        REQUESTED.reset(before)
    return [taken] * len(quantiles)
