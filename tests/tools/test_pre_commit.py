"""The hooks that pre-commit runs: what they say of themselves, and what they do to files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tileir.tools import main

ROOT = Path(__file__).parents[2]
# What pre-commit asks of a hook.
REQUIRED = {"id", "name", "entry", "language"}
KNOWN = {*REQUIRED, "description", "files", "types", "types_or", "args", "require_serial", "pass_filenames"}


def hooks() -> dict[str, dict[str, str]]:
    """The hooks by name: a list of mappings of plain words, which needs no YAML reader."""
    lines = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines()
    found: list[dict[str, str]] = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line.startswith("- "):
            found.append({})
        assert line[:2] in ("- ", "  ")
        name, colon, value = line[2:].partition(": ")
        assert colon
        found[-1][name] = value
    return {hook["id"]: hook for hook in found}


HOOKS = hooks()


def run(name: str, *files: Path) -> int:
    program, *arguments = shlex.split(HOOKS[name]["entry"])
    assert program == "tileir"
    return main.run([*arguments, *[str(file) for file in files]])


@pytest.mark.parametrize("name", ["tileir-check", "tileir-lint", "tileir-format"])
def test_hook_says_what_pre_commit_asks_for(name: str) -> None:
    found = HOOKS[name]
    assert REQUIRED <= set(found) <= KNOWN
    assert found["language"] == "python" and len(HOOKS) == 3


@pytest.mark.parametrize("name", HOOKS)
def test_hook_is_for_programs(name: str) -> None:
    matches = re.compile(HOOKS[name]["files"]).search
    assert matches("kernels/a.mlir") and matches("b.tileir")
    assert bool(matches("b.tileirbc")) == (name != "tileir-format")
    assert not matches("a.mlir.txt") and not matches("mlir") and not matches("setup.py")


def test_check_refuses_what_is_wrong_and_says_nothing_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tileir-check", ROOT / "examples" / "matmul.mlir") == 0
    assert capsys.readouterr() == ("", "")
    assert run("tileir-check", ROOT / "examples" / "broken.mlir") == 1
    assert "error: " in capsys.readouterr().out


def test_lint_names_the_rule_and_says_nothing_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.mlir"
    program.write_text("cuda_tile.module @m {\n  entry @k() {\n    return\n  }\n}\n", encoding="utf-8")
    assert run("tileir-lint", program) == 0
    assert capsys.readouterr() == ("", "")
    program.write_text(
        "cuda_tile.module @m {\n  entry @k() {\n    %unused = iota : tile<8xi32>\n    return\n  }\n}\n",
        encoding="utf-8",
    )
    assert run("tileir-lint", program) == 1
    assert "program.mlir:3:" in (out := capsys.readouterr().out) and "unused-value" in out


def test_format_lays_a_file_out_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """pre-commit fails a hook that changes files; run again, nothing changes."""
    program = tmp_path / "program.mlir"
    program.write_text("cuda_tile.module @m {\nentry @k() {\n return }\n}\n", encoding="utf-8")
    assert run("tileir-format", program) == 0
    text = program.read_text(encoding="utf-8")
    assert text == "cuda_tile.module @m {\n  entry @k() {\n    return\n  }\n}\n"
    assert run("tileir-format", program) == 0
    assert program.read_text(encoding="utf-8") == text
    assert capsys.readouterr() == ("", "")
