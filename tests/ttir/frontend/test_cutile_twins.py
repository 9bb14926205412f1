"""Kernels written in Triton and in cuTile compute the same bits in exact mode, on each engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import tileir

ct = pytest.importorskip("cuda.tile", reason="cuTile is not installed")


@triton.jit
def vector_add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@ct.kernel
def cutile_vector_add(a, b, c, BLOCK: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(c, (block,), ct.load(a, (block,), (BLOCK,)) + ct.load(b, (block,), (BLOCK,)))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    values = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@ct.kernel
def cutile_softmax(x, out, BLOCK: ct.Constant[int]):
    values = ct.load(x, (ct.bid(0), 0), (1, BLOCK), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(values - ct.max(values, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))


@triton.jit
def matmul(a, b, c, m, n, k, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    along = tl.arange(0, STEP)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, STEP):
        down, across = start + along[:, None], start + along[None, :]
        x = tl.load(a + rows * k + across, mask=(rows < m) & (across < k), other=0.0)
        y = tl.load(b + down * n + columns, mask=(down < k) & (columns < n), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + rows * n + columns, total, mask=(rows < m) & (columns < n))


@ct.kernel
def cutile_matmul(a, b, c, BLOCK: ct.Constant[int], STEP: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((BLOCK, BLOCK), ct.float32)
    for number in range(ct.num_tiles(a, 1, (BLOCK, STEP))):
        x = ct.load(a, (row, number), (BLOCK, STEP), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (number, column), (STEP, BLOCK), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, y, total)
    ct.store(c, (row, column), total)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    """With the multiplication and addition in one operation, as cuTile's compiler makes it."""
    at = tl.arange(0, BLOCK)
    row, inside = tl.program_id(0) * columns, at < columns
    values = tl.load(x + row + at, mask=inside, other=0.0)
    centered = tl.where(inside, values - tl.sum(values, axis=0) / columns, 0.0)
    variance = tl.sum(centered * centered, axis=0) / columns
    w, b = tl.load(weight + at, mask=inside, other=0.0), tl.load(bias + at, mask=inside, other=0.0)
    tl.store(out + row + at, tl.fma(centered * tl.rsqrt(variance + epsilon), w, b), mask=inside)


