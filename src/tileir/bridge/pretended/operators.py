"""Single operations that torch has for CUDA tensors alone: attention by a given kernel, streams, abs of bool."""

from __future__ import annotations

from typing import Any, Final

import torch

from tileir.bridge.pretended.accumulation import accumulated
from tileir.bridge.pretended.tensors import SPECIAL, PretendedTensor, Tensor, placed, undispatched

_ATTENTION: Final[Any] = torch.nn.functional.scaled_dot_product_attention


def _attention(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """On the CPU there is no cuDNN, nor some other kernels that a script may ask for: any other gives the same."""
    result = accumulated(_ATTENTION.__name__, function, arguments, keywords)
    if result is not NotImplemented:
        return result
    try:
        result = undispatched(_ATTENTION, (), arguments, keywords)
    except RuntimeError as error:
        if "No viable backend" not in str(error):
            raise
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            result = undispatched(_ATTENTION, (), arguments, keywords)
    return placed(result)


def _record_stream(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Memory lives as long as it is used."""


def _abs(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The absolute value of truth values is themselves."""
    given = arguments[0] if arguments else keywords["input"]
    return given.clone() if given.dtype is torch.bool and "out" not in keywords else NotImplemented


def hook_operators() -> None:
    for function in (torch.abs, torch.absolute, Tensor.abs, Tensor.absolute, Tensor.__abs__):
        SPECIAL[function] = _abs
    SPECIAL[_ATTENTION] = _attention
    SPECIAL[torch.Tensor.record_stream] = _record_stream
    PretendedTensor.record_stream = lambda self, stream: None
