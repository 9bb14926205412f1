"""Launches in words: what a comment at the top of a program states, and what `tileir run` does with it."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import tileir
from tileir.execute.arguments.argument_text import (
    LaunchDescription,
    LaunchDescriptionError,
    argument,
    specification,
    stated_launch,
)
from tileir.execute.launching.entries import select_entry
from tileir.tools.bytecode import run as run_tool
from tileir.tools.cutile import cost as cost_tool

PROGRAM = """cuda_tile.module @m {
  entry @double(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %lane = iota : tile<8xi32>
    %p_1d = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %ps = broadcast %p_1d : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %to = offset %ps, %lane : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %x, %read = load_ptr_tko weak %to : tile<8xptr<f32>> -> tile<8xf32>, token
    %y = addf %x, %x : tile<8xf32>
    %written = store_ptr_tko weak %to, %y token = %read : tile<8xptr<f32>>, tile<8xf32> -> token
    return
  }
}
"""


def test_a_launch_is_stated_among_the_first_comments() -> None:
    text = "// What it does.\n\n  // tileir: --grid 2,3 --arg rand:f32:8 --arg=3\n// tileir: --grid 9\nmodule"
    found = stated_launch(text)
    assert found is not None
    assert (found.grid, found.arguments, found.entry) == ((2, 3), ("rand:f32:8", "3"), None)
    assert found.comment() == "// tileir: --grid 2,3 --arg rand:f32:8 --arg 3"
    assert stated_launch(PROGRAM + "// tileir: --grid 2") is None


def test_each_kernel_of_a_file_has_its_launch() -> None:
    text = "// tileir: --entry a --arg 1\n// tileir: --entry b --arg 2\n"
    found = [stated_launch(text, name) for name in ("a", "b")]
    assert [words.arguments for words in found if words is not None] == [("1",), ("2",)]
    assert stated_launch(text, "c") is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--gird 3", "'--gird' in '// tileir: --gird 3' is none of --grid, --arg and --entry, which state a launch"),
        ("--grid", "'--grid' in '// tileir: --grid' needs a value"),
        ("--grid many", "'many' is no grid: give one to three numbers, as in 16 or 4,4,1"),
        ("--arg 'x", "'// tileir: --arg 'x' states no launch: No closing quotation"),
        ("--arg values:i8:1,256", "'256' in 'values:i8:1,256' is no i8"),
        ("--arg values:i8:0.5", "'0.5' in 'values:i8:0.5' is no i8"),
        ("--arg values:i8", "'values:i8' is not an array: give a type and its elements, as in values:i32:3,1,4"),
        ("--arg secret.npy", "'secret.npy': a comment names no files; give it on the command line"),
    ],
)
def test_words_without_a_meaning_are_mistakes(words: str, message: str) -> None:
    with pytest.raises(LaunchDescriptionError) as caught:
        stated_launch(f"// tileir: {words}")
    assert caught.value.message == message


def test_signed_arrays_have_both_signs_and_repeat() -> None:
    floats = argument("signed:f32:1000:3", None)
    assert floats.min() < -1.9 and floats.max() > 1.9 and abs(floats.mean()) < 0.2
    assert (floats * 4096 == numpy.round(floats * 4096)).all()
    integers = argument("signed:i8:1000:3", None)
    assert (integers.min(), integers.max()) == (-50, 49)
    assert set(argument("signed:i1:100", None).tolist()) == {False, True}


def test_arrays_of_given_elements() -> None:
    assert argument("values:i8:-128,255,0x7f", None).tolist() == [-128, -1, 127]
    assert argument("values:i64:18446744073709551615,-1,9223372036854775807", None).tolist() == [-1, -1, (1 << 63) - 1]
    assert argument("values:i1:true,0,1", None).tolist() == [True, False, True]
    floats = argument("values:f16:0.1,-0.0,inf,1e-8", None)
    assert floats.dtype == numpy.float16 and floats.tolist() == [0.0999755859375, 0.0, float("inf"), 0.0]
    assert numpy.signbit(floats[1])
    described = specification("values:f32:1.5,3")
    assert described is not None and described.with_type("f16") == "values:f16:1.5,3"


def test_a_launch_makes_arrays_of_its_own_that_are_aligned() -> None:
    entry = select_entry(tileir.parse(PROGRAM), None)
    launch = LaunchDescription((1,), ["signed:f32:8:5", "3"]).launch(entry)
    first, second = launch.copies()[0], launch.copies()[0]
    first[:] = 0
    assert second.any() and second.tolist() == argument("signed:f32:8:5", None).tolist()
    assert launch.arguments[1] == 3 and int(second.ctypes.data) % 256 == 0
    varied = launch.words.varied(1).launch(entry)
    assert varied.arguments[0].tolist() != second.tolist() and varied.arguments[1] == 3


def test_run_takes_the_launch_that_a_program_states(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "double.mlir"
    file.write_text("// tileir: --grid 1 --arg ones:f32:8 --arg 8\n" + PROGRAM)
    assert run_tool.run([str(file), "--backend", "interpreter"]) == 0
    assert capsys.readouterr().out.startswith("argument 0: float32[8]  min 2, max 2")
    assert run_tool.run([str(file), "--backend", "interpreter", "--arg", "iota:f32:8", "--arg", "8"]) == 0
    assert "max 14" in capsys.readouterr().out
    assert cost_tool.run([str(file), "--no-assembler"]) == 0 and "double, grid 1 x 1 x 1" in capsys.readouterr().out


def test_run_says_where_a_launch_can_be_stated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "double.mlir"
    file.write_text(PROGRAM)
    assert run_tool.run([str(file), "--backend", "interpreter"]) == 1
    error = capsys.readouterr().err
    assert "@double takes 2 arguments" in error
    assert "or all in a comment at the top of the program, as in '// tileir: --grid 4 --arg rand" in error
    file.write_text("// tileir: --what\n" + PROGRAM)
    assert run_tool.run([str(file), "--backend", "interpreter"]) == 2
    assert "error: '--what' in '// tileir: --what' is none of" in capsys.readouterr().err
