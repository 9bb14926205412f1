"""What is better and worse than before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.judging.report.made_results import PLAN, crashed, fine, invalid, several, written, wrong

from tileir.judging.model import JudgePlan


def test_nothing_new_is_not_worse(report: Any, results: str) -> None:
    said = report(results, "--compare", results)
    assert said.status == 0
    assert said.out == "0 broken, 0 fixed, 0 fail otherwise, 0 new kinds of failures, 0 gone\n"


def test_what_passed_and_fails_now_is_worse(report: Any, results: str, tmp_path: Path) -> None:
    changed = [each for each in several() if each.item.name != "good/0.mlir"]
    now = written(tmp_path / "now.sqlite", [*changed, wrong("good/0.mlir")])
    said = report(now, "--compare", results)
    assert said.status == 1
    assert said.out.startswith("1 broken, 0 fixed, 0 fail otherwise, 0 new kinds of failures, 0 gone")
    assert "good/0.mlir  passed  compare cpu: failed: results differ" in said.out
    assert report(results, "--compare", now).status == 0


def test_a_program_is_compared_by_its_name_although_it_was_changed(report: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.sqlite", [wrong("a.mlir", "one")])
    new = written(tmp_path / "new.sqlite", [fine("a.mlir", "another")])
    said = report(new, "--compare", old)
    assert said.status == 0 and said.out.startswith("0 broken, 1 fixed")
    assert "Kinds of failures that are gone" in said.out


def test_a_new_kind_of_failure_is_worse_also_in_new_programs(report: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.sqlite", [fine("smith:1"), wrong("smith:2")])
    same = written(tmp_path / "same.sqlite", [fine("smith:3"), wrong("smith:4")])
    worse = written(tmp_path / "worse.sqlite", [fine("smith:3"), crashed("smith:4")])
    assert report(same, "--compare", old).status == 0
    said = report(worse, "--compare", old, "--format", "json")
    found = json.loads(said.out)
    assert said.status == 1 and found["worse"]
    assert [kind["outcome"] for kind in found["new_kinds"]] == ["crashed"]
    assert (found["added"], found["removed"]) == (2, 2)


def test_another_cause_is_a_change(report: Any, tmp_path: Path) -> None:
    old = written(tmp_path / "old.sqlite", [invalid("a", "x", "x"), invalid("b", "y", "y")])
    new = written(tmp_path / "new.sqlite", [invalid("a", "y", "y"), invalid("b", "y", "y")])
    found = json.loads(report(new, "--compare", old, "--format", "json").out)
    assert [(each["name"], each["before"]["cause"], each["now"]["cause"]) for each in found["changed"]] == [
        ("a", "x", "y")
    ]


def test_another_plan_is_told(report: Any, results: str, tmp_path: Path) -> None:
    other = written(tmp_path / "other.sqlite", several(), JudgePlan(backends=PLAN.backends, sanitize=True))
    assert "their plans are different" in report(other, "--compare", results).out
    assert "not as csv" in report(other, "--compare", results, "--format", "csv").error


def test_markdown_says_it_first(report: Any, results: str, tmp_path: Path) -> None:
    now = written(tmp_path / "now.sqlite", [crashed("good/1.mlir", cause="SIGFPE")])
    out = report(now, "--compare", results, "--format", "markdown").out
    assert out.startswith("**Worse**: 1 broken")
    assert "| 1 | run cpu | crashed | SIGFPE | good/1\\.mlir |" in out
