"""Positions in a C++ source: programs without NVRTC, whose operations have the locations that it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.execute.sanitized import zeros
from tests.execute.test_sanitizer import LOAD8

import tileir
from tileir.analyze.forms.source import source_form
from tileir.execute.recording.program import NumberedProgram
from tileir.ir.location import Location, call_site_location, file_location

SOURCE = """\
template <int N>
__tile_global__ void k(const int* p) {
    auto v = ct::load(p + ct::iota<tile<N>>());
}
"""
LINE = "auto v = ct::load(p + ct::iota<tile<N>>());"


@pytest.fixture
def program(tmp_path: Path) -> tileir.Module:
    """A kernel that reads eight elements, with the positions of a C++ source, the load's within NVIDIA's header."""
    path = tmp_path / "k.cuh"
    path.write_text(SOURCE, encoding="utf-8")
    module = tileir.parse(f"entry @k(%p: tile<ptr<i32>>) {{\n{LOAD8}\n return }}")
    here = file_location(str(path), 3, 14)
    for operation in module.walk():
        in_header: Location = file_location("/cuda/include/cuda_tile.h", 100, 5)
        operation.location = call_site_location(in_header, here) if operation.name.endswith("load_ptr_tko") else here
    return module


def test_a_finding_marks_the_column_which_counts_from_one(program: tileir.Module) -> None:
    with pytest.raises(tileir.SanitizerError) as caught:
        tileir.compile(program, backend="interpreter").launch(1, (zeros(6),), sanitize=True)
    assert "k.cuh:3:14, tile block (0, 0, 0), element [6]" in str(caught.value)
    assert f"    3 | {LINE}\n      |          ^\n" in str(caught.value)


def test_every_operation_has_its_line_of_the_source(program: tileir.Module) -> None:
    numbered = NumberedProgram(tileir.compile(program).entry)
    lines = {numbered.script_line(number) for number in range(len(numbered.operations))}
    assert {(line.line, line.text) for line in lines if line is not None} == {(3, LINE)} and None not in lines


def test_a_source_that_is_gone_has_no_lines(program: tileir.Module, tmp_path: Path) -> None:
    (tmp_path / "k.cuh").unlink()
    numbered = NumberedProgram(tileir.compile(program).entry)
    assert numbered.script_line(0) is None


def test_the_source_is_the_first_of_the_forms(program: tileir.Module) -> None:
    kernel = tileir.compile(program)
    form = source_form(kernel.entry)
    assert (form.title, form.language, form.lines) == ("k.cuh", "cpp", SOURCE.splitlines())
    assert [bool(linked) for linked in form.links] == [False, False, True, False]
