"""The debugger at the lines of C++, and launches that a C++ source states."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.optional import needs

import tileir
from tileir.serve.debugger.launches import file_debugger
from tileir.serve.debugger.session import Debugger

needs("nvrtc")
SUMS = Path(__file__).parent / "sums.cu"
TEXT = SUMS.read_text(encoding="utf-8").splitlines()


def line_with(words: str) -> int:
    """The number of the one line with these words."""
    (number,) = [number for number, line in enumerate(TEXT, 1) if words in line]
    return number


FOR, AT, PART, IF = map(line_with, ["for (int", "auto at", "auto part", "if (k"])
SQUARED, ADDED, CALLED, WHILE, LESS = map(line_with, ["y + 1", "+ part", "square(part)", "while", "left - 30"])
ROUND = [AT, PART, IF]


@pytest.fixture(scope="module")
def module() -> tileir.Module:
    return tileir.load(SUMS, entry="sums<64>")


@pytest.fixture
def debugger(module: tileir.Module) -> Debugger:
    return Debugger(module, 1, (numpy.ones(160, "f4"), numpy.zeros(64, "f4"), 160))


def lines(debugger: Debugger, how: Any, count: int, **options: Any) -> list[int]:
    found = []
    for _ in range(count):
        debugger.step(how, **options)
        assert debugger.location is not None
        found.append(debugger.location.line)
    return found


def test_steps_go_through_the_lines_as_a_debugger_of_cpp_does(debugger: Debugger) -> None:
    debugger.start()
    assert debugger.lines.kind == "source" and debugger.location is not None
    assert (debugger.location.file, debugger.location.line) == (str(SUMS), line_with("__tile_global__"))
    assert lines(debugger, "over", 3) == [line_with("auto lanes"), line_with("auto total"), FOR]
    # Where the counter is advanced the line of the loop comes again.
    assert lines(debugger, "over", 10) == [*ROUND, ADDED, FOR, *ROUND, ADDED, FOR]
    assert lines(debugger, "into", 5) == [*ROUND, SQUARED, CALLED]
    assert lines(debugger, "over", 2, reverse=True) == [IF, PART]
    assert lines(debugger, "over", 3) == [IF, CALLED, FOR]
    assert lines(debugger, "over", 6) == [WHILE, LESS, WHILE, LESS, WHILE, line_with("ct::store(")]


def test_a_function_is_entered_and_left(debugger: Debugger) -> None:
    debugger.breakpoints.add("line", "sums.cu", SQUARED)
    assert debugger.start(stop_on_entry=False).reason == "breakpoint"
    names = [frame.name.partition(" ")[0] for frame in debugger.stack()]
    assert (names[0], names[-1]) == ("if", "sums<64>")
    assert lines(debugger, "out", 1) == [CALLED]


def test_breakpoints_are_at_lines_and_kernels_of_the_source(debugger: Debugger) -> None:
    moved = debugger.breakpoints.add("line", "sums.cu", line_with("} else {"))
    assert moved.message == f"line {line_with('} else {')} has no operations: moved to line {ADDED}"
    debugger.breakpoints[moved.number].is_enabled = False
    assert debugger.breakpoints.add("operation", what="sums<64>").is_verified
    last = debugger.breakpoints.add("line", "sums.cu", AT, condition="tile_block[0] == 0", hit_condition="3")
    assert debugger.start(stop_on_entry=False).reason == "breakpoint" and debugger.position.step == 0
    debugger.resume()
    assert debugger.location is not None and debugger.location.line == AT
    assert debugger.breakpoints[last.number].hits == 1


def test_the_tile_program_is_shown_on_request(module: tileir.Module) -> None:
    debugger = Debugger(module, 1, (numpy.ones(160, "f4"), numpy.zeros(64, "f4"), 160), names="tile")
    assert debugger.lines.kind == "printed"


def test_without_the_source_the_program_is_shown_as_it_is_printed(tmp_path: Path) -> None:
    path = tmp_path / "gone.cu"
    path.write_text(SUMS.read_text(encoding="utf-8"), encoding="utf-8")
    module = tileir.load(path, entry="sums<64>")
    path.unlink()
    assert Debugger(module, 1, (numpy.ones(160, "f4"), numpy.zeros(64, "f4"), 160)).lines.kind == "printed"


# --- launches that the source states ---


def test_an_editor_launches_what_the_source_states() -> None:
    debugger = file_debugger(str(SUMS), None, None, (), "forward")
    debugger.start()
    assert debugger.name == "sums<64>" and debugger.lines.kind == "source"
    # What is given counts more.
    words = ["ones:f32:160", "zeros:f32:32", "160"]
    assert file_debugger(str(SUMS), "sums<32>", "1", words, "forward").name == "sums<32>"


@pytest.mark.parametrize("command", ["run", "debug", "cost", "check", "lint"])
def test_commands_take_the_instance_that_the_source_states(command: str) -> None:
    options = {"debug": ["-ex", "run", "-batch"], "lint": ["--exit-zero"]}
    found = tool(command, SUMS, *options.get(command, []))
    assert found.returncode == 0, found.stderr
    if command == "run":
        assert found.stdout.startswith("argument 1: float32[64]")


def tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tileir", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_warning_of_the_compiler_and_a_finding_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    text = SUMS.read_text(encoding="utf-8").replace("int left = n;", "int left = n / 0; ct::load(x + lanes);")
    path.write_text(text, encoding="utf-8")
    line, column = line_with("int left"), 5 + len("int left = n / ")
    checked = tool("check", path, "--format", "json")
    assert checked.returncode == 0, checked.stderr
    warning = json.loads(checked.stdout)
    assert (warning["message"], warning["line"], warning["column"]) == ("division by zero", line, column)
    found = tool("lint", path)
    assert f"{path}:{line}:" in found.stdout and f"{line} |     int left = n / 0; ct::load(x + lanes);" in found.stdout
