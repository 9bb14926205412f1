"""Where NVIDIA's assembler was seen to lose an order the sanitizer says so, in a note; near twins are left alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
from tests.hardware.measured import page_programs

import tileir
from tileir.execute.sanitizer.conflicts import AGAIN, IN_LOOP, MASKED, PAGE
from tileir.tools.bytecode.run import run

PROGRAMS = {anchor: programs[0] for anchor, programs in page_programs().items()}


def notes(program: str) -> tileir.sanitizer.SanitizerReport:
    kernel = tileir.compile(tileir.parse(program, "k.mlir"))
    values = [numpy.arange(4096, dtype="i4") if "ptr" in type else 2 for type in kernel.parameters]
    sanitizer = tileir.sanitizer.Sanitizer()
    kernel.launch(1, values, observer=sanitizer)
    assert not sanitizer.report, sanitizer.report.render()
    return sanitizer.report


def about(report: tileir.sanitizer.SanitizerReport) -> list[str]:
    """The places on the page that the notes point to."""
    return [match for note in report.notes for match in re.findall(rf"{PAGE}#([a-z-]+)", note.help)]


# What is changed in the program of the page so that the pattern is gone.
TWINS = {
    MASKED: [
        ("constant <i1: false> : tile<64xi1>", "constant <i1: true> : tile<64xi1>"),
        (
            "    %seen, %after = load_ptr_tko weak %backwards token=%between",
            "    %both = join_tokens %stored, %between : token\n"
            "    %seen, %after = load_ptr_tko weak %backwards token=%both",
        ),
        # Other memory: nothing needs the order.
        ("offset %p_64, %opposite", "offset %q_64, %opposite"),
    ],
    IN_LOOP: [
        ("load_ptr_tko weak %backwards", "load_ptr_tko weak %forwards"),
        ("store_ptr_tko weak %forwards", "store_ptr_tko weak %backwards"),
    ],
    AGAIN: [
        ("store_ptr_tko weak %target, %x ", "store_ptr_tko weak %target, %nine "),
        ("store_ptr_tko weak %address, %nine token=%read", "store_ptr_tko weak %target, %nine"),
    ],
}


@pytest.mark.parametrize("what", TWINS)
def test_the_program_of_the_page_gets_its_note_and_near_twins_none(what: str) -> None:
    program = PROGRAMS[what]
    assert about(notes(program)) == [what]
    for before, after in TWINS[what]:
        assert program.count(before) == 1
        changed = program.replace(before, after)
        if what == AGAIN and "%target, %nine" in after and "%written = store_ptr_tko weak %target, %x" in changed:
            changed = changed.replace("weak %target, %x :", "weak %target, %x token=%stored :")
        assert notes(changed).notes == [], (what, after)


def test_a_note_has_both_lines_the_reason_and_the_page() -> None:
    report = notes(PROGRAMS[MASKED])
    assert report.render() == (
        "sanitizer: nothing found in @k, grid (1, 1, 1)\n"
        "\n"
        "note: on a GPU load_ptr_tko may not wait for store_ptr_tko: the order goes through a load whose mask is false\n"
        "  --> k.mlir:21:21, tile block (0, 0, 0), element [0]\n"
        "   21 | %seen, %after = load_ptr_tko weak %backwards token=%between : tile<64xptr<i32>> -> tile<64xi32>, token\n"
        "      |                 ^\n"
        "  after k.mlir:14:15, tile block (0, 0, 0)\n"
        "   14 | %stored = store_ptr_tko weak %forwards, %new : tile<64xptr<i32>>, tile<64xi32> -> token\n"
        "      |           ^\n"
        "  both touch argument 0 (array int32[4096]) at [63], and tokens order them: the program is right\n"
        "  that load is load_ptr_tko at k.mlir:17:25\n"
        "  = help: NVIDIA's assembler 13.4 has been observed to do this (docs/internals/nvidia.md#token-of-a-load-whose-mask-is-false): "
        "pass the token of store_ptr_tko on directly, too (join_tokens)"
    )
    loop = notes(PROGRAMS[IN_LOOP]).notes[0]
    assert loop.title == "on a GPU store_ptr_tko may overtake load_ptr_tko, which it follows in a `loop`"
    assert loop.count == 2
    again = notes(PROGRAMS[AGAIN]).notes[0]
    assert again.title == "on a GPU load_ptr_tko may be issued again after store_ptr_tko"
    assert again.details[1] == "what it loads is used later, by store_ptr_tko at k.mlir:13:16"


def test_a_loop_with_a_counter_gets_no_note() -> None:
    program = PROGRAMS[IN_LOOP]
    begin, end = program.index("    %end = loop"), program.index("    return")
    counted = """    %end = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%t = %start) -> (token) {
      %x, %read = load_ptr_tko weak %backwards token=%t : tile<4096xptr<i32>> -> tile<4096xi32>, token
      %stored = store_ptr_tko weak %forwards, %x token=%read : tile<4096xptr<i32>>, tile<4096xi32> -> token
      continue %stored : token
    }
"""
    assert notes(program[:begin] + counted + program[end:]).notes == []


IN_A_LOOP = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %end = for %i in (%zero to %two, step %one) : tile<i32> iter_values(%u = %t) -> (token) {
      %sum = addi HERE, %i : tile<i32>
      %v = store_ptr_tko weak %p, %sum token=%u : tile<ptr<i32>>, tile<i32> -> token
      continue %v : token
    }
    return
  }
}"""


def test_a_use_before_the_store_comes_after_it_in_the_next_iteration() -> None:
    assert about(notes(IN_A_LOOP.replace("HERE", "%x"))) == [AGAIN]
    assert notes(IN_A_LOOP.replace("HERE", "%one")).notes == []


def test_in_place_updates_get_no_note() -> None:
    body = IN_A_LOOP.replace(
        "%x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token", "%t = make_token : token"
    )
    body = body.replace(
        "      %sum = addi HERE",
        "      %x, %w = load_ptr_tko weak %p token=%u : tile<ptr<i32>> -> tile<i32>, token\n      %sum = addi %x",
    )
    assert notes(body.replace("token=%u : tile<ptr<i32>>, tile", "token=%w : tile<ptr<i32>>, tile")).notes == []


def test_the_command_line_prints_notes_and_succeeds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAMS[AGAIN], encoding="utf-8")
    status = run([str(path), "--arg", "iota:i32:64", "--arg", "zeros:i32:64", "--sanitize", "-q"])
    assert status == 0
    assert capsys.readouterr().err.startswith(
        "sanitizer: nothing found in @k, grid (1, 1, 1)\n\nnote: on a GPU load_ptr_tko"
    )


def test_a_launch_with_notes_alone_raises_nothing() -> None:
    kernel = tileir.compile(tileir.parse(PROGRAMS[AGAIN], "k.mlir"))
    kernel.launch(1, (numpy.arange(64, dtype="i4"), numpy.zeros(64, "i4")), sanitize=True)


def test_notes_are_told_once_by_an_observer_of_several_launches() -> None:
    sanitizer = tileir.sanitizer.Sanitizer()
    kernel = tileir.compile(tileir.parse(PROGRAMS[AGAIN], "k.mlir"))
    for _ in range(3):
        kernel.launch(1, (numpy.arange(64, dtype="i4"), numpy.zeros(64, "i4")), observer=sanitizer)
    assert [note.count for note in sanitizer.report.notes] == [3]
