"""Vim with `editors/vim` on its path: file types, the groups of words, comments, and `:make`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from generators.highlighting import words
from tests.editors.installing import ROOT

VIM = shutil.which("vim") or shutil.which("nvim")
pytestmark = [pytest.mark.long, pytest.mark.skipif(VIM is None, reason="needs Vim: apt-get install vim")]


def vim(directory: Path, file: str, script: str) -> object:
    """What a script leaves in `result`, with a file open."""
    (directory / "session.vim").write_text(
        f"set nocompatible runtimepath+={ROOT}/editors/vim\nfiletype plugin on\nsyntax on\nedit {file}\n{script}\n"
        "call writefile([json_encode(result)], 'result.json')\nqall!\n",
        encoding="utf-8",
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [VIM, "-e", "-s", "-n", "-i", "NONE", "-u", "NONE", "-S", "session.vim"]
    environment = {**os.environ, "HOME": str(directory), "PATH": path}
    subprocess.run(command, cwd=directory, env=environment, capture_output=True, timeout=120, check=True)
    return json.loads((directory / "result.json").read_text(encoding="utf-8"))


GROUPS = """
let result = []
for number in range(2, line('$'))
  call add(result, synIDattr(synID(number, 6, 1), 'name'))
endfor
"""


def test_every_word_is_in_its_group(tmp_path: Path) -> None:
    found = words()
    groups = {
        "tileirControl": found.control,
        "tileirDefinition": found.definitions,
        "tileirOperation": found.operations,
        "tileirType": (*found.types, *found.elements),
        "tileirConstant": found.constants,
        "tileirBoolean": found.booleans,
        "tileirWord": found.syntax,
    }
    every = [(word, group) for group, list in groups.items() for word in list]
    text = "cuda_tile.module @m {\n" + "".join([f"%x = {word} %y\n" for word, _ in every])
    (tmp_path / "words.mlir").write_text(text, encoding="utf-8")
    seen = vim(tmp_path, "words.mlir", GROUPS)
    assert isinstance(seen, list)
    assert [(word, group) for (word, _), group in zip(every, seen, strict=True)] == every


PLACES = [
    ("%value = iota : tile<8xi32>", "value", "tileirValue"),
    ("entry @kernel() {", "kernel", "tileirSymbol"),
    ("%x = iota : tile<4x?xf32>", "f32", "tileirElement"),
    ("%x = iota : tile<4x?xf32>", "4x", "tileirExtents"),
    ("%x = cat %a, %b {custom = 1}", "custom", "tileirAttribute"),
    ('print_tko "addf" -> token', "addf", "tileirString"),
    ("// addf", "addf", "tileirComment"),
    ("^bb0:", "bb0", "tileirLabel"),
    ("#layout = loc(unknown)", "layout", "tileirAlias"),
    ('%x = "cuda_tile.addf"(%a)', "addf", "tileirGeneric"),
    ("%x = constant <f32: 0xFF800000>", "0xFF", "tileirNumber"),
]


def test_places(tmp_path: Path) -> None:
    text = "cuda_tile.module @m {\n" + "".join([line + "\n" for line, _, _ in PLACES])
    (tmp_path / "places.mlir").write_text(text, encoding="utf-8")
    columns = [line.index(word) + 1 for line, word, _ in PLACES]
    script = f"let columns = {columns}\nlet result = []\nfor number in range({len(PLACES)})\n" + (
        "  call add(result, synIDattr(synID(number + 2, columns[number], 1), 'name'))\nendfor"
    )
    assert vim(tmp_path, "places.mlir", script) == [group for _, _, group in PLACES]


def test_file_types(tmp_path: Path) -> None:
    (tmp_path / "other.mlir").write_text("func.func @f() {\n  return\n}\n", encoding="utf-8")
    (tmp_path / "program.mlir").write_text("// A kernel.\n\ncuda_tile.module @m {\n}\n", encoding="utf-8")
    (tmp_path / "empty.tileir.mlir").write_text("", encoding="utf-8")
    types = {
        file: vim(tmp_path, file, "let result = &filetype")
        for file in ("other.mlir", "program.mlir", "empty.tileir.mlir")
    }
    assert types["other.mlir"] != "tileir" and types["program.mlir"] == types["empty.tileir.mlir"] == "tileir"


def test_make_fills_the_list_of_mistakes(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "broken.mlir", tmp_path)
    script = "silent! make!\nlet result = map(filter(getqflist(), 'v:val.valid'), '[v:val.lnum, v:val.type]')"
    found = vim(tmp_path, "broken.mlir", script)
    assert isinstance(found, list)
    assert [line for line, kind in found if kind == "e"] == [5, 11, 19]
