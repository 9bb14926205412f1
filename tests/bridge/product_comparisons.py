"""Kernels of the corpus with what NumPy computes in their place: products, reductions, shapes, narrow floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
from tests.bridge.comparison import Comparison
from tests.bridge.kernel_comparisons import BF16, E4M3, F16, F32, F64, normal, softmax, whole, wide, zeros
from tests.kernels import (
    low_precision,
    matmul,
    parameters,
    reductions,
    scans,
    shapes,
)


def matrix_product() -> Comparison:
    a, b = normal(50, 40, dtype=F16), normal(40, 30, seed=1, dtype=F16)
    arguments = (a, b, zeros(50, 30), 16, 16, 16)
    return Comparison(matmul.matmul, (4, 2), arguments, {2: wide(a) @ wide(b)}, 1e-4, 1e-4)


def matmul_of_transposed() -> Comparison:
    a, b = normal(64, 96, dtype=BF16), normal(64, 96, seed=1, dtype=BF16)
    arguments = (a, b, zeros(64, 64, dtype=BF16))
    return Comparison(matmul.matmul_of_transposed, 1, arguments, {2: wide(a) @ wide(b).T}, 1e-2, 1e-1)


def persistent_matmul() -> Comparison:
    a, b = whole(128, 64, dtype=F32), whole(64, 192, seed=1, dtype=F32)
    return Comparison(matmul.persistent_matmul, 4, (a, b, zeros(128, 192)), {2: a @ b}, 1e-5, 1e-3)


def integer_matmul(left: Any, right: Any) -> Comparison:
    a, b = whole(32, 64, low=0, dtype=left), whole(64, 32, seed=1, low=0, dtype=right)
    expected = a.astype(int) @ b.astype(int)
    return Comparison(matmul.integer_matmul, 1, (a, b, zeros(32, 32, dtype="i4")), {2: expected})


def attention(causal: bool) -> Comparison:
    q, k, v = (normal(128, 32, seed=seed, dtype=F16) for seed in range(3))
    score = wide(q) @ wide(k).T * 0.2
    if causal:
        score = numpy.where(numpy.tril(numpy.ones((128, 128), bool)), score, -numpy.inf)
    arguments = (q, k, v, zeros(128, 32, dtype=F16), 0.2, causal)
    return Comparison(matmul.attention, 2, arguments, {3: softmax(score) @ wide(v)}, 5e-3, 5e-3)


def layer_norm() -> Comparison:
    x, weight, bias = normal(3, 1024, dtype=BF16), normal(1024, seed=1), normal(1024, seed=2)
    t = wide(x)
    expected = (t - t.mean(1, keepdims=True)) / numpy.sqrt(t.var(1, keepdims=True) + 1e-5) * weight + bias
    arguments = (x, weight, bias, zeros(3, 1024, dtype=BF16), 1e-5)
    return Comparison(reductions.layer_norm, 3, arguments, {3: expected}, 1e-2, 1e-2)


def own_reduction() -> Comparison:
    a = normal(16, 32)
    expected = numpy.take_along_axis(a, abs(a).argmax(1)[:, None], 1)[:, 0]
    return Comparison(reductions.own_reduction, 1, (a, zeros(16)), {1: expected}, 0, 0)


def moments() -> Comparison:
    a = normal(16, 32)
    expected = wide(a).mean(1) + wide(a).var(1) * 32
    return Comparison(reductions.moments, 1, (a, zeros(16)), {1: expected}, 1e-5, 1e-5)


def positions_of_extremes() -> Comparison:
    a = normal(16, 32)
    expected = a.argmax(1) + a.argmin(1) + a.argmax()
    return Comparison(reductions.positions_of_extremes, 1, (a, zeros(16, dtype="i4")), {1: expected})


def all_and_any() -> Comparison:
    a = normal(8, 64)
    a[1], a[2] = 1, -1
    expected = numpy.where((a > 0).all(1), 2, (a > 0).any(1))
    return Comparison(reductions.all_and_any, 1, (a, zeros(8, dtype="i4")), {1: expected})


def running_sum(dtype: Any) -> Comparison:
    a = whole(16, 32, low=0, dtype=dtype)
    expected = a.cumsum(1) + a[::-1].cumsum(0)[::-1]
    return Comparison(scans.running_sum, 1, (a, zeros(16, 32, dtype=dtype)), {1: expected}, 0, 0)


def running_maximum() -> Comparison:
    a = normal(128, dtype=F16)
    return Comparison(scans.running_maximum, 1, (a, zeros(128, dtype=F16)), {1: numpy.maximum.accumulate(a)}, 0, 0)


def scan_across_tiles() -> Comparison:
    a = whole(200, dtype=F32)
    return Comparison(scans.scan_across_tiles, 1, (a, zeros(200)), {1: a.cumsum()}, 0, 0)


# --- shapes and parameters ---


def permutations() -> Comparison:
    a = normal(4, 8, 16)
    t = a.transpose(2, 0, 1).swapaxes(0, 2).reshape(16, 2, 16).transpose(1, 0, 2).reshape(2, -1)
    return Comparison(shapes.permutations, 1, (a, zeros(256, 2)), {1: t.T}, 0, 0)


def joins_and_parts() -> Comparison:
    a, b = whole(16, 16, dtype=F32), whole(16, 16, seed=1, dtype=F32)
    return Comparison(shapes.joins_and_parts, 1, (a, b, zeros(16, 8)), {2: b[:, :8] + a[:, :8]}, 0, 0)


def insertions() -> Comparison:
    a = normal(32, 32)
    expected = a.copy()
    expected[0:8, 16:32] = 1.5
    expected[3, 3] = 1
    return Comparison(shapes.insertions, 1, (a, zeros(32, 32)), {1: expected}, 0, 0)


def large_table() -> Comparison:
    return Comparison(shapes.large_table, 1, (zeros(128),), {0: shapes.WAVE}, 0, 0)


def sum_of_list() -> Comparison:
    arrays = [whole(16, 16, seed=seed, dtype=F16) for seed in range(3)]
    return Comparison(parameters.sum_of_list, 1, (arrays, zeros(16, 16)), {1: sum(wide(a) for a in arrays)}, 0, 0)


def gather_from_list() -> Comparison:
    arrays = [whole(20 + seed, seed=seed, dtype="i8") for seed in range(3)]
    arguments = (arrays, 2, zeros(16, dtype="i8"))
    return Comparison(parameters.gather_from_list, 1, arguments, {2: arrays[2][:16]})


def tuple_of_arrays() -> Comparison:
    left, right = normal(32), normal(32, seed=1)
    arguments = ((left, right), (2.0, 0.25), zeros(32))
    return Comparison(parameters.tuple_of_arrays, 1, arguments, {2: left * 2 + right * F32(0.25)})


def wide_scalars() -> Comparison:
    expected = zeros(4, dtype=F64)
    expected[3] = 3.25
    return Comparison(parameters.wide_scalars, 1, (zeros(4, dtype=F64), 3, 0.25), {0: expected}, 0, 0)


def constants(flag: bool) -> Comparison:
    value = F32(0.3 if flag else -0.3)
    return Comparison(parameters.constants, 1, (zeros(32), 32, flag, 0.3), {0: numpy.full(32, value)}, 0, 0)


# --- narrow floats ---


def dequantize() -> Comparison:
    a = normal(16, 64, dtype=E4M3)
    return Comparison(low_precision.dequantize, 1, (a, zeros(16, 64, dtype=F16)), {1: a}, 0, 0)


def quantize() -> Comparison:
    a = normal(16, 64, dtype=BF16)
    t = a.astype(F32)
    scaled = t * (F32(448.0) / abs(t).max(1, keepdims=True))
    arguments = (a, zeros(16, 64, dtype=E4M3), 448.0)
    return Comparison(low_precision.quantize, 1, arguments, {1: scaled.astype(E4M3)}, 0, 0)


def fp8_matmul() -> Comparison:
    a, b = normal(32, 128, dtype=E4M3), normal(128, 32, seed=1, dtype=E4M3)
    arguments = (a, b, zeros(32, 32), False)
    return Comparison(low_precision.fp8_matmul, 1, arguments, {2: wide(a) @ wide(b)}, 1e-4, 1e-4)


def scaled_matmul() -> Comparison:
    scales = ml_dtypes.float8_e8m0fnu
    a, b = normal(32, 64, dtype=E4M3), normal(64, 32, seed=1, dtype=E4M3)
    a_scale = (2.0 ** whole(32, 2, low=-3, high=4)).astype(scales)
    b_scale = (2.0 ** whole(2, 32, low=-3, high=4, seed=1)).astype(scales)
    expected = (wide(a) * wide(a_scale).repeat(32, 1)) @ (wide(b) * wide(b_scale).repeat(32, 0))
    arguments = (a, a_scale, b, b_scale, zeros(32, 32), 64, 32)
    return Comparison(low_precision.scaled_matmul, 1, arguments, {4: expected}, 1e-4, 1e-3)


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    "matmul": matrix_product,
    "matmul of transposed": matmul_of_transposed,
    "persistent matmul": persistent_matmul,
    "integer matmul": lambda: integer_matmul("i1", "i1"),
    "integer matmul mixed": lambda: integer_matmul("u1", "i1"),
    "attention": lambda: attention(False),
    "causal attention": lambda: attention(True),
    "layer norm": layer_norm,
    "own reduction": own_reduction,
    "moments": moments,
    "positions of extremes": positions_of_extremes,
    "all and any": all_and_any,
    "running sum i4": lambda: running_sum("i4"),
    "running sum f8": lambda: running_sum("f8"),
    "running maximum": running_maximum,
    "scan across tiles": scan_across_tiles,
    "permutations": permutations,
    "joins and parts": joins_and_parts,
    "insertions": insertions,
    "large table": large_table,
    "sum of list": sum_of_list,
    "gather from list": gather_from_list,
    "tuple of arrays": tuple_of_arrays,
    "wide scalars": wide_scalars,
    "constants true": lambda: constants(True),
    "constants false": lambda: constants(False),
    "dequantize": dequantize,
    "quantize": quantize,
    "fp8 matmul": fp8_matmul,
    "scaled matmul": scaled_matmul,
}
