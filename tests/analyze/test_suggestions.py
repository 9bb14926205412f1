"""Notes of the tools beyond NVIDIA's messages: which version brought something, and which name was meant."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.analyze import suggestions
from tileir.tools.bytecode import assemble
from tileir.tools.drop_in import translate as drop_in_translate
from tileir.tools.programs import check

TEXT = "cuda_tile.module @kernels {\n  entry @f(%a: tile<f32>) {\n    BODY\n    return\n  }\n}\n"
NEW_OPERATION = TEXT.replace("BODY", "%b = atan2 %a, %a : tile<f32>")
NEW_KEYWORD = TEXT.replace("BODY", "%b = ftof %a rounding<nearest_away> : tile<f32> -> tile<tf32>")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def notes(text: str) -> list[str]:
    return re.findall(r"^(?: += )?(?:note|help): (.*)", text, re.MULTILINE)


@pytest.mark.parametrize("generic", [False, True])
def test_operation_that_an_older_text_does_not_have(
    generic: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tileir.parse(NEW_OPERATION).text(generic=True) if generic else NEW_OPERATION
    Path("k.mlir").write_text(text)
    assert check.run(["k.mlir"]) == 0
    assert check.run(["k.mlir", "--dialect-version", "13.1"]) == 1
    assert notes(capsys.readouterr().out) == ["'atan2' is there since 13.2"]


def test_operation_that_older_bytecode_does_not_have(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.mlir").write_text(NEW_OPERATION)
    assert assemble.run(["k.mlir", "-o", "k.tileirbc", "--bytecode-version", "13.1"]) == 1
    assert notes(capsys.readouterr().err) == ["'atan2' is there since 13.2"]


def test_keyword_that_older_bytecode_does_not_have(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.mlir").write_text(NEW_KEYWORD)
    assert assemble.run(["k.mlir", "-o", "k.tileirbc", "--bytecode-version", "13.3"]) == 1
    (note,) = notes(capsys.readouterr().err)
    assert note.startswith("newer keywords of 'rounding_mode': ") and "'nearest_away' since 13.4" in note


def test_opcode_that_the_version_of_a_file_does_not_have(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(tileir.to_bytecode(tileir.parse(NEW_OPERATION)))
    data[9] = 1
    Path("k.tileirbc").write_bytes(data)
    assert check.run(["k.tileirbc"]) == 1
    assert notes(capsys.readouterr().out) == ["opcode 110 is 'atan2', since 13.2"]


@pytest.mark.parametrize("name", ["addf", "no_such_thing_at_all", "'", "test.of_no_dialect"])
def test_nothing_is_said_about_what_is_not_newer(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.mlir").write_text(TEXT.replace("BODY", f"{name} %a, %a, : tile<f32>"))
    assert check.run(["k.mlir"]) == 1
    assert "since" not in capsys.readouterr().out


def test_not_every_word_of_something_else_is_compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suggestions, "_meant", {})
    entries = [f"  entry @k() {{\n    adf{number or 'f'}\n  }}\n" for number in range(300)]
    Path("k.mlir").write_text(f"cuda_tile.module @m {{\n{''.join(entries)}}}\n")
    looked_up: list[str] = []
    compare = difflib.get_close_matches

    def noted(word: str, *more: Any) -> list[str]:
        looked_up.append(word)
        return compare(word, *more)

    monkeypatch.setattr(difflib, "get_close_matches", noted)
    assert check.run(["k.mlir"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("error: ") == 300 and "did you mean 'addf'?" in printed
    assert len(set(looked_up)) == 100 and len(looked_up) <= 120


def test_drop_ins_say_what_the_tools_they_replace_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.mlir").write_text(NEW_OPERATION)
    arguments = ["k.mlir", "-mlir-to-cudatilebc", "-no-implicit-module", "-bytecode-version=13.1", "-o", "k.bc"]
    assert drop_in_translate.run(arguments) == 1
    assert "since" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ("%b = addf %a, %a rounding<zro> : tile<f32>", ["zero"]),
        ("%b = cmpf equl ordered %a, %a : tile<f32> -> tile<i1>", ["equal", "not_equal"]),
        ("%b = ftoi %a singed : tile<f32> -> tile<i32>", ["signed", "unsigned"]),
        ("%b = addf %a, %a rounding<sideways> : tile<f32>", []),
    ],
)
def test_keyword_that_was_meant(
    body: str, changes: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.mlir").write_text(TEXT.replace("BODY", body))
    assert check.run(["k.mlir"]) == 1
    assert notes(capsys.readouterr().out) == [f"change to '{keyword}'" for keyword in changes]
