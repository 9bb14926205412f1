"""Every command that takes a file, with every kind of file: it works, or says in a line what is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.tools.test_bare_installation import results

from tileir.bridge import watching
from tileir.bridge.watching import LaunchCounter, LaunchReached
from tileir.tools import main, scripts
from tileir.tools.scripts import ScriptLaunch

ROOT = Path(__file__).parents[2]

# A command line for each command that takes a file; `{file}` is the file, `{folder}` a folder for what is written.
COMMANDS = {
    "check": ["{file}"],
    "lint": ["{file}"],
    "prove": ["{file}"],
    "format": ["--check", "{file}"],
    "opt": ["{file}"],
    "as": ["{file}", "-o", "{folder}/k.tileirbc"],
    "dis": ["{file}"],
    "objdump": ["{file}"],
    "compile": ["{file}", "--target", "sm_90", "-o", "{folder}/k.cubin"],
    "run": ["{file}"],
    "tune": ["{file}"],
    "diff": ["{file}", "{file}"],
    "cost": ["{file}", "--no-assembler"],
    "explore": ["{file}", "--html", "{folder}/page.html"],
    "debug": ["{file}", "--batch"],
    "reduce": ["{file}", "--interesting", "true"],
    "report": ["{file}"],
    "info": ["{file}"],
}
# `emulate` runs any Python and `sweep` judges what it is given, with outcomes of their own.
OTHERS = {"emulate", "judge", "sweep"}
NO_FILE = {"smith", "explain", "docs", "lsp", "mcp", "completion"}

MARKDOWN = "# Title\n\nWords about `cuda_tile.module @m`.\n\n```\ncuda_tile.module @m { }\n```\n"
FILES: dict[str, bytes | None] = {
    "README.md": MARKDOWN.encode(),
    "page.html": b"<!DOCTYPE html>\n<html></html>\n",
    "settings.json": b'{\n  "module": 1\n}\n',
    "settings.toml": b"[tool]\nmodule = 1\n",
    "words.txt": b"Hello world, said the module.\n",
    "garbage": bytes(range(256)) * 3,
    "folder": None,
}
EMPTY = {
    **dict.fromkeys(["check", "lint", "format", "opt", "as", "diff", "reduce", "info", "prove"], 0),
    **dict.fromkeys(["dis", "objdump", "compile", "run", "tune", "cost", "explore", "debug"], 1),
    "report": 2,
}


def test_every_command_is_listed() -> None:
    assert {*COMMANDS, *OTHERS, *NO_FILE} == set(main.COMMANDS)


def outcomes(file: str, folder: Path) -> dict[str, tuple[int, str, str]]:
    lines = [[name, *[word.replace("{file}", file) for word in words]] for name, words in COMMANDS.items()]
    return dict(zip(COMMANDS, results([], lines, folder), strict=True))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*FILES, "missing", "missing.py"])
def test_what_is_no_program_is_named_in_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    contents = FILES.get(name, b"")
    if contents is None:
        path.mkdir()
    elif contents:
        path.write_bytes(contents)
    unreadable = name in ("folder", "missing", "missing.py")
    for command, (status, _, error) in outcomes(str(path), tmp_path).items():
        # The note of the two that read bytecode follows NVIDIA's own words.
        reads_bytecode = command in ("dis", "objdump") and not unreadable
        assert status == (2 if unreadable or command in ("diff", "report") else 1), (command, error)
        assert error.count("\n") == (2 if reads_bytecode else 1), (command, error)
        assert f"'{path}'" in error.splitlines()[-1], (command, error)
        if not unreadable and not reads_bytecode and command != "report":
            assert error.startswith(f"error: '{path}' is no Tile IR program"), (command, error)


def test_an_empty_file_is_a_text_without_a_program(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    for command, (status, _, error) in outcomes(str(path), tmp_path).items():
        assert status == EMPTY[command] and "Traceback" not in error, (command, status, error)
        assert status == 0 or error


def test_a_text_that_is_meant_as_a_program_has_its_mistakes_shown(tmp_path: Path) -> None:
    for name, text in (("k", "cuda_tile.modul @m { }"), ("k", "modul @m { }"), ("k", "entry k()"), ("k.mlir", "x y")):
        path = tmp_path / name
        path.write_text(text)
        [(status, out, error)] = results([], [["check", str(path)]], tmp_path)
        assert (status, error) == (1, "") and f"\n --> {path}:1:" in out, (text, out)


# --- scripts ---

SCRIPT = """\
import sys
sys.modules["torch"] = None  # Which cuTile would import, for seconds.
import numpy
import cuda.tile as ct

