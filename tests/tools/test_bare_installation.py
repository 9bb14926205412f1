"""Every command and every public function without the packages that it could use: a line that names them, or success."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.judging.report.made_results import written, wrong

from tileir.tools import main

ROOT = Path(__file__).parents[2]

# Runs commands with some packages missing, and gives status, output and errors of each.
DRIVER = """
import contextlib, io, json, sys, traceback
blocked, commands = json.loads(sys.argv[1])
for name in blocked:
    sys.modules[name] = None
from tileir.tools import main
results = []
for command in commands:
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            status = main.run(command)
        except BaseException:
            status = 99
            traceback.print_exc()
    results.append([status, out.getvalue(), error.getvalue()])
print(json.dumps(results))
"""

EVERYTHING = ["numpy", "ml_dtypes", "llvmlite", "torch", "cuda", "cupy", "jax", "triton", "distributed", "nvidia"]
EVERYTHING += ["lsprotocol"]
RUN = ["run", "examples/vector_add.mlir", "--arg", "ones:f32:8", "--arg", "ones:f32:8", "--arg", "zeros:f32:8"]
RUN += ["--arg", "8"]
COST = ["cost", *RUN[1:]]
NEEDS_NOTHING = [
    ["check", "examples/vector_add.mlir"],
    ["check", "examples", "--format", "sarif", "--jobs", "2"],
    ["lint", "examples/vector_add.mlir"],
    ["lint", "--list-rules"],
    ["format", "--check", "examples/vector_add.mlir"],
    ["opt", "-O3", "--rules", "full", "examples/matmul.mlir"],
    ["opt", "--load", "examples/own_pass.py", "--passes", "count-memory", "examples/matmul.mlir"],
    ["opt", "--help"],
    ["as", "examples/vector_add.mlir", "-g", "-o", "{folder}/k.tileirbc"],
    ["dis", "-g", "{folder}/k.tileirbc"],
    ["objdump", "{folder}/k.tileirbc"],
    ["objdump", "--json", "{folder}/k.tileirbc"],
    ["info", "{folder}/k.tileirbc"],
    ["info"],
    ["info", "--json"],
    ["explain", "mmaf"],
    ["explain", "0x49"],
    ["explain"],
    ["docs"],
    ["docs", "cpu"],
    ["completion", "bash"],
    ["completion", "zsh"],
    ["completion", "fish"],
    ["run", "--help"],
    ["compile", "--help"],
    ["cost", "--help"],
    ["tune", "--help"],
    ["explore", "--help"],
    ["debug", "--help"],
    ["lsp", "--help"],
    ["mcp", "--help"],
    ["prove", "--help"],
    ["judge", "--help"],
    [*COST, "--no-assembler"],
    [*COST, "--no-assembler", "--json", "--target", "a100,rtx5090"],
    ["reduce", "examples/vector_add.mlir", "--interesting", "grep -q addf", "-j", "2", "-o", "{folder}/small.mlir"],
    ["diff", "examples/vector_add.mlir", "examples/vector_add.mlir"],
    ["smith", "--seed", "7"],
    ["smith", "--seed", "7", "--bytecode", "-o", "{folder}/seven.tileirbc"],
    ["smith", "--list-families"],
    ["emulate", "--help"],
    ["report", "--help"],
    ["sweep", "--help"],
    ["report", "{folder}/results.sqlite"],
    ["report", "{folder}/results.sqlite", "--show", "a.mlir"],
    ["--version"],
]
NEEDS_NUMPY = [
    ["smith", "--json"],
    ["smith", "--expected", "{folder}/results.npz"],
    RUN,
    [*RUN, "--backend", "cpu"],
    [*RUN, "--backend", "interpreter"],
    [*RUN, "--sanitize"],
    [*RUN, "--watch-nan"],
    [*RUN, "--trace", "0"],
    [*RUN, "--timeout", "60"],
    [*RUN, "--threads", "2"],
    ["run", "--dump", "llvm", "examples/vector_add.mlir"],
    ["tune", *RUN[1:]],
    ["prove", "examples/vector_add.mlir"],
    [*COST, "--target", "cpu"],
    [*COST, "--measure"],
    ["explore", *RUN[1:], "--html", "{folder}/page.html"],
    ["explore", "examples/vector_add.mlir", "--html", "{folder}/page.html"],
    ["explore", "examples/cutile_script.py"],
    ["debug", "examples/cutile_script.py", "--batch"],
    ["compile", "examples/vector_add.mlir", "--backend", "triton", "--target", "sm_90"],
    ["compile", "examples/vector_add.mlir", "--backend", "triton", "--target", "sm_90", "--dump", "ttir"],
    ["reduce", "examples/vector_add.mlir", "--crashes", "--backend", "cpu"],
    ["debug", *RUN[1:], "--batch", "--ex", "run"],
    ["debug", "--dap"],
    ["sweep", "examples/vector_add.mlir", "-o", "{folder}/new.sqlite"],
    ["diff", "--semantic", "examples/vector_add.mlir", "examples/vector_add.mlir"],
    ["reduce", "examples/vector_add.mlir", "--differs", "--backend", "interpreter,cpu"],
]


def results(blocked: list[str], commands: list[list[str]], folder: Path) -> list[Any]:
    filled = [[word.replace("{folder}", str(folder)) for word in command] for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([blocked, filled])],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


def test_what_needs_nothing_works_and_the_rest_names_its_extra(tmp_path: Path) -> None:
    commands = [*NEEDS_NOTHING, *NEEDS_NUMPY]
    assert {command[0] for command in commands} >= set(main.COMMANDS)
    written(tmp_path / "results.sqlite", [wrong("a.mlir")])
    found = results(EVERYTHING, commands, tmp_path)
    for command, (status, out, error) in zip(commands, found, strict=True):
        if command in NEEDS_NUMPY:
            # As with diff, 1 says that there are differences.
            assert status == (2 if command[0] == "diff" else 1) and out == "", command
            assert error.count("\n") == 2 and error.endswith("help: pip install 'tileir[run]'\n"), (command, error)
        else:
            # One of the examples is wrong on purpose.
            assert status == (1 if command[1:2] == ["examples"] else 0), (command, error)
            assert "Traceback" not in error


def test_without_llvm_the_interpreter_runs(tmp_path: Path) -> None:
    native = [
        [*RUN, "--backend", "cpu"],
        [*RUN, "--threads", "2"],
        ["run", "--dump", "asm", "examples/vector_add.mlir"],
    ]
    commands = [RUN, [*RUN, "--backend", "interpreter"], [*RUN, "--sanitize"], *native]
    found = results(["llvmlite"], commands, tmp_path)
    for command, (status, out, error) in zip(commands, found, strict=True):
        if command in native:
            assert (status, out) == (1, ""), command
            assert error.count("\n") == 2 and "help: pip install 'tileir[cpu]'" in error, (command, error)
        else:
            assert status == 0 and "argument 2: " in out and "[2, 2, 2, 2, 2, 2, ...]" in out, (command, error)


ENGINES = [
    RUN,
    [*RUN, "--backend", "cpu"],
    ["cost", *RUN[1:]],
    [*COST, "--target", "cpu", "--no-assembler"],
    ["explore", *RUN[1:], "--html", "{folder}/page.html"],
    ["explore", RUN[1], "--html", "{folder}/page.html"],
    ["debug", *RUN[1:], "--batch", "--ex", "run"],
    ["diff", "--semantic", RUN[1], RUN[1]],
    ["compile", RUN[1], "--target", "sm_90", "-o", "{folder}/k.cubin"],
    ["compile", RUN[1], "--backend", "triton", "--target", "sm_90", "--dump", "ttir"],
    ["smith", "--json"],
    ["info"],
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("package", "commands"),
    [
        *[(package, ENGINES) for package in ("numpy", "ml_dtypes", "llvmlite", "triton", "nvidia")],
        ("lsprotocol", [["lsp"]]),
        ("mcp", [["mcp"]]),
        ("distributed", [["sweep", RUN[1], "--dask", "tcp://127.0.0.1:1", "-o", "{folder}/results.sqlite"]]),
    ],
)
def test_without_one_package_nothing_ends_in_a_traceback(
    package: str, commands: list[list[str]], tmp_path: Path
) -> None:
    for command, (status, _, error) in zip(commands, results([package], commands, tmp_path), strict=True):
        assert status in (0, 1, 2) and "Traceback" not in error, (command, error)
        assert status == 0 or "pip install" in error, (command, error)


# --- emulated scripts ---

# `-c` and the environment variable begin differently.
SCRIPT = """
import sys
for name in {blocked}:
    sys.modules[name] = None
