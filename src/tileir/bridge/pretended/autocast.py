"""`torch.autocast("cuda")`, which on a pretended device is that of the CPU with the same dtype."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active

_Autocast: Final[Any] = torch.autocast
_GIVEN: Final = "_tileir_given"
_INNER: Final = "_tileir_of_host"


def _made(original: Any) -> Any:
    """Keeps what it is given: the dtype that torch chooses where there is none is that of the GPU."""

    @functools.wraps(original)
    def __init__(
        self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        original(self, device_type, dtype, enabled, cache_enabled)
        if device_type == "cuda":
            setattr(self, _GIVEN, (dtype, enabled, cache_enabled))

    return __init__


def _entered(original: Any) -> Any:
    @functools.wraps(original)
    def enter(self: Any) -> Any:
        given = self.__dict__.get(_GIVEN)
        if given is not None and active() is not None:
            dtype, *others = given
            inner = _Autocast("cpu", torch.get_autocast_dtype("cuda") if dtype is None else dtype, *others)
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
    _Autocast.__init__ = _made(_Autocast.__init__)
    _Autocast.__enter__ = _entered(_Autocast.__enter__)
    _Autocast.__exit__ = _exited(_Autocast.__exit__)
