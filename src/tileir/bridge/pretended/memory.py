"""How much memory of a pretended device is in use: counted when it is asked for."""

from __future__ import annotations

import collections
import gc
from typing import Any, Final

from tileir.bridge.contexts import active
from tileir.bridge.pretended.tensors import PretendedTensor, is_pretended, undispatched

_BLOCK: Final = 512
_SEGMENT: Final = 2 << 20
"""torch allocates in multiples of the first, and reserves in multiples of the second."""


class _Peak:
    def __init__(self) -> None:
        self.allocated: int = 0


PEAK: Final = _Peak()
"""The most that was seen: what comes and goes between two questions is not."""


def allocated(device: Any = None) -> int:
    """Bytes of the storages of all tensors on the device."""
    storages: dict[int, int] = {}
    for value in gc.get_objects():
        if is_pretended(value):
            try:
                storage = undispatched(PretendedTensor.untyped_storage, (), (value,))
                storages[storage.data_ptr()] = -(-storage.nbytes() // _BLOCK) * _BLOCK
            except (RuntimeError, NotImplementedError):
                continue
    total = sum(storages.values())
    PEAK.allocated = max(PEAK.allocated, total)
    return total


def _reserved(bytes_: int) -> int:
    return -(-bytes_ // _SEGMENT) * _SEGMENT


def reserved(device: Any = None) -> int:
    return _reserved(allocated())


def most_allocated(device: Any = None) -> int:
    allocated()
    return PEAK.allocated


def reset_peak(device: Any = None) -> None:
    PEAK.allocated = 0
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
        ("reserved_bytes", _reserved(now), _reserved(peak)),
    ):
        for kind, value in (("allocated", most), ("current", current), ("freed", most - current), ("peak", most)):
            found[f"{name}.all.{kind}"] = value
    for name in ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free"):
        found[name] = 0
    return found


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    return "\n".join([f"{name:32} {value:16}" for name, value in memory_stats().items()])


def _nothing(*arguments: Any, **keywords: Any) -> None:
    pass


FUNCTIONS: Final[dict[str, Any]] = {
    "mem_get_info": mem_get_info,
    "memory_allocated": allocated,
    "max_memory_allocated": most_allocated,
    "memory_reserved": reserved,
    "memory_cached": reserved,
    "max_memory_reserved": lambda device=None: _reserved(most_allocated()),
    "max_memory_cached": lambda device=None: _reserved(most_allocated()),
    "reset_peak_memory_stats": reset_peak,
    "reset_max_memory_allocated": reset_peak,
    "reset_max_memory_cached": reset_peak,
    "reset_accumulated_memory_stats": _nothing,
    "memory_stats": memory_stats,
    "memory_summary": memory_summary,
    "memory_snapshot": lambda mempool_id=None: [],
    "empty_cache": _nothing,
    "set_per_process_memory_fraction": _nothing,
    "ipc_collect": _nothing,
    "list_gpu_processes": lambda device=None: "GPU:0\nno processes are running",
}
