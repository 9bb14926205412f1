"""Modules in the shapes of other suites, with torch's tensors on an emulated GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.judging.kernels.judged import judged, outcomes

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
pytest.importorskip("torch", reason="torch is not installed: pip install torch")

KERNEL = """
import cuda.tile as ct
import torch
from torch import nn

@ct.kernel
def scale(x, weight, out):
    row = ct.bid(0)
    ct.store(out, (row, 0), ct.load(x, (row, 0), (1, 32)) * ct.load(weight, (0,), (32,)))
"""
KERNELBENCH = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x * self.weight

def get_inputs():
    return [torch.rand(4, 20)]

def get_init_inputs():
    return [20]
"""
MODEL = """
class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        assert x.is_cuda and self.weight.is_cuda
        out = torch.empty_like(x)
        ct.launch(torch.cuda.current_stream(), (4,), scale, (x, self.weight, out))
        return out
"""


def test_kernelbench() -> None:
    steps = judged(KERNEL + MODEL, KERNELBENCH)
    assert outcomes(steps) == {}
    assert steps["launches"].details == {"kernels": {"scale": 3}}
    helped = judged(KERNEL + MODEL.replace("return out", "return torch.mm(out, torch.eye(20).cuda()) + 0"), KERNELBENCH)
    details = helped["launches"].details
    assert details["not_from_kernels"] == [0]
    assert {name: details["torch"].get(name) for name in ("mm", "add")} == {"mm": 1, "add": 1}
    lazy = judged(KERNEL + MODEL.replace("ct.launch(", "(lambda *a: out.copy_(x * self.weight))("), KERNELBENCH)
    assert outcomes(lazy) == {"launches": "failed"}


def test_gpu_mode() -> None:
    reference = """
import torch

shapes = [{"rows": 4}, {"rows": 3}]

def generate_input(rows, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    x = torch.randn(rows, 20, device="cuda", dtype=torch.float16, generator=generator)
    return x, torch.randn(20, device="cuda", dtype=torch.float16, generator=generator), torch.empty_like(x)

def ref_kernel(data):
    x, weight, out = data
    out[...] = x * weight
    return out
"""
    candidate = """
def custom_kernel(data):
    x, weight, out = data
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), scale, (x, weight, out))
    return out
"""
    assert outcomes(judged(KERNEL + candidate, reference)) == {}
    steps = judged(KERNEL + candidate.replace("return out", "return out.float()"), reference)
    assert steps["results"].message == "inputs 0: the result is float32[4, 20], that of the reference is float16[4, 20]"


def test_counting_operators_does_not_import_the_compiler_of_torch() -> None:
    """Which takes seconds, in the child of each candidate."""
    code = """
import sys, torch
from tileir.judging.kernels.launches import Launches
launches = Launches(0, "")
launches.watch(lambda inputs: inputs + 1, torch.ones(3))
print(launches.report.torch, "torch._dynamo" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "{'add': 1} False\n", done.stderr


@pytest.mark.long
def test_a_tensor_that_computes_when_it_is_looked_at_is_none() -> None:
    lazy = "class Lazy(torch.Tensor): pass\n"
    steps = judged(KERNEL + MODEL.replace("return out", "return out.as_subclass(Lazy)") + lazy, KERNELBENCH)
    assert "is a Lazy: pass arrays of NumPy, torch or CuPy" in steps["run"].message


@pytest.mark.long
def test_transposed_bfloat16_tensors_arrive_as_they_are() -> None:
    reference = """
import torch

def inputs(seed):
    return torch.randn(20, 4, device="cuda").to(torch.bfloat16).T, torch.arange(20, device="cuda").to(torch.bfloat16), 3

def reference(x, weight, times):
    return {"a": x * weight, "b": float(times)}
"""
    candidate = """
def run(x, weight, times):
    assert x.stride() == (1, 4) and x.dtype is torch.bfloat16 and times == 3
    out = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (4,), scale, (x, weight, out))
    return {"b": 3.0, "a": out}
"""
    assert outcomes(judged(KERNEL + candidate, reference, sanitize=True)) == {}


def test_emulated_cupy() -> None:
    reference = """
import cupy

def inputs(seed):
    return cupy.random.default_rng(seed).random((4, 20), dtype="f4"), cupy.ones(20, "f4")

def reference(x, weight):
    return x * weight
"""
    candidate = """
import cupy

def run(x, weight):
    out = cupy.empty_like(x)
    ct.launch(cupy.cuda.get_current_stream(), (4,), scale, (x, weight, out))
    return out
"""
    assert outcomes(judged(KERNEL.replace("import torch\nfrom torch import nn\n", "") + candidate, reference)) == {}
