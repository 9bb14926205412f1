"""Parameters and modules on a pretended device."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import is_pretended, placed, plain, undispatched, unplaced

Tensor: Final[Any] = torch.Tensor
Parameter: Final[Any] = torch.nn.Parameter
_DATA: Final[Any] = Tensor.data


def _new_parameter(original: Any) -> Any:
    @functools.wraps(original)
    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if not is_pretended(data):
            return original(cls, data, requires_grad)
        return placed(original(cls, plain(data), requires_grad), data.get_device())

    return new


def _set_data(self: Any, value: Any) -> None:
    """`tensor.data = other` takes the tensor to where the other one is."""
    undispatched(_DATA.__set__, (), (self, value))
    if is_pretended(value):
        if not is_pretended(self):
            placed(self, value.get_device())
    elif is_pretended(self):
        unplaced(self)


def hook_modules() -> None:
    Parameter.__new__ = staticmethod(_new_parameter(Parameter.__new__))
    Tensor.data = property(_DATA.__get__, _set_data, doc=_DATA.__doc__)