@ct.kernel
def cutile_layer_norm(x, weight, bias, out, epsilon, BLOCK: ct.Constant[int]):
    columns = x.shape[1]
    values = ct.load(x, (ct.bid(0), 0), (1, BLOCK), padding_mode=ct.PaddingMode.ZERO)
    inside = (ct.arange(BLOCK, dtype=ct.int32) < columns)[None, :]
    centered = ct.where(inside, values - ct.sum(values, axis=1, keepdims=True) / columns, 0.0)
    variance = ct.sum(centered * centered, axis=1, keepdims=True) / columns
    w = ct.load(weight, (0,), (BLOCK,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(bias, (0,), (BLOCK,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (ct.bid(0), 0), centered * ct.rsqrt(variance + epsilon) * w[None, :] + b[None, :])


@triton.jit
def product(x, out, columns, BLOCK: tl.constexpr):
    """A reduction without a name of its own."""
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=1.0)
    tl.store(out + tl.program_id(0), tl.reduce(values, 0, multiply))


@triton.jit
def multiply(a, b):
    return a * b


@ct.kernel
def cutile_product(x, out, BLOCK: ct.Constant[int]):
    columns = x.shape[1]
    values = ct.load(x, (ct.bid(0), 0), (1, BLOCK), padding_mode=ct.PaddingMode.ZERO)
    inside = (ct.arange(BLOCK, dtype=ct.int32) < columns)[None, :]
    ct.store(out, (ct.bid(0),), ct.prod(ct.where(inside, values, 1.0), axis=1))


@triton.jit
def attention(q, k, v, out, rows, scale, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """Online softmax: each block of keys rescales what the blocks before it have added up."""
    at, along = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, WIDTH)[None, :]
    queries = tl.load(q + at[:, None] * WIDTH + along, mask=at[:, None] < rows, other=0.0)
    largest, weights = tl.full((BLOCK,), -1e30, tl.float32), tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, WIDTH), tl.float32)
    for start in range(0, rows, BLOCK):
        key = start + tl.arange(0, BLOCK)
        inside = key[:, None] < rows
        keys = tl.load(k + key[:, None] * WIDTH + along, mask=inside, other=0.0)
        values = tl.load(v + key[:, None] * WIDTH + along, mask=inside, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(key[None, :] < rows, scores, -1e30)
        now = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp2(scores - now[:, None])
        rescale = tl.exp2(largest - now)
        weights = tl.fma(weights, rescale, tl.sum(powers, 1))
        total = tl.dot(powers.to(tl.float16), values, total * rescale[:, None])
        largest = now
    tl.store(out + at[:, None] * WIDTH + along, total / weights[:, None], mask=at[:, None] < rows)


@ct.kernel
def cutile_attention(q, k, v, out, scale, BLOCK: ct.Constant[int], WIDTH: ct.Constant[int]):
    rows, block = q.shape[0], ct.bid(0)
    queries = ct.load(q, (block, 0), (BLOCK, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    largest, weights = ct.full((BLOCK, 1), -1e30, ct.float32), ct.zeros((BLOCK, 1), ct.float32)
    total = ct.zeros((BLOCK, WIDTH), ct.float32)
    for number in range(ct.num_tiles(k, 0, (BLOCK, WIDTH))):
        keys = ct.load(k, (number, 0), (BLOCK, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        values = ct.load(v, (number, 0), (BLOCK, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(queries, ct.transpose(keys), ct.zeros((BLOCK, BLOCK), ct.float32)) * scale
        key = number * BLOCK + ct.arange(BLOCK, dtype=ct.int32)
        scores = ct.where(key[None, :] < rows, scores, -1e30)
        now = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp2(scores - now)
        rescale = ct.exp2(largest - now)
        weights = weights * rescale + ct.sum(powers, axis=1, keepdims=True)
        total = ct.mma(ct.astype(powers, ct.float16), values, total * rescale)
        largest = now
    ct.store(out, (block, 0), total / weights)


RANDOM = np.random.default_rng(3)


def random(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def nothing(*shape: int) -> np.ndarray:
    return np.full(shape, 7, np.float32)


Launch = tuple[Any, tuple[object, ...]]

X, WEIGHT, BIAS = random(11, 100), random(100), random(100)
LEFT, RIGHT = random(45, 70), random(70, 37)
QKV = tuple(random(3, 70, 32).astype(np.float16))
TWINS: dict[str, tuple[tuple[int, ...], Launch, Launch]] = {
    "vector add": (
        (18,),
        (vector_add, (X.reshape(-1), X[::-1].copy().reshape(-1), nothing(1100), 1100, 64)),
        (cutile_vector_add, (X.reshape(-1), X[::-1].copy().reshape(-1), nothing(1100), 64)),
    ),
    "softmax": (
        (11,),
        (softmax, (X, nothing(11, 100), 100, 128)),
        (cutile_softmax, (X, nothing(11, 100), 128)),
    ),
    "matmul": (
        (2, 2),
        (matmul, (LEFT, RIGHT, nothing(45, 37), 45, 37, 70, 32, 16)),
        (cutile_matmul, (LEFT, RIGHT, nothing(45, 37), 32, 16)),
    ),
    "layer norm": (
        (11,),
        (layer_norm, (X, WEIGHT, BIAS, nothing(11, 100), 100, 1e-5, 128)),
        (cutile_layer_norm, (X, WEIGHT, BIAS, nothing(11, 100), 1e-5, 128)),
    ),
    "attention": (
        (3,),
        (attention, (*QKV, nothing(70, 32), 70, 0.25, 32, 32)),
        (cutile_attention, (*QKV, nothing(70, 32), 0.25, 32, 32)),
    ),
    "product": ((11,), (product, (X, nothing(11), 100, 128)), (cutile_product, (X, nothing(11), 128))),
}


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", TWINS)
def test_the_same_bits_in_exact_mode(name: str, backend: str) -> None:
    grid, *launches = TWINS[name]
    results = []
    for kernel, arguments in launches:
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        tileir.launch(kernel, grid, tuple(given), backend=backend, exact=True)
        results += [each for each in given if isinstance(each, np.ndarray)][-1:]
    assert not (results[0] == 7).any()
    assert results[0].tobytes() == results[1].tobytes()
