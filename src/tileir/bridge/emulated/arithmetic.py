"""Matmuls, convolutions and the like as a GPU computes them: sums in f32, one rounding, and autocast.

torch's functions of the CPU are slow in f16, and some of them sum in f16 or bf16.  So operands of these types are
converted to f32, which is exact, and the f32 function's result is converted back; gradients go the same way.  Where
torch's flags enable TF32, operands in f32 are rounded to it first, and gradients when they come back.

`torch.autocast("cuda")` casts the arguments of functions on PyTorch's lists for CUDA operators.  torch casts by the
device of a tensor, which is the CPU here, so it is done where functions are called.  What they call themselves is not
cast: so functions are listed too that consist of listed ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from tileir.bridge.contexts import active
from tileir.bridge.emulated.device import ON_DEVICE, Arguments, Keywords, Tensor, is_on_device, tensors_in
from tileir.bridge.hooks import hook

_HALF: Final = (torch.float16, torch.bfloat16)

_ADDED_FIRST: Final = ("addbmm", "addmm", "addmv", "baddbmm")
_MATMULS: Final = (
    *_ADDED_FIRST, "__matmul__", "__rmatmul__", "bilinear", "bmm", "chain_matmul", "dot", "einsum", "inner", "linear",
    "matmul", "mm", "multi_dot", "mv", "scaled_dot_product_attention", "tensordot", "vdot", "vecdot",
)  # fmt: skip
_CONVOLUTIONS: Final = (
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
)  # fmt: skip
_COMPOSED_MATMULS: Final = (
    "gru", "gru_cell", "lstm", "lstm_cell", "multi_head_attention_forward", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell",
)  # fmt: skip
_COMPOSED: Final = (*_COMPOSED_MATMULS, "layer_norm")
"""All of such a function is in f32, and nothing of it in TF32."""
_ADDED: Final = {
    **dict.fromkeys(_ADDED_FIRST, (0, "input")),
    **dict.fromkeys(("linear", *_CONVOLUTIONS), (2, "bias")),
    "bilinear": (3, "bias"),
    "scaled_dot_product_attention": (3, "attn_mask"),
}
"""An argument, by position and name, that is added to the result of a matmul and is no operand of it."""

_computed: Final[list[bool]] = []
"""Not empty once a product was computed here."""
_NOTE: Final = (
    "note: a GPU sums products of float16, bfloat16 and TF32 in another order than torch and kernels do here: "
    "sums near zero may differ by more than a comparison allows that holds on a GPU"
)


def _accumulated(name: str, function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """The result of the function; NotImplemented where the CPU's own function is as good."""
    found = {tensor.dtype for tensor in tensors_in((arguments, keywords)) if tensor.dtype.is_floating_point}
    dtype = found.pop() if len(found) == 1 else None
    if dtype is not None and keywords.get("out_dtype") is dtype:
        same = {each: value for each, value in keywords.items() if each != "out_dtype"}  # a CPU's function has none
        result = _accumulated(name, function, arguments, same)
        return function(*arguments, **same) if result is NotImplemented else result
    is_half = dtype in _HALF
    is_in_place = function.__name__ == f"{name}_"
    out = arguments[0] if is_in_place else keywords.get("out")
    if not (is_half or (dtype is torch.float32 and name not in _COMPOSED and _uses_tf32(name))):
        return NotImplemented
    if out is not None and out.dtype is not dtype:
        return NotImplemented
    _computed[:] = [True]
    rest = {each: value for each, value in keywords.items() if each not in ("out", "out_dtype")}
    change = _widened if is_half else to_tf32
    position, added = (-1, "") if is_half else _ADDED.get(name, (-1, ""))
    operands = [each if number == position else _mapped(change, each) for number, each in enumerate(arguments)]
    rest = {each: value if each == added else _mapped(change, value) for each, value in rest.items()}
    result = (getattr(Tensor, name) if is_in_place else function)(*operands, **rest)
    if not is_half and result.requires_grad:
        # The gradient is an operand of products too; that of the view, which the script sees, is as it was.
        result.register_hook(to_tf32)
        result = result.view_as(result)
    rounded = keywords.get("out_dtype") or dtype
    result = _mapped(lambda tensor: tensor.to(rounded) if tensor.dtype is torch.float32 else tensor, result)
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def _widened(tensor: Any) -> Any:
    return tensor.float() if tensor.dtype in _HALF else tensor


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """A tensor, and those in lists, tuples and dicts, changed."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) is dict:
        return {name: _mapped(change, each) for name, each in value.items()}
    return type(value)([_mapped(change, each) for each in value]) if type(value) in (list, tuple) else value


def _uses_tf32(name: str) -> bool:
    cudnn: Any = torch.backends.cudnn
    flags = getattr(cudnn, "conv", cudnn) if name in _CONVOLUTIONS else torch.backends.cuda.matmul
    # torch 2.9 added the first, and refuses to read the second once the first is set.
    precision = getattr(flags, "fp32_precision", None)
    return bool(flags.allow_tf32 if precision is None else precision == "tf32")


def to_tf32(tensor: Any) -> Any:
    """Rounded to the nearest number of ten bits of mantissa, to even; its gradient is not."""
    if tensor.dtype is not torch.float32:
        return tensor
    plain = tensor.detach()
    bits = plain.contiguous().view(torch.int32)
    bits = bits + (bits.bitwise_right_shift(13) & 1) + 0xFFF & -0x2000
    # The difference is exact, and a constant to autograd.
    return tensor + torch.where(plain.isfinite(), bits.view(torch.float32) - plain, 0)


# --- where torch's functions are replaced ---

_ATTENTION: Final[Any] = torch.nn.functional.scaled_dot_product_attention


def _attention(function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """Attention by any kernel: a script may request cuDNN or others that the CPU lacks, whose results are the same."""
    try:
        result = _accumulated(_ATTENTION.__name__, function, arguments, keywords)
        return function(*arguments, **keywords) if result is NotImplemented else result
    except RuntimeError as error:
        if "No viable backend" not in str(error):
            raise
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            return function(*arguments, **keywords)


def _assert_close(original: Any, *arguments: Any, **keywords: Any) -> None:
    """`torch.testing.assert_close`, whose error names the order of sums."""
    __tracebackhide__ = True
    try:
        original(*arguments, **keywords)
    except AssertionError as error:
        if active() is None or not _computed:
            raise
        raise AssertionError(f"{error}\n\n{_NOTE}") from None


def _set_precision(original: Any, precision: str) -> None:
    """`torch.set_float32_matmul_precision`: a GPU computes "medium" in TF32 too, but some CPUs in bf16."""
    original("high" if precision == "medium" and active() is not None else precision)


# --- autocast ---

_WIDEST: Final = (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sample", "index_put", "inner", "scatter_add",
    "tensordot", "vdot",
)  # fmt: skip
_LOWER: Final = (
    *[name for name in (*_MATMULS, *_CONVOLUTIONS, *_COMPOSED_MATMULS) if name not in _WIDEST], "addr", "prelu",
)  # fmt: skip
_FLOAT32: Final = (
    "__pow__", "__rdiv__", "__rpow__", "__rtruediv__", "acos", "arccos", "arcsin", "asin",
    "binary_cross_entropy_with_logits", "cdist", "cosh", "cosine_similarity", "cross_entropy", "cumprod", "cumsum",
    "dist", "erfinv", "exp", "expm1", "frobenius_norm", "group_norm", "gumbel_softmax", "interpolate", "kl_div",
    "layer_norm", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp", "matrix_norm", "native_layer_norm",
    "norm", "normalize", "nuclear_norm", "pdist", "pow", "prod", "reciprocal", "renorm", "rsqrt", "sinh", "softmax",
    "softmin", "softplus", "sum", "tan", "upsample", "upsample_bilinear", "upsample_nearest", "vector_norm",
    *[name for name in vars(torch.nn.functional) if name.endswith("_loss") and name != "ctc_loss"],
)  # fmt: skip
_REFUSED: Final = "binary_cross_entropy"
_OWNERS: Final = (torch, torch.linalg, torch.special, torch.nn.functional, Tensor)


def _cast(name: str, before: Any, function: Any, arguments: Arguments, keywords: Keywords) -> Any:
    """The result of the function for arguments cast to the type that its list requires."""
    if torch.is_autocast_enabled("cuda"):
        if name == _REFUSED:
            raise RuntimeError(f"{name} is unsafe to autocast: use binary_cross_entropy_with_logits")
        # No cast for a call that names the type of the result, or passes a tensor for it.
        values = (*arguments, *keywords.values())
        if keywords.get("out") is None and not any(type(each) is torch.dtype for each in values):
            arguments, keywords = _cast_arguments(name, (arguments, keywords))
    result = NotImplemented if before is None else before(function, arguments, keywords)
    return function(*arguments, **keywords) if result is NotImplemented else result


def _cast_arguments(name: str, given: Any) -> Any:
    cast = [tensor for tensor in tensors_in(given) if is_on_device(tensor) and tensor.dtype in (torch.float32, *_HALF)]
    if name in _LOWER:
        dtype = torch.get_autocast_dtype("cuda")
    elif name in _FLOAT32 or any(tensor.dtype is torch.float32 for tensor in cast):
        dtype = torch.float32
    else:
        return given
    return _mapped(lambda tensor: tensor.to(dtype) if any(tensor is each for each in cast) else tensor, given)


def hook_arithmetic() -> None:
    for name in (*_MATMULS, *_CONVOLUTIONS, *_COMPOSED):
        for owner in (torch, torch.linalg, torch.nn.functional, Tensor):
            if hasattr(owner, name):
                ON_DEVICE[getattr(owner, name)] = functools.partial(_accumulated, name)
    for name in _ADDED_FIRST:
        ON_DEVICE[getattr(Tensor, f"{name}_")] = functools.partial(_accumulated, name)
    ON_DEVICE[_ATTENTION] = _attention
    hook(torch.testing, "assert_close", _assert_close)
    hook(torch, "set_float32_matmul_precision", _set_precision)
    for name in (*_LOWER, *_FLOAT32, *_WIDEST, _REFUSED):
        # One function may have several owners.
        for function in {getattr(owner, name) for owner in _OWNERS if hasattr(owner, name)}:
            ON_DEVICE[function] = functools.partial(_cast, name, ON_DEVICE.get(function))
