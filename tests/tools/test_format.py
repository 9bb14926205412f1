"""`tileir format`: files laid out in place, or told about."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tileir.tools.programs import format as format_tool

MESSY = "entry @k(){ // why\nreturn}\n"
GOOD = "entry @k() { // why\n  return\n}\n"


def test_a_file_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(MESSY)
    assert format_tool.run([str(path)]) == 0
    assert path.read_text() == GOOD
    assert capsys.readouterr().out == f"changed: {path}\n1 file changed\n"
    assert format_tool.run([str(path)]) == 0
    assert capsys.readouterr().out == "1 file already laid out\n"


def test_check_names_files_and_changes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy, good = tmp_path / "a.mlir", tmp_path / "b.mlir"
    messy.write_text(MESSY)
    good.write_text(GOOD)
    assert format_tool.run(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"would change: {messy}\n1 file would change, 1 already laid out\n"
    assert messy.read_text() == MESSY
    assert format_tool.run(["--check", "-q", str(good)]) == 0
    assert capsys.readouterr().out == ""


def test_diff_shows_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(MESSY)
    assert format_tool.run(["--diff", str(path)]) == 1
    shown = capsys.readouterr().out.split("\n")
    assert shown[2:] == [
        "@@ -1,2 +1,3 @@",
        *[f"-{line}" for line in MESSY.split("\n")[:2]],
        *[f"+{line}" for line in GOOD.split("\n")[:3]],
        "",
    ]
    assert path.read_text() == MESSY


def test_standard_input_goes_to_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MESSY.encode())))
    assert format_tool.run(["-"]) == 0
    assert capsys.readouterr().out == GOOD


def test_what_cannot_be_laid_out_is_an_error_and_the_rest_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, messy, bytecode = tmp_path / "a.mlir", tmp_path / "b.mlir", tmp_path / "c.tileirbc"
    broken.write_text("entry @k( {\n  }\n")
    messy.write_text(MESSY)
    bytecode.write_bytes(b"\x7fTileIR\x00 and more")
    assert format_tool.run([str(broken), str(messy), str(bytecode), str(tmp_path / "missing.mlir")]) == 2
    told = capsys.readouterr()
    assert f"'{broken}' is left as it is: {broken}:1:11: error: " in told.err and "missing.mlir" in told.err
    assert broken.read_text() == "entry @k( {\n  }\n"
    assert messy.read_text() == GOOD
    assert told.out.endswith("1 file changed\n")
    assert bytecode.read_bytes() == b"\x7fTileIR\x00 and more"


def test_check_and_diff_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert format_tool.run(["--check", "--diff", "x.mlir"]) == 2


def test_what_is_found_is_laid_out_only_if_it_is_a_tile_program_of_its_own(tmp_path: Path) -> None:
    outside = tmp_path / "outside.mlir"
    outside.write_text(MESSY)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.mlir").symlink_to(outside)
    (folder / "other.mlir").write_text("func.func @f() {\nreturn\n}\n")
    (folder / "own.mlir").write_text(MESSY)
    assert format_tool.run([str(folder)]) == 0
    assert outside.read_text() == MESSY
    assert (folder / "other.mlir").read_text() == "func.func @f() {\nreturn\n}\n"
    assert (folder / "own.mlir").read_text() == GOOD


def test_permissions_and_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(MESSY.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert format_tool.run([str(path)]) == 0
    assert path.read_bytes() == GOOD.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640
