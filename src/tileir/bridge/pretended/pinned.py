"""Pinned memory of the host: there is no other, so it is a mark."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.tensors import is_pretended

Tensor: Final[Any] = torch.Tensor
_MARK: Final = "_tileir_is_pinned"


def pinned(tensor: Any) -> Any:
    setattr(tensor, _MARK, True)
    return tensor


def _pin(original: Any) -> Any:
    @functools.wraps(original)
    def pin_memory(self: Any, *device: Any, **keywords: Any) -> Any:
        if active() is None:
            return original(self, *device, **keywords)
        if is_pretended(self):
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        return self if getattr(self, _MARK, False) else pinned(self.clone())

    return pin_memory


def _is_pinned(original: Any) -> Any:
    @functools.wraps(original)
    def is_pinned(self: Any, *device: Any, **keywords: Any) -> bool:
        return bool(original(self, *device, **keywords)) if active() is None else getattr(self, _MARK, False)

    return is_pinned


def hook_pinned() -> None:
    Tensor.pin_memory = _pin(Tensor.pin_memory)
    Tensor.is_pinned = _is_pinned(Tensor.is_pinned)
