"""The report in a terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.judging.report.made_results import crashed, fine, invalid, judged, passed, program, several, written, wrong

from tileir.judging.model import JudgeStage
from tileir.judging.report.contents import natural
from tileir.judging.report.tables import Column, columns_of, shortened, table


def test_summary_counts_programs_and_kinds(report: Any, results: str) -> None:
    said = report(results)
    assert said.status == 0 and said.error == ""
    assert said.out.splitlines()[0] == "results.sqlite: 10 programs: 5 passed, 4 failed, 1 crashed; 3 kinds of failures"


def test_kinds_are_listed_with_their_smallest_program_and_its_message(report: Any, results: str) -> None:
    lines = report(results).out.splitlines()
    row = next(line.split("  ") for line in lines if "compare cpu" in line)
    assert [cell.strip() for cell in row if cell.strip()][1:] == [
        "2",
        "compare cpu",
        "failed",
        "results differ",
        "wrong/one.mlir",
        "42 B",
        "-",
    ]
    assert "    @k, argument 0: 3 of 4 elements differ" in lines
    assert "    program:3:5: error: expected ':'" in lines


def test_steps_are_counted_in_the_order_in_which_they_are_done(report: Any, results: str) -> None:
    lines = report(results).out.split("Steps\n")[1].splitlines()
    assert lines[0].split() == ["step", "passed", "failed", "crashed", "skipped"]
    assert [re.split(r"  +", line) for line in lines[2:6]] == [
        ["check", "8", "2", "-", "-"],
        ["run interpreter", "8", "-", "-", "2"],
        ["run cpu", "7", "-", "1", "2"],
        ["compare cpu", "5", "2", "-", "2"],
    ]


def test_a_sweep_without_failures_has_no_kinds(report: Any, tmp_path: Path) -> None:
    said = report(written(tmp_path / "r.sqlite", [fine("a.mlir")]))
    assert said.out.startswith("r.sqlite: 1 program: 1 passed\n\nSteps\n")


def test_an_empty_file_of_results_says_so(report: Any, tmp_path: Path) -> None:
    assert report(written(tmp_path / "r.sqlite", [])).out == "r.sqlite: no programs\n"


def test_programs_with_the_same_contents_are_one(report: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    said = report(written(path, [fine("a.mlir", "same"), fine("b.mlir", "same"), fine("c.mlir", "same")]))
    assert said.out.splitlines()[:2] == ["r.sqlite: 1 program: 1 passed", "2 more had the same contents as another"]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_terminal(report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    names = [f"{'very/' * 30}{number}/漢字漢字漢字.mlir" for number in range(3)]
    found = [invalid(name, f"error: {'word ' * 100}\n{'x' * 300}", "expected " * 30) for name in names]
    monkeypatch.setenv("COLUMNS", str(width))
    lines = report(written(tmp_path / "r.sqlite", [*found, crashed("漢" * 200)])).out.splitlines()
    # The narrowest that the table of kinds can be.
    assert max(columns_of(line) for line in lines) <= max(width, 80)
    assert any("ver" in line and "字.mlir" in line for line in lines)


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("directory/of/many/programs/seed_17.mlir", 20) == "direc...seed_17.mlir"
    assert shortened("short", 20) == "short"
    assert shortened("a sentence that is long", 10, at_end=True) == "a senten.."
    assert shortened("abcdef", 1) == "."


def test_columns_of_a_table_are_aligned() -> None:
    text = table([Column("name"), Column("n", is_number=True)], [["a", "1"], ["long", "1,000"]], 0)
    assert text.splitlines() == ["name      n", "----  -----", "a         1", "long  1,000"]


def test_names_and_messages_cannot_drive_the_terminal(report: Any, tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07\u202eevil.mlir"
    steps = [JudgeStage("check", "failed", hostile, hostile), JudgeStage(hostile, "skipped", "", "")]
    path = written(tmp_path / "r.sqlite", [judged(program(hostile), *steps, output=hostile)])
    for said in (report(path), report(path, "--show", hostile), report(path, "--compare", path)):
        assert not set(said.out + said.error) & set("\x1b\x07\u202e")
        assert "\\x1b" in said.out or "--compare" in said.out or not said.status


def test_colors_are_for_those_who_want_them(report: Any, results: str) -> None:
    assert "\x1b" not in report(results).out
    colored = report(results, "--color", "always").out
    assert "\x1b[1;31mfailed\x1b[0m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == report(results).out


def test_limit_says_how_many_kinds_are_left(report: Any, results: str) -> None:
    out = report(results, "--limit", "1").out
    assert "and 2 more kinds (--limit 3 shows all)" in out
    assert "1fe7391f" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.sqlite"], "cannot read 'nowhere.sqlite': No such file or directory"),
        ([], "expected FILE"),
        (["x", "--limit", "-1"], "'--limit -1' is not valid\nhelp: give a number from 0 on"),
        (["x", "--format", "yaml"], "'yaml' is not a value of '--format'"),
    ],
)
def test_mistakes_are_told_in_words(report: Any, words: list[str], message: str) -> None:
    said = report(*words)
    assert said.status == 2 and message in said.error and said.out == ""


def test_what_is_no_database_is_refused(report: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_text("hello")
    said = report(str(path))
    assert said.status == 2 and "holds no results of a sweep" in said.error


def test_the_same_file_gives_the_same_report(report: Any, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one = written(tmp_path / "1" / "r.sqlite", several())
    other = written(tmp_path / "2" / "r.sqlite", reversed(several()))
    for format in ("text", "json", "csv", "markdown", "sarif", "junit"):
        assert report(one, "--format", format).out == report(other, "--format", format).out


def test_one_kind_for_one_cause_on_several_targets(report: Any, tmp_path: Path) -> None:
    cause = "error: failed to legalize NAME"
    item = program("a.mlir")
    steps = [JudgeStage(f"compile {target}", "refused", cause, cause) for target in ("sm_90", "sm_100")]
    said = report(written(tmp_path / "r.sqlite", [judged(item, *passed("check"), *steps)]))
    assert "1 kind of failure" in said.out.splitlines()[0]
    assert "compile sm_100, sm_90" in said.out


def test_a_program_may_show_several_kinds(report: Any, tmp_path: Path) -> None:
    steps = [
        JudgeStage("compare cpu", "failed", "m", "results are odd"),
        JudgeStage("sanitize", "failed", "r", "a race on NAME"),
    ]
    said = report(written(tmp_path / "r.sqlite", [judged(program("a.mlir"), *passed("check"), *steps), wrong("b")]))
    assert "2 programs: 2 failed; 3 kinds of failures" in said.out.splitlines()[0]


def test_kernels_are_listed_with_their_speeds(report: Any, tmp_path: Path) -> None:
    steps = [JudgeStage("correct", "passed"), JudgeStage("cost h200", "passed", details={"speedup": 1.5})]
    found = [
        judged(program("fast.py", "1", "kernels"), *steps),
        judged(program("wrong.py", "2", "kernels"), JudgeStage("correct", "failed", "no", "results differ (f32)")),
        judged(program("slow.py", "3", "kernels"), JudgeStage("cost h200", "passed", details={"speedup": 0.5})),
    ]
    out = report(written(tmp_path / "r.sqlite", found)).out
    assert [line.split() for line in out.split("Kernels\n")[1].splitlines()[:5]] == [
        ["kernels", "verdict", "cost", "h200"],
        ["--------", "-------", "---------"],
        ["fast.py", "passed", "1.50x"],
        ["slow.py", "passed", "0.50x"],
        ["wrong.py", "failed", "-"],
    ]


def test_the_same_refusal_in_several_steps_is_one_kind(report: Any, tmp_path: Path) -> None:
    words = "no random arguments were found for @k"
    steps = [JudgeStage(name, "refused", words, "no random arguments were found") for name in ("run cpu", "sanitize")]
    said = report(written(tmp_path / "r.sqlite", [judged(program("a.mlir"), *passed("check"), *steps)]))
    assert "1 kind of failure" in said.out.splitlines()[0]
    assert "run cpu; sanitize" in said.out


def test_the_optimizer_and_engines_are_different_kinds(report: Any, tmp_path: Path) -> None:
    steps = [JudgeStage(name, "failed", "m", "results differ: f32") for name in ("compare optimized", "compare cpu")]
    said = report(written(tmp_path / "r.sqlite", [judged(program("a.mlir"), *passed("check"), *steps)]))
    assert "2 kinds of failures" in said.out.splitlines()[0]


def test_names_may_have_numbers_that_are_too_long_to_be_read() -> None:
    names = ["2" * 6000, "10", "9"]
    assert sorted(names, key=natural) == ["9", "10", "2" * 6000]
