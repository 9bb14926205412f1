"""`tileir info`: what is in a program, and what is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.tools.programs import info

PROGRAM = """\
cuda_tile.module @kernels attributes {producer = "a\\1Btool"} {
  global constant @table <f32: [0.5, 1.5]> : tile<2xf32>
  global @zeros <f32: 0.0> : tile<8xf32>
  entry @scale(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
    %b = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
    %c = constant <i32: 7> : tile<4xi32>
    %d = addi %a, %b : tile<4xi32>
    %e = addi %c, %d : tile<4xi32>
    return
  }
  entry @nothing() {
    return loc("source.py":7:3)
  }
}
"""
OPERATIONS = {"constant": 3, "addi": 2, "global": 2, "return": 2}
FUNCTIONS = [
    {"name": "scale", "entry": True, "parameters": ["tile<ptr<f32>>", "tile<i32>"], "operations": 6},
    {"name": "nothing", "entry": True, "parameters": [], "operations": 1},
]
GLOBALS = [
    {"name": "table", "type": "tile<2xf32>", "bytes": 8, "constant": True},
    {"name": "zeros", "type": "tile<8xf32>", "bytes": 32, "constant": False},
]


def facts(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert info.run([str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_facts_of_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAM)
    assert facts(path, capsys) == {
        "file": str(path),
        "bytes": len(PROGRAM),
        "kind": "text",
        "producer": "a\x1btool",
        "possible_producers": [],
        "needs": "13.3",
        "modules": ["kernels"],
        "functions": FUNCTIONS,
        "globals": GLOBALS,
        "operations": OPERATIONS,
        "constants": {"count": 3, "distinct": 2, "bytes": 20},
        "debug_info": {"operations": 1, "of": 9, "files": ["source.py"]},
    }


@pytest.mark.parametrize(("version", "layout"), [("13.3", "public"), ("13.4", "public"), ("13.1", "documented")])
def test_facts_of_bytecode(version: str, layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # What the documented layout has no place for.
    text = PROGRAM.replace("constant @table", "@table") if layout == "documented" else PROGRAM
    data = tileir.to_bytecode(tileir.parse(text), version=version, layout=layout)
    path = tmp_path / "k.tileirbc"
    path.write_bytes(data)
    found = facts(path, capsys)
    assert (found["kind"], found["version"], found["layout"]) == ("bytecode", version, layout)
    assert (found["operations"], found["functions"]) == (OPERATIONS, FUNCTIONS)
    assert found["producer"] == "a\x1btool"
    assert found["needs"] == ("13.1" if layout == "documented" else "13.3")
    # Header, sections and the end are the whole file.
    sections = {section["name"]: section for section in found["sections"]}
    assert {"Func", "String", "Type", "Global", "Producer"} <= set(sections)
    assert 12 + sum(section["bytes"] for section in sections.values()) + 1 == len(data) == found["bytes"]
    assert min(section["offset"] for section in sections.values()) == 12


def test_facts_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.mlir").write_text(PROGRAM)
    assert info.run(["k.mlir"]) == 0
    assert capsys.readouterr().out == (
        f"k.mlir: text, {len(PROGRAM)} bytes\n"
        "producer: a\\x1btool\n"
        "needs version: 13.3\n"
        "kernels:\n"
        "  @scale(tile<ptr<f32>>, tile<i32>): 6 operations\n"
        "  @nothing(): 1 operation\n"
        "globals:\n"
        "  @table: tile<2xf32>, 8 bytes, constant\n"
        "  @zeros: tile<8xf32>, 32 bytes\n"
        "operations: 9 of 4 kinds\n"
        "  constant  3\n"
        "  addi      2\n"
        "  global    2\n"
        "  return    2\n"
        "constants: 3, 2 of them different, 20 bytes\n"
        "debug information: 1 of 9 operations, from\n"
        "  source.py\n"
    )


def test_broken_bytecode_shows_what_its_outside_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(tileir.to_bytecode(tileir.parse(PROGRAM)))
    path = tmp_path / "k.tileirbc"
    path.write_bytes(data)
    functions = next(section for section in facts(path, capsys)["sections"] if section["name"] == "Func")
    # All of it but the header.
    length = functions["bytes"] - 8
    data[functions["offset"] + 8 : functions["offset"] + functions["bytes"]] = b"\x7f" * length
    path.write_bytes(data)
    assert info.run([str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{path}: bytecode, {len(data)} bytes, version 13.4, public layout\nsections:\n  ")
    assert captured.err.startswith("error: ")
    path.write_bytes(data[:20])
    assert info.run([str(path)]) == 1
    assert capsys.readouterr().out == f"{path}: bytecode, 20 bytes, version 13.4, public layout\n"


def test_wrong_and_missing_files_do_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, wrong = tmp_path / "good.mlir", tmp_path / "wrong.mlir"
    good.write_text(PROGRAM)
    wrong.write_text(PROGRAM.replace("addi %a", "nonsense %a"))
    assert info.run([str(wrong), str(tmp_path / "gone"), str(good)]) == 2
    captured = capsys.readouterr()
    assert f"{good}: text" in captured.out
    assert f"--> {wrong}:8:10\n" in captured.err
    assert f"error: cannot read '{tmp_path / 'gone'}': No such file or directory\n" in captured.err


def test_installation_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert info.run(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == tileir.__version__
    assert found["build"] == ("compiled" if str(tileir.ir.core.__file__).endswith((".so", ".pyd")) else "pure Python")
    assert {"cpu", "interpreter"} <= set(found["backends"])
    assert found["backends"]["interpreter"]["missing"] is None
    assert set(found["confinement"]) == {"limits", "files", "system calls"}
