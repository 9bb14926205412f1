"""The bytecode of a program as a form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.analyze.forms.forms_of import EXAMPLES, PROGRAMS, names_of

import tileir
from tileir.analyze.forms.forms import Representations
from tileir.tools.main import run


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytecode_is_what_the_tool_shows(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tileir.load(EXAMPLES / name)
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tileir.to_bytecode(module))
    assert run(["objdump", str(path)]) == 0
    form = Representations(module).get("bytecode")
    assert form.text == capsys.readouterr().out


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_byte_of_a_record_is_linked_with_its_operation(name: str) -> None:
    forms = Representations(tileir.load(EXAMPLES / name))
    form, names = forms.get("bytecode"), names_of(forms)
    heads = [
        (numbers, re.search(r"operation \d+: (?:%.* = )?(\w+)", line))
        for line, numbers in zip(form.lines, form.links, strict=True)
    ]
    found = [(numbers, head[1]) for numbers, head in heads if head is not None]
    assert [(numbers, names[numbers[0]]) for numbers, _ in found] == found
    assert [numbers for numbers, _ in found] == [[number] for number in range(len(names))]
    opcodes = [numbers for line, numbers in zip(form.lines, form.links, strict=True) if " opcode " in line]
    assert opcodes == [[number] for number in range(len(names))]


def test_entries_of_the_table_of_constants_are_linked_with_those_that_use_them() -> None:
    form = Representations(tileir.load(EXAMPLES / "vector_add.mlir")).get("bytecode")
    entries = {
        line.split("constant ")[1]: numbers
        for line, numbers in zip(form.lines, form.links, strict=True)
        if re.search(r" bytes +constant \d", line)
    }
    assert entries == {
        "0: dense<128> : !cuda_tile.tile<i32>": [1],
        "1: dense<0.000000e+00> : !cuda_tile.tile<128xf32>": [19],
    }


def test_program_from_a_file_shows_the_bytes_of_the_file() -> None:
    data = tileir.to_bytecode(tileir.load(EXAMPLES / "softmax.mlir"), version="13.1")
    form = Representations(tileir.load(data)).get("bytecode")
    assert form.title == f"Bytecode, {len(data):,} bytes"
    assert any("minor version" in line and line.endswith(" 1") for line in form.lines)


def test_program_that_has_no_bytecode_says_why() -> None:
    text = """cuda_tile.module @m { entry @k(%x: tile<i32>) {
      %y = noti %x : tile<i32>
      return } }"""
    forms = Representations(tileir.parse(text))
    reason = {each.id: each.reason for each in forms.list()}["bytecode"]
    assert reason is not None and "noti" in reason
    with pytest.raises(tileir.OptionError, match="there is no bytecode to show"):
        forms.get("bytecode")
