"""The examples and cuTile kernels, value by value, on the CPU backend and in f64."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.execute.recording.test_whole_launches import comparisons

import tileir
from tileir.analyze.comparing.compare import compare
from tileir.analyze.comparing.comparison import Comparison
from tileir.bridge.recording import record
from tileir.execute.recording.recording import Recording

EXAMPLES = Path(__file__).parents[3] / "examples"


def example_of(name: str) -> Any:
    return getattr(importlib.import_module("run_all"), name)()


def recorded(name: str, example: Any, **options: Any) -> Recording:
    # Products of matrices are the same on every engine only so.
    kernel = tileir.compile(EXAMPLES / f"{name}.mlir", backend="interpreter", exact=True)
    given = [*example.inputs, example.output.copy(), *example.scalars]
    return record(kernel, example.grid, given, **options)


def same_values(comparison: Comparison, blocks: list[int]) -> None:
    for block in blocks:
        found = comparison.block(block)
        assert not found.total, comparison.describe(next(iter(found)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "attention", "histogram"])
def test_an_example_has_the_same_values_on_the_cpu_engine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite: pip install 'tileir[cpu]'")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    recording = recorded(name, example_of(name))
    comparison = compare(recording, "cpu")
    same_values(comparison, [0, len(recording.blocks) - 1])
    assert not comparison.array_differences()


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "matmul", "attention"])
def test_no_value_of_an_example_is_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    comparison = compare(recorded(name, example_of(name)))
    found = comparison.block(0)
    assert found.total and found.first is None, comparison.describe(found.first or found.differences[0])


@pytest.mark.parametrize("schedule", ["reverse", "random:3", "interleaved"])
def test_a_comparison_does_not_depend_on_the_order_of_tile_blocks(
    schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = example_of("softmax")
    plain, other = recorded("softmax", example), recorded("softmax", example, schedule=schedule, memory_limit=1 << 21)
    for block in (1, 0):
        left, right = compare(plain).block(block), compare(other).block(block)
        assert left.total and [repr(one) for one in left] == [repr(one) for one in right]
    assert compare(plain, other).first is None


@pytest.mark.long
def test_cutile_kernels_have_the_same_values_on_the_cpu_engine_and_more_digits_in_f64() -> None:
    pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite: pip install 'tileir[cpu]'")
    compared = 0
    for make in comparisons().values():
        comparison = make()
        given = comparison.kernel, comparison.grid, comparison.arguments
        recording = record(*given, output=lambda text: None)
        try:
            compare(recording, "f64").block(0)
        except tileir.LaunchError as error:
            assert "no value has fewer digits" in str(error)
        on_cpu = compare(recording, "cpu")
        assert on_cpu.block(0).total == 0 or any("Products" in note for note in on_cpu.notes), make
        compared += 1
    assert compared > 20
