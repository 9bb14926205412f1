"""`tileir cost`: the same numbers as `tileir.cost`, and what is wrong with a command line in words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tileir.execute.gpu.gpus import GPUS
from tileir.tools.main import run

ROOT = Path(__file__).parents[2]
VECTOR_ADD = str(ROOT / "examples" / "vector_add.mlir")
ARRAYS = ["--arg", "zeros:f32:1000000", "--arg", "rand:f32:1000000:3", "--arg", "empty:f32:1000000"]
LAUNCH = [VECTOR_ADD, "--grid", "7813", *ARRAYS, "--arg", "1000000", "--no-assembler"]


def test_report_has_bytes_operations_waves_time_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", *LAUNCH]) == 0
    out = capsys.readouterr().out
    assert out.startswith("vector_add, grid 7813 x 1 x 1, on NVIDIA H200\n")
    assert "12 MB between memory and caches" in out
    assert "memory: 12 MB at 92% of 4.8 TB/s" in out
    assert "addf f32: 1 M" in out
    assert "7813 tile blocks" in out
    assert "NVIDIA H200 Tensor Core GPU datasheet" in out
    assert "occupancy   the kernel was not compiled, as requested" in out


def test_json_is_what_the_page_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", *LAUNCH, "--json", "--target", "a100", "--target", "h200,B200"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["target"] for each in lines] == ["a100", "h200", "b200"]
    for each in lines:
        assert each["footprint"] == each["bytesMoved"] == 12_000_000
        assert each["flops"] == 7813 * 128
        assert each["time"]["seconds"] >= 12e6 / each["roofline"]["memory"]


def test_array_of_any_size_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    size = 1 << 50
    arguments = ["--arg", f"zeros:f32:{size}", "--arg", f"zeros:f32:{size}", "--arg", f"zeros:f32:{size}", "--arg", "?"]
    assert run(["cost", VECTOR_ADD, "--grid", "2147483647", *arguments, "--no-assembler", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bytesMoved"] == 3 * 4 * 128 * 2147483647
    assert any("its mask counts as true everywhere" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--target", "h900"], 2, f"there is no target 'h900'\nhelp: choose one of {', '.join([*GPUS, 'cpu'])}"),
        (["--grid", "0"], 1, "the grid has extent 0 along x\nhelp: launch at least one tile block"),
        (["--grid", "x"], 2, "'x' is no grid"),
        (["--grid", "1,70000"], 1, "the grid has extent 70000 along y"),
        (["--arg", "zeros:f32"], 2, "give a type and extents"),
        (["--arg", "what"], 2, "'what' is no argument"),
        (["--entry", "other"], 2, "the module has no entry @other\nhelp: choose one of @vector_add"),
        (ARRAYS, 1, "@vector_add takes 4 arguments"),
    ],
)
def test_mistakes_are_named(arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", VECTOR_ADD, *arguments]) == status
    assert words in capsys.readouterr().err


def test_needs_no_numpy() -> None:
    program = f"""
import sys
sys.modules["numpy"] = None
from tileir.tools.main import run
sys.exit(run(["cost", *{LAUNCH!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "about" in done.stdout


def test_a_time_without_its_loop_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    arrays = [
        "--arg",
        "zeros:f16:64x64",
        "--arg",
        "zeros:f16:64x64",
        "--arg",
        "zeros:f32:64x64",
        "--arg",
        "64",
        "--arg",
        "64",
    ]
    launch = ["cost", str(ROOT / "examples" / "matmul.mlir"), *arrays, "--no-assembler", "--json"]
    words = "at least: what is not known before it runs is not counted, see the notes"
    assert run([*launch, "--arg", "?"]) == 0
    assert json.loads(capsys.readouterr().out)["time"]["reasons"][0] == words
    assert run([*launch, "--arg", "64"]) == 0
    assert words not in capsys.readouterr().out
