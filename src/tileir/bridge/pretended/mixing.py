"""Tensors of several devices in one operation, which torch refuses: so it is refused here, in torch's words."""

from __future__ import annotations

from typing import Any, Final

import torch

Tensor: Final[Any] = torch.Tensor
_dimensions: Final[Any] = Tensor.dim
_HOST: Final = frozenset({Tensor, torch.nn.Parameter})

MIXING: Final = frozenset(
    {
        Tensor.copy_,
        Tensor.__getitem__,
        Tensor.__setitem__,
        Tensor.index_put_,
        Tensor.index_put,
        torch.index_put,
        torch.index_put_,
        Tensor.is_same_size,
        Tensor.expand_as,
        Tensor.view_as,
        Tensor.reshape_as,
        Tensor.resize_as_,
        torch.result_type,
        getattr(torch, "_has_compatible_shallow_copy_type", None),
        torch.is_same_size,
        torch.nn.functional.embedding_bag,
    }
)
"""Functions that take tensors of several devices, or only look at the shape of the second."""

INDEXING: Final = frozenset({Tensor.__getitem__, Tensor.__setitem__})


def check_devices(function: Any, arguments: Any, keywords: Any) -> None:
    """Refuse a tensor of the CPU beside one of a device; one without dimensions is as good as a number."""
    if function in INDEXING and type(arguments[0]) in _HOST:
        _check_indices(arguments[1])
    for argument in arguments:
        kind = type(argument)
        if kind in _HOST:
            if _is_elsewhere(argument):
                _refuse(function, argument)
        elif kind is list or kind is tuple:
            for item in argument:
                if type(item) in _HOST and _is_elsewhere(item):
                    _refuse(function, item)
    if keywords:
        for name, argument in keywords.items():
            if type(argument) in _HOST and (_is_elsewhere(argument) or name == "out"):
                _refuse(function, argument)


def _is_elsewhere(tensor: Any) -> bool:
    return bool(_dimensions(tensor)) and bool(tensor.is_cpu)


def _check_indices(indices: Any) -> None:
    """A tensor of the CPU takes no indices of a device, though one of a device takes those of the CPU."""
    for index in indices if type(indices) in (list, tuple) else (indices,):
        if isinstance(index, Tensor) and not index.is_cpu and _dimensions(index):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")


def _refuse(function: Any, argument: Any) -> None:
    if function in MIXING:
        return
    raise RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        f" (when calling {getattr(function, '__name__', function)})"
    )
