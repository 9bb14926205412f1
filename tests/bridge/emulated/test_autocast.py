"""`torch.autocast("cuda")`: the types of results are those that PyTorch documents for CUDA operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
functional: Any = torch.nn.functional

V, W = (4,), (4, 4)
INDEX = [0, 1, 2, 3]


def labels() -> Any:
    return torch.tensor(INDEX, device="cuda")


# By name: a function, and the shapes of its arguments.
Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]
LOWER: dict[str, Case] = {
    "@": (lambda a, b: a @ b, (W, W)),
    **{name: (getattr(torch, name), (W, W)) for name in ("matmul", "mm", "chain_matmul")},
    "bmm": (torch.bmm, ((2, 4, 4), (2, 4, 4))),
    "mv": (torch.mv, (W, V)),
    "addmm": (torch.addmm, (W, W, W)),
    "addmv": (torch.addmv, (V, W, V)),
    "addr": (torch.addr, (W, V, V)),
    "addbmm": (torch.addbmm, (W, (2, 4, 4), (2, 4, 4))),
    "baddbmm": (torch.baddbmm, ((2, 4, 4), (2, 4, 4), (2, 4, 4))),
    "multi_dot": (lambda a, b: torch.linalg.multi_dot([a, b]), (W, W)),
    "vecdot": (torch.linalg.vecdot, (V, V)),
    "einsum": (lambda a, b: torch.einsum("ij,jk", a, b), (W, W)),
    "linear": (functional.linear, (W, W, V)),
    "prelu": (functional.prelu, (W, (1,))),
    "attention": (functional.scaled_dot_product_attention, ((1, 4, 4), (1, 4, 4), (1, 4, 4))),
    "conv1d": (functional.conv1d, ((1, 2, 4), (2, 2, 3))),
    "conv2d": (functional.conv2d, ((1, 2, 4, 4), (2, 2, 3, 3))),
    "conv3d": (functional.conv3d, ((1, 2, 4, 4, 4), (2, 2, 3, 3, 3))),
    "conv_tbc": (torch.conv_tbc, ((4, 1, 2), (3, 2, 2), (2,))),
    "conv_transpose1d": (functional.conv_transpose1d, ((1, 2, 4), (2, 2, 3))),
    "conv_transpose2d": (functional.conv_transpose2d, ((1, 2, 4, 4), (2, 2, 3, 3))),
    "conv_transpose3d": (functional.conv_transpose3d, ((1, 2, 4, 4, 4), (2, 2, 3, 3, 3))),
    "gru_cell": (torch.gru_cell, (W, W, (12, 4), (12, 4))),
    "lstm_cell": (lambda a, h, *w: torch.lstm_cell(a, (h, h), *w)[0], (W, W, (16, 4), (16, 4))),
    "rnn_tanh_cell": (torch.rnn_tanh_cell, (W, W, W, W)),
    "rnn_relu_cell": (torch.rnn_relu_cell, (W, W, W, W)),
}
FLOAT32: dict[str, Case] = {
    **{
        name: (getattr(torch, name), (W,))
        for name in (
            *("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "norm", "prod"),
            *("reciprocal", "rsqrt", "sinh", "sum", "tan"),
        )
    },
    "Tensor.exp": (lambda a: a.exp(), (W,)),
    "special.expm1": (torch.special.expm1, (W,)),
    "pow": (lambda a: torch.pow(a, 2), (W,)),
    "**": (lambda a: a**2, (W,)),
    "2 **": (lambda a: 2**a, (W,)),
    "1 /": (lambda a: 1 / a, (W,)),
    "cumsum": (lambda a: a.cumsum(0), (W,)),
    "cumprod": (lambda a: a.cumprod(0), (W,)),
    "logsumexp": (lambda a: a.logsumexp(0), (W,)),
    "softmax": (lambda a: a.softmax(0), (W,)),
    "log_softmax": (lambda a: a.log_softmax(0), (W,)),
    "F.softmax": (lambda a: functional.softmax(a, -1), (W,)),
    "softplus": (functional.softplus, (W,)),
    "softmin": (lambda a: functional.softmin(a, -1), (W,)),
    "gumbel_softmax": (functional.gumbel_softmax, (W,)),
    "normalize": (functional.normalize, (W,)),
    "vector_norm": (torch.linalg.vector_norm, (W,)),
    "matrix_norm": (torch.linalg.matrix_norm, (W,)),
    "linalg.norm": (torch.linalg.norm, (W,)),
    "nuclear_norm": (torch.nuclear_norm, (W,)),
    "renorm": (lambda a: torch.renorm(a, 2, 0, 1), (W,)),
    "layer_norm": (lambda a: functional.layer_norm(a, V), (W,)),
    "group_norm": (lambda a: functional.group_norm(a, 2), (W,)),
    "pdist": (functional.pdist, (W,)),
    **{name: (getattr(torch, name), (W, W)) for name in ("dist", "cdist", "cosine_similarity")},
    "cross_entropy": (lambda a: functional.cross_entropy(a, labels()), (W,)),
    "nll_loss": (lambda a: functional.nll_loss(a, labels()), (W,)),
    "multi_margin_loss": (lambda a: functional.multi_margin_loss(a, labels()), (W,)),
    "multilabel_margin_loss": (lambda a: functional.multilabel_margin_loss(a, labels().expand(4, 4)), (W,)),
    "cosine_embedding_loss": (lambda a, b: functional.cosine_embedding_loss(a, b, labels()), (W, W)),
    "margin_ranking_loss": (lambda a, b: functional.margin_ranking_loss(a, b, labels()), (V, V)),
    "triplet_margin_loss": (functional.triplet_margin_loss, (W, W, W)),
    **{
        name: (getattr(functional, name), (W, W))
        for name in (
            *("poisson_nll_loss", "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss"),
            *("mse_loss", "soft_margin_loss", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"),
        )
    },
    "interpolate": (lambda a: functional.interpolate(a, scale_factor=2), ((1, 1, 4, 4),)),
}
WIDEST: dict[str, Case] = {
    "addcdiv": (torch.addcdiv, (W, W, W)),
    "addcmul": (torch.addcmul, (W, W, W)),
    "atan2": (torch.atan2, (W, W)),
    "bilinear": (functional.bilinear, (W, W, (2, 4, 4))),
    "cross": (torch.cross, ((4, 3), (4, 3))),
    "dot": (torch.dot, (V, V)),
    "vdot": (torch.vdot, (V, V)),
    "grid_sample": (lambda a, b: functional.grid_sample(a, b, align_corners=False), ((1, 1, 4, 4), (1, 4, 4, 2))),
    "index_put": (lambda a, b: torch.index_put(a, (labels(),), b), (V, V)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 1), (W, W)),
    "scatter_add": (lambda a, b: torch.scatter_add(a, 0, labels(), b), (V, V)),
}


def values(shapes: tuple[tuple[int, ...], ...], *dtypes: Any) -> list[Any]:
    return [
        torch.full(shape, 0.5, device="cuda", dtype=dtypes[number % len(dtypes)]) for number, shape in enumerate(shapes)
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", LOWER)
def test_functions_in_the_lower_type(name, dtype):
    function, shapes = LOWER[name]
    with torch.autocast("cuda", dtype):
        assert {function(*values(shapes, *each)).dtype for each in ([torch.float32], [dtype, torch.float32])} == {dtype}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", FLOAT32)
def test_functions_in_float32(name, dtype):
    function, shapes = FLOAT32[name]
    with torch.autocast("cuda", dtype):
        found = function(*values(shapes, dtype))
        assert torch.is_autocast_enabled("cuda")
    assert found.is_cuda and found.dtype is torch.float32


@pytest.mark.parametrize("name", WIDEST)
def test_functions_in_the_widest_type(name):
    function, shapes = WIDEST[name]
    with torch.autocast("cuda"):
        assert function(*values(shapes, torch.float16)).dtype is torch.float16
        for each in ([torch.float16, torch.float32], [torch.float32, torch.float16]):
            assert function(*values(shapes, *each)).dtype is torch.float32


def test_what_is_left_as_it_is():
    half = torch.full((4,), 12.0, device="cuda", dtype=torch.float16)
    with torch.autocast("cuda"):
        assert half.exp()[0] > 65504
        assert half.sum(dtype=torch.float16).dtype is torch.float16 and (half + half).dtype is torch.float16
        assert half.double().exp().dtype is torch.float64 and labels().sum().dtype is torch.int64
        host = torch.ones(2, 2)
        assert (host @ host).dtype is torch.float32 and host.half().exp().dtype is torch.float16
        with torch.autocast("cuda", enabled=False):
            assert half.exp().dtype is torch.float16
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            functional.binary_cross_entropy(half, half)
    assert half.exp().dtype is torch.float16
