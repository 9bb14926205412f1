"""How much memory of the emulated device is in use: counted when it is asked for."""

from __future__ import annotations

import collections
import gc
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import Tensor, extent_of, is_on_device

_BLOCK: Final = 512
_SEGMENT: Final = 2 << 20
"""torch allocates in multiples of the first, and reserves in multiples of the second."""
_peak: Final[list[int]] = [0]
"""The most that was seen: what comes and goes between two calls is not."""


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def allocated(device: Any = None) -> int:
    """Bytes of the storages of all tensors on the device."""
    storages: dict[int, int] = {}
    for value in gc.get_objects():
        extent = extent_of(value) if issubclass(type(value), Tensor) and is_on_device(value) else None
        if extent is not None:
            storages[extent[0]] = _rounded(extent[1], _BLOCK)
    total = sum(storages.values())
    _peak[0] = max(_peak[0], total)
    return total


def reserved(device: Any = None) -> int:
    return _rounded(allocated(), _SEGMENT)


def most_allocated(device: Any = None) -> int:
    allocated()
    return _peak[0]


def _most_reserved(device: Any = None) -> int:
    return _rounded(most_allocated(), _SEGMENT)


def reset_peak(device: Any = None) -> None:
    _peak[0] = 0
    allocated()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    context = active()
    assert context is not None
    total = context.gpu.memory
    return max(total - reserved(), 0), total


def memory_stats(device: Any = None) -> Any:
    now, peak = allocated(), most_allocated()
    found: dict[str, int] = collections.OrderedDict()
    for name, current, most in (
        ("active_bytes", now, peak),
        ("allocated_bytes", now, peak),
        ("requested_bytes", now, peak),
        ("reserved_bytes", _rounded(now, _SEGMENT), _rounded(peak, _SEGMENT)),
    ):
        for kind, value in (("allocated", most), ("current", current), ("freed", most - current), ("peak", most)):
            found[f"{name}.all.{kind}"] = value
    for name in ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free"):
        found[name] = 0
    return found


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    return "\n".join([f"{name:32} {value:16}" for name, value in memory_stats().items()])


def nothing(*arguments: Any, **keywords: Any) -> None:
    pass


FUNCTIONS: Final[dict[str, Any]] = {
    "mem_get_info": mem_get_info,
    "memory_allocated": allocated,
    "max_memory_allocated": most_allocated,
    "memory_reserved": reserved,
    "memory_cached": reserved,
    "max_memory_reserved": _most_reserved,
    "max_memory_cached": _most_reserved,
    "reset_peak_memory_stats": reset_peak,
    "reset_max_memory_allocated": reset_peak,
    "reset_max_memory_cached": reset_peak,
    "reset_accumulated_memory_stats": nothing,
    "memory_stats": memory_stats,
    "memory_summary": memory_summary,
    "memory_snapshot": lambda mempool_id=None: [],
    "empty_cache": nothing,
    "set_per_process_memory_fraction": nothing,
    "ipc_collect": nothing,
    "list_gpu_processes": lambda device=None: "GPU:0\nno processes are running",
}
