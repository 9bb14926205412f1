"""Functions that torch has for CUDA tensors alone."""

from __future__ import annotations

from typing import Any

import pytest

import tileir

torch: Any = pytest.importorskip("torch")


def test_products_in_a_wider_type() -> None:
    with tileir.emulate():
        a = torch.ones(4, 4, dtype=torch.float16, device="cuda") * 300
        found = torch.mm(a, a, out_dtype=torch.float32)
        assert found.is_cuda and found.dtype is torch.float32 and found[0, 0].item() == 360000
        assert torch.mm(a, a).is_cuda and torch.mm(a, a).dtype is torch.float16


def test_absolute_value_of_truth_values() -> None:
    with tileir.emulate():
        flags = torch.tensor([True, False], device="cuda")
        assert torch.abs(flags).is_cuda and flags.abs().tolist() == [True, False]
        assert torch.tensor([-2.0], device="cuda").abs().tolist() == [2.0]
        assert abs(torch.tensor([-2], device="cuda")).is_cuda
