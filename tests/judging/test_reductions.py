"""Kinds of failures reduced to small programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.judging.report.made_results import invalid, judged, passed, program, written
from tests.judging.report.planted_engine import (
    CRASHING_MINIMUM,
    PLAN,
    WRONG_PRODUCT,
    WRONG_XOR,
    judge_here,
    planted,
    seed,
    swept,
)

import tileir
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput, Verdict
from tileir.judging.reductions import narrowed, reduce_failures
from tileir.judging.report.contents import Contents
from tileir.judging.report.suspects import features_of
from tileir.judging.results.results import Results

pytest.importorskip("numpy", reason="programs run in the interpreter: pip install 'tileir[run]'")


def test_each_planted_bug_is_reduced_to_its_operation(tmp_path: Path) -> None:
    with planted(WRONG_XOR, WRONG_PRODUCT, CRASHING_MINIMUM):
        path = written(tmp_path / "r.sqlite", swept([seed(number) for number in range(120)]), PLAN)
        found = reduce_failures(path, PLAN, judge=judge_here)
        assert len(found) == 3
        for reduced in found:
            (verdict,) = judge_here([SweepInput("reproducer", "program", reduced.content)], PLAN)
            assert verdict.outcome == reduced.cluster.outcome
            assert "of" in reduced.note and not reduced.note.endswith("not finished")
    operations = [features_of(tileir.load(reduced.content)) for reduced in found]
    for name in ("mulf", "xori", "minf"):
        (having,) = [each for each in operations if name in each]
        assert not ({"mulf", "xori", "minf"} - {name}) & having
    with Results(path) as results:
        contents = Contents(results)
    assert all(0 < cluster.reproducer_operations <= 8 for cluster in contents.kinds)
    assert all(cluster.reproducer_operations < cluster.smallest.operations for cluster in contents.kinds)


def test_what_is_reduced_is_not_reduced_again(tmp_path: Path) -> None:
    asked: list[SweepInput] = []

    def judge(items: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        asked.extend(items)
        return judge_here(items, plan)

    with planted(CRASHING_MINIMUM):
        path = written(tmp_path / "r.sqlite", swept([seed(number) for number in range(40)]), PLAN)
        assert len(reduce_failures(path, PLAN, judge=judge)) == 1
        asked.clear()
        assert reduce_failures(path, PLAN, judge=judge) == [] and asked == []


def test_a_reduction_that_ran_out_of_time_goes_on(tmp_path: Path) -> None:
    with planted(CRASHING_MINIMUM):
        path = written(tmp_path / "r.sqlite", swept([seed(number) for number in range(40)]), PLAN)
        (first,) = reduce_failures(path, PLAN, seconds=0, judge=judge_here)
        assert first.note.endswith("not finished")
        (second,) = reduce_failures(path, PLAN, judge=judge_here)
    assert len(second.content) < len(first.content) and not second.note.endswith("not finished")


def test_invalid_programs_are_reduced_by_lines_and_words(tmp_path: Path) -> None:
    text = "cuda_tile.module @m {\n" + "".join(
        [f"  entry @k{number}() {{\n    return\n  }}\n" for number in range(9)]
    ) + "  entry @bad(%x: tile<f32>) {\n    %y = frobnicate %x : tile<f32>\n    return\n  }\n}\n"  # fmt: skip
    items = [SweepInput("bad.mlir", "program", text.encode())]
    path = written(tmp_path / "r.sqlite", swept(items, JudgePlan()), JudgePlan())
    (found,) = reduce_failures(path, JudgePlan(), judge=judge_here)
    assert b"frobnicate" in found.content and len(found.content) < 60


def test_a_bug_that_does_not_show_again_is_told(tmp_path: Path) -> None:
    crash = judged(program("a.mlir"), *passed("check"), JudgeStage("run interpreter", "crashed", "died", "SIGSEGV"))
    plan = JudgePlan(backends=("interpreter",))
    path = written(tmp_path / "r.sqlite", [crash], plan)
    (found,) = reduce_failures(path, plan, judge=judge_here)
    assert found.content is None and found.note == "not reduced: it does not fail so when it is judged again"
    assert reduce_failures(path, plan, judge=judge_here) == []


def test_modules_of_kernels_are_left_with_words(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r.sqlite",
        [judged(program("k.py", kind="kernels"), JudgeStage("import", "failed", "no", "SyntaxError"))],
    )
    (found,) = reduce_failures(path, JudgePlan(backends=("interpreter", "cpu")), judge=judge_here)
    assert found.note == "a Python module, which is not reduced: it fails in 'import', not in a kernel that it launched"


def test_an_interrupted_reduction_keeps_what_is_done(tmp_path: Path) -> None:
    def judge(items: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        if b"frobnicate" in items[0].content:
            raise KeyboardInterrupt
        return judge_here(items, plan)

    texts = {"a": "cuda_tile.module @m { entry @k() { frobnicate } }", "b": "cuda_tile.module @m { @ }"}
    items = [SweepInput(name, "program", text.encode()) for name, text in texts.items()]
    items.append(SweepInput("c", "program", b"cuda_tile.module @other { @ @ }"))
    path = written(tmp_path / "r.sqlite", swept(items, JudgePlan()), JudgePlan())
    with pytest.raises(KeyboardInterrupt):
        reduce_failures(path, JudgePlan(), judge=judge)
    with Results(path) as results:
        assert [cluster.reproducer != "" for cluster in Contents(results).kinds] == [True, False]


def test_only_what_shows_the_failure_is_done_again() -> None:
    plan = JudgePlan(
        optimize=3, backends=("interpreter", "cpu"), sanitize=True, targets=("sm_90", "sm_100"), cost=("h200",)
    )
    assert narrowed(plan, "check") == JudgePlan()
    assert narrowed(plan, "run cpu") == JudgePlan(backends=("cpu",))
    assert narrowed(plan, "compare cpu") == JudgePlan(backends=("interpreter", "cpu"), sanitize=True)
    assert narrowed(plan, "compare optimized") == JudgePlan(optimize=3, backends=("interpreter",), sanitize=True)
    assert narrowed(plan, "compile sm_100") == JudgePlan(targets=("sm_100",))
    assert narrowed(plan, "sanitize") == JudgePlan(sanitize=True)


def test_seeds_are_reduced_as_programs_with_their_launch(tmp_path: Path) -> None:
    with planted(WRONG_XOR):
        finished = swept([seed(number) for number in range(60)])
        path = written(tmp_path / "r.sqlite", finished, PLAN)
        found = reduce_failures(path, PLAN, judge=judge_here)
    assert found and all(reduced.content.startswith(b"// tileir: --grid ") for reduced in found)
    assert json.loads(seed(3).content)["seed"] == 3


def test_the_result_does_not_depend_on_how_many_are_tested_at_once(tmp_path: Path) -> None:
    contents = []
    for jobs in (1, 3):
        with planted(CRASHING_MINIMUM):
            path = written(tmp_path / f"{jobs}.sqlite", swept([seed(number) for number in range(40)]), PLAN)
            (found,) = reduce_failures(path, PLAN, judge=judge_here, jobs=jobs)
        contents.append(found.content)
    assert contents[0] == contents[1]


def test_causes_are_kept_while_reducing(tmp_path: Path) -> None:
    """Another mistake in the same program does not take the place of the first."""
    text = "cuda_tile.module @m {\n  entry @k() {\n    %a = what\n    return\n  }\n}\n"
    path = written(tmp_path / "r.sqlite", swept([SweepInput("a", "program", text.encode())], JudgePlan()), JudgePlan())
    (found,) = reduce_failures(path, JudgePlan(), judge=judge_here)
    (verdict,) = judge_here([SweepInput("r", "program", found.content)], JudgePlan())
    assert verdict.cause == found.cluster.cause


def test_invalid_without_a_cause_is_no_trouble(tmp_path: Path) -> None:
    path = written(tmp_path / "r.sqlite", [invalid("a", "", "")], JudgePlan())
    (found,) = reduce_failures(path, JudgePlan(), judge=judge_here)
    assert found.content is None


def test_a_sweep_reduces_and_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tileir.tools.main import run

    good = tmp_path / "good.mlir"
    good.write_text("cuda_tile.module @m { entry @k() { return } }")
    bad = tmp_path / "bad.mlir"
    bad.write_text("cuda_tile.module @m {\n  entry @k() {\n    %x = frobnicate\n    return\n  }\n}\n")
    path, page = str(tmp_path / "r.sqlite"), tmp_path / "page.html"
    options = ["--backend", "none", "-o", path, "--reduce", "--html", str(page), "-j", "1"]
    assert run(["sweep", str(good), str(bad), *options]) == 1
    assert "reduced to" in capsys.readouterr().out
    assert page.read_text().startswith("<!doctype html>")
    (kind,) = tileir.sweeps.report(path).kinds
    assert kind.reproducer_size < len(bad.read_bytes())
    # The same command again: nothing is left to do.
    assert run(["sweep", str(good), str(bad), *options]) == 1
    assert "reduced to" not in capsys.readouterr().out
