"""Kernels of the corpus with what NumPy computes in their place: elementwise, memory, control flow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
from tests.bridge.comparison import Comparison
from tests.kernels import (
    atomics,
    control_flow,
    conversions,
    elementwise,
    gather_scatter,
    integer,
    math_functions,
    views,
)

F16, F32, F64, BF16 = numpy.float16, numpy.float32, numpy.float64, ml_dtypes.bfloat16
E4M3 = ml_dtypes.float8_e4m3fn


def normal(*shape: int, seed: int = 0, dtype: Any = F32) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def whole(*shape: int, low: int = -50, high: int = 50, seed: int = 0, dtype: Any = "i4") -> Any:
    return numpy.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def zeros(*shape: int, dtype: Any = F32) -> Any:
    return numpy.zeros(shape, dtype)


def wide(array: Any) -> Any:
    return array.astype(F64)


def softmax(x: Any) -> Any:
    weights = numpy.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


# --- elementwise ---


def add(dtype: Any) -> Comparison:
    a, b = whole(600, dtype=dtype), whole(600, seed=1, dtype=dtype)
    return Comparison(elementwise.add, 3, (a, b, zeros(600, dtype=dtype)), {2: a + b}, 0, 0)


def scaled_difference() -> Comparison:
    a, b = normal(30, 100), normal(30, 100, seed=1)
    arguments = (a, b, zeros(30, 100), 1.5)
    return Comparison(elementwise.scaled_difference, (2, 2), arguments, {2: (wide(a) - b) * 1.5 + 0.5})


def multiply_add() -> Comparison:
    a, b, c = (normal(128, seed=seed, dtype=F64) for seed in range(3))
    return Comparison(elementwise.multiply_add, 1, (a, b, c, zeros(128, dtype=F64)), {3: a * b + c}, 1e-12, 1e-12)


def comparisons() -> Comparison:
    a, b = whole(64, low=-3, high=3, dtype=F32), whole(64, low=-3, high=3, seed=1, dtype=F32)
    a[3] = numpy.nan
    # The mask is true wherever x != y, x is NaN, or not y < x: that is everywhere.
    return Comparison(elementwise.comparisons, 1, (a, b, zeros(64)), {2: a}, 0, 0)


def broadcasting() -> Comparison:
    row, column = normal(32), normal(16, seed=1)
    table = row[None, :] * column[:, None] + row[None, :]
    arguments = (row, column, zeros(16, 32))
    return Comparison(elementwise.broadcasting, 1, arguments, {2: numpy.maximum(table, 0)})


def integer_arithmetic() -> Comparison:
    a, b = whole(64), whole(64, low=1, seed=1)
    return Comparison(integer.arithmetic, 1, (a, b, zeros(64, dtype="i4")), {2: a * b - a + b * b + a % b})


def signed_arithmetic() -> Comparison:
    a, b = whole(64), whole(64, low=1, high=9, seed=1) * numpy.where(numpy.arange(64) % 2, 1, -1).astype("i4")
    expected = abs(a) + b - -(-a // b) * a + (a // b) * (a % b) + a // b
    return Comparison(integer.signed_only, 1, (a, b, zeros(64, dtype="i4")), {2: expected})


def sequences(dtype: Any) -> Comparison:
    lanes = numpy.arange(64)
    return Comparison(integer.sequences, 1, (zeros(64, dtype=dtype),), {0: lanes * (63 - lanes) + 5 + 3 * lanes}, 0, 0)


def gelu() -> Comparison:
    x = normal(2048)
    t = wide(x)
    expected = 0.5 * t * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)))
    return Comparison(math_functions.gelu, 2, (x, zeros(2048)), {1: expected}, 1e-5, 1e-6)


def softmax_of_rows() -> Comparison:
    x = normal(5, 300)
    return Comparison(math_functions.softmax, 5, (x, zeros(5, 300)), {1: softmax(wide(x))})


def bit_patterns() -> Comparison:
    x = normal(64)
    exponent = ((x.view("u4") >> 23) & 0xFF).astype("u2").view(F16)
    return Comparison(conversions.bit_patterns, 1, (x, zeros(64)), {1: -wide(x) + exponent})


# --- memory ---


def permuted_copy(dtype: Any) -> Comparison:
    source = whole(128, low=0, high=2, dtype=dtype)
    indices = numpy.random.default_rng(2).permutation(128).astype("i4")
    arguments = (source, indices, zeros(128, dtype=dtype))
    return Comparison(gather_scatter.permuted_copy, 2, arguments, {2: source})


def transposed_copy() -> Comparison:
    source = normal(20, 40)
    # The output is column by column in memory: strides are the caller's business.
    out = zeros(20, 40).T
    return Comparison(gather_scatter.transposed_copy, (2, 2), (source, out), {1: source.T}, 0, 0)


def embedding() -> Comparison:
    table, tokens = normal(30, 64, dtype=BF16), whole(24, low=0, high=30)
    arguments = (table, tokens, zeros(24, 64, dtype=BF16))
    return Comparison(gather_scatter.embedding, 3, arguments, {2: table[tokens]}, 0, 0)


def histogram() -> Comparison:
    values = numpy.random.default_rng(0).random(1000).astype(F32)
    expected = numpy.bincount((values * 16).astype(int), minlength=16)
    return Comparison(gather_scatter.histogram, 4, (values, zeros(16, dtype="i4")), {1: expected})


def atomic_accumulate(dtype: Any) -> Comparison:
    values = whole(256, low=-4, high=5, dtype=dtype)
    expected = wide(values).reshape(4, 64).sum(0)
    return Comparison(atomics.accumulate, 4, (values, zeros(64, dtype=dtype)), {1: expected}, 0, 0)


def critical_section() -> Comparison:
    arguments = (zeros(1, dtype="i4"), zeros(1), 1.5)
    return Comparison(atomics.critical_section, 8, arguments, {0: [0], 1: [12.0]}, 0, 0)


def reduce_into_view() -> Comparison:
    values = whole(64, 32, dtype=F32)
    expected = numpy.tile(values.reshape(4, 16, 32).sum(0), (1, 2))
    return Comparison(atomics.reduce_into_view, (4, 2), (values, zeros(16, 64)), {1: expected}, 0, 0)


def tiled_views() -> Comparison:
    a = normal(40, 70)
    return Comparison(views.tiled_views, 1, (a, zeros(40, 70)), {1: a}, 0, 0)


def overlapping_windows() -> Comparison:
    a = normal(20, 16)
    starts = range(0, 20, 3)
    padded = numpy.pad(a, ((0, 8), (0, 0)), constant_values=-numpy.inf)
    expected = zeros(16, 32)
    expected[2:10, 3:19] = numpy.max([padded[start : start + 8] for start in starts], 0)
    return Comparison(views.overlapping_windows, 1, (a, zeros(16, 32)), {1: expected}, 0, 0)


def slices() -> Comparison:
    a = normal(40, 32)
    expected = zeros(24, 8)
    expected[:20] = a[10:30, 16:24]
    out = zeros(24, 8)
    out[:] = 0
    return Comparison(views.slices, 1, (a, out, 10, 30), {1: expected}, 0, 0)


def shapes_and_strides() -> Comparison:
    base = zeros(20, 64)
    a = base[:, 8:40:2]
    return Comparison(views.shapes_and_strides, 1, (a, zeros(8, dtype="i4")), {1: [20, 16, 64, 2, 0, 0, 0, 0]})


def scalar_access() -> Comparison:
    a = whole(4, 3, 2, dtype="i2")
    arguments = (a, zeros(2, 3, 4, dtype="i2"))
    return Comparison(views.scalar_access, (2, 3, 4), arguments, {1: a.transpose(2, 1, 0) + 1})


def copy(array: Any) -> Comparison:
    return Comparison(views.copy, (3, 3), (array, numpy.zeros_like(array)), {1: array.copy()}, 0, 0)


# --- control flow ---


def branch_with_results(flag: int) -> Comparison:
    a = normal(64)
    scale, shift = {12: (2, a), 7: (3, -a), 1: (4, a * a)}[flag]
    return Comparison(control_flow.branch_with_results, 1, (a, zeros(64), flag), {1: wide(a) * scale + shift})


def early_return() -> Comparison:
    a = normal(256)
    a[64:128] = -abs(a[64:128])
    expected = a.copy()
    expected[64:128] *= -1
    expected[192:] = 0
    return Comparison(control_flow.early_return, 4, (a, zeros(256), 3), {1: expected}, 0, 0)


def while_with_break_and_continue() -> Comparison:
    a = abs(whole(64 * 9)).astype(F32)
    tiles = a.reshape(9, 64)
    expected = sum(tiles[step] for step in (1, 2, 4, 5, 7, 8))
    return Comparison(control_flow.while_with_break_and_continue, 1, (a, zeros(64), 8), {1: expected}, 0, 0)


def loop_carried_tuple() -> Comparison:
    a = normal(32)
    expected = wide(a) + sum(0.5**k for k in range(6)) + 6 + 0.5**6
    return Comparison(control_flow.loop_carried_tuple, 1, (a, zeros(32), 6), {1: expected})


def collatz() -> Comparison:
    def steps(value: int) -> int:
        count = 0
        while value != 1 and count < 100:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            count += 1
        return count

    arguments = (zeros(30, dtype="i4"), 100)
    return Comparison(control_flow.collatz, 30, arguments, {0: [steps(n) for n in range(1, 31)]})


def ranges() -> Comparison:
    total = sum(i * j for i in range(3, 20, 5) for j in range(i, 20))
    return Comparison(control_flow.ranges, 1, (zeros(1, dtype="i4"), 3, 20, 5), {0: [total]})


COMPARISONS: dict[str, Callable[[], Comparison]] = {
    **{f"add {dtype}": lambda dtype=dtype: add(dtype) for dtype in ("f2", "f4", "f8", "i4", "u1", BF16)},  # type: ignore[misc]
    "scaled difference": scaled_difference,
    "multiply, add": multiply_add,
    "comparisons": comparisons,
    "broadcasting": broadcasting,
    "integer arithmetic": integer_arithmetic,
    "signed arithmetic": signed_arithmetic,
    "sequences i2": lambda: sequences("i2"),
    "sequences f4": lambda: sequences("f4"),
    "gelu": gelu,
    "softmax": softmax_of_rows,
    "bit patterns": bit_patterns,
    "permuted copy u2": lambda: permuted_copy("u2"),
    "permuted copy bool": lambda: permuted_copy(bool),
    "transposed copy": transposed_copy,
    "embedding": embedding,
    "histogram": histogram,
    "atomic accumulation f2": lambda: atomic_accumulate("f2"),
    "atomic accumulation f8": lambda: atomic_accumulate("f8"),
    "critical section": critical_section,
    "reduction into a view": reduce_into_view,
    "tiled views": tiled_views,
    "overlapping windows": overlapping_windows,
    "slices": slices,
    "shapes and strides": shapes_and_strides,
    "scalar access": scalar_access,
    "copy": lambda: copy(normal(40, 40)),
    "copy by columns": lambda: copy(numpy.asfortranarray(normal(40, 40))),
    "copy off alignment": lambda: copy(normal(41, 41)[1:, 1:]),
    "branch 12": lambda: branch_with_results(12),
    "branch 7": lambda: branch_with_results(7),
    "branch 1": lambda: branch_with_results(1),
    "early return": early_return,
    "while": while_with_break_and_continue,
    "loop-carried tuple": loop_carried_tuple,
    "collatz": collatz,
    "ranges": ranges,
}
