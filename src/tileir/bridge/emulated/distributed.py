"""`torch.distributed` and `torch.nn.DataParallel`.

Processes each have the one emulated GPU: NCCL is Gloo, in main memory.  Within a process copies go from the device to
itself.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import DEVICE, is_emulated
from tileir.bridge.emulated.gpu_interface import nothing
from tileir.bridge.emulated.torch_cuda import replace_functions
from tileir.bridge.hooks import replace
from tileir.execute.errors import EmulationError


def hook_distributed() -> None:
    replace_functions({"scatter": _scatter, "gather": _gather}, torch.nn.parallel.comm)
    distributed: Any = torch.distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        return
    core: Any = distributed.distributed_c10d
    replace_functions({"is_nccl_available": lambda: True}, core, distributed)
    for module in (core, distributed):
        for name in ("init_process_group", "new_group"):
            replace(module, name, _with_gloo)
    # Builds without NCCL lack this class, which torch 2.6 looks up wherever NCCL is available: no group is one of it.
    core.ProcessGroupNCCL = getattr(core, "ProcessGroupNCCL", type("ProcessGroupNCCL", (), {}))


def _with_gloo(original: Any, *arguments: Any, **keywords: Any) -> Any:
    """A function that makes a group: of Gloo in the place of NCCL, also of one of several (`cpu:gloo,cuda:nccl`)."""
    if active() is None:
        return original(*arguments, **keywords)
    given = inspect.signature(original).bind(*arguments, **keywords).arguments
    given.pop("device_id", None)
    backend = given.get("backend")
    given["backend"] = "gloo" if backend is None or "nccl" in str(backend).lower() else backend
    return original(**given)


# --- copies between the GPUs of a process, of which there is one ---


def _scatter(tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None) -> Any:
    parts = tensor.split(chunk_sizes, dim) if chunk_sizes else tensor.chunk(len(devices), dim)
    return tuple([part.to(DEVICE) for part in parts])


def _gather(tensors: Sequence[Any], dim: int = 0, destination: Any = None) -> Any:
    whole = torch.cat([tensor.to(DEVICE) for tensor in tensors], dim)
    return whole if destination is None or is_emulated(destination) else whole.to(destination)


# --- symmetric memory: arrays that all GPUs of a group can access ---


def hook_symmetric_memory(module: Any) -> None:
    """`module` is `torch.distributed._symmetric_memory`."""
    group_named = torch.distributed.distributed_c10d._resolve_process_group

    def rendezvous(tensor: Any, group: Any) -> _Rendezvous:
        return _Rendezvous(tensor, group_named(group) if isinstance(group, str) else group)

    replace_functions({"empty": torch.empty, "rendezvous": rendezvous}, module)


class _Rendezvous:
    """The memory of a group of one: each process has its own."""

    # Work is over when the call that asked for it returns.
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
