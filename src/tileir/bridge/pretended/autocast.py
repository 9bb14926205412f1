"""`torch.autocast("cuda")`, which on a pretended device is that of the CPU with the same dtype."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active

_Autocast: Final[Any] = torch.amp.autocast_mode.autocast
_INNER: Final = "_tileir_of_host"


def _entered(original: Any) -> Any:
    @functools.wraps(original)
    def enter(self: Any) -> Any:
        if self.device == "cuda" and active() is not None:
            inner = _Autocast("cpu", self.fast_dtype, self._enabled, self._cache_enabled)
            self.__dict__.setdefault(_INNER, []).append(inner)
            original(inner)
        return original(self)

    return enter


def _exited(original: Any) -> Any:
    @functools.wraps(original)
    def leave(self: Any, *error: Any) -> Any:
        result = original(self, *error)
        inner = self.__dict__.get(_INNER)
        if inner:
            original(inner.pop(), *error)
        return result

    return leave


def hook_autocast() -> None:
    _Autocast.__enter__ = _entered(_Autocast.__enter__)
    _Autocast.__exit__ = _exited(_Autocast.__exit__)
