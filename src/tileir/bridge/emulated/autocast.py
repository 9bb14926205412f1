"""`torch.autocast("cuda")`: arguments of functions on its lists are cast, as PyTorch documents it for CUDA operators.

torch casts by the device of a tensor, which is the CPU here.  So it is done where functions are called.  What they call
themselves is not cast: so functions are listed too that consist of listed ones.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated.accumulation import COMPOSED_MATMULS, CONVOLUTIONS, MATMULS, mapped
from tileir.bridge.emulated.device import ON_DEVICE, Arguments, Keywords, Tensor, is_on_device

_WIDEST: Final = (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sample", "index_put", "inner", "scatter_add",
    "tensordot", "vdot",
)  # fmt: skip
_LOWER: Final = (
    *[name for name in (*MATMULS, *CONVOLUTIONS, *COMPOSED_MATMULS) if name not in _WIDEST], "addr", "prelu",
)  # fmt: skip
_FLOAT32: Final = (
    "__pow__", "__rdiv__", "__rpow__", "__rtruediv__", "acos", "arccos", "arcsin", "asin",
    "binary_cross_entropy_with_logits", "cdist", "cosh", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1", "frobenius_norm", "gaussian_nll_loss",
    "group_norm", "gumbel_softmax", "hinge_embedding_loss", "huber_loss", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp", "margin_ranking_loss", "matrix_norm",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "native_layer_norm",
    "nll_loss", "norm", "normalize", "nuclear_norm", "pdist", "poisson_nll_loss", "pow", "prod", "reciprocal",
    "renorm", "rsqrt", "sinh", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "sum", "tan",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "upsample", "upsample_bilinear", "upsample_nearest",
    "vector_norm",
)  # fmt: skip
_REFUSED: Final = ("binary_cross_entropy",)
_OWNERS: Final = (torch, torch.linalg, torch.special, torch.nn.functional, Tensor)


def _cast(name: str, before: Any, function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """What the function returns for arguments of the type that its list asks for."""
    if not torch.is_autocast_enabled("cuda"):
        return NotImplemented if before is None else before(function, arguments, keywords)
    if name in _REFUSED:
        raise RuntimeError(f"{name} is unsafe to autocast: use binary_cross_entropy_with_logits")
    values = (*arguments, *keywords.values())
    # Who asks for a type of the result, or gives a tensor for it, has its way.
    if keywords.get("out") is None and not any(type(each) is torch.dtype for each in values):
        change = functools.partial(_converted, _dtype(name, values))
        arguments = mapped(change, arguments)
        keywords = {each: mapped(change, value) for each, value in keywords.items()}
    result = NotImplemented if before is None else before(function, arguments, keywords)
    return function(*arguments, **keywords) if result is NotImplemented else result


def _dtype(name: str, values: tuple[Any, ...]) -> Any:
    if name in _LOWER:
        return torch.get_autocast_dtype("cuda")
    return torch.float32 if name in _FLOAT32 or _has_float32(values) else None


def _converted(dtype: Any, tensor: Any) -> Any:
    is_cast = dtype and is_on_device(tensor) and tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
    return tensor.to(dtype) if is_cast else tensor


def _has_float32(values: Any) -> bool:
    return any(
        _has_float32(each) if type(each) in (list, tuple) else is_on_device(each) and each.dtype is torch.float32
        for each in values
    )


@functools.cache
def _install() -> None:
    for name in (*_LOWER, *_FLOAT32, *_WIDEST, *_REFUSED):
        # One function may have several owners.
        for function in {getattr(owner, name) for owner in _OWNERS if hasattr(owner, name)}:
            ON_DEVICE[function] = functools.partial(_cast, name, ON_DEVICE.get(function))


def _entered(original: Any) -> Any:
    @functools.wraps(original)
    def enter(self: Any) -> Any:
        if self.device == "cuda" and active() is not None:
            # Not sooner: scripts without autocast do not pay for it at each call.
            _install()
        return original(self)

    return enter


def hook_autocast() -> None:
    torch.autocast.__enter__ = _entered(torch.autocast.__enter__)
