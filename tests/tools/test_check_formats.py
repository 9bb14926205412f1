"""`tileir check --format`: findings for other programs, and in color for people."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.terminal import wants_color
from tileir.tools.programs import check

GOOD = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"
CLASH = "cuda_tile.module @m {\n  entry @f(%a: tile<i32>) {\n    %b = addi %a, %a : tile<i64>\n    return\n  }\n}\n"
CLASH_WORDS = (
    "use of value '%a' expects different type than prior uses: '!cuda_tile.tile<i64>' vs '!cuda_tile.tile<i32>'"
)
DRAFT_SPELLING = GOOD.replace("    return", "    %a = constant dense<1> : tile<i32>\n    return")
DOUBTFUL_HINT = GOOD.replace("@f()", "@f() optimization_hints=<sm_7 = {}>")
UNSOUND = GOOD.replace("@f()", "@f(%a: tile<i32>)").replace("    return", "    %b = negf %a : tile<i32>\n    return")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A file of each kind of finding, by name; the first is fine, and one is missing."""
    texts = {"clash": CLASH, "draft": DRAFT_SPELLING, "hint": DOUBTFUL_HINT, "sound": GOOD, "unsound": UNSOUND}
    for name, text in texts.items():
        (tmp_path / f"{name}.mlir").write_text(text)
    (tmp_path / "binary.mlir").write_bytes(b"\x00\x01")
    (tmp_path / "broken.tileirbc").write_bytes(tileir.to_bytecode(tileir.parse(GOOD))[:-3])
    monkeypatch.chdir(tmp_path)
    return ["sound.mlir", *sorted({path.name for path in tmp_path.iterdir()} - {"sound.mlir"}), "missing.mlir"]


