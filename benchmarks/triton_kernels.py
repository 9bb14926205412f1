"""Triton kernels that benchmarks measure, in the forms of Triton's tutorials: pointers, masks, remainders."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    """Each program takes one row after the other."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        column = tl.arange(0, BLOCK)
        values = tl.load(in_ptr + row * in_stride + column, mask=column < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * out_stride + column, powers / tl.sum(powers, axis=0), mask=column < columns)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, a_m, a_k, b_k, b_n, c_m, c_n,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr = "tf32",
):  # fmt: skip
    """Rows and columns beyond the matrices are taken again from their beginning, and not stored."""
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = program // (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + (program % (GROUP * tiles_n)) % height
    tile_n = (program % (GROUP * tiles_n)) // height
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a_ptr + m[:, None] * a_m + k[None, :] * a_k
    b_at = b_ptr + k[:, None] * b_k + n[None, :] * b_n
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=k[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_at, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
        a_at += BK * a_k
        b_at += BK * b_k
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    c_at = c_ptr + m[:, None] * c_m + n[None, :] * c_n
    tl.store(c_at, total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    """Three passes over a row: mean, variance, result."""
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        x = tl.where(at < columns, x - mean, 0.0)
        squares += x * x
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * scale * w + b, mask=inside)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, stride, LENGTH,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """A softmax that is corrected whenever a larger maximum is found; `stride` is from one head to the next."""
    start = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * stride
    m, d = start + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + head + m[:, None] * D + d[None, :])
    factor = scale * 1.4426950408889634
    largest = tl.full([BM], -float("inf"), dtype=tl.float32)
    below = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, D], dtype=tl.float32)
    end = start + BM if CAUSAL else LENGTH
    for first in range(0, end, BN):
        n = first + tl.arange(0, BN)
        k = tl.load(k_ptr + head + n[None, :] * D + d[:, None])
        scores = tl.dot(q, k) * factor
        if CAUSAL:
            scores = tl.where(m[:, None] >= n[None, :], scores, -1.0e6)
        larger = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.math.exp2(scores - larger[:, None])
        correction = tl.math.exp2(largest - larger)
        below = below * correction + tl.sum(powers, 1)
        v = tl.load(v_ptr + head + n[:, None] * D + d[None, :])
        total = tl.dot(powers.to(v.dtype), v, total * correction[:, None])
        largest = larger
    tl.store(o_ptr + head + m[:, None] * D + d[None, :], (total / below[:, None]).to(o_ptr.dtype.element_ty))
