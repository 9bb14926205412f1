"""The installed commands as processes: dispatch, exit statuses, streams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tileir
from tileir.tools import main
from tileir.tools.commands import COMMANDS

GOOD = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"


def tool(*arguments: str, module: str = "tileir", stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", module, *arguments], input=stdin, capture_output=True, timeout=60)


def test_status_0_for_a_sound_program() -> None:
    done = tool("check", "-", stdin=GOOD.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_status_1_for_a_wrong_program() -> None:
    done = tool("check", "-", stdin=GOOD.replace("return", "break").encode())
    assert done.returncode == 1
    assert b"\n --> <stdin>:3:5\n" in done.stdout
    assert done.stderr == b""


def test_status_2_for_a_wrong_command_line() -> None:
    done = tool("check", "--no-such-option")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: unknown option '--no-such-option'")


def test_output_is_utf8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    hints = GOOD.replace("@f()", "@f() optimization_hints=<sm_100 = {num_cta_in_cga = 7}>")
    done = tool("check", "--hints", "warn", "-", stdin=hints.encode())
    assert done.returncode == 0
    assert "expected power-of-two ≤ 16".encode() in done.stdout


def test_reader_that_goes_away_leaves_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("cuda_tile.module @m {\n" + "  entry @f() {\n    nonsense\n  }\n" * 5000 + "}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "tileir", "check", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    # As a process that the signal ends looks to a shell.
    assert process.wait(60) == 141


def test_tools_do_not_import_what_costs_start_up() -> None:
    heavy = (
        "argparse",
        "dataclasses",
        "json",
        "inspect",
        "pathlib",
        "subprocess",
        "difflib",
        "tileir.tools.programs.opt",
    )
    program = (
        "import sys; from tileir.tools import main; sys.argv = ['tileir', 'check', '-']; status = main.main(); "
        f"print([name for name in {heavy!r} if name in sys.modules], status)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], input=GOOD.encode(), capture_output=True, timeout=60, env=_environment()
    )
    assert done.stderr == b""
    assert done.stdout == b"[] 0\n"


def _environment() -> dict[str, str]:
    """`-S` leaves out site-packages, and with it what an editable installation imports; the package is named instead."""
    import os

    assert tileir.__file__ is not None
    return dict(os.environ, PYTHONPATH=str(Path(tileir.__file__).parent.parent))


def test_drop_in_runs_as_a_process() -> None:
    program = "import sys; from tileir.tools.drop_in.opt import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program], input=GOOD.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith(b"module {\n  cuda_tile.module @m {\n    entry @f() {\n")


def test_no_command_is_status_2_with_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == 2
    assert "check" in capsys.readouterr().err


@pytest.mark.parametrize("spelled", [["--help"], ["-h"], ["help"]])
def test_help_lists_the_commands(spelled: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(spelled) == 0
    printed = capsys.readouterr().out
    for command in main.COMMANDS:
        assert f"\n  {command} " in printed


@pytest.mark.parametrize("command", list(main.COMMANDS))
@pytest.mark.parametrize("help_first", [True, False])
def test_every_command_has_help(command: str, help_first: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["help", command] if help_first else [command, "--help"]) == 0
    summary, empty, first, second, *_ = capsys.readouterr().out.splitlines()
    assert (summary, empty) == (f"{COMMANDS[command][0]}.", "")
    assert f"tileir {command}" in first and f"tileir {command}" in second


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"tileir {tileir.__version__} (CUDA Tile IR 13.4)\n"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("chek", "error: unknown command 'chek'\nhelp: did you mean 'check'?"),
        ("frobnicate", "error: unknown command 'frobnicate'"),
        ("--frobnicate", "error: unknown option '--frobnicate'"),
    ],
)
def test_unknown_command_is_status_2(argument: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([argument]) == 2
    assert capsys.readouterr().err == f"{message}\nhelp: 'tileir --help' shows the options\n"


def test_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run", interrupt)
    monkeypatch.setattr(sys, "argv", ["tileir", "check", "x"])
    assert main.main() == 130
    assert capsys.readouterr() == ("", "")
