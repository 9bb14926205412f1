"""Functions with early returns of Triton kernels: called, mapped over elements, and as the body of a reduction."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import tileir

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])
each_order = pytest.mark.parametrize("sanitize", [False, True])


@triton.jit
def stepped(x, limit):
    if x > limit:
        return x - 1
    return x + 1


@triton.jit
def steps_in_a_branch(x, wanted):
    found = tl.load(x)
    if wanted == 3:
        found = stepped(found, 10)
    tl.store(x, found)


@each_order
@pytest.mark.parametrize(("start", "wanted", "expected"), [(5, 3, 6), (50, 3, 49), (5, 4, 5)])
def test_a_call_in_a_branch(start: int, wanted: int, expected: int, sanitize: bool) -> None:
    x = torch.tensor([start], dtype=torch.int32)
    tileir.launch(steps_in_a_branch, 1, (x, wanted), sanitize=sanitize)
    assert x.item() == expected


@triton.jit
def order_of(a, b):
    if a < b:
        return -1
    elif a == b:
        return 0
    else:
        return 1


@triton.jit
def ordered(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.map_elementwise(order_of, tl.load(a + at), tl.load(b + at)))


@pytest.mark.skipif(not hasattr(tl, "map_elementwise"), reason="this Triton has no tl.map_elementwise")
@each_backend
def test_a_function_of_elements(backend: str) -> None:
    a, b = torch.randint(0, 4, (2, 64)).float()
    out = torch.zeros(64, dtype=torch.int32)
    tileir.launch(ordered, 1, (a, b, out, 64), backend=backend)
    assert torch.equal(out, torch.sign(a - b).int())


@triton.jit(noinline=True)
def larger(a, b):
    if a > b:
        return a
    return b


@triton.jit
def largest(a, b):
    return larger(a, b)


@triton.jit
def small_sum(a, b):
    tl.device_assert(a + b < 100, "too large")
    return a + b


@triton.jit
def reduced(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    found = tl.load(x + at)
    tl.store(out, tl.reduce(found, 0, largest))
    tl.store(out + 1, tl.reduce(found, 0, small_sum))
    tl.store(out + 2 + at, tl.associative_scan(found, 0, largest))
    tl.store(out + 2 + N + at, tl.associative_scan(found, 0, small_sum))


@each_backend
def test_bodies_of_reductions(backend: str) -> None:
    x, out = torch.randperm(12)[:8].int(), torch.zeros(18, dtype=torch.int32)
    tileir.launch(reduced, 1, (x, out, 8), backend=backend, debug=True)
    assert out[:2].tolist() == [x.max(), x.sum()]
    assert torch.equal(out[2:10], x.cummax(0).values) and torch.equal(out[10:], x.cumsum(0).int())


@triton.jit
def summed(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, small_sum))


@each_backend
def test_an_assertion_in_a_reduction_fails(backend: str) -> None:
    x, out = torch.arange(16, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with pytest.raises(tileir.ExecutionError, match="too large"):
        tileir.launch(summed, 1, (x, out, 16), backend=backend, debug=True)
