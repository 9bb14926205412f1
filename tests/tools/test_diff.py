"""`tileir diff`: forms of the output, exit status, mistakes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import tileir
from tileir.tools.programs import diff as diff_tool

EXAMPLES = Path(__file__).parents[2] / "examples"
VECTOR_ADD = EXAMPLES / "vector_add.mlir"


def tool(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = diff_tool.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.mlir"
    path.write_text(VECTOR_ADD.read_text().replace("addf", "subf"))
    return path


def test_programs_that_are_the_same_say_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bytecode = tmp_path / "add.tileirbc"
    bytecode.write_bytes(tileir.to_bytecode(tileir.load(VECTOR_ADD), version="13.1"))
    assert tool(capsys, VECTOR_ADD, bytecode) == (0, "", "")
    assert tool(capsys, bytecode, VECTOR_ADD, "--summary") == (0, "no difference\n", "")
    assert json.loads(tool(capsys, bytecode, VECTOR_ADD, "--json")[1])["same"] is True


def test_each_form_says_what_is_different(
    capsys: pytest.CaptureFixture[str], other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "1 operation changed: addf -> subf"
    assert tool(capsys, VECTOR_ADD, other, "-s") == (1, f"{sentence}\n", "")
    status, out, _ = tool(capsys, VECTOR_ADD, other, "-u")
    assert status == 1 and out.startswith(f"--- {VECTOR_ADD}\n+++ {other}\n@@ -") and " = subf " in out
    monkeypatch.setenv("COLUMNS", "100")
    status, out, _ = tool(capsys, VECTOR_ADD, other, "--context", "0")
    assert status == 1 and out.endswith(f"\n\n{sentence}\n") and max(map(len, out.split("\n")[1:])) <= 100
    assert json.loads(tool(capsys, VECTOR_ADD, other, "--json")[1])["summary"] == sentence


def test_colors_are_for_who_wants_them(capsys: pytest.CaptureFixture[str], other: Path) -> None:
    assert "\033" not in tool(capsys, VECTOR_ADD, other)[1]
    assert "\033[33m" in tool(capsys, VECTOR_ADD, other, "--color", "always")[1]


def test_standard_input_is_one_of_them(
    capsys: pytest.CaptureFixture[str], other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(other.read_bytes())))
    assert tool(capsys, VECTOR_ADD, "-", "-s")[0] == 1
    assert tool(capsys, "-", "-")[::2] == (2, "error: standard input can be one of the programs, not both\n")


def test_names_count_unless_they_are_ignored(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    renamed = tmp_path / "renamed.mlir"
    renamed.write_text(VECTOR_ADD.read_text().replace("@vector_add", "@add"))
    assert tool(capsys, VECTOR_ADD, renamed, "-s")[:2] == (1, "entry @vector_add renamed @add\n")
    assert tool(capsys, VECTOR_ADD, renamed, "--ignore-names") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-u", "-s"], "'--unified' and '--summary' exclude each other"),
        (["--context", "few"], "'few' is no number of lines\nhelp: give one, or all"),
    ],
)
def test_mistakes_are_trouble(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], other: Path
) -> None:
    status, out, err = tool(capsys, VECTOR_ADD, other, *arguments)
    assert (status, out, err) == (2, "", f"error: {message}\n")


def test_a_program_that_is_wrong_is_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = tool(capsys, VECTOR_ADD, EXAMPLES / "broken.mlir")
    assert status == 2 and out == "" and "error" in err
    assert tool(capsys, VECTOR_ADD, "missing.mlir")[0] == 2
