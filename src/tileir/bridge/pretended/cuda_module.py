"""`torch.cuda`: the functions that tell about a device and choose one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended import memory, streams
from tileir.bridge.pretended.devices import DEVICES, index_asked
from tileir.execute.gpu import gpus
from tileir.execute.gpu.gpus import Gpu


def _gpu() -> Gpu:
    context = active()
    assert context is not None
    return context.gpu


class Properties:
    """In the place of `torch._C._CudaDeviceProperties`."""

    def __init__(self, gpu: Gpu) -> None:
        self.name = gpu.name
        self.major = gpu.major
        self.minor = gpu.minor
        self.total_memory = gpu.memory
        self.multi_processor_count = gpu.multiprocessors
        self.warp_size = gpus.WARP_SIZE
        self.max_threads_per_multi_processor = gpu.limits.threads
        self.max_threads_per_block = gpus.THREADS_PER_BLOCK
        self.regs_per_multiprocessor = gpus.REGISTERS
        self.shared_memory_per_block = gpus.SHARED_MEMORY_PER_BLOCK
        self.shared_memory_per_block_optin = gpu.limits.shared_memory_per_block
        self.shared_memory_per_multiprocessor = gpu.limits.shared_memory
        self.L2_cache_size = gpu.l2_cache
        self.clock_rate = gpu.clock
        self.memory_clock_rate = gpu.memory_clock
        self.memory_bus_width = gpu.memory_bus
        self.is_integrated = int(gpu.integrated)
        self.is_multi_gpu_board = 0
        self.gcnArchName = gpu.name
        self.uuid = "00000000-0000-0000-0000-000000000000"
        self.pci_bus_id = self.pci_domain_id = 0
        self.pci_device_id = 1

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


@functools.lru_cache
def properties_of(gpu: Gpu) -> Properties:
    return Properties(gpu)


def _index(device: Any = None) -> int:
    if device is None:
        return DEVICES.current
    found = index_asked(device)
    if found is None:
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return found


def get_device_properties(device: Any = None) -> Properties:
    _index(device)
    return properties_of(_gpu())


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    _index(device)
    return _gpu().capability


def set_device(device: Any) -> None:
    DEVICES.current = _index(device)


def _exchange_device(device: int) -> int:
    """Gives the device that was current; a negative number changes nothing."""
    before = DEVICES.current
    if device >= 0:
        DEVICES.current = _index(device)
    return before


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "init": lambda: None,
    "_lazy_init": lambda: None,
    "device_count": lambda: DEVICES.count,
    "current_device": lambda: DEVICES.current,
    "set_device": set_device,
    "get_device_properties": get_device_properties,
    "get_device_name": get_device_name,
    "get_device_capability": get_device_capability,
    "get_arch_list": lambda: [_gpu().architecture],
    "synchronize": lambda device=None: None,
    "is_bf16_supported": lambda including_emulation=True: True,
    "current_stream": streams.current_stream,
    "default_stream": streams.default_stream,
    "set_stream": streams.set_stream,
    "stream": streams.StreamContext,
    "_exchange_device": _exchange_device,
    "_maybe_exchange_device": _exchange_device,
    **memory.FUNCTIONS,
}


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


def hook_cuda() -> None:
    replace_functions(FUNCTIONS)
    for kind in (streams.Stream, streams.ExternalStream, streams.Event):
        replace_class(kind.__name__, kind)
