"""Kernels of Triton judged, as those of cuTile are."""

from __future__ import annotations

import os

import pytest
from tests.judging.kernels.judged import judged, outcomes

from tileir.judging.inputs import is_candidate

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("triton", reason="Triton is not installed")
pytest.importorskip("torch", reason="torch is not installed")

REFERENCE = """
import torch

def inputs(seed):
    return (torch.randn(100, device="cuda"),)

def reference(x):
    return x * 2
"""
GOOD = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

def run(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


def test_a_right_kernel_passes_every_step() -> None:
    assert is_candidate(GOOD.encode())
    backends = ("interpreter", "cpu")
    steps = judged(GOOD, REFERENCE, backends=backends, sanitize=True, cost=("h200",), trials=1)
    assert {name: step.outcome for name, step in steps.items() if step.outcome != "passed"} == {}
    assert steps["launches"].details == {"kernels": {"double": 2}}
    assert {"compare interpreter", "sanitize", "cost h200"} <= set(steps)


@pytest.mark.parametrize(
    ("right", "wrong", "step", "message"),
    [
        ("triton.cdiv(x.numel(), 64)", "x.numel() // 64", "correct", "36 of 100 elements are wrong; the first, [64]"),
        (", mask=at < n", "", "run", "right past the end of x (tensor float32[100])"),
        ("tl.load", "tl.lode", "compile", "candidate.py:9"),
        ("double[(triton", "run.double[(triton", "run", "candidate.py:13 in run"),
        ("* 2, mask", "* helper(2), mask", "compile", "candidate.py:9"),
        ("BLOCK=64)", "BLOCK=64, BLOK=3)", "run", "Keyword argument BLOK"),
    ],
)
def test_a_wrong_kernel_fails_where_it_is_wrong(right: str, wrong: str, step: str, message: str) -> None:
    source = GOOD.replace(right, wrong)
    assert source != GOOD
    steps = judged(source, REFERENCE, trials=1)
    assert outcomes(steps) == {step: "failed"}
    assert message in steps[step].message
