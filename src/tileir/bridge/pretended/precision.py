"""Sums that torch makes in half precision on the CPU, and in float32 on a GPU.

Everything else on a pretended device has the CPU's bits.  But the gradients of `layer_norm`'s weight and bias are sums
over all rows: in bfloat16 their first digits are wrong, so that a correct kernel would fail in comparison.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import SPECIAL, is_pretended, placed, undispatched

_NARROW: Final = frozenset({torch.float16, torch.bfloat16})
_LAYER_NORM: Final[Any] = torch.nn.functional.layer_norm


def _layer_norm(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    def layer_norm(
        input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *more: Any
    ) -> Any:
        given = [tensor for tensor in (input, weight, bias) if tensor is not None]
        index = next(int(tensor.get_device()) for tensor in given if is_pretended(tensor))
        wide = torch.is_grad_enabled() and input.dtype in _NARROW and any(tensor.requires_grad for tensor in given)
        if wide:
            input, weight, bias = [None if tensor is None else tensor.float() for tensor in (input, weight, bias)]
        result = undispatched(_LAYER_NORM, (), (input, normalized_shape, weight, bias, eps))
        return placed(result.to(given[0].dtype) if wide else result, index)

    return layer_norm(*arguments, **keywords)


def hook_precision() -> None:
    SPECIAL[_LAYER_NORM] = SPECIAL[torch.layer_norm] = _layer_norm
