"""Single operations that ask for more than a device: attention by a given kernel, a user's operators for CUDA."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
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


def _registered(original: Any) -> Any:
    """A user's kernel for CUDA is one for tensors of the CPU too, which those of the device are to torch."""

    @functools.wraps(original)
    def register_kernel(self: Any, device_types: Any, *arguments: Any, **keywords: Any) -> Any:
        if active() is not None and device_types is not None:
            named = (device_types,) if isinstance(device_types, str) else tuple(device_types)
            if "cuda" in named and "cpu" not in named:
                device_types = (*named, "cpu")
        return original(self, device_types, *arguments, **keywords)

    return register_kernel


def hook_operators() -> None:
    SPECIAL[_ATTENTION] = _attention
    SPECIAL[torch.Tensor.record_stream] = _record_stream
    PretendedTensor.record_stream = lambda self, stream: None
    definition = torch._library.custom_ops.CustomOpDef
    definition.register_kernel = _registered(definition.register_kernel)
