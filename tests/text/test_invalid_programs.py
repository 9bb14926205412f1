"""The texts of tests/programs/*_invalid.mlir: each piece says itself which findings it must give, and where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tileir.tools.drop_in import opt as drop_in_opt

PROGRAMS = Path(__file__).parent.parent / "programs"
FILES = sorted(PROGRAMS.glob("*_invalid.mlir"))
SEPARATOR = re.compile(r"^// -----$", re.MULTILINE)
FLAGS = ["-split-input-file", "-verify-diagnostics", "-allow-unregistered-dialect"]


def test_programs_are_there() -> None:
    assert len(FILES) >= 13


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_piece_gives_the_findings_it_names(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = drop_in_opt.run([str(path), *FLAGS])
    output = capsys.readouterr()
    assert (status, output.err) == (0, "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_piece_names_an_error(path: Path) -> None:
    silent = [piece for piece in SEPARATOR.split(path.read_text()) if "// expected-error @" not in piece]
    assert silent == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_expectation_that_is_left_out_is_missed(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = path.read_text().split("\n")
    last = max(number for number, line in enumerate(lines) if "// expected-error" in line)
    text = lines.pop(last).partition("{{")[2].removesuffix("}}")
    shortened = tmp_path / path.name
    shortened.write_text("\n".join(lines))
    assert drop_in_opt.run([str(shortened), *FLAGS]) == 1
    assert f"unexpected error: {text}" in capsys.readouterr().err
