"""The helps: their examples run, their exit statuses are what commands end with, and one option means one thing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.documents import ROOT
from tests.optional import needs

from tileir.analyze.cost.targets import target_named as cost_target_named
from tileir.analyze.lint.subject import architecture_named
from tileir.execute.gpu.gpus import gpu_named, target_named
from tileir.execute.gpu.tileiras.tool import why_missing
from tileir.tools import main, options
from tileir.tools.arguments import Option, ToolFailure
from tileir.tools.commands import COMMANDS, GROUPS
from tileir.tools.more.completion import usage_of

# It needs a GPU.
EXAMPLES = [example for name in COMMANDS if name != "tune" for example in usage_of(name).examples]
# These stay until Ctrl-C.
STAYING = ("tileir explore examples/histogram.mlir", "tileir lsp --tcp", "tileir mcp --http")
# The exit status is 1 where there is something to say.
FOUND = (
    "tileir check --format github examples",
    "tileir lint --select all",
    "tileir judge examples/judged/softmax examples/judged/softmax_edge.py",
    "tileir run examples/racy.mlir --sanitize",
    "tileir opt -O3 examples/softmax.mlir | tileir diff -u",
    "tileir sweep 'examples/*.mlir'",
    # The input ends before the server is shut down.
    "tileir lsp --stdio",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the examples, and with what examples of helps make for each other."""
    folder = tmp_path_factory.mktemp("helps")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    script = folder / "bin" / "tileir"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tileir "$@"\n')
    script.chmod(0o755)
    run("tileir as examples/matmul.mlir -o matmul.tileirbc", folder)
    run("tileir as examples/softmax.mlir -o softmax.tileirbc", folder)
    run("tileir sweep examples/matmul.mlir --backend none -o results.sqlite", folder)
    yield folder


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return dict(os.environ, PYTHONPATH=path, PATH=f"{folder / 'bin'}:{os.environ['PATH']}", BROWSER="true")


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    found = subprocess.run(
        line,
        shell=True,
        timeout=300,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in found.stderr, found.stderr
    return found


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example: str, folder: Path) -> None:
    if "cutile_script" in example:
        needs("torch")
        needs("cuda.tile")
    if "--backend triton" in example:
        needs("triton")
    elif "tileir compile" in example and why_missing():
        pytest.skip("needs NVIDIA's assembler: pip install 'tileir[tileiras]'")
    if "lsp" in example:
        pytest.importorskip("lsprotocol", reason="the language server needs lsprotocol")
    if "mcp" in example:
        needs("mcp")
    if example.startswith(STAYING):
        check_stays(example, folder)
        return
    found = run(example, folder)
    assert found.returncode == example.startswith(FOUND), found.stderr
    assert "Try 'tileir" not in found.stderr


