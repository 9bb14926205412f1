"""What the steps of a verdict amount to: checks, reasons, scores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tileir.judging.model import JudgeStage, Verdict
from tileir.judging.tasks.judgment import Judgment, add_judgment, judgment_of

BEFORE = ("inputs", "import", "compile", "run", "launches", "results", "correct", "held-out")


def judged(*others: JudgeStage, **outcomes: Any) -> Judgment:
    steps = [JudgeStage(name, outcomes.get(name.replace("-", "_"), "passed"), f"about {name}") for name in BEFORE]
    return judgment_of("task", "k.py", Verdict("", "passed", "", [*steps, *others]), 5)


def sanitized(*kinds: str) -> JudgeStage:
    findings = [{"kind": kind, "title": f"a {kind}", "count": 1} for kind in kinds]
    return JudgeStage("sanitize", "failed" if kinds else "passed", "all", details={"findings": findings})


@pytest.mark.parametrize(
    ("step", "reason", "score"),
    [
        (JudgeStage("cost h200", "passed", details={"speedup": 1.0}), "correct", 0.8),
        (JudgeStage("cost h200", "passed", details={"speedup": 3.0}), "correct", 0.9),
        (JudgeStage("cost h200", "passed", details={"seconds": 3.0}), "correct", 0.8),
        (JudgeStage("cost h200", "failed", details={"speedup": 0.1}), "too-slow", 0.5),
        (JudgeStage("cost h200", "refused", "no such GPU"), "correct", 0.8),
        (JudgeStage("sanitize", "timeout", "not over"), "correct", 0.8),
        (JudgeStage("precise", "failed", "f16"), "imprecise", 0.5),
        (JudgeStage("operations", "failed", "mmaf"), "forbidden-operation", 0.5),
        (JudgeStage("deterministic", "failed", "other bits"), "nondeterministic", 0.5),
        (JudgeStage("prove", "passed", "race", details={"unknown": True}), "correct", 0.8),
        (JudgeStage("launches", "failed", "cheats", details={"reason": "cheat:copied"}), "cheat:copied", 0.0),
        (sanitized("race"), "race", 0.5),
        (sanitized("unordered", "out-of-bounds"), "out-of-bounds", 0.5),
        (sanitized("overflow"), "sanitizer", 0.5),
        # Nobody reads what was not written, or the results would be wrong.
        (sanitized("unwritten"), "correct", 0.8),
    ],
)
def test_a_step_decides_reason_and_score(step: JudgeStage, reason: str, score: float) -> None:
    found = judged(step)
    assert (found.reason, found.score, found.accepted) == (reason, score, reason == "correct")


@pytest.mark.parametrize(
    ("outcomes", "reason", "score"),
    [
        ({"compile": "failed"}, "compile-error", 0.0),
        ({"compile": "refused"}, "unsupported", 0.0),
        ({"run": "failed"}, "runtime-error", 0.1),
        ({"run": "timeout"}, "timeout", 0.1),
        ({"run": "memory"}, "memory", 0.1),
        ({"run": "crashed"}, "crash", 0.1),
        ({"run": "forbidden"}, "forbidden", 0.0),
        ({"launches": "failed"}, "cheat:no-kernel", 0.0),
        ({"results": "failed", "correct": "skipped", "held_out": "skipped"}, "wrong-shape", 0.2),
        ({"correct": "failed"}, "wrong-result", 0.35),
        ({"correct": "failed", "held_out": "failed"}, "wrong-result", 0.2),
    ],
)
def test_outcomes_decide_reason_and_score(outcomes: dict[str, str], reason: str, score: float) -> None:
    found = judged(**outcomes)
    assert (found.reason, found.score, found.accepted) == (reason, score, False)


def test_what_was_not_written_explains_a_wrong_result() -> None:
    found = judged(sanitized("unwritten"), correct="failed")
    assert (found.reason, found.message) == ("unwritten-output", "unwritten: a unwritten")


def test_it_is_shown_as_text_json_and_a_page() -> None:
    found = judged(JudgeStage("precise", "failed", "<b>\nmore", details={"found": ["<i>"]}))
    assert str(found).startswith("k.py: not accepted, imprecise, score 0.50\n  passed   compiles")
    assert "  failed   precise        <b>\n" in str(found)
    plain = json.loads(found.to_json())
    assert plain["reason"] == "imprecise" and plain["seed"] == 5
    assert {check["name"]: check["outcome"] for check in plain["checks"]}["precise"] == "failed"
    page = found.html()
    assert page.startswith("<!doctype html>") and "<b>" not in page and "&lt;i&gt;" in page


def test_a_sweep_accepts_what_a_judgment_accepts() -> None:
    verdict = Verdict("", "failed", "unwritten", [JudgeStage("correct", "passed"), sanitized("unwritten")])
    add_judgment(verdict)
    assert (verdict.outcome, verdict.cause) == ("passed", "")
    refused = Verdict("", "passed", "", [JudgeStage("import", "passed"), JudgeStage("run", "passed")])
    refused.steps.append(JudgeStage("correct", "failed", "2, not 1"))
    add_judgment(refused)
    assert (refused.outcome, refused.steps[-1].message) == ("failed", "2, not 1")
    assert refused.steps[-1].details == {"accepted": False, "reason": "wrong-result", "score": 0.2}
