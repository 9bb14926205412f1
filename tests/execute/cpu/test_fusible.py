"""Functions that are fused in the CPU backend give the interpreter's bits, for every argument."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.execute.cpu.runtime.target import host
from tileir.execute.cpu.vector import ufuncs
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import FUSIBLE

TILE = 4096
FUNCTIONS = sorted([declaration.mnemonic for declaration in REGISTRY.with_traits(FUSIBLE)])
needs_fma = pytest.mark.skipif(not host().has_fma, reason="this machine has no fused multiply-add: nothing is fused")


def program(function: str, element: str, count: int) -> str:
    tensor = f"tensor_view<{count}x{element}, strides=[1]>"
    view = f"partition_view<tile=({TILE}), {tensor}>"
    tile = f"tile<{TILE}x{element}>"
    return f"""
cuda_tile.module @m {{
  entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>) {{
    %i, %j, %l = get_tile_block_id : tile<i32>
    %at = make_tensor_view %a, shape = [{count}], strides = [1] : {tensor}
    %av = make_partition_view %at : {view}
    %bt = make_tensor_view %b, shape = [{count}], strides = [1] : {tensor}
    %bv = make_partition_view %bt : {view}
    %x, %t = load_view_tko weak %av[%i] : {view}, tile<i32> -> {tile}, token
    %y = {function} %x : {tile}
    %u = store_view_tko weak %y, %bv[%i] : {tile}, {view}, tile<i32> -> token
    return
  }}
}}"""


def evaluated(function: str, element: str, source: Any, backend: str) -> Any:
    kernel = tileir.compile(tileir.parse(program(function, element, source.size)), backend=backend)
    result = numpy.zeros_like(source)
    kernel.launch(source.size // TILE, (source, result))
    return result


def differences(source: Any, one: Any, other: Any) -> list[str]:
    """The arguments with different results, by their bits; one NaN is as good as another."""
    pattern = f"u{source.itemsize}"
    apart = (one.view(pattern) != other.view(pattern)) & ~((one != one) & (other != other))
    return [hex(bits) for bits in source.view(pattern)[apart].tolist()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_argument_of_sixteen_bits(function: str, element: str) -> None:
    dtype = numpy.float16 if element == "f16" else ml_dtypes.bfloat16
    source = numpy.arange(1 << 16, dtype=numpy.uint16).view(dtype)
    results = [evaluated(function, element, source, backend) for backend in ("cpu", "interpreter")]
    assert differences(source, *results) == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_sample_of_f32(function: str) -> None:
    # A prime step, so that all low bits occur, and arguments of ordinary size.
    spread = numpy.arange(0, 1 << 32, 16411, dtype=numpy.uint32).view(numpy.float32)
    ordinary = numpy.linspace(-105, 90, 300_000, dtype=numpy.float32)
    source = numpy.concatenate([spread, ordinary])
    source = source[: source.size // TILE * TILE]
    results = [evaluated(function, "f32", source, backend) for backend in ("cpu", "interpreter")]
    assert differences(source, *results) == []


@needs_fma
def test_fusible_functions_are_fused_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_fused(function: str, element: str) -> bool:
        kernel = tileir.compile(tileir.parse(program(function, element, TILE)), backend="cpu")
        return "llvm.fma" in kernel.dump("llvm")

    assert [is_fused("exp", element) for element in ("f16", "bf16", "f32", "f64")] == [True, True, True, False]
    assert not is_fused("tan", "f32")
    monkeypatch.setattr(ufuncs, "is_fusible", lambda function, element: False)
    assert not is_fused("exp", "f32")


@needs_fma
@pytest.mark.long
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_f32(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not fused is the interpreter's own program, operation by operation, and many times as fast."""
    # Not from the cache, which does not know what this test changes.
    monkeypatch.setenv("TILEIR_CACHE", "0")
    count = 1 << 22
    grid = count // TILE
    kernels = []
    for is_fusible in (ufuncs.is_fusible, lambda function, element: False):
        monkeypatch.setattr(ufuncs, "is_fusible", is_fusible)
        kernel = tileir.compile(tileir.parse(program(function, "f32", count)), backend="cpu")
        kernel.launch(grid, (numpy.zeros(count, numpy.float32), numpy.zeros(count, numpy.float32)))
        kernels.append(kernel)
    results = [numpy.zeros(count, numpy.float32) for _ in kernels]
    for start in range(0, 1 << 32, count):
        source = numpy.arange(start, start + count, dtype=numpy.uint32).view(numpy.float32)
        for kernel, result in zip(kernels, results, strict=True):
            kernel.launch(grid, (source, result))
        assert differences(source, *results) == []
