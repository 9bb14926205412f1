"""The kernels that a module launched, judged as programs."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.judging.kernels.judged import DOUBLING, example, judged, outcomes

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

RUN = """
def run(x):
    out = numpy.empty_like(x)
    ct.launch(None, (2,), double, (x, out))
    return out
"""
GOOD = DOUBLING + RUN


@pytest.mark.long
def test_a_module_that_is_too_slow_fails_by_its_estimated_time() -> None:
    steps = example("softmax_slow", trials=1, cost=("h200",))
    assert outcomes(steps) == {"cost h200": "failed"}
    step = steps["cost h200"]
    assert step.cause == "slower than what is required"
    assert step.message.startswith("estimated at ")
    figures: Any = step.details
    assert figures["speedup"] < 0.5
    assert figures["speedup"] == pytest.approx(figures["baseline_seconds"] / figures["seconds"], rel=1e-3)


def test_the_plans_word_on_speed_counts_before_the_references() -> None:
    baseline = DOUBLING + RUN.replace("run", "baseline") + "speedup = 100\n"
    assert outcomes(judged(GOOD, baseline, cost=("h200", "b200"), speedup=0.9)) == {}
    assert outcomes(judged(GOOD, baseline, cost=("h200",))) == {"cost h200": "failed"}


def test_without_a_baseline_no_speedup_can_be_asked_for() -> None:
    assert list(judged(GOOD, cost=("h200",))["cost h200"].details) == ["seconds"]
    step = judged(GOOD, cost=("h200",), speedup=1.0)["cost h200"]
    assert (step.outcome, step.message) == ("refused", "there is no baseline that launches kernels")


def test_engines_and_optimization_levels_give_the_same() -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed: pip install 'tileir[cpu]'")
    steps = judged(
        GOOD,
        backends=("interpreter", "cpu"),
        optimize=3,
        time=True,
        reference=DOUBLING + RUN.replace("run", "baseline"),
    )
    assert outcomes(steps) == {}
    assert {"optimize", "compare interpreter", "time cpu"} <= set(steps)
    assert steps["time cpu"].measured["speedup"] == pytest.approx(
        steps["time cpu"].measured["baseline_seconds"] / steps["time cpu"].measured["seconds"]
    )
    assert steps["run"].measured["seconds"] > 0
    assert steps["run"].measured["baseline_seconds"] > 0


def test_the_sanitizer_looks_at_the_launches() -> None:
    racy = GOOD.replace("(place,), ct.load(x, (place,), (64,)) * 2", "(place * 0,), ct.load(x, (place,), (64,)) * 2")
    steps = judged(racy, sanitize=True)
    assert steps["sanitize"].outcome == "failed"
    assert steps["sanitize"].cause.startswith("race: two tile blocks write the same memory")
    assert "8 | ct.store(out, (place * 0,), ct.load(x, (place,), (64,)) * 2)" in steps["sanitize"].message
    assert judged(GOOD, sanitize=True)["sanitize"].outcome == "passed"


def test_arrays_that_share_memory_share_it_when_a_launch_is_done_again() -> None:
    within = GOOD.replace("out = numpy.empty_like(x)", "out = x.copy()").replace(
        "double, (x, out)", "double, (out, out)"
    )
    # cuTile compiles a kernel for arrays that do not overlap.
    assert judged(within, sanitize=True)["sanitize"].cause.startswith("unordered: no token orders")


def test_launches_that_are_forged_are_no_launches() -> None:
    forged = GOOD + "import tileir.judging.kernels.launches as l\nl.dump = lambda value: b'nothing'\n"
    step = judged(forged, sanitize=True)["sanitize"]
    assert (step.outcome, step.message) == ("failed", "this is no file of values")


def test_kernels_are_compiled_for_targets() -> None:
    from tileir.execute.gpu.tileiras.tool import why_missing

    if why_missing():
        pytest.skip(why_missing())
    steps = judged(GOOD, targets=("sm_90",))
    assert outcomes(steps) == {}
    figures: Any = steps["compile sm_90"].details["kernels"]["double"]
    assert figures["registers"] > 0
