"""Failures of Python modules in the kernels that they launch, reduced to small programs."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from tests.judging.kernels.judged import DOUBLING
from tests.judging.kernels.planted import PlantedJudge
from tests.judging.report.planted_engine import CRASHING_MINIMUM, WRONG_PRODUCT, planted

import tileir
from tileir.judging.model import JudgePlan, ProcessLimits, SweepInput
from tileir.judging.reductions import FailingLaunch, failing_launch, reduce_failures
from tileir.judging.report.contents import StepFailure
from tileir.judging.report.suspects import features_of
from tileir.judging.server_pool.pool import judge_chunk

if not hasattr(os, "fork"):
    pytest.skip("children are forked here", allow_module_level=True)
pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

PLAN = JudgePlan(backends=("interpreter", "planted"), trials=1)
WATCHED = JudgePlan(backends=("interpreter",), sanitize=True, trials=1, limits=ProcessLimits(seconds=60))
GOOD = (
    DOUBLING
    + """
def run(x):
    out = numpy.zeros_like(x)
    ct.launch(None, (2,), double, (x, out))
    return out
"""
)
LARGER = GOOD.replace("(64,)) * 2)", "(64,)) * 2 - ct.minimum(ct.load(x, (place,), (64,)), 1e30) * 0)")
RACY = GOOD.replace("(place,), ct.load", "(place * 0,), ct.load")
"""Also wrong: the second half of its results is missing."""


@pytest.mark.long
def test_a_planted_miscompile_is_reduced_to_its_operation(tmp_path: Path) -> None:
    judge = PlantedJudge()
    with planted(WRONG_PRODUCT):
        path = judge.swept(tmp_path / "r.sqlite", PLAN, GOOD)
        (kind,) = tileir.sweeps.report(path).kinds
        assert kind.steps == ["compare planted"]
        (found,) = reduce_failures(path, PLAN, judge=judge)
        assert judge.asked.count("launches") == 1
        (verdict,) = judge([SweepInput("reproducer", "program", found.content)], PLAN)
        assert (verdict.outcome, verdict.steps[-1].name) == ("failed", "compare planted")
        assert reduce_failures(path, PLAN, judge=judge) == []
    assert found.content.startswith(b"// tileir: --grid 1 --arg ")
    module = tileir.load(found.content)
    assert "mulf" in features_of(module) and len(list(module.walk())) <= 10
    (kind,) = tileir.sweeps.report(path).kinds
    assert kind.reproducer and 0 < kind.reproducer_operations <= 10


def test_elements_without_which_nothing_fails_are_kept() -> None:
    """The mistake shows where a key is found, and none of the arrays that are made has it."""
    chosen = "tile = ct.load(x, (place,), (64,))\n    keyed = ct.load(keys, (place,), (64,)) == 123456\n    "
    source = (
        GOOD.replace("double(x, out)", "double(x, keys, out)")
        .replace("ct.store(", f"{chosen}ct.store(")
        .replace("ct.load(x, (place,), (64,)) * 2)", "ct.where(keyed, tile * 2, tile))")
        .replace("double, (x, out)", "double, (x, numpy.full(100, 123456, 'i4'), out)")
    )
    item = SweepInput("keyed.py", "kernels", source.encode())
    with planted(WRONG_PRODUCT):
        (verdict,) = PlantedJudge()([item], PLAN)
        (step,) = [each for each in verdict.steps if each.outcome != "passed"]
        failure = StepFailure(step.name, step.outcome, step.cause, step.message)
        found = failing_launch(item, failure, PLAN, lambda item, plan: PlantedJudge()([item], plan)[0], math.inf)
    assert isinstance(found, FailingLaunch) and found.failure.step == "compare planted"
    assert b"--arg signed:f32:100 " in found.content
    assert b"--arg values:i32:123456,123456," in found.content


def test_a_crash_of_an_engine_is_reduced_and_goes_on_where_it_was(tmp_path: Path) -> None:
    judge = PlantedJudge()
    with planted(CRASHING_MINIMUM):
        path = judge.swept(tmp_path / "r.sqlite", PLAN, LARGER)
        (first,) = reduce_failures(path, PLAN, seconds=0, judge=judge)
        assert first.cluster.outcome == "crashed" and first.note.endswith("not finished")
        judge.asked.clear()
        (second,) = reduce_failures(path, PLAN, judge=judge)
        # The module is not run again.
        assert set(judge.asked) == {"program"}
        (verdict,) = judge([SweepInput("reproducer", "program", second.content)], PLAN)
        assert verdict.outcome == "crashed" and verdict.cause == second.cluster.cause
    assert len(second.content) < len(first.content) and not second.note.endswith("not finished")
    assert {"minf"} <= features_of(tileir.load(second.content))


def test_what_the_sanitizer_finds_is_reduced_although_the_module_is_wrong_too(tmp_path: Path) -> None:
    """In confined processes, as a sweep does it."""
    source = tmp_path / "racy.py"
    source.write_text(RACY)
    path = str(tmp_path / "r.sqlite")
    tileir.sweep([str(source)], path, plan=WATCHED)
    assert {kind.steps[0]: kind.note for kind in tileir.sweeps.report(path).kinds} == {"correct": "", "sanitize": ""}
    (found,) = reduce_failures(path, WATCHED, seconds=2)
    assert found.cluster.verb == "sanitize" and found.note.startswith("reduced to ")
    (verdict,) = judge_chunk([SweepInput("reproducer", "program", found.content)], JudgePlan(sanitize=True))
    assert verdict.cause == found.cluster.cause and verdict.cause.startswith("race: ")
    kinds = {kind.steps[0]: kind for kind in tileir.sweeps.report(path).kinds}
    assert kinds["sanitize"].reproducer
    words = "a Python module, which is not reduced: it fails in 'correct', not in a kernel that it launched"
    assert (kinds["correct"].reproducer, kinds["correct"].note) == ("", words)


def test_what_fails_in_the_module_is_left_with_words(tmp_path: Path) -> None:
    judge = PlantedJudge()
    wrong = GOOD.replace("return out", "return out + 1")
    path = judge.swept(tmp_path / "r.sqlite", WATCHED, wrong, "import nothing_of_this_name\n")
    found = reduce_failures(path, WATCHED, judge=judge)
    assert all(reduced.content is None for reduced in found)
    steps = sorted([reduced.note.partition("'")[2].partition("'")[0] for reduced in found])
    assert steps == ["correct", "inputs"]
    assert judge.asked == []


def test_launches_that_are_forged_become_no_program(tmp_path: Path) -> None:
    judge = PlantedJudge()
    forged = GOOD + "import tileir.judging.kernels.launches as l\nl.dump = lambda value: b'nothing'\n"
    path = judge.swept(tmp_path / "r.sqlite", WATCHED, forged)
    (found,) = reduce_failures(path, WATCHED, judge=judge)
    assert found.content is None
    assert found.note == "not reduced: no launch can be written as a program (this is no file of values)"
    assert judge.asked == ["launches"]


def test_being_slow_is_no_failure_of_a_program() -> None:
    assert not StepFailure("cost h200", "failed", "", "").is_of_launch
    assert StepFailure("cost h200", "crashed", "", "").is_of_launch
    # cuTile refuses the module, and the assembler a kernel that was launched.
    assert not StepFailure("compile", "failed", "", "").is_of_launch
    assert StepFailure("compile sm_90", "failed", "", "").is_of_launch
