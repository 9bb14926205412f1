"""Tensor descriptors of Triton kernels, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import tileir

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])
SHAPE, BLOCK = (20, 48), (16, 32)
OFFSETS = [(0, 0), (16, 32), (3, 5), (-4, -9), (100, 0), (2**31 - 8, 0)]


def block_of(x: torch.Tensor, row: int, column: int, padding: float) -> torch.Tensor:
    """The block of an array at a place that may be outside of it."""
    rows, columns = row + torch.arange(BLOCK[0])[:, None], column + torch.arange(BLOCK[1])[None, :]
    inside = (rows >= 0) & (rows < x.shape[0]) & (columns >= 0) & (columns < x.shape[1])
    found = x[rows.clamp(0, x.shape[0] - 1), columns.clamp(0, x.shape[1] - 1)]
    return torch.where(inside, found, torch.tensor(padding).to(x.dtype))


@triton.jit
def load_from_host(source, out, row, column, R: tl.constexpr, C: tl.constexpr):
    found = source.load([row, column])
    tl.store(out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], found)


@triton.jit
def load_on_device(x, out, row, column, rows, columns, NAN: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    padding: tl.constexpr = "nan" if NAN else "zero"
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [R, C], padding_option=padding)
    found = source.load([row, column])
    tl.store(out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], found)


@each_backend
@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize(("dtype", "pads_with_nan"), [("float32", True), ("float16", False), ("uint8", False)])
def test_blocks_inside_and_outside_of_an_array(dtype: str, pads_with_nan: bool, place: str, backend: str) -> None:
    x = torch.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE).to(getattr(torch, dtype))
    for row, column in OFFSETS:
        out = torch.ones(BLOCK, dtype=x.dtype)
        if place == "host":
            source = TensorDescriptor.from_tensor(x, list(BLOCK), padding="nan" if pads_with_nan else "zero")
            tileir.launch(load_from_host, 1, (source, out, row, column, *BLOCK), backend=backend)
        else:
            args = (x, out, row, column, *SHAPE, pads_with_nan, *BLOCK)
            tileir.launch(load_on_device, 1, args, backend=backend)
        expected = block_of(x, row, column, float("nan") if pads_with_nan else 0)
        torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@triton.jit
def store_block(target, x, row, column, R: tl.constexpr, C: tl.constexpr):
    target.store([row, column], tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]))


@each_backend
@pytest.mark.parametrize("offsets", OFFSETS)
def test_only_elements_of_the_array_are_stored(offsets: tuple[int, int], backend: str) -> None:
    whole, x = torch.zeros(20, 48), torch.rand(BLOCK)
    out = whole[:, :40]
    expected = out.clone()
    target = TensorDescriptor(out, list(out.shape), [48, 1], list(BLOCK))
    tileir.launch(store_block, 1, (target, x, *offsets, *BLOCK), backend=backend)
    for row in range(BLOCK[0]):
        for column in range(BLOCK[1]):
            at = (offsets[0] + row, offsets[1] + column)
            if 0 <= at[0] < 20 and 0 <= at[1] < 40:
                expected[at] = x[row, column]
    assert torch.equal(out, expected) and not whole[:, 40:].any()


@triton.jit
def reduce_block(target, x, row, column, NAME: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    value = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    if NAME == "add":
        target.atomic_add([row, column], value)
    elif NAME == "min":
        target.atomic_min([row, column], value)
    elif NAME == "max":
        target.atomic_max([row, column], value)
    elif NAME == "and":
        target.atomic_and([row, column], value)
    elif NAME == "or":
        target.atomic_or([row, column], value)
    else:
        target.atomic_xor([row, column], value)


REDUCTIONS: dict[str, Any] = {
    "add": torch.add,
    "min": torch.minimum,
    "max": torch.maximum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}
KINDS = [
    *[(name, "int32") for name in REDUCTIONS],
    *[(name, dtype) for name in ("min", "max") for dtype in ("uint32", "int64", "float16", "bfloat16")],
    *[("add", dtype) for dtype in ("float32", "float16", "bfloat16")],
]


@each_backend
@pytest.mark.parametrize(("name", "dtype"), KINDS)
def test_reductions(name: str, dtype: str, backend: str) -> None:
    torch.manual_seed(0)
    x, out = (torch.randint(-50, 50, shape).to(getattr(torch, dtype)) for shape in (BLOCK, SHAPE))
    before = out.clone()
    target = TensorDescriptor.from_tensor(out, list(BLOCK))
    tileir.launch(reduce_block, 1, (target, x, 16, 32, name, *BLOCK), backend=backend)
    expected = before.clone()
    wide = torch.int64 if dtype == "uint32" else x.dtype
    expected[16:, 32:] = REDUCTIONS[name](before[16:, 32:].to(wide), x[:4, :16].to(wide)).to(x.dtype)
    assert torch.equal(out, expected)


@triton.jit
def permute_rows(x, out, order, rows, columns, N: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [1, C])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [1, C])
    at = tl.load(order + tl.arange(0, N))
    target.scatter(source.gather(at, 8), at ^ 1, 8)


@each_backend
def test_rows_are_gathered_and_scattered(backend: str) -> None:
    x, out = torch.rand(15, 40), torch.zeros(15, 40)
    order = torch.tensor([3, 1, 14, 8, 0, 5, 7, 15], dtype=torch.int32)
    tileir.launch(permute_rows, 1, (x, out, order, 15, 40, 8, 32), backend=backend)
    expected = torch.zeros(16, 40)
    expected[(order ^ 1).long(), 8:] = torch.cat([x, torch.zeros(1, 40)])[order.long(), 8:]
    assert torch.equal(out, expected[:15])


@triton.jit
def column_sums(source, R: tl.constexpr, C: tl.constexpr):
    total = tl.zeros((C,), tl.float32)
    row = 0
    while row < source.shape[0]:
        total += tl.sum(source.load([row, 0]), axis=0)
        row += R
    return total


@triton.jit
def choose(first, second, takes_first):
    if takes_first:
        found = first
    else:
        found = second
    return found


@triton.jit
def sums_of_chosen(a, b, out, takes_first, R: tl.constexpr, C: tl.constexpr):
    made = tl.make_tensor_descriptor(a, [R, C], [C, 1], [R // 2, C])
    other = tl.make_tensor_descriptor(b, [R // 2, C], [C, 1], [R // 2, C])
    for number in range(2):
        made = choose(made, other, takes_first + number != 1)
        tl.store(out + number * C + tl.arange(0, C), column_sums(made, R // 2, C))
        made, other = other, made


@each_backend
@pytest.mark.parametrize("takes_first", [0, 1])
def test_descriptors_through_branches_and_loops(takes_first: int, backend: str) -> None:
    a, b, out = torch.rand(32, 16), torch.rand(16, 16), torch.zeros(2, 16)
    tileir.launch(sums_of_chosen, 1, (a, b, out, takes_first, 32, 16), backend=backend)
    made, other = a.sum(0), b.sum(0)
    for number in range(2):
        made = made if takes_first + number != 1 else other
        torch.testing.assert_close(out[number], made)
        made, other = other, made


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    target = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(left.load([row, k]), right.load([k, column]), total)
    target.store([row, column], total.to(tl.float16))


@pytest.mark.parametrize("sanitize", [False, True])
def test_a_matmul_through_descriptors(sanitize: bool) -> None:
    a, b, c = torch.rand(70, 48).half(), torch.rand(48, 40).half(), torch.zeros(70, 40).half()
    tileir.launch(matmul, (3, 2), (a, b, c, 70, 40, 48, 32, 32, 16), sanitize=sanitize)
    torch.testing.assert_close(c, a @ b)
