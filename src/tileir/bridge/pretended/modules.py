"""Parameters and modules on a pretended device."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import is_pretended, placed, pretended_class, undispatched, unplaced

Tensor: Final[Any] = torch.Tensor
Parameter: Final[Any] = torch.nn.Parameter
_DATA: Final[Any] = Tensor.data


def _new_parameter(original: Any) -> Any:
    @functools.wraps(original)
    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if not is_pretended(data):
            return original(cls, data, requires_grad)
        made = undispatched(Tensor._make_subclass, (), (cls, data, requires_grad))
        if not is_pretended(made):
            made.__class__ = pretended_class(type(made), data.get_device())
        return made

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
