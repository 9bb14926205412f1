"""How NVIDIA's samples and TileGym's operators are called as candidates; their sources are not here."""

from __future__ import annotations

from typing import NamedTuple


class PublishedKernel(NamedTuple):
    file: str
    """Of a sample, below the folder of samples; empty for TileGym, which is imported."""
    run: str
    inputs: str
    """An expression with `randn`, and arguments."""
    reference: str


_ROWS = "randn(24, 96)"
_GYM = "import importlib\n\nmodule = importlib.import_module('tilegym.ops.cutile.{module}')\n\ndef run(*inputs):\n    return {call}\n"


def _gym(module: str, call: str, inputs: str, reference: str) -> PublishedKernel:
    return PublishedKernel("", _GYM.format(module=module, call=call), inputs, reference)


PUBLISHED = {
    "sample-vector-add": PublishedKernel(
        "VectorAddition.py", "def run(a, b):\n    return vec_add(a, b)\n", "randn(300), randn(300)", "inputs[0] + inputs[1]"
    ),
    "sample-vector-add-gather": PublishedKernel(
        "VectorAddition.py", "def run(a, b):\n    return vec_add(a, b, True)\n", f"{_ROWS}, {_ROWS}", "inputs[0] + inputs[1]"
    ),
    "sample-transpose": PublishedKernel("Transpose.py", "def run(x):\n    return cutile_transpose(x)\n", _ROWS, "inputs[0].T"),
    "sample-matmul": PublishedKernel(
        "MatMul.py", "def run(a, b):\n    return cutile_matmul(a, b)\n", "randn(64, 96).half(), randn(96, 64).half()",
        "inputs[0] @ inputs[1]",
    ),
    "sample-matmul-persistent": PublishedKernel(
        "MatMul.py", "def run(a, b):\n    return cutile_matmul(a, b, True)\n", "randn(64, 96).half(), randn(96, 64).half()",
        "inputs[0] @ inputs[1]",
    ),
    "sample-batch-matmul": PublishedKernel(
        "BatchMatMul.py", "def run(a, b):\n    return bmm(a, b, a.dtype)\n", "randn(2, 64, 96).half(), randn(2, 96, 64).half()",
        "inputs[0] @ inputs[1]",
    ),
    "sample-layer-norm": PublishedKernel(
        "LayerNorm.py", "def run(x, w, b):\n    return cutile_layer_norm(x, w, b, 1e-5)\n", "randn(16, 96), randn(96), randn(96)",
        "torch.nn.functional.layer_norm(inputs[0], (96,), inputs[1], inputs[2], 1e-5)",
    ),
    "sample-attention": PublishedKernel(
        "AttentionFMHA.py", "def run(q, k, v):\n    return cutile_fmha(q, k, v, tile_m=32, tile_n=32)\n",
        "randn(1, 2, 48, 32).half(), randn(1, 2, 64, 32).half(), randn(1, 2, 64, 32).half()",
        "torch.nn.functional.scaled_dot_product_attention(*inputs)",
    ),
    "sample-attention-causal": PublishedKernel(
        "AttentionFMHA.py", "def run(q, k, v):\n    return cutile_fmha(q, k, v, tile_m=32, tile_n=32, causal=True)\n",
        "randn(1, 2, 64, 32).half(), randn(1, 2, 64, 32).half(), randn(1, 2, 64, 32).half()",
        "torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)",
    ),
    "sample-fft": PublishedKernel(
        "FFT.py", "def run(x):\n    return cutile_fft(x, (2, 2, 2), 8)\n", "torch.complex(randn(1, 8), randn(1, 8))",
        "torch.fft.fft(inputs[0])",
    ),
    "sample-moe": PublishedKernel(
        "MoE.py", "def run(x, w1, w2, weights, ids):\n    return cutile_moe(x, w1, w2, weights, ids, 16, 32, 32)\n",
        "randn(12, 32).half(), randn(4, 64, 32).half() / 8, randn(4, 32, 32).half() / 8, randn(12, 2).half(), "
        "torch.rand(12, 4, generator=made).argsort(1)[:, :2].contiguous().cuda()",
        "sum([((inputs[4] == e) * inputs[3]).sum(1, keepdim=True) * ((torch.nn.functional.silu(inputs[0] @ inputs[1][e, :32].T)"
        " * (inputs[0] @ inputs[1][e, 32:].T)) @ inputs[2][e].T) for e in range(4)])",
    ),
    "softmax": _gym("softmax", "module.softmax(*inputs)", _ROWS, "torch.softmax(inputs[0], -1)"),
    "rms-norm": _gym(
        "rms_norm", "module.rms_norm(inputs[0], (96,), inputs[1], 1e-5)", "randn(16, 96), randn(96)",
        "torch.nn.functional.rms_norm(inputs[0], (96,), inputs[1], 1e-5)",
    ),
    "silu-and-mul": _gym(
        "silu_and_mul", "module.silu_and_mul(inputs[0])", _ROWS,
        "torch.nn.functional.silu(inputs[0][:, :48]) * inputs[0][:, 48:]",
    ),
    "swiglu": _gym(
        "swiglu", "module.swiglu(*inputs)", f"{_ROWS}, {_ROWS}", "torch.nn.functional.silu(inputs[0]) * inputs[1]"
    ),
    "matmul": _gym(
        "matmul", "module.matmul(*inputs)", "randn(64, 96).half(), randn(96, 64).half()", "inputs[0] @ inputs[1]"
    ),
    "bmm": _gym(
        "bmm", "module.bmm(*inputs)", "randn(2, 64, 96).half(), randn(2, 96, 64).half()", "inputs[0] @ inputs[1]"
    ),
}  # fmt: skip


def reference_of(kernel: PublishedKernel) -> str:
    return (
        "import torch\n\ndef inputs(seed):\n    made = torch.Generator().manual_seed(seed)\n"
        "    def randn(*shape):\n        return torch.randn(shape, generator=made).cuda()\n"
        f"    return {kernel.inputs},\n\ndef reference(*inputs):\n    return {kernel.reference}\n"
    )
