"""Launches of Triton kernels that are like one before skip Triton, and compute the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch
import triton
from tests.bridge.triton import triton_kernels as kernels

import tileir
from tileir.bridge.triton.recognition import KnownLaunches


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A name for each launch that was not recognized."""
    found: list[str] = []
    learn = KnownLaunches.learn

    def noted(self: KnownLaunches, compiled: Any, *rest: Any) -> None:
        found.append(compiled.name if hasattr(compiled, "name") else "")
        learn(self, compiled, *rest)

    monkeypatch.setattr(KnownLaunches, "learn", noted)
    for kernel in vars(kernels).values():
        # What other tests have launched.
        getattr(kernel, "__dict__", {}).pop("_tileir_known", None)
    yield found


def launched(emulated: bool, kernel: Any, grid: Any, arguments: tuple[Any, ...], **options: Any) -> None:
    if not emulated:
        tileir.launch(kernel, grid, arguments, **options)
        return
    with tileir.emulate():
        kernel[grid](*arguments, **options)


@pytest.mark.parametrize("emulated", [False, True])
def test_what_triton_compiles_apart_is_not_confused(emulated: bool, learned: list[str]) -> None:
    whole = torch.rand(4096)
    for _ in range(2):
        for n in (1, 16, 17, 32, 33, 1):
            for x in (whole, whole.double(), whole[1:].clone(), whole[1:]):
                for block in (32, 64):
                    out = torch.zeros_like(x)
                    launched(emulated, kernels.add, (1,), (x, x, out, n), BLOCK=block)
                    count = min(n, block)
                    assert torch.equal(out[:count], 2 * x[:count]) and not out[count:].any()
    # Parts of a tensor are left to Triton; the others are known when the kind comes again.
    parts = 2 * 6 * 2
    assert len(learned) <= parts + 6 * 3 * 2


@pytest.mark.parametrize("emulated", [False, True])
def test_the_second_launch_is_recognized(emulated: bool, learned: list[str]) -> None:
    x, out = torch.rand(64), torch.zeros(64)
    for factor in (3.0, 0.5, -1.0):
        launched(emulated, kernels.scaled, lambda given: (64 // given["BLOCK"],), (x, out, factor, False), BLOCK=64)
        torch.testing.assert_close(out, 2 * factor * x)
    launched(emulated, kernels.scaled, (1,), (x, out, 1.0, True, 64))
    torch.testing.assert_close(out, -2 * x)
    assert learned == ["scaled"]


def test_constants_by_their_bits_and_arrays_of_numpy(learned: list[str]) -> None:
    x, out = numpy.ones(64, numpy.float32), numpy.zeros(64, numpy.float32)
    for _ in range(2):
        for block in (16, 32):
            tileir.launch(kernels.total, 1, (x, out, block))
    assert out[0] == 2 * (16 + 32)
    assert len(learned) == 2
    with pytest.raises(tileir.LaunchError):
        out.flags.writeable = False
        tileir.launch(kernels.total, 1, (x, out, 16))


def test_errors_of_recognized_launches_name_arguments() -> None:
    x, out = torch.rand(64), torch.zeros(64)
    for _ in range(2):
        with pytest.raises(tileir.ExecutionError, match="right past the end of x"):
            tileir.launch(kernels.add_without_mask, 2, (x, x, out, 64, 64))
    with pytest.raises(tileir.LaunchError):
        tileir.launch(kernels.add_without_mask, -1, (x, x, out, 64, 64))


def test_a_changed_global_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = torch.rand(64), torch.zeros(64)
    for _ in range(2):
        tileir.launch(kernels.scaled, 1, (x, out, 1.0, False, 64))
    monkeypatch.setattr(kernels, "SCALE", triton.language.constexpr(3.0))
    with pytest.raises(tileir.LaunchError, match="scaled cannot be launched: Global variable SCALE has changed"):
        tileir.launch(kernels.scaled, 1, (x, out, 1.0, False, 64))


def test_a_freed_tensor_is_refused() -> None:
    x, out = torch.rand(64), torch.zeros(64)
    tileir.launch(kernels.add, 1, (x, x, out, 64, 64))
    x.untyped_storage().resize_(0)
    with pytest.raises(tileir.LaunchError):
        tileir.launch(kernels.add, 1, (x, x, out, 64, 64))


def test_an_option_that_is_a_dictionary() -> None:
    x = torch.rand(64)
    for _ in range(2):
        out = torch.zeros(64)
        launched(True, kernels.add, (1,), (x, x, out, 64), BLOCK=64, extern_libs={"libdevice": "libdevice.10.bc"})
        assert torch.equal(out, 2 * x)
