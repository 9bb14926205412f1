"""The kernels of `benchmarks/gpu_speed.py` and `benchmarks/triton_speed.py` compute what they say, in small sizes on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import ml_dtypes
import numpy
import pytest

import tileir
from tileir import types

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gpu_programs

    yield gpu_programs
    sys.modules.pop("gpu_programs", None)


@pytest.fixture
def more_programs(programs: ModuleType) -> Iterator[ModuleType]:
    import triton_programs

    yield triton_programs
    sys.modules.pop("triton_programs", None)


def halves(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(7).standard_normal(shape, numpy.float32).astype(numpy.float16)


def run(module: tileir.Operation, grid: tuple[int, ...], *arrays: numpy.ndarray) -> numpy.ndarray:
    tileir.compile(module).launch(grid, arrays)
    return arrays[-1].astype(numpy.float32)


def test_vector_add(programs: ModuleType) -> None:
    a, b = numpy.arange(1024, dtype=numpy.float32), numpy.ones(1024, numpy.float32)
    found = run(programs.vector_add(1024, 256), (4,), a, b, numpy.zeros(1024, numpy.float32))
    assert (found == a + b).all()
    module = programs.small_add()
    c = numpy.zeros(1000, numpy.float32)
    tileir.compile(module).launch((8,), (a[:1000], b[:1000], c, 1000))
    assert (c == a[:1000] + 1).all()


@pytest.mark.parametrize(("blocks", "persistent"), [(3, True), (8, True), (8, False)])
def test_matmul_by_few_tile_blocks(programs: ModuleType, blocks: int, persistent: bool) -> None:
    a, b = halves(128, 128), halves(128, 128)
    # Two groups of two rows of tiles.
    module = programs.matmul(128, 32, 64, 32, group=2, persistent=persistent)
    found = run(module, (blocks,), a, b, numpy.zeros((128, 128), numpy.float16))
    assert found == pytest.approx(a.astype(numpy.float32) @ b.astype(numpy.float32), abs=0.05)


@pytest.mark.parametrize(("blocks", "persistent"), [(4, True), (10, False)])
def test_softmax_and_layer_norm(programs: ModuleType, blocks: int, persistent: bool) -> None:
    x, weight, bias = halves(10, 256), halves(1, 256), halves(1, 256)
    wide = x.astype(numpy.float64)
    powers = numpy.exp(wide - wide.max(1, keepdims=True))
    found = run(programs.softmax(10, 256, persistent), (blocks,), x, numpy.zeros_like(x))
    assert found == pytest.approx(powers / powers.sum(1, keepdims=True), abs=1e-3)
    normal = (wide - wide.mean(1, keepdims=True)) / numpy.sqrt(wide.var(1, keepdims=True) + 1e-5)
    found = run(programs.layer_norm(10, 256, persistent), (blocks,), x, weight, bias, numpy.zeros_like(x))
    assert found == pytest.approx(normal * weight + bias, abs=0.02)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(programs: ModuleType, causal: bool) -> None:
    heads, length, depth = 2, 128, 32
    q, k, v = numpy.split(halves(3 * heads, length, depth), 3)
    found = run(programs.attention(heads, length, depth, 64, 32, causal), (2, heads), q, k, v, numpy.zeros_like(q))
    wide = [each.astype(numpy.float64) for each in (q, k, v)]
    score = wide[0] @ wide[1].transpose(0, 2, 1) / numpy.sqrt(depth)
    if causal:
        score = numpy.where(numpy.tri(length, dtype=bool), score, -numpy.inf)
    weight = numpy.exp(score - score.max(2, keepdims=True))
    assert found == pytest.approx(weight / weight.sum(2, keepdims=True) @ wide[2], abs=5e-3)


def test_matmul_of_narrow_factors(programs: ModuleType) -> None:
    a, b = [halves(64, 64).astype(ml_dtypes.float8_e4m3fn) for _ in range(2)]
    module = programs.matmul(64, 32, 32, 32, 2, types.f8E4M3FN, types.f16, transposed=True)
    found = run(module, (2,), a, b, numpy.zeros((64, 64), numpy.float16))
    assert found == pytest.approx(a.astype(numpy.float32) @ b.astype(numpy.float32).T, abs=0.05)


def test_what_only_moves(more_programs: ModuleType) -> None:
    x = numpy.arange(1024, dtype=numpy.float32)
    assert (run(more_programs.copy(1024, 256), (4,), x, numpy.zeros_like(x)) == x).all()
    x = halves(64, 64)
    assert (run(more_programs.transpose(64, 32, 16), (4, 2), x, numpy.zeros_like(x)) == x.T).all()


@pytest.mark.parametrize(("blocks", "persistent"), [(4, True), (10, False)])
def test_rms_norm(more_programs: ModuleType, blocks: int, persistent: bool) -> None:
    x, weight = halves(10, 256), halves(1, 256)
    wide = x.astype(numpy.float64)
    expected = wide / numpy.sqrt((wide * wide).mean(1, keepdims=True) + 1e-5) * weight
    found = run(more_programs.rms_norm(10, 256, persistent), (blocks,), x, weight, numpy.zeros_like(x))
    assert found == pytest.approx(expected, abs=0.02)