def check_stays(example: str, folder: Path) -> None:
    """It says where it is, and ends when it is interrupted."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {example}"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert re.match(r"http://127\.0\.0\.1:|listening on ", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stdout.read()
    assert process.wait(60) in (0, 130)


def test_every_command_has_two_examples_of_its_own() -> None:
    for name in COMMANDS:
        examples = usage_of(name).examples
        assert len(set(examples)) == 2 and all(f"tileir {name}" in each for each in examples)


def test_helps_fit_into_a_wide_terminal() -> None:
    for name in COMMANDS:
        assert [line for line in usage_of(name).help().split("\n") if len(line) > 120] == [], name


def test_commands_are_in_the_folders_of_their_groups() -> None:
    folders = [module.partition(".")[0] for _, module in COMMANDS.values()]
    assert list(dict.fromkeys(folders)) == list(GROUPS.values())


# --- exit statuses ---

RUN = ["--grid", "8", "--arg", "rand:i32:1000", "--arg", "zeros:i32:100", "--arg", "1000"]
# Command lines that end with 0 and with 1.
STATUSES: dict[str, tuple[str, str]] = {
    "debug": ("GOOD RUN --batch", "GOOD RUN --batch --ex nonsense"),
    "explore": ("GOOD RUN --target h200 --html OUT", "BAD"),
    "cost": ("GOOD RUN", "BAD"),
    "check": ("GOOD", "BAD"),
    "lint": ("GOOD", "BAD"),
    "prove": ("examples/softmax.mlir -q", "BAD"),
    "format": ("--check GOOD", "--check UGLY"),
    "opt": ("GOOD -o OUT", "BAD"),
    "diff": ("GOOD GOOD", "GOOD examples/softmax.mlir"),
    "explain": ("mmaf", "nonsense"),
    "info": ("GOOD", "BAD"),
    "as": ("GOOD -o OUT", "BAD -o OUT"),
    "dis": ("BYTES", "GOOD"),
    "objdump": ("BYTES", "GOOD"),
    "run": ("GOOD RUN --backend interpreter", "BAD"),
    "smith": ("--seed 7 -o OUT", ""),
    "reduce": ("GOOD --interesting true -q -o OUT", "GOOD --interesting false -q"),
    "sweep": ("GOOD --backend none -q -o SWEPT", "BAD --backend none -q -o SWEPT"),
    "docs": ("lint", "nonsense"),
    "completion": ("bash", ""),
}


@pytest.mark.parametrize("command", STATUSES)
def test_statuses_are_those_of_the_help(
    command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "prove":
        pytest.importorskip("z3", reason="proofs need z3: pip install 'tileir[prove]'")
    monkeypatch.chdir(folder)
    (tmp_path / "ugly.mlir").write_text("cuda_tile.module @m {\n\n\n      entry @f() {\n return\n  }\n}\n")
    words = {
        "GOOD": ["examples/histogram.mlir"],
        "BAD": ["examples/broken.mlir"],
        "UGLY": [str(tmp_path / "ugly.mlir")],
        "BYTES": ["matmul.tileirbc"],
        "OUT": [str(tmp_path / "out")],
        "SWEPT": [str(tmp_path / "results.sqlite")],
        "RUN": RUN,
    }
    documented = usage_of(command).statuses
    for status, line in enumerate(STATUSES[command]):
        if line:
            found = [part for word in line.split() for part in words.get(word, [word])]
            assert main.run([command, *found]) == status, capsys.readouterr().err
        assert bool(documented[status]) == bool(line)
    assert main.run([command, "--no-such-option"]) == 2 and documented[2]
    assert capsys.readouterr().err.endswith(f"help: 'tileir {command} --help' shows the options\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_124_is_documented_where_a_timeout_ends_the_command(command: str) -> None:
    assert (124 in usage_of(command).statuses) == (command in ("run", "compile", "diff", "judge"))


# --- one vocabulary ---

# What these mean is in docs/command_line.md; the spelling is part of it.
SHARED = {
    each.name: each.spelling
    for each in vars(options).values()
    if isinstance(each, Option) and each.name not in ("output", "backend", "sanitize")
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_of_several_commands_is_spelled_in_one_way(command: str) -> None:
    for option in usage_of(command).options:
        if option.name in SHARED and (option.name, command) != ("names", "opt"):
            assert option.spelling == SHARED[option.name]
        if option.name in ("target", "timeout", "memory-limit", "html", "quiet", "verbose", "O", "json", "output-dir"):
            assert option.name in SHARED


@pytest.mark.parametrize(
    ("text", "seconds"), [("2.5", 2.5), ("30s", 30.0), ("10m", 600.0), ("1h", 3600.0), ("0.5m", 30.0)]
)
def test_times_may_have_units(text: str, seconds: float) -> None:
    given = usage_of("run").parse(["k.mlir", "--timeout", text])
    assert given is not None and given.seconds("timeout") == seconds


@pytest.mark.parametrize("text", ["16", "4X", "G", "-1G", "1.5G", ""])
def test_sizes_have_units(text: str) -> None:
    given = usage_of("compile").parse(["k.mlir", f"--memory-limit={text}"])
    assert given is not None
    with pytest.raises(ToolFailure, match="give one with its unit, as 512M or 4G"):
        given.size("memory-limit", 0)


@pytest.mark.parametrize("name", ["h100", "sm_90", "H100", "sm_100"])
def test_every_target_takes_gpus_and_architectures(name: str) -> None:
    assert target_named(name).startswith("sm_")
    assert cost_target_named(name).title.startswith("NVIDIA")
    assert gpu_named(name).architecture == target_named(name)
    assert architecture_named(name).name == target_named(name)
