"""`torch.distributed` between processes that each have the pretended GPU: NCCL is Gloo, in main memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed

from tileir.bridge.contexts import active
from tileir.execute.errors import EmulationError


def hook_distributed() -> None:
    distributed: Any = torch.distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        return
    core: Any = distributed.distributed_c10d
    for name, replacement in (
        ("is_nccl_available", _available(core.is_nccl_available)),
        ("init_process_group", _with_gloo(core.init_process_group, 0)),
        ("new_group", _with_gloo(core.new_group, 2)),
    ):
        setattr(core, name, replacement)
        setattr(distributed, name, replacement)
    # Builds without NCCL lack this class, which torch 2.6 looks up wherever NCCL is available.
    if not hasattr(core, "ProcessGroupNCCL"):
        core.ProcessGroupNCCL = _NoGroup


class _NoGroup:
    """A class without instances: no process group is one of NCCL's."""


def _available(original: Any) -> Any:
    @functools.wraps(original)
    def is_nccl_available() -> bool:
        return active() is not None or bool(original())

    return is_nccl_available


def _with_gloo(original: Any, position: int) -> Any:
    """A function that makes a group, with the name of a backend in this position."""

    @functools.wraps(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        if active() is not None:
            keywords.pop("device_id", None)
            if len(arguments) > position:
                given = [*arguments]
                given[position] = _gloo(given[position])
                arguments = tuple(given)
            else:
                keywords["backend"] = _gloo(keywords.get("backend"))
        return original(*arguments, **keywords)

    return make


def _gloo(backend: Any) -> Any:
    """NCCL, also as one of several (`cpu:gloo,cuda:nccl`), and what is chosen for want of a name."""
    return "gloo" if backend is None or "nccl" in str(backend).lower() else backend


# --- symmetric memory: arrays that all GPUs of a group can access ---


def hook_symmetric_memory(module: Any) -> None:
    """`module` is `torch.distributed._symmetric_memory`."""
    module.empty = _in_context(module.empty, _empty)
    _Rendezvous.group_named = staticmethod(torch.distributed.distributed_c10d._resolve_process_group)
    module.rendezvous = _in_context(module.rendezvous, _Rendezvous)


def _in_context(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return (original if active() is None else replacement)(*arguments, **keywords)

    return call


def _empty(*size: Any, **options: Any) -> Any:
    return torch.empty(*size, **options)


class _Rendezvous:
    """The memory of a group of one: each process has its own."""

    group_named: Any

    def __init__(self, tensor: Any, group: Any) -> None:
        if isinstance(group, str):
            group = self.group_named(group)
        self.rank: int = torch.distributed.get_rank(group)
        self.world_size: int = torch.distributed.get_world_size(group)
        if self.world_size != 1:
            raise EmulationError("symmetric memory of several GPUs", "gather with torch.distributed.all_gather")
        self._tensor: Any = tensor

    def get_buffer(self, rank: int, sizes: Any, dtype: Any, storage_offset: int = 0) -> Any:
        count = math.prod(sizes)
        return self._tensor.reshape(-1).view(dtype)[storage_offset : storage_offset + count].view(tuple(sizes))

    def barrier(self, *arguments: Any, **keywords: Any) -> None:
        """Work is over when the call that asked for it returns."""
