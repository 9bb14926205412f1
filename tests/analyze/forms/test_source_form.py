"""The script that a kernel was written in, and its lines."""

from __future__ import annotations

import linecache
from pathlib import Path

import numpy
import pytest
from tests.analyze.forms.forms_of import names_of
from tests.kernels.export import TOOLS_MISSING, all_cases, export, tools_available

import tileir
from tileir.analyze.forms.form import Representation
from tileir.analyze.forms.forms import Representations
from tileir.execute.launching.entries import entries_of
from tileir.execute.recording.program import NumberedProgram

pytest.importorskip("cuda.tile", reason="cuTile is not installed: pip install cuda-tile")


def forms_of_kernel(name: str, *arguments: object) -> Representations:
    from tests.analyze.forms import cutile_programs

    return Representations(tileir.compile(getattr(cutile_programs, name), arguments))


@pytest.fixture(scope="module")
def scaled() -> Representations:
    return forms_of_kernel("scaled", numpy.zeros(64, "f4"), numpy.zeros(64, "f4"), 3.0)


def names_at(forms: Representations, form: Representation, text: str) -> set[str]:
    """The operations of the line that begins with a text."""
    names = names_of(forms)
    (numbers,) = [
        numbers for line, numbers in zip(form.lines, form.links, strict=True) if line.strip().startswith(text)
    ]
    return {names[number] for number in numbers}


def test_script_is_shown_with_its_own_line_numbers(scaled: Representations) -> None:
    form = scaled.get("source")
    assert (form.title, form.language) == ("cutile_programs.py", "python")
    lines = (Path(__file__).parent / "cutile_programs.py").read_text().split("\n")[:-1]
    assert form.lines[: len(lines)] == lines


def test_lines_have_the_operations_they_became(scaled: Representations) -> None:
    form = scaled.get("source")
    assert "get_tile_block_id" in names_at(scaled, form, "block = ct.bid(0)")
    assert {"load_view_tko"} <= names_at(scaled, form, "x = ct.load(")
    assert "store_view_tko" in names_at(scaled, form, "ct.store(target, (block,), y)")
    # Other kernels of the file are in no operation.
    assert names_at(scaled, form, "total = ct.zeros(") == set()


def test_expression_over_several_lines_has_its_operations_on_all(scaled: Representations) -> None:
    form = scaled.get("source")
    start = next(number for number, line in enumerate(form.lines) if line.strip() == "x = ct.load(")
    assert all(set(form.links[start]) <= set(form.links[line]) for line in range(start, start + 5))


def test_function_of_another_file_is_shown_with_its_call(scaled: Representations) -> None:
    form = scaled.get("source")
    assert names_at(scaled, form, "return x + x") == {"addf"}
    assert {"addf", "mulf"} <= names_at(scaled, form, "y = cutile_functions.twice(x) * factor")
    (head,) = [line for line in form.lines if line.startswith("# ") and line.endswith("cutile_functions.py")]
    assert form.lines.index(head) > form.lines.index("def counted(source, target):")
    assert "def unused(x):" not in form.lines


def test_loop_of_a_script_is_linked_by_its_first_line() -> None:
    forms = forms_of_kernel("counted", numpy.zeros(64, "f4"), numpy.zeros(16, "f4"))
    form = forms.get("source")
    assert "for" in names_at(forms, form, "for k in range(")
    assert "addf" not in names_at(forms, form, "for k in range(")
    assert "addf" in names_at(forms, form, "total = total + ct.load(")


def test_script_that_is_gone_is_named(scaled: Representations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linecache, "getlines", lambda file: [])
    forms = Representations(scaled.module, entry=scaled.entry.symbol_name)
    reason = forms.list()[0].reason
    assert reason is not None and reason.endswith("cutile_programs.py cannot be read")
    with pytest.raises(tileir.OptionError, match="no source to show"):
        forms.get("source")


def test_every_form_of_a_script_is_linked(scaled: Representations) -> None:
    names = names_of(scaled)
    product = names.index("mulf")
    steps = [each.id for each in scaled.list() if each.id.startswith("pass-")]
    for id in ("source", "tile", *steps, "bytecode", "loops", "llvm", "llvm-opt", "assembly"):
        assert scaled.get(id).lines_of(product), id


CASES = all_cases() if tools_available() else ()


def check_case(name: str, ids: tuple[str, ...]) -> None:
    case = next(each for each in CASES if each.name == name)
    module = tileir.from_bytecode(export(case, case.versions[-1]))
    entry = next(iter(entries_of(module)))
    forms = Representations(module, entry=entry)
    names = names_of(forms)
    kernel = tileir.compile(module, entry=entry, backend="cpu")
    for id in ids:
        form = forms.get(id)
        if id in ("loops", "llvm"):
            assert form.text == kernel.dump(id)
        linked = {number for numbers in form.links for number in numbers}
        # What the optimizer removes, and what this machine has no use for, is gone from the code.
        missing = {names[number] for number in range(len(names)) if number not in linked}
        gone = {"return"} if id != "bytecode" else set()
        if id in ("loops", "llvm"):
            last = forms.get("pass-1") if any(each.id == "pass-1" for each in forms.list()) else forms.get("tile")
            alive = {number for numbers in last.links for number in numbers}
            missing = {names[number] for number in alive - linked}
            gone |= {"gdc_launch_dependents_tko", "join_tokens"}
        assert missing <= gone, id


@pytest.mark.sampled(3)
@pytest.mark.skipif(not CASES, reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", [case.name for case in CASES[::24]])
def test_kernels_of_cutile_are_linked_in_source_loops_and_llvm(name: str) -> None:
    check_case(name, ("source", "tile", "bytecode", "loops", "llvm"))


@pytest.mark.long
@pytest.mark.skipif(not CASES, reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_all_kernels_of_cutile_are_linked(name: str) -> None:
    check_case(name, ("source", "tile", "bytecode", "loops", "llvm"))


def test_operations_have_the_numbers_that_recordings_give_them(scaled: Representations) -> None:
    program = NumberedProgram(scaled.entry)
    tile = scaled.get("tile")
    assert tile.lines == program.lines
    for number, line in enumerate(program.line_numbers):
        assert number in tile.links[line]
