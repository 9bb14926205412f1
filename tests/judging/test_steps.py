"""The steps of a plan, each with what makes it pass and what makes it fail."""

from __future__ import annotations

import json

import numpy
import pytest
from tests.judging.programs import ADDITION, program

from tileir.execute.errors import LaunchError, converted
from tileir.execute.gpu.tileiras.tool import installed_assembler
from tileir.ir.types import F32
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput, Verdict
from tileir.judging.server_pool.pool import judge_chunk
from tileir.judging.verdicts import launches as subjects
from tileir.judging.verdicts.launches import Result, Results, compare_results, open_operations
from tileir.judging.verdicts.work import outcome_of

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")


def judged(item: SweepInput, **plan) -> Verdict:
    (verdict,) = judge_chunk([item], JudgePlan(**plan))
    return verdict


def step_of(verdict: Verdict, name: str) -> JudgeStage:
    return next(step for step in verdict.steps if step.name == name)


def stated(count: int) -> SweepInput:
    return program(f"// tileir: --grid 1 --arg iota:f32:{count} --arg zeros:f32:64\n{ADDITION}")


def test_every_step_of_a_plan_is_done_in_order() -> None:
    verdict = judged(program(ADDITION), optimize=3, backends=("interpreter", "cpu"), sanitize=True)
    assert [(step.name, step.outcome) for step in verdict.steps] == [
        ("check", "passed"),
        ("optimize", "passed"),
        ("run interpreter", "passed"),
        ("compare optimized", "passed"),
        ("run cpu", "passed"),
        ("compare cpu", "passed"),
        ("sanitize", "passed"),
    ]


def test_a_seed_is_run_with_its_own_arguments() -> None:
    seed = SweepInput("smith:3", "seed", json.dumps({"seed": 3}).encode())
    verdict = judged(seed, backends=("interpreter", "cpu"))
    assert verdict.outcome == "passed"
    assert step_of(verdict, "check").details["operations"] > 20


def test_a_seed_that_is_none_fails_its_check() -> None:
    verdict = judged(SweepInput("smith:x", "seed", b'{"grain": 3}'), backends=("interpreter",))
    assert verdict.steps[0].outcome == "failed"
    assert verdict.steps[0].message.startswith("error: this is no seed of a program")


def test_what_cannot_be_launched_is_refused_in_every_step_that_launches() -> None:
    verdict = judged(program("cuda_tile.module @m {}"), backends=("interpreter", "cpu"), sanitize=True)
    launched = [step for step in verdict.steps if step.name in ("run interpreter", "run cpu", "sanitize")]
    assert [step.outcome for step in launched] == ["refused"] * 3
    assert len({step.message for step in launched}) == 1


def test_arguments_that_are_not_found_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def search(entry: object, seed: int) -> None:
        looked.append(seed)
        raise LaunchError("no random arguments were found")

    monkeypatch.setattr(subjects, "random_launch", search)
    subject = subjects.subject_of(program(ADDITION))
    for _ in range(3):
        with pytest.raises(LaunchError, match="no random arguments"):
            subject.launches(7)
    assert looked == [7]


def test_a_stated_launch_is_used_and_its_findings_are_told() -> None:
    assert judged(stated(64), backends=("interpreter",), sanitize=True).outcome == "passed"
    verdict = judged(stated(60), backends=("interpreter",), sanitize=True)
    assert verdict.outcome == "failed" and step_of(verdict, "run interpreter").outcome == "failed"
    found = step_of(verdict, "sanitize")
    assert [each["kind"] for each in found.details["findings"]] == ["out-of-bounds"]
    assert "p.mlir:8:" in found.message and found.cause.startswith("out-of-bounds: ")


@pytest.mark.parametrize("body", ["continue", "%t = make_token : token\n continue"])
def test_a_program_that_never_ends_is_a_timeout(body: str) -> None:
    endless = f"cuda_tile.module @m {{ entry @spin(%p: tile<ptr<i32>>) {{ loop {{ {body} }} return }} }}"
    verdict = judged(program(endless), backends=("interpreter", "cpu"))
    assert verdict.outcome == "timeout"
    assert {step_of(verdict, name).outcome for name in ("run interpreter", "run cpu")} == {"timeout"}


