"""Matrix products of Triton kernels, against torch in f64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

import tileir

each_backend = pytest.mark.parametrize("backend", ["interpreter", "cpu"])
M, N, K = 16, 32, 64


@triton.jit
def product(a, b, c, out, MODE: tl.constexpr, LIMIT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x, y = tl.load(a + m * K + k[None, :]), tl.load(b + k[:, None] * N + n)
    total = tl.load(c + m * N + n)
    total = tl.dot(x, y, total, input_precision=MODE, max_num_imprecise_acc=LIMIT, out_dtype=total.dtype)
    tl.store(out + m * N + n, total)


def check(found: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, tolerance: float) -> None:
    a, b, c = a.double(), b.double(), c.double()
    magnitude = a.abs() @ b.abs() + c.abs()
    assert torch.all((found.double() - (a @ b + c)).abs() <= tolerance * magnitude)


def numbers(shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
    if not dtype.is_floating_point:
        return torch.randint(-128, 128, shape).to(dtype)
    return torch.randn(shape).to(dtype)


F8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@each_backend
@pytest.mark.parametrize(
    ("dtypes", "acc", "tolerance"),
    [
        ((torch.float16,) * 2, torch.float32, 2**-20),
        ((torch.float16,) * 2, torch.float16, 2**-9),
        ((torch.bfloat16,) * 2, torch.float32, 2**-20),
        ((F8[0],) * 2, torch.float32, 2**-20),
        ((F8[0],) * 2, torch.float16, 2**-9),
        (F8, torch.float32, 2**-20),
        (F8[::-1], torch.float16, 2**-9),
        ((torch.int8,) * 2, torch.int32, 0),
        ((torch.float64,) * 2, torch.float64, 2**-50),
    ],
)
def test_types(dtypes: tuple[Any, Any], acc: Any, tolerance: float, backend: str) -> None:
    a, b, c = numbers((M, K), dtypes[0]), numbers((K, N), dtypes[1]), numbers((M, N), acc)
    out = torch.zeros_like(c)
    tileir.launch(product, 1, (a, b, c, out, None, None, M, N, K), backend=backend)
    check(out, a, b, c, tolerance)


@each_backend
@pytest.mark.parametrize(
    ("mode", "tolerance"),
    [("ieee", 2**-22), ("tf32", 2**-10), ("tf32x3", 2**-20), ("bf16x3", 2**-15), ("bf16x6", 2**-21), (None, 2**-10)],
)
def test_input_precisions(mode: str | None, tolerance: float, backend: str) -> None:
    a, b, c = (numbers(shape, torch.float32) for shape in ((M, K), (K, N), (M, N)))
    out = torch.zeros_like(c)
    tileir.launch(product, 1, (a, b, c, out, mode, None, M, N, K), backend=backend)
    check(out, a, b, c, tolerance)


@pytest.mark.parametrize("limit", [0, 32, K])
def test_imprecise_accumulation_of_8_bits_is_a_hint(limit: int) -> None:
    a, b, c = numbers((M, K), F8[1]), numbers((K, N), F8[1]), numbers((M, N), torch.float32)
    out = torch.zeros_like(c)
    args = (a, b, c, out, None, limit, M, N, K)
    tileir.launch(product, 1, args)
    check(out, a, b, c, 2**-12)
    assert ("fast_acc" in str(tileir.compile(product, args).kernel.entry)) == (limit == K)


@triton.jit
def batched(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, B)[:, None, None]
    m, n = tl.arange(0, M)[None, :, None], tl.arange(0, N)[None, None, :]
    x = tl.load(a + (at * M + m) * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + (at * K + tl.arange(0, K)[None, :, None]) * N + n)
    tl.store(out + (at * M + m) * N + n, tl.dot(x, y, input_precision="ieee"))


@each_backend
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
def test_batches(dtype: Any, backend: str) -> None:
    a, b = numbers((4, M, K), dtype), numbers((4, K, N), dtype)
    out = torch.zeros((4, M, N), dtype=torch.float32 if dtype.is_floating_point else torch.int32)
    tileir.launch(batched, 1, (a, b, out, 4, M, N, K), backend=backend)
    check(out, a, b, torch.zeros(()), 2**-20)


@triton.jit
def scaled(
    a, a_scale, b, b_scale, out, A: tl.constexpr, B: tl.constexpr, PACKED: tl.constexpr, FAST: tl.constexpr,
    COUNT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """`COUNT` products; a matrix of 4-bit numbers is packed along K if `PACKED`, else along its other dimension."""
    at = tl.arange(0, COUNT)[:, None, None]
    A_ROWS: tl.constexpr = M // 2 if A == "e2m1" and not PACKED else M
    A_COLUMNS: tl.constexpr = K // 2 if A == "e2m1" and PACKED else K
    B_ROWS: tl.constexpr = K // 2 if B == "e2m1" and PACKED else K
    B_COLUMNS: tl.constexpr = N // 2 if B == "e2m1" and not PACKED else N
    x = tl.load(a + (at * A_ROWS + tl.arange(0, A_ROWS)[:, None]) * A_COLUMNS + tl.arange(0, A_COLUMNS))
    y = tl.load(b + (at * B_ROWS + tl.arange(0, B_ROWS)[:, None]) * B_COLUMNS + tl.arange(0, B_COLUMNS))
    m, n, k = tl.arange(0, M)[:, None], tl.arange(0, N)[:, None], tl.arange(0, K // BLOCK)
    x_scale, y_scale = None, None
    if a_scale is not None:
        x_scale = tl.load(a_scale + (at * M + m) * (K // BLOCK) + k)
    if b_scale is not None:
        y_scale = tl.load(b_scale + (at * N + n) * (K // BLOCK) + k)
    if COUNT == 1:
        x, y = tl.reshape(x, (A_ROWS, A_COLUMNS)), tl.reshape(y, (B_ROWS, B_COLUMNS))
        if x_scale is not None:
            x_scale = tl.reshape(x_scale, (M, K // BLOCK))
        if y_scale is not None:
            y_scale = tl.reshape(y_scale, (N, K // BLOCK))
    found = tl.dot_scaled(x, x_scale, A, y, y_scale, B, fast_math=FAST, lhs_k_pack=PACKED or A != "e2m1",
                          rhs_k_pack=PACKED or B != "e2m1")  # fmt: skip
    found = tl.reshape(found, (COUNT, M, N))
    tl.store(out + (at * M + m) * N + tl.arange(0, N), found)


FORMATS = {"e4m3": F8[0], "e5m2": F8[1], "bf16": torch.bfloat16, "fp16": torch.float16}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)


def operand(format: str, shape: tuple[int, ...], axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrices as a kernel loads them, 4-bit numbers packed along an axis, and their values."""
    if format != "e2m1":
        values = numbers(shape, FORMATS[format])
        return values, values.double()
    bits = torch.randint(0, 16, shape, dtype=torch.uint8).movedim(axis, -1)
    pairs = bits[..., ::2] | bits[..., 1::2] << 4
    return pairs.movedim(-1, axis).contiguous(), E2M1[bits.movedim(-1, axis).int()]