@ct.kernel
def add(a, b, c):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (16,)) + ct.load(b, (i,), (16,)))

@ct.kernel
def scale(a, c, factor):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (16,)) * factor)

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
a = numpy.ones(size, numpy.float32)
c = numpy.zeros(size, numpy.float32)
for _ in range(3):
    ct.launch(None, (size // 16,), add, (a, a, c))
print("printed by the script", c[0])
"""
ANOTHER = "ct.launch(None, (4,), scale, (a, c, 2.5))\n"
REFUSED = {
    "format": "'tileir opt {}' prints the program of its kernel",
    "dis": "'tileir opt {}' prints the program of its kernel",
    "objdump": "'tileir as {} -o k.tileirbc' writes the program of its kernel",
    "run": "'tileir emulate {}' runs it",
    "tune": "'tileir as {} -o k.tileirbc' writes the program of its kernel",
    "reduce": "'tileir as {} -o k.tileirbc' writes the program of its kernel",
}


def tileir(*arguments: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "tileir", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ScriptLaunch]]:
    """A script and its launches: it runs once."""
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    path = tmp_path_factory.mktemp("scripts") / "script.py"
    path.write_text(SCRIPT + ANOTHER)
    return path, scripts.script_launches(str(path))


@pytest.fixture
def script(launched: tuple[Path, list[ScriptLaunch]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script of two kernels, whose launches are known."""
    path, found = launched

    def known(path: str, arguments: Sequence[str] = (), until: int = 0) -> list[ScriptLaunch]:
        return [each for each in found if until in (0, each.number)]

    monkeypatch.setattr(scripts, "script_launches", known)
    return path


@pytest.mark.parametrize("command", [*REFUSED, "report"])
def test_who_takes_no_script_names_the_command_that_does(command: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("raise SystemExit('nobody runs this')\n")
    [(status, _, error)] = results([], [[command, *[w.format(file=path) for w in COMMANDS[command]]]], tmp_path)
    assert status == 2 and error.count("\n") <= 2 and f"'{path}'" in error
    if command in REFUSED:
        assert error == f"error: '{path}' is a Python script\nhelp: {REFUSED[command].format(path)}\n"


def test_launches_of_a_script(launched: tuple[Path, list[ScriptLaunch]]) -> None:
    _, [first, second] = launched
    assert (first.number, first.kernel, first.words.grid) == (1, "add", (4, 1, 1))
    assert first.words.arguments == ("zeros:f32:64", "64", "1") * 3
    assert [name for name in first.names if name] == ["a", "b", "c"]
    assert (second.number, second.kernel, second.words.arguments[-1]) == (4, "scale", "2.5")


def test_a_script_runs_up_to_a_launch_and_prints_aside(launched: tuple[Path, list[ScriptLaunch]]) -> None:
    path, _ = launched
    status, out, error = tileir("cost", "--no-assembler", "--json", "--launch", "4", path, "--", "128")
    cost = json.loads(out)
    assert (status, error) == (0, "printed by the script 2.0\n")
    assert [each["name"] for each in cost["memory"]] == ["a", "c"] and cost["bytesMoved"] == 2 * 4 * 64
    status, out, error = tileir("opt", "--launch", "5", path)
    assert (status, out) == (1, "") and error.endswith("makes 4 launches: there is no launch 5\n")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["check", "{file}"], []),
        (["lint", "--isolated", "{file}"], []),
        (["opt", "{file}", "--launch", "1"], ["entry @add("]),
        (["opt", "{file}", "--launch", "4", "-O3"], ["entry @scale("]),
        (["as", "{file}", "--launch", "4", "-o", "{folder}/k.tileirbc"], []),
        (["cost", "--no-assembler", "{file}"], ["add, grid 4 x 1 x 1, on ", "scale, grid 4 x 1 x 1, on "]),
        (["cost", "--no-assembler", "--launch", "4", "{file}"], ["scale, grid 4 x 1 x 1, on "]),
        (["info", "{file}"], ["  @add(", "  @scale("]),
        (["info", "--json", "{file}"], ['"name": "add"', '"name": "scale"']),
    ],
)
def test_scripts_are_programs(
    words: list[str], printed: list[str], script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main.run([word.format(file=script, folder=tmp_path) for word in words])
    out, error = capsys.readouterr()
    assert (status, error) == (0, "")
    assert all(piece in out for piece in printed) and bool(out) == bool(printed)
    assert "add" not in out or any("add" in piece for piece in printed)
    if words[0] == "as":
        assert (tmp_path / "k.tileirbc").read_bytes().startswith(b"\x7fTileIR")


@pytest.mark.parametrize("command", ["opt", "as", "compile", "diff"])
def test_of_several_kernels_one_is_chosen(
    command: str, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # `tileir diff` has no such option.
    choose = f"'tileir as {script} --launch N -o k.tileirbc'" if command == "diff" else "--launch N"
    listed = f"launches 2 kernels\nhelp: choose one with {choose}: 1 (add), 4 (scale)"
    words = [word.format(file=script, folder=tmp_path) for word in COMMANDS[command]]
    assert main.run([command, *words]) == 2
    assert capsys.readouterr() == ("", f"error: the script '{script}' {listed}\n")
    for wrong in () if command == "diff" else ("0", "-1", "x", "9" * 50):
        assert main.run([command, *words, "--launch", wrong]) == 2
        assert capsys.readouterr().err == f"error: '--launch {wrong}' is not valid\nhelp: give a number from 1 on\n"


def test_a_script_says_itself_what_it_launches(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--grid", "4"], ["--arg", "1"], ["--entry", "add"]):
        assert main.run(["cost", str(script), *option]) == 2
        assert capsys.readouterr().err.endswith("is for a FILE: a script decides what it launches\n")
    assert main.run(["lint", "--fix", str(script)]) == 2
    assert capsys.readouterr().err.endswith("is a Python script: --fix and --diff are for Tile IR texts\n")
    for command in ("opt", "cost"):
        assert main.run([command, "examples/vector_add.mlir", "more"]) == 2
        assert main.run([command, "examples/vector_add.mlir", "--launch", "1"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ValueError('of the script')", "fails, with status 1"),
        ("raise SystemExit(3)", "fails, with status 3"),
        ("pass", "launches no kernel"),
        ("import os; os._exit(0)", "launches no kernel"),
        ("import os; os._exit(4)", "fails, with status 4"),
    ],
)
def test_a_script_that_fails_is_a_wrong_input(text: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    path = tmp_path / "script.py"
    path.write_text(text)
    status, out, error = tileir("check", path)
    assert (status, out, error.splitlines()[-1]) == (1, "", f"error: the script '{path}' {words}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", ["opt", "cost", "explore", "debug"])
def test_help_says_how_a_script_gets_options(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "passed to the script; put -- before those that begin with a dash" in text and "own arguments" not in text
    path = tmp_path / "script.py"
    path.write_text("import sys\nprint(sys.argv[1:])\n")
    assert main.run([command, str(path), "8", "--rows"]) == 2
    assert "unknown option '--rows'" in capsys.readouterr().err
    assert "['8', '--rows']" in "".join(tileir(command, path, "8", "--", "--rows")[1:])


def test_launches_of_a_script_that_exits_at_once_are_kept(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + ANOTHER + "import os; os._exit(0)\n")
    found = scripts.script_launches(str(path))
    assert [(each.number, each.kernel) for each in found] == [(1, "add"), (4, "scale")]


GOING_ON = {
    "thread": "import threading\nthread = threading.Thread(target=second)\nthread.start()\nthread.join()\nthird()\n",
    "finally": "try:\n    second()\nfinally:\n    third()\n",
    "bare except": "try:\n    second()\nexcept:\n    third()\n    raise SystemExit(3)\n",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", GOING_ON)
def test_a_script_that_goes_on_after_the_launch_does_not_change_it(how: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    path = tmp_path / "script.py"
    second = "def second():\n    ct.launch(None, (2,), add, (a, a, c))\n"
    third = f"def third():\n    {ANOTHER}    print('went on')\n"
    path.write_text(f"{SCRIPT}{second}{third}{GOING_ON[how]}")
    status, out, error = tileir("opt", "--launch", "4", path)
    assert (status, error) == (0, "printed by the script 2.0\n") and "entry @add(" in out and "@scale" not in out
    page = tmp_path / "page.html"
    status, out, _ = tileir("explore", "--launch", "4", "--target", "h200", "--html", page, path)
    assert status == 0 and "went on" not in out and "<title>add: " in page.read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_launches_of_a_forked_process_are_not_those_of_the_script(tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    path = tmp_path / "script.py"
    fork = f"import os\nchild = os.fork()\nif not child:\n    {ANOTHER}    os._exit(0)\nos.waitpid(child, 0)\n"
    path.write_text(SCRIPT + fork)
    assert [each.kernel for each in scripts.script_launches(str(path))] == ["add"]


@pytest.mark.parametrize("command", ["check", "explore"])
def test_what_a_script_raises_is_shown_as_by_emulate(command: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    for text in ("x = = 1\n", "raise ValueError('of the script')\n"):
        path.write_text(text)
        (status, _, error), (_, _, expected) = tileir(command, path), tileir("emulate", path)
        assert status == 1 and error.startswith(expected) and "tileir" not in expected.replace(str(path), "")


def test_launches_of_several_threads_have_a_number_each() -> None:
    # The interpreter switches threads while a launch is looked at.
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    seen: list[int] = []

    def see(number: int, *_: object) -> None:
        time.sleep(0.001)
        assert counter.count == number
        seen.append(number)

    def work() -> None:
        for _ in range(20):
            with contextlib.suppress(LaunchReached):
                counter.launch(None, None, None, {})

    counter = LaunchCounter(30, see)
    with patch.object(watching, "launch"):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == list(range(1, 31))


def test_without_its_packages_a_script_names_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import cuda.tile\n")
    # The script runs in a process of its own, which the packages are hidden from as well.
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir()
    hidden.write_text("import os, sys\nsys.modules.update(dict.fromkeys(os.environ['HIDDEN'].split()))\n")
    for packages, install in (("cuda triton", "cuda-tile"), ("numpy ml_dtypes", "'tileir[run]'")):
        environment = {**os.environ, "PYTHONPATH": str(hidden.parent), "HIDDEN": packages}
        for command in ("check", "cost", "explore", "debug"):
            done = subprocess.run(
                [sys.executable, "-m", "tileir", command, str(script)],
                capture_output=True,
                text=True,
                env=environment,
                timeout=120,
            )
            assert done.returncode == 1 and f"pip install {install}\n" in done.stderr, (command, done.stderr)
            if command not in ("explore", "debug") or packages != "cuda triton":
                assert done.stderr.count("\n") == 2, (command, done.stderr)
