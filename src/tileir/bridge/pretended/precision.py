"""Sums that torch makes in half precision on the CPU, and in float32 on a GPU.

Everything else on a pretended device has the CPU's bits.  But the gradients of `layer_norm`'s weight and bias are sums
over all rows: in bfloat16 their first digits are wrong, so that a correct kernel would fail in comparison.  The result
and the gradient of the input, which are sums over a row, are the CPU's.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from tileir.bridge.pretended.tensors import SPECIAL, is_pretended, placed, undispatched

_NARROW: Final = frozenset({torch.float16, torch.bfloat16})
_LAYER_NORM: Final[Any] = torch.nn.functional.layer_norm
_BACKWARD: Final[Any] = torch.ops.aten.native_layer_norm_backward


class _NarrowLayerNorm(torch.autograd.Function):  # type: ignore[misc]
    generate_vmap_rule = True

    @staticmethod
    def forward(input: Any, weight: Any, bias: Any, normalized_shape: Any, eps: float) -> Any:
        return torch.native_layer_norm(input, normalized_shape, weight, bias, eps)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        *tensors, ctx.normalized_shape, ctx.eps = inputs
        _, mean, scale = output
        ctx.mark_non_differentiable(mean, scale)
        ctx.save_for_backward(*tensors, mean, scale)

    @staticmethod
    def backward(ctx: Any, gradient: Any, *unused: Any) -> Any:
        input, weight, bias, mean, scale = ctx.saved_tensors
        shape = ctx.normalized_shape
        of_input, of_weight, of_bias = ctx.needs_input_grad[:3]
        results = [None, None, None]
        if of_input:
            mask = [True, False, False]
            results[0] = _BACKWARD(gradient, input, shape, mean, scale, weight, bias, mask)[0]
        if of_weight or of_bias:
            input = input.float()
            # Those of the forward pass are narrow too.
            _, mean, scale = torch.native_layer_norm(input, shape, None, None, ctx.eps)
            weight, bias = [None if tensor is None else tensor.float() for tensor in (weight, bias)]
            mask = [False, of_weight, of_bias]
            found = _BACKWARD(gradient.float(), input, shape, mean, scale, weight, bias, mask)
            results[1:] = [None if tensor is None else tensor.to(gradient.dtype) for tensor in found[1:]]
        return *results, None, None


def _layer_norm(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    def layer_norm(
        input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *more: Any
    ) -> Any:
        others = [tensor for tensor in (weight, bias) if tensor is not None]
        narrow = all(tensor.dtype in _NARROW for tensor in (input, *others))
        if narrow and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in others):
            return _NarrowLayerNorm.apply(input, weight, bias, list(normalized_shape), eps)[0]
        index = next(int(tensor.get_device()) for tensor in (input, *others) if is_pretended(tensor))
        return placed(undispatched(_LAYER_NORM, (), (input, normalized_shape, weight, bias, eps)), index)

    return layer_norm(*arguments, **keywords)


def hook_precision() -> None:
    SPECIAL[_LAYER_NORM] = SPECIAL[torch.layer_norm] = _layer_norm
