"""`tileir smith`: programs in files, with what they are launched with and what they must compute."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import tileir
from tileir import smith
from tileir.analysis import SMITH_FAMILIES
from tileir.tools.main import run


def test_a_program_is_printed_with_its_launch(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smith", "--seed", "7", "--family", "shapes"]) == 0
    text = capsys.readouterr().out
    assert text == smith(7, family="shapes").text()
    assert text.startswith("// tileir: --grid ")


def test_a_file_is_a_complete_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "p.mlir", tmp_path / "out.npy"
    assert run(["smith", "--seed", "2", "--family", "arithmetic", "-o", str(path)]) == 0
    program = smith(2, family="arithmetic")
    number, wanted = program.results()[-1]
    assert run(["run", str(path), "-o", f"{number}={out}", "-q"]) == 0
    assert numpy.load(out).tobytes() == wanted.tobytes()


def test_a_directory_takes_programs_and_results(tmp_path: Path) -> None:
    assert run(["smith", "--seed", "4", "--count", "3", "-o", str(tmp_path / "new"), "--size", "30"]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        f"{seed}.{ending}" for seed in (4, 5, 6) for ending in ("mlir", "npz")
    ]
    program = smith(5, size=30)
    saved = numpy.load(tmp_path / "new" / "5.npz")
    for number, argument in enumerate(program.arguments):
        assert saved[f"argument_{number}"].tobytes() == numpy.asarray(argument).tobytes()
    for number, array in program.results():
        assert saved[f"expected_{number}"].tobytes() == array.tobytes()


def test_bytecode_and_results_of_one(tmp_path: Path) -> None:
    path, results = tmp_path / "p.tileirbc", tmp_path / "p.npz"
    words = ["--seed", "9", "--ops", "addi,mmai", "--bytecode-version", "13.1"]
    assert run(["smith", *words, "--bytecode", "-o", str(path), "--expected", str(results)]) == 0
    module = tileir.load(path)
    program = smith(9, operations=["addi", "mmai"], version="13.1")
    assert str(module) == str(program.module)
    saved = numpy.load(results)
    arguments = [saved[f"argument_{number}"] for number in range(len(program.arguments))]
    tileir.compile(module, backend="cpu").launch(
        program.grid, [value if value.shape else value.item() for value in arguments]
    )
    assert program.check([value for value in arguments if value.shape]) is None


def test_objects_describe_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smith", "--count", "2", "--json", "--size", "20", "--family", "functions", "--allow-open"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    program = smith(0, size=20, family="functions", allow_open=True)
    assert first["text"] == program.text() and second["seed"] == 1
    assert (first["family"], first["exact"]) == ("functions", program.is_exact)
    assert [one["argument"] for one in first["expected"]] == [number for number, _ in program.results()]


def test_families_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smith", "--list-families"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SMITH_FAMILIES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", "-1"], "'--seed -1' is not valid\nhelp: give a number from 0 on"),
        (["--count", "2"], "several programs go to a directory\nhelp: add '-o DIR', or '--json'"),
        (["--count", "2", "--json", "--expected", "x.npz"], "'--expected' names one file"),
        (["--json", "-o", "x.mlir"], "'--json' prints to standard output\nhelp: leave out '-o'"),
        (["--family", "all"], "there is no family 'all' of programs\nhelp: choose one of arithmetic,"),
        (["--ops", "addx"], "there is no operation 'addx' that programs could be made of"),
        (["--ops", ","], "'--ops' needs names, separated by commas"),
        (
            ["--bytecode-version", "14"],
            "'14' is not a value of '--bytecode-version'\nhelp: use 13.1, 13.2, 13.3, 13.4 or 13.5",
        ),
        (["-o", "/nowhere/at/all.mlir"], "cannot write '/nowhere/at/all.mlir'"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["smith", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
