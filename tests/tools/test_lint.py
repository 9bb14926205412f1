"""`tileir lint`: files in, advice out, in the formats of `tileir check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tileir.analyze.lint.rules import RULES
from tileir.tools.programs import explain, lint

PROGRAM = """\
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {
  %x = addf %a, %a : tile<f32>
  %y, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  return
}
"""
CLEAN = "entry @k() {\n  return\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlir").write_text(PROGRAM)
    (tmp_path / "clean.mlir").write_text(CLEAN)
    # Whatever lies above is not this project's.
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def rules_in(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    lint.run(["--json", *arguments])
    return [json.loads(line)["rule"] for line in capsys.readouterr().out.splitlines()]


def test_findings_name_their_rule_reason_and_remedy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(
        "warning: the result is never used [unused-value]\n"
        " --> k.mlir:2:8\n"
        "  |\n"
        "2 |   %x = addf %a, %a : tile<f32>\n"
        "  |        ^\n"
        f"  = note: {RULES['unused-value'].reason}\n"
        "  = help: delete this operation\n"
    )
    assert out.endswith("2 warnings\n")


def test_a_program_without_findings_is_fine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["clean.mlir"]) == 0
    assert capsys.readouterr().out == ""


def test_errors_are_reported_as_check_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.mlir").write_text("entry @k() {\n  %x = constant <i32: 1> : tile<f32>\n  return\n}\n")
    assert lint.run(["wrong.mlir"]) == 1
    assert "wrong.mlir:2:" in capsys.readouterr().out
    assert lint.run(["gone.mlir"]) == 2
    assert "error: cannot read 'gone.mlir'" in capsys.readouterr().err


def test_folders_and_patterns_are_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["."]) == 1
    assert capsys.readouterr().out.endswith("2 warnings in 1 of 2 files\n")
    assert lint.run(["c*.mlir"]) == 0


def test_bytecode_is_linted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tileir

    (folder / "k.tileirbc").write_bytes(tileir.to_bytecode(tileir.load("k.mlir")))
    assert rules_in(capsys, "k.tileirbc") == ["unused-value", "unused-load"]


def test_operations_of_bytecode_are_shown_as_they_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tileir

    module = tileir.load("k.mlir")
    (folder / "k.tileirbc").write_bytes(tileir.to_bytecode(module))
    assert lint.run(["k.tileirbc"]) == 1
    out = capsys.readouterr().out
    assert out.startswith(
        "warning: the result is never used [unused-value]\n --> k.tileirbc\n  = note: line 3 of 'tileir dis': "
    )
    printed = str(tileir.load("k.tileirbc")).splitlines()[2].strip()
    assert f": {printed}\n" in out


def test_sarif_lists_the_rules(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir", "--format", "sarif"]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["unused-value", "unused-load"]
    assert {rule["id"] for rule in rules} > set(RULES)


def test_workflow_commands_have_the_rule_in_the_message(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir", "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith(
        "::warning file=k.mlir,line=2,col=8::the result is never used [unused-value]"
    )


def test_rules_are_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rules_in(capsys, "k.mlir", "--select", "unused-load") == ["unused-load"]
    assert rules_in(capsys, "k.mlir", "--select", "unused") == ["unused-value", "unused-load"]
    assert rules_in(capsys, "k.mlir", "--select", "unused-", "--ignore", "unused-value") == ["unused-load"]
    assert rules_in(capsys, "k.mlir", "--ignore", "unused-value,unused-load") == []
    assert rules_in(capsys, "k.mlir", "--ignore", "unused", "--extend-select", "unused-load") == ["unused-load"]
    assert rules_in(capsys, "k.mlir", "--select", "memory") == []


def test_exit_zero_is_for_findings_not_for_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir", "--exit-zero"]) == 0
    (folder / "wrong.mlir").write_text("entry @k() {")
    assert lint.run(["wrong.mlir", "--exit-zero"]) == 1


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_an_unknown_rule_is_a_mistake_of_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert lint.run(["k.mlir", option, "unused-valeu"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (
        "",
        "error: there is no rule and no group 'unused-valeu'\nhelp: did you mean 'unused-value'?\n",
    )


# --- fixes ---


FIXED = """\
entry @k(%p: tile<ptr<f32>>, %a: tile<f32>) {
  return
}
"""


def test_fixes_are_made_and_the_rest_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir", "--fix"]) == 0
    assert capsys.readouterr().out == "k.mlir: 2 fixes made\n"
    assert (folder / "k.mlir").read_text() == FIXED
    assert lint.run(["k.mlir", "--fix"]) == 0
    assert capsys.readouterr().out == ""
    loop = "entry @k() {\n  loop {\n    continue\n  }\n  return\n}\n"
    (folder / "k.mlir").write_text(loop)
    assert lint.run(["k.mlir", "--fix"]) == 1
    assert "[endless-loop]" in capsys.readouterr().out
    assert (folder / "k.mlir").read_text() == loop


def test_differences_are_shown_and_nothing_is_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["k.mlir", "--diff"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("-", "+"))] == [
        "--- k.mlir",
        "+++ k.mlir",
        *[f"-{line}" for line in PROGRAM.splitlines()[1:3]],
    ]
    assert (folder / "k.mlir").read_text() == PROGRAM
    assert lint.run(["clean.mlir", "--diff"]) == 0


def test_a_file_that_cannot_be_written_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["-", "--fix", "--diff"]) == 2
    assert "exclude each other" in capsys.readouterr().err


# --- the configuration ---


def configured(folder: Path, table: str) -> None:
    (folder / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.tileir.lint]\n{table}\n")
    from tileir.analyze.lint import configuration

    configuration.forget()


def test_the_nearest_pyproject_has_a_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = folder / "inner" / "most"
    inner.mkdir(parents=True)
    (inner / "k.mlir").write_text(PROGRAM)
    configured(folder, "ignore = ['unused-value']")
    assert rules_in(capsys, "k.mlir") == ["unused-load"]
    assert rules_in(capsys, "inner") == ["unused-load"]
    (folder / "inner" / "pyproject.toml").write_text("[tool.tileir.lint]\nselect = ['unused-value']\n")
    configured(folder, "ignore = ['unused-value']")
    assert rules_in(capsys, "inner") == ["unused-value"]
    assert rules_in(capsys, "inner", "--isolated") == ["unused-value", "unused-load"]
    assert rules_in(capsys, "inner", "--config", "pyproject.toml") == ["unused-load"]


def test_the_command_line_goes_before_the_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configured(folder, "select = ['unused-load']")
    assert rules_in(capsys, "k.mlir") == ["unused-load"]
    assert rules_in(capsys, "k.mlir", "--select", "unused-value") == ["unused-value"]
    assert rules_in(capsys, "k.mlir", "--ignore", "unused-load") == []


def test_files_have_rules_of_their_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tests").mkdir()
    (folder / "tests" / "k.mlir").write_text(PROGRAM)
    configured(folder, "per-file-ignores = { 'tests/*' = ['unused-value'] }")
    assert rules_in(capsys, "k.mlir") == ["unused-value", "unused-load"]
    assert rules_in(capsys, "tests/k.mlir") == ["unused-load"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("selct = []", "'selct' in [tool.tileir.lint] of"),
        ("select = 'unused-value'", "is a list of strings"),
        ("ignore = ['unused-valeu']", "there is no rule and no group 'unused-valeu'"),
        ("per-file-ignores = { 'a' = ['nothing-such'] }", "there is no rule and no group 'nothing-such'"),
        ("per-file-ignores = []", "is a table: pattern = [rules]"),
        ("bytecode-version = 13.2", "is a string"),
        ("bytecode-version = '12.0'", "'12.0' is not a version of the dialect"),
        ("select = [", "is not TOML"),
        pytest.param("select = " + "[" * 5000, "is not TOML", id="nested too deep"),
    ],
)
def test_mistakes_of_the_configuration_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str], table: str, words: str
) -> None:
    configured(folder, table)
    assert lint.run(["k.mlir"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and words in captured.err and "Traceback" not in captured.err


# --- the rules in words ---


def test_the_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run(["--list-rules"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")] == list(RULES)


def test_a_rule_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain.run(["unused-load"]) == 0
    shown = capsys.readouterr().out
    assert RULES["unused-load"].remedy in shown and "load_ptr_tko weak" in shown
    assert explain.run(["unused-laod"]) == 1


def test_without_files_the_usage_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.run([]) == 2
    assert "expected FILE" in capsys.readouterr().err
