"""Copies from one device to several and back, which `torch.nn.DataParallel` makes; there is one device, and no NCCL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch

from tileir.bridge.contexts import active


def _devices(indices: Sequence[int]) -> list[Any]:
    return [torch.device("cuda", index) for index in indices]


def _broadcast(tensor: Any, devices: Sequence[int]) -> list[Any]:
    return [tensor.to(device) for device in _devices(devices)]


def _broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[int], buffer_size: int) -> list[list[Any]]:
    return [[tensor.to(device) for tensor in tensors] for device in _devices(devices)]


def _scatter(tensor: Any, devices: Sequence[int], chunk_sizes: Any = None, dim: int = 0, streams: Any = None) -> Any:
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(chunk_sizes, dim)
    return [part.to(device) for part, device in zip(parts, _devices(devices), strict=False)]


def _gather(tensors: Sequence[Any], dim: int, destination: int | None) -> Any:
    whole = torch.cat(tuple(tensors), dim)
    return whole.cpu() if destination == -1 else whole.to(torch.device("cuda", destination))


def _broadcast_out(tensor: Any, out: Sequence[Any]) -> Any:
    for each in out:
        each.copy_(tensor)
    return out


def _scatter_out(tensor: Any, out: Sequence[Any], dim: int = 0, streams: Any = None) -> Any:
    for part, each in zip(tensor.split([each.size(dim) for each in out], dim), out, strict=True):
        each.copy_(part)
    return out


def _gather_out(tensors: Sequence[Any], out: Any, dim: int) -> Any:
    return out.copy_(torch.cat([tensor.to(out.device) for tensor in tensors], dim))


_FUNCTIONS: Final = {
    "_broadcast": _broadcast,
    "_broadcast_coalesced": _broadcast_coalesced,
    "_broadcast_out": _broadcast_out,
    "_gather": _gather,
    "_gather_out": _gather_out,
    "_scatter": _scatter,
    "_scatter_out": _scatter_out,
}


def _replaced(name: str, original: Any, replacement: Any) -> Any:
    def chosen(*arguments: Any, **keywords: Any) -> Any:
        if active() is not None:
            return replacement(*arguments, **keywords)
        if original is None:
            raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
        return original(*arguments, **keywords)

    return chosen


def hook_collectives() -> None:
    for name, replacement in _FUNCTIONS.items():
        setattr(torch._C, name, _replaced(name, getattr(torch._C, name, None), replacement))
