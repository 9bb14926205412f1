"""From the CPU to a pretended device and back: methods of tensors."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.pretended.devices import DEVICES, index_asked
from tileir.bridge.pretended.exhaustion import check_exhausted
from tileir.bridge.pretended.tensor_types import NAMES, dtype_of
from tileir.bridge.pretended.tensors import (
    SPECIAL,
    PretendedTensor,
    as_method,
    host_class,
    is_pretended,
    is_torchs_own,
    placed,
    undispatched,
)

Tensor: Final[Any] = torch.Tensor
_DTYPE: Final[Any] = torch.dtype
_TO: Final[Any] = Tensor.to
_TYPE: Final[Any] = Tensor.type


def _moved(tensor: Any, index: int | None, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`tensor.to(..)`; the device is no longer among the arguments, `index` is the pretended one, None the CPU."""
    here = tensor.get_device() if is_pretended(tensor) else None
    if index != here:
        keywords = {**keywords, "copy": True}
    try:
        result = undispatched(_TO, (), (tensor, *arguments), keywords)
    except RuntimeError as error:
        check_exhausted(error)
        raise
    if result is tensor:
        return result
    kind = host_class(tensor)
    if kind is not Tensor and type(result) is Tensor and not is_torchs_own(kind):
        result.__class__ = kind
    return result if index is None else placed(result, index)


def to(self: Any, *arguments: Any, **keywords: Any) -> Any:
    given = arguments[0] if arguments else keywords.get("device", keywords.get("other"))
    here = is_pretended(self)
    if isinstance(given, Tensor):
        if not here and not is_pretended(given):
            return _TO(self, *arguments, **keywords)
        keywords = {name: value for name, value in keywords.items() if name != "other"}
        index = given.get_device() if is_pretended(given) else None
        return _moved(self, index, ("cpu", given.dtype, *arguments[1:]), keywords)
    if given is None or type(given) is _DTYPE:
        if not here:
            return _TO(self, *arguments, **keywords)
        return _moved(self, self.get_device(), arguments, keywords)
    index = index_asked(given)
    if index is None:
        if not here:
            return _TO(self, *arguments, **keywords)
        if torch.device(given).type != "cpu":
            return undispatched(_TO, (), (self, *arguments), keywords)
        return _moved(self, None, arguments, keywords)
    if arguments:
        return _moved(self, index, ("cpu", *arguments[1:]), keywords)
    return _moved(self, index, (), {**keywords, "device": "cpu"})


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = torch.preserve_format) -> Any:
    if active() is None:
        return _CUDA(self, device, non_blocking, memory_format=memory_format)
    index = DEVICES.current if device is None else index_asked(device)
    if index is None:
        raise RuntimeError(f"Invalid device, must be cuda device, but got {device}")
    return _moved(self, index, ("cpu",), {"memory_format": memory_format})


_CUDA: Final[Any] = Tensor.cuda


def _cpu(self: Any, memory_format: Any = torch.preserve_format) -> Any:
    return _moved(self, None, ("cpu",), {"memory_format": memory_format})


def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **keywords: Any) -> Any:
    """`tensor.type()` names the type, `tensor.type(..)` converts to one."""
    if dtype is None:
        if not is_pretended(self):
            return _TYPE(self)
        return f"torch.cuda.{NAMES[self.dtype]}Tensor" if self.dtype in NAMES else "torch.cuda.Tensor"
    name = dtype if isinstance(dtype, str) else f"{getattr(dtype, '__module__', '')}.{getattr(dtype, '__name__', '')}"
    if name.startswith("torch.cuda.") and active() is not None:
        return _moved(self, DEVICES.current, ("cpu", dtype_of(name)), {})
    if is_pretended(self):
        if type(dtype) is _DTYPE:
            return _moved(self, self.get_device(), (dtype,), {})
        return _moved(self, None, ("cpu", dtype_of(name)), {})
    return _TYPE(self, dtype, non_blocking, **keywords)


def _type_as(self: Any, other: Any) -> Any:
    return _moved(self, other.get_device() if is_pretended(other) else None, ("cpu", other.dtype), {})


def hook_moving() -> None:
    for name, method in (("to", to), ("cuda", cuda), ("type", type_)):
        original = getattr(Tensor, name)
        SPECIAL[original] = as_method(method)
        setattr(Tensor, name, functools.wraps(original)(method))
    SPECIAL[Tensor.cpu] = as_method(_cpu)
    SPECIAL[Tensor.type_as] = as_method(_type_as)
    PretendedTensor.cpu = _cpu
