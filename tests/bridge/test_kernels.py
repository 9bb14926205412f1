"""The kernels of the corpus, launched here and compared with NumPy."""

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

from tests.kernels import (
    atomics,
    control_flow,
    conversions,
    elementwise,
    gather_scatter,
    integer,
    low_precision,
    math_functions,
    matmul,
    parameters,
    printing_and_asserts,
    reductions,
    scans,
    shapes,
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


# --- matrix products, reductions, scans ---


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


@pytest.mark.parametrize("name", COMPARISONS)
def test_kernel_matches_numpy(name: str) -> None:
    COMPARISONS[name]().check()


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("dtype", [numpy.float16, numpy.float32, numpy.float64])
def test_every_float_but_zero_is_true(dtype: Any, backend: str) -> None:
    # As NVIDIA's own tests of `astype(bool)` have it, and `bool` of Python.
    x = numpy.zeros(64, dtype)
    x[:8] = [-20.7, 0.3, numpy.nan, -0.0, numpy.inf, -numpy.inf, numpy.finfo(dtype).smallest_subnormal, 1.0]
    found = numpy.zeros(64, numpy.float32)
    tileir.launch(conversions.booleans, 1, (x, found), backend)
    assert found.tolist() == [3.0 * bool(value) for value in x.tolist()]


def test_lists_are_walked_together() -> None:
    sources = [normal(length) for length in (100, 30, 64)]
    targets = [numpy.zeros_like(source) for source in sources]
    tileir.launch(parameters.grouped_copy, 2, (sources, targets))
    for source, target in zip(sources, targets, strict=True):
        numpy.testing.assert_array_equal(target, source)


def test_kernel_without_parameters_runs() -> None:
    tileir.launch(control_flow.empty, 3)


def test_printing_goes_to_the_output_given() -> None:
    lines: list[str] = []
    tileir.launch(printing_and_asserts.print_values, 1, (whole(4, dtype=F32), 3), output=lines.append)
    assert "count 3 of" in "".join(lines)
    assert 'no arguments: 100%, "quoted"' in "".join(lines)


def test_failed_assert_names_the_line_of_the_kernel() -> None:
    with pytest.raises(tileir.ExecutionError, match="bound must be positive") as caught:
        tileir.launch(printing_and_asserts.assert_values, 1, (numpy.full(64, -9, F32), -1.0))
    report = str(caught.value)
    assert "printing_and_asserts.py:" in report
    assert 'the line is: ct.assert_(bound > 0, "bound must be positive")' in report
