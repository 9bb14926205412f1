"""Atomic operations of Triton kernels, against NumPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tileir

BLOCK = 64
each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])


@triton.jit
def modify(x, y, old, n, NAME: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(y + at)
    operation: tl.constexpr = getattr(tl, "atomic_" + NAME)
    found = operation(x + at, value, mask=at < n, sem=SEM, scope=SCOPE)
    tl.store(old + at, found, mask=at < n)


EXPECTED: dict[str, Any] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "xchg": lambda x, y: y,
}
KINDS = [
    *[(name, dtype) for name in EXPECTED for dtype in ("int32", "int64")],
    *[(name, dtype) for name in ("add", "max", "min") for dtype in ("uint32", "uint64")],
    *[(name, dtype) for name in ("add", "max", "min", "xchg") for dtype in ("float32", "float64")],
    *[("add", dtype) for dtype in ("float16", "bfloat16")],
]


@each_backend
@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_each_kind_and_type(name: str, dtype: str, backend: str) -> None:
    x, y = (torch.from_numpy(each) for each in np.random.default_rng(1).integers(-100, 100, (2, BLOCK)))
    x, y = x.to(getattr(torch, dtype)), y.to(getattr(torch, dtype))
    before, old = x.clone(), torch.zeros_like(x)
    tileir.launch(modify, 1, (x, y, old, 50, name, None, None, BLOCK), backend=backend)
    at = torch.arange(BLOCK) < 50
    a, b = (each.double().numpy() if dtype == "bfloat16" else each.numpy() for each in (before, y))
    expected = torch.from_numpy(EXPECTED[name](a, b)).to(x.dtype)
    assert torch.equal(x, torch.where(at, expected, before))
    assert torch.equal(old, torch.where(at, before, 0))


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
def test_orders_and_scopes_are_those_of_the_kernel(sem: str, scope: str) -> None:
    x, y, old = torch.zeros(3, BLOCK)
    args = (x, y + 1, old, BLOCK, "add", sem, scope, BLOCK)
    tileir.launch(modify, 1, args)
    assert torch.equal(x, y + 1)
    text = str(tileir.compile(modify, args).kernel.entry)
    assert f"atomic_rmw_tko {sem} {({'cta': 'tl_blk', 'gpu': 'device'}).get(scope, scope)}" in text


@triton.jit
def modify_scalar(x, old):
    tl.store(old, tl.atomic_add(x, 5))
    twelve = tl.load(x)
    tl.store(old + 1, tl.atomic_cas(x, twelve, twelve - 9))
    tl.store(old + 2, tl.atomic_cas(x, twelve, twelve))
    tl.store(old + 3, tl.atomic_xchg(x, 9, mask=tl.load(old + 4) != 0))


@each_backend
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32])
def test_scalars(dtype: Any, backend: str) -> None:
    x, old = torch.tensor([7], dtype=dtype), torch.zeros(5, dtype=dtype)
    tileir.launch(modify_scalar, 1, (x, old), backend=backend)
    assert x.tolist() == [3] and old[:3].tolist() == [7, 12, 3]


@triton.jit
def swap(x, expected, new, old, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(old + at, tl.atomic_cas(x + at, tl.load(expected + at), tl.load(new + at)))


@each_backend
@pytest.mark.parametrize("dtype", ["int16", "uint16", "float16", "bfloat16", "int32", "float32", "uint64", "float64"])
def test_compare_and_swap(dtype: str, backend: str) -> None:
    kind = getattr(torch, dtype)
    x, new = torch.arange(BLOCK).to(kind), torch.arange(BLOCK, 2 * BLOCK).to(kind)
    expected = torch.where(torch.arange(BLOCK) % 3 == 0, x.double(), 99.0).to(kind)
    before, old = x.clone(), torch.zeros_like(x)
    tileir.launch(swap, 1, (x, expected, new, old, BLOCK), backend=backend)
    assert torch.equal(old, before)
    assert torch.equal(x.double(), torch.where(torch.arange(BLOCK) % 3 == 0, new.double(), before.double()))


@triton.jit
def count_under_a_lock(lock, count, TYPE: tl.constexpr):
    free, taken = tl.full((), 0, TYPE), tl.full((), 1, TYPE)
    while tl.atomic_cas(lock, free, taken) == 1:
        pass
    tl.store(count, tl.load(count) + 1)
    tl.debug_barrier()
    tl.atomic_cas(lock, taken, free)


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("dtype", ["int16", "int32"])
def test_a_lock_orders_what_programs_do(dtype: str, sanitize: bool) -> None:
    lock, count = torch.zeros(2, dtype=getattr(torch, dtype)), torch.zeros(1, dtype=torch.int32)
    tileir.launch(count_under_a_lock, 100, (lock, count, getattr(tl, dtype)), sanitize=sanitize)
    assert count.tolist() == [100]


@triton.jit
def sum_of_blocks(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at % 4, tl.load(x + at))


def test_pointers_that_meet_add_up() -> None:
    x, out = torch.arange(256, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    tileir.launch(sum_of_blocks, 4, (x, out, 64))
    assert torch.equal(out, x.reshape(64, 4).sum(0, dtype=torch.int32))


@triton.jit
def copy_atomically(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_store(out + at, tl.atomic_load(x + at, mask=at < n), mask=at < n)
    tl.atomic_store(out + BLOCK, tl.atomic_load(x))


@each_backend
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int32", "float64"])
def test_atomic_loads_and_stores(dtype: str, backend: str) -> None:
    if not hasattr(tl, "atomic_load"):
        pytest.skip(f"Triton {triton.__version__} has no atomic loads")
    x = torch.arange(1, BLOCK + 1).to(getattr(torch, dtype))
    out = torch.zeros(BLOCK + 1, dtype=x.dtype)
    tileir.launch(copy_atomically, 1, (x, out, 40, BLOCK), backend=backend)
    assert torch.equal(out[:40], x[:40]) and not out[40:BLOCK].any() and out[BLOCK] == x[0]


@triton.jit
def wait(flags, expected, out, timeout, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.atomic_poll(flags + at, tl.load(expected + at), timeout_ns=timeout))


@each_backend
@pytest.mark.parametrize("timeout", [None, 0, 20_000])
@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_polls_end_with_their_values_or_their_timeout(dtype: Any, timeout: int | None, backend: str) -> None:
    if not hasattr(tl, "atomic_poll"):
        pytest.skip(f"Triton {triton.__version__} has no polls")
    flags = torch.arange(8, dtype=dtype)
    expected = flags.clone()
    if timeout is not None:
        expected[::2] = 77
    out = torch.zeros(8, dtype=torch.bool)
    tileir.launch(wait, 1, (flags, expected, out, timeout, 8), backend=backend)
    assert torch.equal(out, flags == expected)


@triton.jit
def hand_over(flag, payload, out):
    if tl.program_id(0) == 0:
        tl.store(payload, 42)
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        tl.atomic_poll(flag, 1, sem="acquire")
        tl.store(out, tl.load(payload))


@pytest.mark.parametrize("sanitize", [False, True])
def test_an_acquire_sees_what_came_before_the_release(sanitize: bool) -> None:
    if not hasattr(tl, "atomic_poll"):
        pytest.skip(f"Triton {triton.__version__} has no polls")
    flag, payload, out = torch.zeros(3, 1, dtype=torch.int32)
    tileir.launch(hand_over, 2, (flag, payload, out), sanitize=sanitize)
    assert out.tolist() == [42]