def scales(kind: str, shape: tuple[int, ...]) -> tuple[torch.Tensor | None, Any]:
    """Powers of two as their exponents, or numbers of 8 bits, one for a block of elements."""
    if not kind:
        return None, 1.0
    if kind == "e4m3":
        found = (torch.rand(shape) + 0.5).to(F8[0])
        return found, found.double()
    found = torch.randint(120, 134, shape, dtype=torch.uint8)
    return found, torch.exp2(found.double() - 127)


FLOATS = ("e2m1", "e4m3", "e5m2")
CASES = [
    *[(left, right, "e8m0 e8m0", 32, True, 1) for left in FLOATS for right in FLOATS],
    *[("e2m1", right, "e8m0 ", 32, True, 1) for right in ("bf16", "fp16")],
    *[(left, "e5m2", " e8m0", 32, True, 1) for left in ("bf16", "fp16")],
    *[("e2m1", right, "e8m0 e8m0", 32, False, 1) for right in FLOATS],
    ("bf16", "e2m1", " e8m0", 32, False, 2),
    ("e2m1", "e2m1", "e4m3 e4m3", 16, True, 2),
    ("e5m2", "e4m3", " ", 32, True, 1),
]


@each_backend
@pytest.mark.parametrize(("left", "right", "kinds", "block", "packed", "count"), CASES)
def test_scaled_products(left: str, right: str, kinds: str, block: int, packed: bool, count: int, backend: str) -> None:
    a, wide_a = operand(left, (count, M, K), 2 if packed else 1)
    b, wide_b = operand(right, (count, K, N), 1 if packed else 2)
    kind_a, kind_b = kinds.split(" ")
    a_scale, factor_a = scales(kind_a, (count, M, K // block))
    b_scale, factor_b = scales(kind_b, (count, N, K // block))
    if kind_a:
        wide_a = wide_a * factor_a.repeat_interleave(block, 2)
    if kind_b:
        wide_b = wide_b * factor_b.repeat_interleave(block, 2).mT
    out = torch.zeros((count, M, N))
    for fast in (True, False):
        args = (a, a_scale, b, b_scale, out.zero_(), left, right, packed, fast, count, M, N, K, block)
        tileir.launch(scaled, 1, args, backend=backend)
        check(out, wide_a, wide_b, torch.zeros(()), 2**-19)
