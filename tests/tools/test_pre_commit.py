"""The hook that pre-commit runs: what it says of itself, and what it does to files."""

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


def hook() -> dict[str, str]:
    """The one hook: a list of one mapping of plain words, which needs no YAML reader."""
    lines = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines()
    items = [line for line in lines if line and not line.startswith("#")]
    assert items[0].startswith("- ") and all(line.startswith("  ") for line in items[1:])
    found = {}
    for line in items:
        name, colon, value = line[2:].partition(": ")
        assert colon
        found[name] = value
    return found


def test_hook_says_what_pre_commit_asks_for() -> None:
    found = hook()
    assert REQUIRED <= set(found) <= KNOWN
    assert (found["id"], found["language"]) == ("tileir-check", "python")


def test_hook_is_for_programs() -> None:
    matches = re.compile(hook()["files"]).search
    assert matches("kernels/a.mlir") and matches("b.tileirbc")
    assert not matches("a.mlir.txt") and not matches("mlir") and not matches("setup.py")


def test_hook_refuses_what_is_wrong_and_says_nothing_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(hook()["entry"])
    assert program == "tileir"
    assert main.run([*arguments, str(ROOT / "examples" / "matmul.mlir")]) == 0
    assert capsys.readouterr() == ("", "")
    assert main.run([*arguments, str(ROOT / "examples" / "broken.mlir")]) == 1
    assert "error: " in capsys.readouterr().out