def test_an_engine_that_is_not_there_refuses() -> None:
    verdict = judged(program(ADDITION), backends=("interpreter", "abacus"))
    assert step_of(verdict, "run abacus").outcome == "refused"
    assert step_of(verdict, "compare abacus").outcome == "skipped"
    assert step_of(verdict, "run interpreter").outcome == "passed"


@pytest.mark.skipif(installed_assembler() is None, reason="NVIDIA's assembler is not installed")
def test_a_program_is_compiled_for_targets() -> None:
    verdict = judged(program(ADDITION), targets=("sm_90", "sm_1"), cost=("h200",))
    found = step_of(verdict, "compile sm_90")
    assert found.outcome == "passed" and found.details["kernels"]["add"]["registers"] > 0
    assert found.details["kernels"]["add"]["spills"] is False
    assert step_of(verdict, "compile sm_1").outcome == "failed"
    assert step_of(verdict, "cost h200").details["kernels"]["add"]["bytes"] == 512


# --- results side by side ---


def results(*numbers: float) -> list[Results]:
    return [Results("k", [Result(0, F32, numpy.array(numbers, numpy.float32))])]


def test_other_bits_fail_and_are_told() -> None:
    step = JudgeStage("compare cpu", "passed")
    compare_results(step, results(1, 2, 3), results(1, 2.5, 4), ("interpreter", "cpu"), [])
    assert step.outcome == "failed" and step.cause == "results differ: f32"
    assert step.message == (
        "@k, argument 0: 2 of 3 elements of type f32 differ, the first is number 1: "
        "interpreter has 2.0 (0x40000000), cpu has 2.5 (0x40200000)"
    )
    assert step.details == {"different": {"@k argument 0": 2}}


def test_which_nan_it_is_is_open() -> None:
    one, other = results(1, 0), results(1, 0)
    one[0].arrays[0].array.view(numpy.uint32)[1] = 0x7FC00000
    other[0].arrays[0].array.view(numpy.uint32)[1] = 0xFFC00001
    step = JudgeStage("compare cpu", "passed")
    compare_results(step, one, other, ("interpreter", "cpu"), [])
    assert step.outcome == "passed" and step.details == {} and step.measured == {"open": 1.0}
    assert one[0].digest == other[0].digest != results(1, 0)[0].digest


def test_numbers_need_only_be_near_where_bits_are_open() -> None:
    step = JudgeStage("compare tileiras", "passed")
    compare_results(step, results(1, 2), results(1, 2.00001), ("interpreter", "tileiras"), ["exp"])
    assert step.outcome == "passed" and step.measured == {"open": 1.0}
    assert step.details == {"open_operations": ["exp"]}
    far = JudgeStage("compare tileiras", "passed")
    compare_results(far, results(1, 2), results(1, 2.1), ("interpreter", "tileiras"), ["exp"])
    assert far.outcome == "failed"


def test_bits_are_open_by_operation_and_engine() -> None:
    import tileir

    text = "cuda_tile.module @m { entry @k() { %a = constant <f32: 1.0> : tile<f32> %b = exp %a : tile<f32> return } }"
    assert open_operations(tileir.parse(text), "cpu") == []
    assert open_operations(tileir.parse(text), "tileiras") == ["exp"]
    near = text.replace("exp %a", "exp %a rounding<approx>")
    assert open_operations(tileir.parse(near), "cpu") == ["exp"]


def test_digests_of_results_are_told_where_no_bit_is_open() -> None:
    text = "cuda_tile.module @m { entry @k() { %a = constant <f32: 1.0> : tile<f32> %b = exp %a : tile<f32> return } }"
    for operation, known in (("exp %a", ["interpreter", "cpu"]), ("exp %a rounding<approx>", ["interpreter"])):
        verdict = judged(program(text.replace("exp %a", operation)), backends=("interpreter", "cpu"))
        assert verdict.outcome == "passed"
        assert known == [e for e in ("interpreter", "cpu") if "results" in step_of(verdict, f"run {e}").details]


def test_what_runs_out_of_memory_is_told_by_its_code() -> None:
    short = converted(MemoryError())
    assert isinstance(short, LaunchError) and outcome_of(short) == "memory"
    assert outcome_of(LaunchError(short.message)) == "refused"