def test_json_has_files_that_cannot_be_read(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["binary.mlir", "missing.mlir", ".nothing/*", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    findings = [json.loads(line) for line in captured.out.splitlines()]
    place = {"line": 0, "column": 0, "severity": "error", "notes": []}
    assert findings == [
        {"file": ".nothing/*", "message": "cannot read '.nothing/*': nothing matches this pattern", **place},
        {
            "file": "binary.mlir",
            "message": "'binary.mlir' is no Tile IR program: it holds neither Tile IR text nor Tile IR bytecode",
            **place,
        },
        {"file": "missing.mlir", "message": "cannot read 'missing.mlir': No such file or directory", **place},
    ]


def test_json_is_a_format(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["clash.mlir", "--json"]) == 1
    first = capsys.readouterr()
    assert check.run(["clash.mlir", "--format", "json"]) == 1
    assert capsys.readouterr() == first
    assert check.run(["clash.mlir", "--format", "sarif", "--json"]) == 2
    assert capsys.readouterr().err == "error: '--json' and '--format sarif' exclude each other\n"


# --- github ---


def test_workflow_commands(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([*files, "--format", "github", "--hints", "warn"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    # The reader says twice that the bytecode ends too soon.
    del lines[2]
    assert (
        lines[0]
        == "::error file=binary.mlir::'binary.mlir' is no Tile IR program: it holds neither Tile IR text nor Tile IR bytecode"
    )
    assert lines[1].startswith("::error file=broken.tileirbc::")
    words = CLASH_WORDS.replace("%", "%25")
    assert (
        lines[2]
        == f"::error file=clash.mlir,line=3,col=15::{words}%0Aclash.mlir:2:12: note: prior use here%0Aclash.mlir:3:24: help: change the type to 'tile<i32>'"
    )
    assert lines[3].startswith("::notice file=draft.mlir,line=3,col=19::'dense<..>' is read as ")
    assert lines[4].startswith("::warning file=hint.mlir,line=2,col=3::")
    assert lines[5].startswith("::error file=unsound.mlir,line=3,col=10::'cuda_tile.negf' op operand #0 must be ")
    assert lines[6:] == ["::error file=missing.mlir::cannot read 'missing.mlir': No such file or directory"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_workflow_commands_cannot_be_smuggled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a,b:c%d\n::error::x\x1b[1m.mlir"
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("nonsense%0A\n")
    assert check.run([name, "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(r"::error file=a%2Cb%3Ac%25d\x0a%3A%3Aerror%3A%3Ax\x1b[1m.mlir,line=1,col=1::")


def test_files_of_the_current_directory_have_their_names_in_the_repository(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    check.run([".", "--format", "github"])
    assert "\n::error file=clash.mlir," in capsys.readouterr().out
    _, results = sarif(["."], capsys)
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert "clash.mlir" in uris and not [uri for uri in uris if uri.startswith(".")]


# --- SARIF ---

# The part of the official schema that is used here: of each object the properties that there may be, and how they
# look.  `!` marks those that there must be.
_TEXT = {"text!": str}
_LOCATION = {
    "id": int,
    "message": _TEXT,
    "physicalLocation!": {
        "artifactLocation!": {"uri!": r"(file:///)?[\w/.~%-]+", "uriBaseId": r"%SRCROOT%"},
        "region": {"startLine": int, "startColumn": int, "byteOffset": int},
    },
}
_RESULT = {
    "ruleId!": r"[a-z-]+",
    "ruleIndex!": int,
    "level!": r"error|warning|note|none",
    "message!": _TEXT,
    "locations!": [_LOCATION],
    "relatedLocations": [_LOCATION],
}
_RULE = {"id!": r"[a-z-]+", "shortDescription": _TEXT, "defaultConfiguration": {"level!": r"error|warning|note|none"}}
_DRIVER = {"name!": r"tileir", "version": str, "semanticVersion": r"\d+\.\d+\.\d+", "rules": [_RULE]}
_DOCUMENT = {
    "$schema": r"https://docs\.oasis-open\.org/sarif/sarif/v2\.1\.0/.*/sarif-schema-2\.1\.0\.json",
    "version!": r"2\.1\.0",
    "runs!": [{"tool!": {"driver!": _DRIVER}, "columnKind": r"unicodeCodePoints", "results!": [_RESULT]}],
}


def conforms(value: Any, schema: Any, place: str = "") -> None:
    if isinstance(schema, dict):
        assert isinstance(value, dict), place
        names = {name.rstrip("!"): name for name in schema}
        assert set(value) <= set(names), place
        for name, spelled in names.items():
            assert name in value or not spelled.endswith("!"), f"{place}/{name}"
            if name in value:
                conforms(value[name], schema[spelled], f"{place}/{name}")
    elif isinstance(schema, list):
        assert isinstance(value, list), place
        for number, item in enumerate(value):
            conforms(item, schema[0], f"{place}/{number}")
    elif isinstance(schema, str):
        assert isinstance(value, str) and re.fullmatch(schema, value), f"{place}: {value}"
    else:
        assert type(value) is schema, place


def sarif(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    status = check.run([*arguments, "--format", "sarif"])
    captured = capsys.readouterr()
    assert captured.err == ""
    document = json.loads(captured.out)
    conforms(document, _DOCUMENT)
    (run,) = document["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    return status, run["results"]


def test_sarif_has_every_kind_of_finding(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, results = sarif([*files, "--hints", "warn"], capsys)
    assert status == 2
    # Each once: the reader says twice that the bytecode ends too soon.
    found = dict.fromkeys(
        (r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], r["ruleId"], r["level"]) for r in results
    )
    assert list(found) == [
        ("binary.mlir", "unreadable", "error"),
        ("broken.tileirbc", "bytecode", "error"),
        ("clash.mlir", "syntax", "error"),
        ("draft.mlir", "draft-spelling", "note"),
        ("hint.mlir", "doubtful", "warning"),
        ("unsound.mlir", "verification", "error"),
        ("missing.mlir", "unreadable", "error"),
    ]


def test_sarif_places(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, (clash, broken, _) = sarif(["clash.mlir", "broken.tileirbc"], capsys)
    assert clash["message"]["text"] == CLASH_WORDS
    assert clash["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 15}
    related, fix = clash["relatedLocations"]
    assert fix["message"]["text"] == "change the type to 'tile<i32>'"
    assert related["message"]["text"] == "prior use here"
    assert related["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 12}
    assert set(broken["locations"][0]["physicalLocation"]["region"]) == {"byteOffset"}


def test_sarif_without_findings(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert sarif(["sound.mlir"], capsys) == (0, [])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_sarif_addresses_of_odd_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, results = sarif(["a b:c.mlir", "\udcff\n.mlir", "/nowhere/é"], capsys)
    addresses = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
    assert addresses == ["a%20b%3Ac.mlir", "%FF%0A.mlir", "file:///nowhere/%C3%A9"]
    # Half of a pair of surrogates is no text to most readers of JSON.
    assert results[1]["message"]["text"] == r"cannot read '\xff\x0a.mlir': No such file or directory"


# --- colors ---

_ESCAPE = re.compile(r"\033\[[\d;]*m")


def test_colors_change_no_words(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sources = [*files, "--hints", "warn"]
    check.run(sources)
    plain = capsys.readouterr()
    check.run([*sources, "--color", "always"])
    colored = capsys.readouterr()
    assert _ESCAPE.sub("", colored.out) == plain.out
    assert "\033[1;31merror:\033[0m \033[1muse of value" in colored.out
    assert "\033[1;36mnote:\033[0m prior use here" in colored.out
    assert " \033[1;34m|\033[0m               \033[1;32m^\033[0m\n" in colored.out
    assert "\033[1;35mwarning:" in colored.out and "\033[1;34mremark:" in colored.out


def test_escapes_of_a_file_are_not_colors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k\x1b[31m.mlir"
    path.write_bytes(GOOD.replace("return", "\x1b[31mreturn \x9b31m").encode())
    assert check.run([str(path), "--color", "always"]) == 1
    printed = capsys.readouterr().out
    assert "\x1b[31m" not in printed and "\x9b" not in printed
    assert r"k\x1b[31m.mlir:3:5" in printed


class Screen:
    """A stream that is a terminal, or not."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("environment", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, True, True),
        ({"CLICOLOR_FORCE": "0"}, True, False),
        ({"CLICOLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_who_gets_colors(
    environment: dict[str, str], on_terminal: bool, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(Screen(True)) is on_terminal  # type: ignore[arg-type]
    assert wants_color(Screen(False)) is elsewhere  # type: ignore[arg-type]


def test_the_command_line_outranks_the_environment(
    files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    check.run(["clash.mlir", "--color", "always"])
    assert "\033" in capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    check.run(["clash.mlir", "--color", "never"])
    assert "\033" not in capsys.readouterr().out
    for format in ("json", "sarif", "github"):
        check.run(["clash.mlir", "--format", format, "--color", "always"])
        assert "\033" not in capsys.readouterr().out
