"""The patterns cuTile is used for, launched here and compared with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
from tests.bridge.comparison import Comparison

import tileir

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from tests.bridge import patterns
from tests.bridge.test_kernels import COMPARISONS as KERNELS

F16, F32, BF16 = numpy.float16, numpy.float32, ml_dtypes.bfloat16


def normal(*shape: int, seed: int = 0, dtype: Any = F32) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def wide(array: Any) -> Any:
    return array.astype(numpy.float64)


def softmax(x: Any) -> Any:
    weights = numpy.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def swizzled_matmul(dtype: Any, tolerance: float) -> Comparison:
    a, b = normal(70, 45, dtype=dtype), normal(45, 50, seed=1, dtype=dtype)
    out = numpy.zeros((70, 50), dtype)
    arguments = (a, b, out, 16, 16, 16, 2)
    return Comparison(patterns.swizzled_matmul, 5 * 4, arguments, {2: wide(a) @ wide(b)}, tolerance, tolerance)


def split_k_matmul() -> Comparison:
    a, b = normal(32, 128), normal(128, 48, seed=1)
    out = numpy.zeros((32, 48), F32)
    return Comparison(patterns.split_k_matmul, (2, 3, 3), (a, b, out, 16, 3), {2: wide(a) @ wide(b)}, 1e-4, 1e-4)


def matmul_bias_gelu() -> Comparison:
    x, weight, bias = normal(32, 48), normal(64, 48, seed=1), normal(64, seed=2)
    t = wide(x) @ wide(weight).T + bias
    expected = 0.5 * t * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)))
    arguments = (x, weight, bias, numpy.zeros((32, 64), F32), 16)
    return Comparison(patterns.matmul_bias_gelu, (2, 4), arguments, {3: expected}, 1e-4, 1e-4)


def mixture_of_experts() -> Comparison:
    count, width, outputs, experts, tile = 37, 32, 48, 4, 16
    random = numpy.random.default_rng(3)
    tokens, weights = normal(count, width, dtype=F16), normal(experts, width, outputs, seed=1, dtype=F16)
    chosen, gates = random.integers(0, experts, count), random.random(count).astype(F32)
    order: list[int] = []
    blocks: list[int] = []
    for expert in range(experts):
        rows = numpy.flatnonzero(chosen == expert).tolist()
        rows += [count] * (-len(rows) % tile)
        order += rows
        blocks += [expert] * (len(rows) // tile)
    out = numpy.zeros((count, outputs), F16)
    expected = numpy.einsum("tk,tkn->tn", wide(tokens), wide(weights)[chosen]) * gates[:, None]
    return Comparison(
        patterns.mixture_of_experts,
        (len(blocks), outputs // 16),
        (tokens, weights, numpy.array(order, "i4"), numpy.array(blocks, "i4"), gates, out, tile, 16, 16),
        {5: expected},
        5e-3,
        5e-3,
    )


def grouped_query_attention() -> Comparison:
    heads, shared, length, depth = 4, 2, 64, 32
    q = normal(heads, length, depth, dtype=F16)
    k, v = (normal(heads // shared, length, depth, seed=seed, dtype=F16) for seed in (1, 2))
    scale = 1 / math.sqrt(depth)
    score = wide(q) @ wide(k).repeat(shared, 0).transpose(0, 2, 1) * scale
    score = numpy.where(numpy.tril(numpy.ones((length, length), bool)), score, -numpy.inf)
    expected = softmax(score) @ wide(v).repeat(shared, 0)
    out = numpy.zeros_like(q)
    arguments = (q, k, v, out, scale, shared, 32, depth)
    return Comparison(patterns.grouped_query_attention, (2, heads), arguments, {3: expected}, 5e-3, 5e-3)


def long_softmax() -> Comparison:
    x = normal(6, 150) * F32(4)
    return Comparison(patterns.long_softmax, 6, (x, numpy.zeros_like(x), 64), {1: softmax(wide(x))})


def rms_norm(dtype: Any, tolerance: float) -> Comparison:
    x, weight = normal(5, 100, dtype=dtype), normal(100, seed=1)
    expected = wide(x) / numpy.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-6) * weight
    arguments = (x, weight, numpy.zeros_like(x), 1e-6, 128)
    return Comparison(patterns.rms_norm, 5, arguments, {2: expected}, tolerance, tolerance)


def layer_norm_backward() -> Comparison:
    x, gradient, weight = normal(32, 64), normal(32, 64, seed=1), normal(64, seed=2)
    centered = wide(x) - wide(x).mean(1, keepdims=True)
    spread = 1 / numpy.sqrt((centered**2).mean(1, keepdims=True) + 1e-5)
    normalized, weighted = centered * spread, wide(gradient) * weight
    along = (weighted * normalized).mean(1, keepdims=True)
    expected = (weighted - normalized * along - weighted.mean(1, keepdims=True)) * spread
    arguments = (x, gradient, weight, numpy.zeros_like(x), numpy.zeros(64, F32), 1e-5, 8, 64)
    wanted = {3: expected, 4: (gradient * normalized).sum(0)}
    return Comparison(patterns.layer_norm_backward, 4, arguments, wanted, 1e-4, 1e-4)


def group_norm() -> Comparison:
    x = normal(2, 16, 32)
    groups = wide(x).reshape(2, 4, -1)
    expected = (groups - groups.mean(2, keepdims=True)) / numpy.sqrt(groups.var(2, keepdims=True) + 1e-5)
    arguments = (x, numpy.zeros_like(x), 1e-5, 4, 32)
    return Comparison(patterns.group_norm, (2, 4), arguments, {1: expected.reshape(x.shape)}, 1e-4, 1e-5)


def cross_entropy() -> Comparison:
    logits = normal(9, 50)
    labels = numpy.random.default_rng(1).integers(0, 50, 9).astype("i4")
    expected = -numpy.log(softmax(wide(logits))[numpy.arange(9), labels])
    return Comparison(patterns.cross_entropy, 9, (logits, labels, numpy.zeros(9, F32), 64), {2: expected})


def embedding_gradient() -> Comparison:
    gradient, tokens = normal(32, 16), numpy.random.default_rng(1).integers(0, 10, 32).astype("i4")
    expected = numpy.zeros((10, 16))
    numpy.add.at(expected, tokens, gradient)
    arguments = (gradient, tokens, numpy.zeros((10, 16), F32), 8, 16)
    return Comparison(patterns.embedding_gradient, 4, arguments, {2: expected})


def histogram_of_bytes() -> Comparison:
    values = numpy.random.default_rng(1).integers(0, 256, 1000).astype("u1")
    arguments = (values, numpy.zeros(256, "i4"), 128)
    return Comparison(patterns.histogram_of_bytes, 8, arguments, {1: numpy.bincount(values, minlength=256)})


def top_k() -> Comparison:
    x = normal(4, 50)
    places = numpy.argsort(-x, axis=1, kind="stable")[:, :5]
    arguments = (x, numpy.zeros((4, 5), F32), numpy.zeros((4, 5), "i4"), 5, 64)
    return Comparison(patterns.top_k, 4, arguments, {1: numpy.take_along_axis(x, places, 1), 2: places}, 0, 0)


def bitonic_sort() -> Comparison:
    x = numpy.random.default_rng(1).integers(-99, 99, 64).astype("i4")
    return Comparison(patterns.bitonic_sort, 1, (x, numpy.zeros_like(x), 64, 6), {1: numpy.sort(x)})


def fft() -> Comparison:
    n1, n2, rows = 8, 16, 3
    z = normal(rows, n1 * n2) + 1j * normal(rows, n1 * n2, seed=1)

    def planes(angles: Any) -> Any:
        return numpy.stack([numpy.cos(angles), numpy.sin(angles)]).astype(F32)

    def dft(n: int) -> Any:
        return planes(-2 * numpy.pi * numpy.outer(numpy.arange(n), numpy.arange(n)) / n)

    twiddle = planes(-2 * numpy.pi * numpy.outer(numpy.arange(n1), numpy.arange(n2)) / (n1 * n2))
    expected = numpy.fft.fft(z)
    real, imaginary = z.real.astype(F32), z.imag.astype(F32)
    arguments = (real, imaginary, dft(n1), dft(n2), twiddle, numpy.zeros_like(real), numpy.zeros_like(real), n1, n2)
    return Comparison(patterns.fft, rows, arguments, {5: expected.real, 6: expected.imag}, 1e-4, 1e-4)


def convolution() -> Comparison:
    image, weight = normal(40, 30), normal(3, 3, seed=1)
    padded = numpy.pad(wide(image), 1)
    expected = sum(weight[y, x] * padded[y : y + 40, x : x + 30] for y in range(3) for x in range(3))
    arguments = (image, weight, numpy.zeros((40, 30), F32), 16)
    return Comparison(patterns.convolution, (3, 2), arguments, {2: expected})


def rotary_embedding() -> Comparison:
    x = normal(6, 2, 32)
    angles = numpy.arange(6)[:, None] / 100.0 ** (numpy.arange(16) / 16)
    c, s = numpy.cos(angles)[:, None, :], numpy.sin(angles)[:, None, :]
    even, odd = wide(x)[..., :16], wide(x)[..., 16:]
    expected = numpy.concatenate([even * c - odd * s, odd * c + even * s], -1)
    arguments = (x, c[:, 0].astype(F32), s[:, 0].astype(F32), numpy.zeros_like(x), 16)
    return Comparison(patterns.rotary_embedding, (6, 2), arguments, {3: expected})


def swiglu() -> Comparison:
    gate, up = normal(300, dtype=BF16), normal(300, seed=1, dtype=BF16)
    expected = wide(gate) / (1 + numpy.exp(-wide(gate))) * wide(up)
    return Comparison(patterns.swiglu, 3, (gate, up, numpy.zeros(300, BF16)), {2: expected}, 1e-2, 1e-3)


def heat_equation() -> Comparison:
    field = normal(32)
    previous, state = wide(field), wide(field)
    for _ in range(7):
        previous, state = state, state + 0.2 * (numpy.roll(state, 1) - 2 * state + numpy.roll(state, -1))
    arguments = (field, numpy.zeros((2, 32), F32), 0.2, 7, 32)
    return Comparison(patterns.heat_equation, 1, arguments, {1: numpy.stack([previous, state])})


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    "matmul f32": lambda: swizzled_matmul(F32, 1e-4),
    "matmul f16": lambda: swizzled_matmul(F16, 2e-2),
    "matmul bf16": lambda: swizzled_matmul(BF16, 1e-1),
    "split-k matmul": split_k_matmul,
    "matmul, bias, gelu": matmul_bias_gelu,
    "mixture of experts": mixture_of_experts,
    "grouped query attention": grouped_query_attention,
    "long softmax": long_softmax,
    "rms norm f32": lambda: rms_norm(F32, 1e-5),
    "rms norm bf16": lambda: rms_norm(BF16, 1e-2),
    "layer norm backward": layer_norm_backward,
    "group norm": group_norm,
    "cross entropy": cross_entropy,
    "embedding gradient": embedding_gradient,
    "histogram": histogram_of_bytes,
    "top k": top_k,
    "bitonic sort": bitonic_sort,
    "fft": fft,
    "convolution": convolution,
    "rotary embedding": rotary_embedding,
    "swiglu": swiglu,
    "heat equation": heat_equation,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMPARISONS)
def test_pattern_matches_numpy(name: str) -> None:
    COMPARISONS[name]().check()


def test_more_than_forty_kernels_are_compared_with_numpy() -> None:
    tables = (COMPARISONS, KERNELS)
    assert len({id(comparison().kernel) for table in tables for comparison in table.values()}) > 40


def test_decode_attention_in_parts_and_combined() -> None:
    length, depth, tile = 100, 32, 16
    q, k, v = normal(depth), normal(length, depth, seed=1), normal(length, depth, seed=2)
    parts = math.ceil(length / tile)
    partial, peaks, totals, out = (numpy.zeros(shape, F32) for shape in ((parts, depth), parts, parts, depth))
    tileir.launch(patterns.decode_part, parts, (q, k, v, partial, peaks, totals, 0.2, tile, depth))
    tileir.launch(patterns.decode_combine, 1, (partial, peaks, totals, out, 8, depth))
    expected = softmax(wide(k) @ wide(q) * 0.2) @ wide(v)
    numpy.testing.assert_allclose(out, expected, 1e-5, 1e-6)


def test_scan_across_blocks_in_two_launches() -> None:
    values = numpy.random.default_rng(1).integers(-9, 9, 500).astype("i4")
    sums, out = numpy.zeros(8, "i4"), numpy.zeros_like(values)
    tileir.launch(patterns.block_sums, 8, (values, sums, 64))
    tileir.launch(patterns.scan_with_offsets, 8, (values, sums, out, 64, 8))
    numpy.testing.assert_array_equal(out, numpy.cumsum(values))


@pytest.mark.parametrize("schedule", ["reverse", "random:1", "interleaved"])
@pytest.mark.parametrize("name", ["histogram", "mixture of experts", "matmul f32"])
def test_pattern_does_not_depend_on_the_order_of_tile_blocks(name: str, schedule: str) -> None:
    COMPARISONS[name]().check(schedule=schedule)
