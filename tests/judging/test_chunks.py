"""Programs judged in children: what is told of each, and that a chunk goes on whatever one of them does."""

from __future__ import annotations

import pickle
import re
from dataclasses import asdict

import pytest
from tests.judging.programs import ADDITION, ENDLESS, program

from tileir.judging.model import JudgePlan, ProcessLimits, Verdict
from tileir.judging.server_pool.pool import judge_chunk

pytest.importorskip("numpy", reason="running programs needs NumPy")
PLAN = JudgePlan(backends=("interpreter",), limits=ProcessLimits(seconds=20))


def comparable(verdict: Verdict) -> dict:
    plain = asdict(verdict)
    for part in (plain, *plain["steps"]):
        del part["measured"]
    return plain


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {step.name: step.outcome for step in verdict.steps}


def test_a_message_has_no_address() -> None:
    """Memory lies elsewhere in the next process, and two tables of the same programs are to be equal."""
    short = program(f"// tileir: --arg zeros:f32:60 --arg zeros:f32:64\n{ADDITION}")
    (verdict,) = judge_chunk([short], JudgePlan(backends=("interpreter",), sanitize=True))
    told = [step.message for step in verdict.steps if "address" in step.message]
    assert told and all("address 0x..." in each or "address is 0x..." in each for each in told)
    assert not any(re.search("0x[0-9a-f]", each) for each in told)


@pytest.mark.parametrize("offset", [1 << 30, 1 << 46, 1 << 61, -(1 << 46)])
def test_a_message_has_no_address_far_from_all_arrays(offset: int) -> None:
    far = program(f"""// tileir: --arg zeros:f32:64
entry @k(%a: tile<ptr<f32>>) {{
  %offset = constant <i64: {offset}> : tile<i64>
  %from = offset %a, %offset : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>
  %value, %token = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
  return
}}
""")
    (verdict,) = judge_chunk([far], JudgePlan(backends=("interpreter",), sanitize=True))
    assert [step.message.count("0x...") for step in verdict.steps] == [0, 1, 1]
    assert not any(re.search("0x[0-9a-f]", step.message) for step in verdict.steps)


def test_a_program_is_checked_run_and_compared() -> None:
    pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")
    (verdict,) = judge_chunk([program(ADDITION)], JudgePlan(backends=("interpreter", "cpu")))
    assert outcomes(verdict) == {
        "check": "passed",
        "run interpreter": "passed",
        "run cpu": "passed",
        "compare cpu": "passed",
    }
    assert verdict.outcome == "passed" and verdict.cause == ""
    results = [step.details["results"] for step in verdict.steps if step.name.startswith("run")]
    assert results[0] == results[1] and results[0].keys() == {"add"}
    assert verdict.measured["seconds"] > 0 and verdict.measured["peak_bytes"] > 0


def test_a_wrong_program_is_told_and_what_needs_it_is_skipped() -> None:
    (verdict,) = judge_chunk([program(ADDITION.replace("addf", "addg"))], PLAN)
    assert outcomes(verdict) == {"check": "failed", "run interpreter": "skipped"}
    assert verdict.outcome == "failed"
    assert verdict.steps[0].message.startswith("error: custom op 'addg' is unknown")


def test_an_endless_loop_is_a_timeout_and_the_chunk_goes_on() -> None:
    plan = JudgePlan(backends=("interpreter",), limits=ProcessLimits(seconds=0.7))
    verdicts = judge_chunk([program(ENDLESS), program(ADDITION)], plan)
    assert [verdict.outcome for verdict in verdicts] == ["timeout", "passed"]
    assert outcomes(verdicts[0]) == {"check": "passed", "run interpreter": "timeout"}


def test_verdicts_are_the_same_again() -> None:
    items = [program(ADDITION), program(ADDITION.replace("addf", "addg"))]
    first, second = judge_chunk(items, PLAN), judge_chunk(items, PLAN)
    assert [comparable(each) for each in first] == [comparable(each) for each in second]


def test_a_chunk_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps((judge_chunk, PLAN)))[0] is judge_chunk
