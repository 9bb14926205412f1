"""The table of `make bench`: bars, the history, and that every line can be made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import all as table
import tileir
from measure import Line, line_table
from tool_programs import KINDS

BENCHMARKS = Path(table.__file__).parent


def test_a_bar_is_a_least_or_a_most_or_not_there() -> None:
    assert Line("work", "peer", 1.0, 1.0).verdict == "met"
    assert Line("work", "peer", 0.99, 1.0).verdict == "MISSED"
    assert Line("work", "peer", 2.5, 2.5, at_most=True).verdict == "met"
    assert Line("work", "peer", 2.51, 2.5, at_most=True).verdict == "MISSED"
    assert (Line("work", "peer", 0.1).verdict, Line("work", "peer", 0.1).asked) == ("", "")
    assert ">= 1" in line_table([Line("work", "peer", 1.0, 1.0)])


def entry(ratio: float, *, build: str = "pure", work: str = "work") -> dict[str, object]:
    return {"machine": "this", "build": build, "lines": [Line(work, "peer", ratio)._asdict()]}


def test_a_line_is_compared_with_the_best_run_of_the_same_machine_and_build(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    assert table.best_before(history, entry(1.0)) == {}
    long_ago = [entry(9.0), *[entry(0.5)] * (table.RUNS - 2)]
    runs = [*long_ago, entry(2.0), entry(1.0), entry(8.0, build="compiled"), entry(3.0, work="other")]
    history.write_text("".join(json.dumps(run) + "\n" for run in runs))
    before = table.best_before(history, entry(0.0))
    assert before == {("work", "peer"): 2.0, ("other", "peer"): 3.0}
    assert table.changed(Line("work", "peer", 1.95), before) == "-2.5%"
    assert table.changed(Line("work", "peer", 1.9), before) == "-5.0% WORSE"
    assert table.changed(Line("work", "peer", 2.2), before) == "+10.0%"
    # Where less is better, more is worse.
    assert table.changed(Line("work", "peer", 2.2, 2.5, True), before) == "-9.1% WORSE"
    assert table.changed(Line("new", "peer", 2.2), before) == ""


def test_the_best_is_the_least_where_less_is_better(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    runs = [{**entry(1.0), "lines": [Line("start", "peer", ratio, 2.5, True)._asdict()]} for ratio in (3.0, 2.0, 4.0)]
    history.write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert table.best_before(history, entry(0.0)) == {("start", "peer"): 2.0}


def test_some_benchmarks_and_lines_of_others_can_be_asked_for() -> None:
    assert table.asked_for("", table.BENCHMARKS) == {name: [] for name in table.BENCHMARKS}
    assert set(table.ABOUT) == set(table.BENCHMARKS) >= set(table.QUICK)
    # All lines of a benchmark, beside some of another.
    assert table.asked_for("start,attention", table.BENCHMARKS) == {"start": [], "cpu": ["attention"]}
    assert table.asked_for("matmul, attention", table.BENCHMARKS) == {
        "interpreter": ["matmul"],
        "cpu": ["matmul", "attention"],
    }
    assert table.asked_for("cpu,vector add", table.BENCHMARKS) == {"cpu": []}
    with pytest.raises(ValueError, match="no line has 'atention'"):
        table.asked_for("start,atention", table.BENCHMARKS)


def test_an_entry_says_when_where_and_of_what() -> None:
    found = table.entry([Line("work", "peer", 1.0, 2.0)])
    assert set(found) == {"date", "commit", "machine", "build", "lines"}
    assert json.loads(json.dumps(found))["lines"][0]["bar"] == 2.0
    # Little work says nothing about speed, so nothing is compared with it.
    assert table.entry([], quick=True)["build"] not in ("pure", "compiled")


def test_the_commit_is_empty_where_there_is_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert table.commit() == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operations", [1, 500, 3000])
def test_programs_for_the_tools_are_sound_and_about_as_long_as_asked_for(kind: str, operations: int) -> None:
    module = tileir.parse(KINDS[kind](operations))
    tileir.verify(module)
    count = sum(1 for _ in module.walk())
    assert abs(count - operations) <= 450


def test_the_start_of_the_tools_is_measured(tmp_path: Path) -> None:
    written = tmp_path / "run.json"
    history = tmp_path / "history.jsonl"
    command = [sys.executable, str(BENCHMARKS / "all.py"), "--quick", "--only", "start", "--json", str(written)]
    for _ in range(2):
        done = subprocess.run([*command, "--history", str(history)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    lines = [Line(**line) for line in json.loads(written.read_text())["lines"]]
    assert [line.work for line in lines] == [
        f"start of tileir {tool}, small file" for tool in ("dis", "check", "opt", "as")
    ]
    assert all(line.ratio > 0 and line.at_most for line in lines)
    assert len(history.read_text().splitlines()) == 2
    assert "bars met" in done.stdout and "%" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in table.QUICK if name != "start"])
def test_every_benchmark_of_the_table_has_lines(name: str, tmp_path: Path) -> None:
    lines, problem = table.lines_of(name, table.QUICK[name], tmp_path, quiet=True)
    if not lines and table.missing_peers():
        pytest.skip(problem)
    assert problem == ""
    assert len({(line.work, line.peer) for line in lines}) == len(lines)
    assert all(line.ratio > 0 for line in lines)
