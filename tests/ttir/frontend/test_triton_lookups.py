"""Gathers, histograms and functions of elements of Triton kernels, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import tileir

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])


@triton.jit
def gathered(x, index, out, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr, IR: tl.constexpr, IC: tl.constexpr):
    source = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    at = tl.arange(0, IR)[:, None] * IC + tl.arange(0, IC)[None, :]
    tl.store(out + at, tl.gather(source, tl.load(index + at), AXIS))


@each_backend
@pytest.mark.parametrize("kinds", [("float32", "int32"), ("bool", "uint8"), ("float16", "int16"), ("int64", "int64")])
@pytest.mark.parametrize(
    ("axis", "source", "shape"), [(0, (16, 8), (32, 8)), (1, (8, 16), (8, 4)), (1, (4, 4), (4, 4))]
)
def test_gathers(axis: int, source: tuple[int, int], shape: tuple[int, int], kinds: Any, backend: str) -> None:
    dtype, index_dtype = (getattr(torch, each) for each in kinds)
    x = torch.randint(-50, 50, source).to(dtype)
    index = torch.randint(0, source[axis], shape)
    out = torch.zeros(shape, dtype=dtype)
    tileir.launch(gathered, 1, (x, index.to(index_dtype), out, axis, *source, *shape), backend=backend)
    assert torch.equal(out, torch.gather(x, axis, index))


@triton.jit
def gathered_in_a_loop(x, index, out, count, N: tl.constexpr):
    at = tl.arange(0, N)
    found, order = tl.load(x + at), tl.load(index + at)
    for _ in range(count):
        found = tl.gather(found, order, 0)
    tl.store(out + at, found)


def test_gathers_in_a_loop() -> None:
    x, index, out = torch.rand(64), torch.randperm(64), torch.zeros(64)
    tileir.launch(gathered_in_a_loop, 1, (x, index, out, 3, 64), sanitize=True)
    assert torch.equal(out, x[index][index][index])


@triton.jit
def counted(x, out, n, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)
    tl.store(out + tl.arange(0, N), tl.histogram(tl.load(x + at), N))
    tl.store(out + N + tl.arange(0, N), tl.histogram(tl.load(x + at), N, mask=at < n))


@each_backend
@pytest.mark.parametrize(("count", "bins"), [(16, 2), (256, 64), (2048, 2048)])
def test_histograms(count: int, bins: int, backend: str) -> None:
    x = torch.randint(0, bins, (count,), dtype=torch.int32)
    out = torch.zeros(2, bins, dtype=torch.int32)
    tileir.launch(counted, 1, (x, out, count // 3, count, bins), backend=backend)
    assert torch.equal(out[0], torch.bincount(x, minlength=bins).int())
    assert torch.equal(out[1], torch.bincount(x[: count // 3], minlength=bins).int())


def test_what_is_in_no_bin_is_not_counted() -> None:
    x, out = torch.tensor([-1, 0, 3, 4] * 4, dtype=torch.int32), torch.zeros(2, 4, dtype=torch.int32)
    tileir.launch(counted, 1, (x, out, 16, 16, 4))
    assert out.tolist() == [[4, 0, 0, 4]] * 2


@triton.jit
def compare(a, b):
    if a < b:
        found = -1
    elif a == b:
        found = 0
    else:
        found = 1
    return found


@triton.jit
def halves(a0, a1, b0, b1):
    if a0 > a1:
        larger = a0
    else:
        larger = a1
    return a0 + 0.5, a1 * b1, larger.to(tl.int32), b0.to(tl.int32)


@triton.jit
def compared(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(compare, tl.load(a + at), tl.load(b + at)))


@triton.jit
def packed(a, b, x, y, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    first, second = tl.map_elementwise(halves, tl.load(a + at), tl.load(b + at), pack=2)
    tl.store(x + at, first)
    tl.store(y + at, second)


needs_map = pytest.mark.skipif(not hasattr(tl, "map_elementwise"), reason="this Triton has no tl.map_elementwise")


@needs_map
@each_backend
def test_functions_of_elements(backend: str) -> None:
    a, b = torch.randint(0, 4, (2, 64)).float()
    out = torch.zeros(64, dtype=torch.int32)
    tileir.launch(compared, 1, (a, b, out, 64), backend=backend)
    assert torch.equal(out, torch.sign(a - b).int())


@needs_map
@each_backend
def test_functions_of_neighboring_elements(backend: str) -> None:
    a, b = torch.randint(0, 100, (2, 8, 16)).float()
    x, y = torch.zeros(8, 16), torch.zeros(8, 16, dtype=torch.int32)
    tileir.launch(packed, 1, (a, b, x, y, 8, 16), backend=backend)
    assert torch.equal(x[:, ::2], a[:, ::2] + 0.5) and torch.equal(x[:, 1::2], a[:, 1::2] * b[:, 1::2])
    assert torch.equal(y[:, ::2], torch.maximum(a[:, ::2], a[:, 1::2]).int()) and torch.equal(
        y[:, 1::2], b[:, ::2].int()
    )
