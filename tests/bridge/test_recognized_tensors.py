"""Tensors of torch in launches that are recognized: all kinds of them, and what may happen to one between launches."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.errors import LaunchError

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
pytest.importorskip("llvmlite", reason="llvmlite is not installed: pip install 'tileir[cpu]'")


@ct.kernel
def add_one(a, out):
    ct.store(out, (0,), ct.load(a, (0,), (16,)) + 1)


@ct.kernel
def sum_of_pair(arrays, out):
    ct.store(out, (0,), ct.load(arrays[0], (0,), (16,)) + ct.load(arrays[1], (0,), (16,)))


def known(kernel: Any, args: Any) -> None:
    for _ in range(3):
        tileir.launch(kernel, 1, args, backend="cpu")


def test_tensors_of_all_kinds_are_recognized(thorough: list[str]) -> None:
    whole = torch.arange(64.0)
    for source in (
        whole[:16].clone(),
        whole[1:17],
        whole[:32:2],
        torch.nn.Parameter(whole[:16].clone()),
        whole[:16].clone().requires_grad_(),
        whole[:1].expand(16),
        whole[:16].to(torch.bfloat16),
        whole[:16].to(torch.int32),
    ):
        out = torch.zeros(16, dtype=source.dtype)
        known(add_one, (source, out))
        thorough.clear()
        out.zero_()
        tileir.launch(add_one, 1, (source, out), backend="cpu")
        assert torch.equal(out, source.detach() + 1)
        assert thorough == []


def test_tensors_and_arrays_may_be_mixed() -> None:
    a, out = torch.arange(16.0), numpy.zeros(16, numpy.float32)
    known(add_one, (a, out))
    assert out.tolist() == (a + 1).tolist()


def test_tensor_that_lost_its_memory_is_refused() -> None:
    a, out = torch.zeros(16), torch.zeros(16)
    known(add_one, (a, out))
    a.untyped_storage().resize_(32)
    with pytest.raises(LaunchError, match=r"argument 'a' of add_one is a tensor float32\[16\] with only 32 bytes"):
        tileir.launch(add_one, 1, (a, out), backend="cpu")
    a.untyped_storage().resize_(0)
    with pytest.raises(LaunchError, match="with only 0 bytes of memory behind it"):
        tileir.launch(add_one, 1, (a, out), backend="cpu")


def test_tensor_that_was_changed_in_place_is_seen() -> None:
    a, out = torch.arange(16.0), torch.zeros(16)
    known(add_one, (a, out))
    a.set_(torch.arange(64.0)[::4])
    tileir.launch(add_one, 1, (a, out), backend="cpu")
    assert torch.equal(out, torch.arange(64.0)[::4] + 1)
    a.data = torch.ones(16)
    tileir.launch(add_one, 1, (a, out), backend="cpu")
    assert out.tolist() == [2.0] * 16


def test_tensors_without_plain_memory_are_refused_after_plain_ones() -> None:
    a, out = torch.arange(16.0), torch.zeros(16)
    known(add_one, (a, out))
    negated = torch.complex(a, a).conj().imag
    assert negated.is_neg()
    for wrong, message in (
        (negated, "lazily negated"),
        (a.to_sparse(), "without plain memory"),
        (torch.zeros(16, device="meta"), "is a tensor on meta"),
        (torch.nested.nested_tensor([a, a]), "without plain memory"),
    ):
        with pytest.raises(LaunchError, match=message):
            tileir.launch(add_one, 1, (wrong, out), backend="cpu")


def test_list_of_tensors_is_recognized(thorough: list[str]) -> None:
    arrays, out = [torch.arange(16.0), torch.ones(16)], torch.zeros(16)
    for pair in (arrays, [arrays[1], numpy.ones(16, numpy.float32)]):
        known(sum_of_pair, (pair, out))
        thorough.clear()
        tileir.launch(sum_of_pair, 1, ([arrays[1], pair[1]], out), backend="cpu")
        assert out.tolist() == [2.0] * 16 and thorough == []


def test_tensors_of_an_emulated_device_are_recognized(thorough: list[str]) -> None:
    with tileir.emulate():
        a, out = torch.arange(16.0, device="cuda"), torch.zeros(16, device="cuda")
        parameter = torch.nn.Parameter(torch.ones(16, device="cuda"))
        known(add_one, (a, out))
        known(add_one, (parameter, out))
        thorough.clear()
        tileir.launch(add_one, 1, (a, out), backend="cpu")
        assert out.tolist() == list(range(1, 17))
        tileir.launch(add_one, 1, (parameter, out), backend="cpu")
        assert out.tolist() == [2.0] * 16
        assert thorough == []
