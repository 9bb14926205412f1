"""Recordings of the examples and of cuTile kernels against what an observer sees of a plain launch."""

from __future__ import annotations

import copy
import importlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.recording.reference import Reference, agree

import tileir
from tileir.bridge.recording import record
from tileir.execute.recording.recording import Recording

EXAMPLES = Path(__file__).parents[3] / "examples"
SCHEDULES = ("forward", "reverse", "random:5", "interleaved")


def arrays_in(arguments: Any) -> list[Any]:
    found: list[Any] = []
    for argument in arguments:
        if isinstance(argument, numpy.ndarray):
            found.append(argument)
        elif isinstance(argument, (list, tuple)):
            found += arrays_in(argument)
    return found


def compare(launch: Any, arguments: Any, record_launch: Any) -> Recording:
    """Record a launch, and launch again with an observer, in the same arrays: both agree."""
    arrays = arrays_in(arguments)
    before = copy.deepcopy(arrays)
    recording: Recording = record_launch()
    assert not recording.failure
    recorded = copy.deepcopy(arrays)
    for array, old in zip(arrays, before, strict=True):
        array[...] = old
    reference = Reference()
    launch(observer=reference)
    for array, other in zip(arrays, recorded, strict=True):
        assert array.tobytes() == other.tobytes()
    agree(recording, reference)
    return recording


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "attention", "histogram", "racy"])
def test_a_recording_of_an_example_is_what_an_observer_sees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = getattr(importlib.import_module("run_all"), name)()
    kernel = tileir.compile(EXAMPLES / f"{name}.mlir", backend="interpreter")
    schedules = SCHEDULES if name in ("vector_add", "histogram", "racy") else ("random:5", "interleaved")
    given = [*example.inputs, example.output, *example.scalars]
    for schedule in schedules:
        example.output[...] = 0
        recording = compare(
            partial(kernel.launch, example.grid, given, schedule=schedule),
            given,
            partial(record, kernel, example.grid, given, schedule=schedule),
        )
        assert bool(recording.findings) == (name == "racy")


def comparisons() -> dict[str, Any]:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    from tests.bridge import kernel_comparisons, product_comparisons

    return {**kernel_comparisons.COMPARISONS, **product_comparisons.COMPARISONS}


def check_kernel(name: str, schedule: str) -> None:
    comparison = comparisons()[name]()
    kernel, grid, arguments = comparison.kernel, comparison.grid, comparison.arguments
    options: dict[str, Any] = {"schedule": schedule, "output": lambda text: None}
    compare(
        partial(tileir.launch, kernel, grid, arguments, backend="interpreter", **options),
        arguments,
        partial(record, kernel, grid, arguments, **options),
    )


@pytest.mark.long
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_recordings_of_cutile_kernels_are_what_an_observer_sees(schedule: str) -> None:
    for name in comparisons():
        check_kernel(name, schedule)


@pytest.mark.parametrize(
    "name", ["critical section", "slices", "collatz", "early return", "histogram", "causal attention", "embedding"]
)
def test_a_recording_of_a_cutile_kernel_is_what_an_observer_sees(name: str) -> None:
    check_kernel(name, "interleaved")
