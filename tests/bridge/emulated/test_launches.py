"""Kernels launched on tensors of the emulated device."""

from __future__ import annotations

import numpy
import pytest
from tests.bridge.test_launch import add, ct

import tileir

torch = pytest.importorskip("torch")


def test_kernels_work_in_the_memory_of_emulated_tensors():
    with tileir.emulate(target="b200"):
        assert torch.cuda.get_device_capability() == (10, 0)
        a = torch.arange(32, dtype=torch.float32, device="cuda")
        out = torch.zeros_like(a)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        ct.launch(torch.cuda.current_stream(), (2, 1, 1), add, (a, a, out))
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) > 0
        assert out.is_cuda
        assert out.cpu().numpy().tolist() == (2 * numpy.arange(32)).tolist()


def test_other_gpus_than_those_of_the_table_are_refused_by_name():
    with (
        pytest.raises(tileir.LaunchError, match="no GPU named 'h300' can be emulated: choose one of a100, "),
        tileir.emulate(target="h300"),
    ):
        pass