import cuda.tile
"""


@pytest.mark.parametrize(
    ("blocked", "last"),
    [
        (["numpy", "ml_dtypes"], "pip install 'tileir[run]'"),
        (["ml_dtypes"], "pip install 'tileir[run]'"),
        (["cuda"], "help: cuTile is not installed: pip install cuda-tile"),
    ],
)
@pytest.mark.parametrize("way", ["command", "variable"])
def test_emulated_script_hears_what_is_missing(blocked: list[str], last: str, way: str) -> None:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    text = SCRIPT.format(blocked=blocked)
    if way == "variable":
        text = f"from tileir.bridge.process import begin_as_asked\nbegin_as_asked()\n{text}"
    command = ["-c", text] if way == "variable" else ["-m", "tileir", "emulate", "-c", text]
    environment = {**os.environ, "TILEIR_EMULATE": "1" if way == "variable" else ""}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, env=environment, cwd=ROOT
    )
    *before, end = done.stderr.splitlines()
    assert done.returncode == 1 and end.endswith(last)
    # What the script imports itself is told at its line.
    assert bool(before) == (blocked == ["cuda"])


# --- public functions ---

FUNCTIONS = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import tileir
module = tileir.parse("cuda_tile.module @m { entry @k() { return } }")
def attempt(name, work):
    try:
        work()
    except tileir.TileIRError as error:
        print(name, type(error).__name__, error.message)
    else:
        print(name, "works")
def context(make):
    with make():
        pass
attempt("compile", lambda: tileir.compile(module))
attempt("cpu", lambda: tileir.compile(module, backend="cpu").launch(1))
attempt("interpreter", lambda: tileir.compile(module, backend="interpreter").launch(1))
attempt("launch", lambda: tileir.launch(lambda: None, 1, ()))
attempt("emulate", lambda: context(tileir.emulate))
attempt("overlap", lambda: context(tileir.kernels.overlap))
for name in sorted(tileir.__all__):
    found = getattr(tileir, name)
    if callable(found) and not name.endswith("Error"):
        try:
            # Too few arguments, for most.
            found()
        except (TypeError, tileir.TileIRError):
            pass
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("blocked", "missing"),
    [
        # ml_dtypes complains about NumPy on its own.
        (
            "numpy,ml_dtypes",
            dict.fromkeys(["compile", "cpu", "interpreter", "launch", "emulate", "overlap"], "'tileir[run]'"),
        ),
        (
            "ml_dtypes",
            dict.fromkeys(["compile", "cpu", "interpreter", "launch", "emulate", "overlap"], "'tileir[run]'"),
        ),
        ("llvmlite", {"cpu": "'tileir[cpu]'"}),
        ("cuda", {"launch": "cuda-tile", "emulate": "cuda-tile"}),
    ],
)
def test_public_functions_name_what_is_missing(blocked: str, missing: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", FUNCTIONS, blocked], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    for line in done.stdout.splitlines():
        name, outcome = line.split(" ", 1)
        if name in missing:
            assert outcome.startswith("MissingDependencyError ") and f"pip install {missing[name]}" in outcome
        elif name != "launch":
            # Which is given no cuTile kernel.
            assert outcome == "works", line
