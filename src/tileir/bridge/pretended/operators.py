"""Single operations that ask for more than a device: attention by a given kernel, streams that use a tensor."""

from __future__ import annotations

from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import SPECIAL, PretendedTensor, placed, undispatched

_ATTENTION: Final[Any] = torch.nn.functional.scaled_dot_product_attention


def _attention(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """On the CPU there is no cuDNN, nor some other kernels that a script may ask for: any other gives the same."""
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


def hook_operators() -> None:
    SPECIAL[_ATTENTION] = _attention
    SPECIAL[torch.Tensor.record_stream] = _record_stream
    PretendedTensor.record_stream = lambda self, stream: None
