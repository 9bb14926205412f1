"""`tileir explore`: pages from files and scripts, and what is wrong with a command line in words."""

from __future__ import annotations

import base64
import gzip
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import tileir
from tileir.tools.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"
VECTOR_ADD = str(EXAMPLES / "vector_add.mlir")
ARRAYS = ["--arg", "iota:f32:300", "--arg", "ones:f32:300", "--arg", "zeros:f32:300", "--arg", "300"]
LAUNCH = [VECTOR_ADD, "--grid", "3", *ARRAYS, "--target", "h200"]


def test_export_writes_one_file_and_says_what_is_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["explore", *LAUNCH, "--html", str(page)]) == 0
    assert re.fullmatch(r".*page\.html: \d\.\d MB, values of 3 of 3 tile blocks\n", capsys.readouterr().out)
    assert page.read_text().startswith("<!doctype html>")


def test_blocks_choose_whose_values_are_carried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", *LAUNCH, "--html", str(tmp_path / "page.html"), "--blocks", "0,2"]) == 0
    shown = capsys.readouterr()
    assert "values of 2 of 3 tile blocks" in shown.out
    assert "This page carries the values of tile blocks 0, 2 of 3." in shown.err


def test_program_without_arguments_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", VECTOR_ADD, "--html", str(tmp_path / "page.html")]) == 0
    assert "values of 0 of 0 tile blocks" in capsys.readouterr().out


def test_kernel_that_fails_is_shown_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is where one looks for what is wrong."""
    arguments = ["--arg", "iota:f32:300", "--arg", "ones:f32:300", "--arg", "zeros:f32:100", "--arg", "300"]
    page = tmp_path / "page.html"
    assert run(["explore", VECTOR_ADD, "--grid", "3", *arguments, "--target", "h200", "--html", str(page)]) == 0
    assert page.exists()


def test_pictures_are_drawn_without_a_browser(tmp_path: Path) -> None:
    chosen, first = tmp_path / "chosen.svg", tmp_path / "first.svg"
    assert run(["explore", *LAUNCH, "--picture", f"a:count={chosen}", "--picture", str(first)]) == 0
    assert chosen.read_text().startswith("<svg") and first.read_text().startswith("<svg")
    assert chosen.read_text() != first.read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([VECTOR_ADD, "x"], 2, "unexpected argument 'x'"),
        ([VECTOR_ADD, "--grid", "x"], 2, "'x' is no grid"),
        ([VECTOR_ADD, "--grid", "0", *ARRAYS], 1, "the grid has extent 0 along x"),
        ([VECTOR_ADD, "--arg", "1"], 1, "@vector_add takes 4 arguments"),
        ([VECTOR_ADD, "--arg", "what"], 2, "'what' is no argument"),
        ([VECTOR_ADD, "--entry", "other"], 2, "the module has no entry @other"),
        ([VECTOR_ADD, "--target", "h900"], 2, "--target: there is no target 'h900'"),
        ([VECTOR_ADD, "--port", "70000"], 2, "'--port 70000' is not valid\nhelp: give a number from 0 to 65535"),
        (
            [VECTOR_ADD, "--memory-limit", "much"],
            2,
            "'--memory-limit much' is no size\nhelp: give one with its unit, as 512M or 4G",
        ),
        ([VECTOR_ADD, "--memory-limit", "0"], 2, "'--memory-limit 0' is no size"),
        ([VECTOR_ADD, "--launch", "2"], 2, "--launch is for a script"),
        ([VECTOR_ADD, "--blocks", "1"], 2, "--blocks is about the page that --html writes"),
        ([VECTOR_ADD, "--html", "/tmp/nothing.html", "--blocks", "0"], 2, "--blocks is about a launch"),
        ([VECTOR_ADD, "--record", "/tmp/nothing.tilerec"], 2, "--record is about a launch, and nothing runs"),
        ([VECTOR_ADD, "--compare", "/tmp/nothing.tilerec"], 2, "--compare is about a launch, and nothing runs"),
        ([VECTOR_ADD, "--schedule", "sideways", *ARRAYS], 2, "sideways"),
        ([VECTOR_ADD, "--picture", "a=b.png"], 2, "pictures are written as .svg"),
        ([VECTOR_ADD, "--picture", "=x.svg"], 2, "'--picture =x.svg' makes no sense"),
        ([VECTOR_ADD, "--picture", "/tmp/nothing.svg"], 1, "nothing was run, so there is no memory to draw"),
        ([*LAUNCH, "--picture", "z=/tmp/nothing.svg"], 1, "the launch has no array 'z': it has a, b, c"),
        ([*LAUNCH, "--picture", "a:red=/tmp/nothing.svg"], 2, "and not by 'red'"),
        (["script.py", "--grid", "1"], 2, "--grid is for a FILE: a script decides what it launches"),
        (["nowhere.py"], 2, "cannot read 'nowhere.py': No such file or directory"),
        (["nowhere.mlir"], 2, "cannot read 'nowhere.mlir'"),
        ([str(EXAMPLES / "broken.mlir")], 1, "error"),
        ([VECTOR_ADD, "--html", "/nowhere/page.html"], 2, "cannot write '/nowhere/page.html'"),
    ],
)
def test_mistakes_are_named(arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explore", *arguments]) == status
    assert words in capsys.readouterr().err


def test_a_kernel_without_parameters_runs_without_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, page = tmp_path / "nothing.mlir", str(tmp_path / "page.html")
    program.write_text("cuda_tile.module @m { entry @nothing() { return } }")
    assert run(["explore", str(program), "--grid", "3", "--html", page]) == 0
    assert "values of 3 of 3 tile blocks" in capsys.readouterr().out


@pytest.mark.parametrize("blocks", ["3", "2-1", "x", "-1", ""])
def test_lists_of_blocks_that_make_no_sense(blocks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    status = run(["explore", *LAUNCH, "--html", page, f"--blocks={blocks}"])
    assert status == (0 if blocks == "" else 2)
    assert ("--blocks" in capsys.readouterr().err) == (blocks != "")


SCRIPT = """
import sys
import cuda.tile as ct
import numpy, tileir

@ct.kernel
def double(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)

@ct.kernel
def negative(x, y):
    ct.store(y, (ct.bid(0),), -ct.load(x, (ct.bid(0),), (16,)))

x, y = numpy.arange(64, dtype="float32"), numpy.zeros(64, "float32")
print("arguments", sys.argv[1:])
ct.launch(0, (4,), double, (x, y))
print("double", y[3])
tileir.launch(negative, 4, (x, y))
print("negative", y[3])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def explored(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tileir", "explore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_script_is_run_up_to_the_launch_that_is_shown(script: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ["--html", str(page), "--target", "h200"]
    second = explored(str(script), *options, "--launch", "2", "--", "--own", "3")
    assert second.returncode == 0, second.stderr
    assert second.stdout.splitlines()[:2] == ["arguments ['--own', '3']", "double 6.0"]
    assert "negative" not in second.stdout
    assert "<title>negative: tileir explorer</title>" in page.read_text()
    third = explored(str(script), *options, "--launch", "3")
    assert third.returncode == 1
    assert f"the script '{script}' makes 2 launches: there is no launch 3" in third.stderr


def test_script_that_fails_shows_its_own_traceback(script: Path, tmp_path: Path) -> None:
    script.write_text("raise RuntimeError('before any launch')")
    found = explored(str(script), "--html", str(tmp_path / "page.html"))
    assert found.returncode == 1
    failure = f"error: the script '{script}' fails, with status 1"
    assert found.stderr.splitlines()[-2:] == ["RuntimeError: before any launch", failure]
    assert "tools/explore.py" not in found.stderr


def test_a_mistake_of_the_command_line_is_not_the_scripts_to_catch(script: Path, tmp_path: Path) -> None:
    launch = "ct.launch(0, (4,), double, (x, y))"
    script.write_text(SCRIPT.replace(launch, f"try:\n    {launch}\nexcept Exception:\n    print('caught')"))
    found = explored(str(script), "--html", str(tmp_path / "page.html"), "--memory-limit", "1K")
    assert found.returncode == 1
    assert "a recording of this launch takes" in found.stderr and "Traceback" not in found.stderr
    assert "caught" not in found.stdout and "double" not in found.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_page_is_served_until_it_is_asked_to_end(ending: int) -> None:
    command = [sys.executable, "-m", "tileir", "explore", VECTOR_ADD, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url + "answer/summary", timeout=60) as answer:
            assert answer.status == 200
        process.send_signal(ending)
        assert process.stdout.read() == "Ctrl-C ends it.\n"
        assert process.wait(60) == 0
    finally:
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_of_the_script_interrupts_the_command(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "tileir", "explore", str(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()


def test_a_recording_is_written_and_compared_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, page = tmp_path / "before.tilerec", tmp_path / "page.html"
    assert run(["explore", *LAUNCH, "--record", str(recording), "--html", str(page)]) == 0
    assert len(tileir.recording.load(recording).blocks) == 3
    assert run(["explore", *LAUNCH, "--compare", str(recording), "--html", str(page)]) == 0
    # A page that is given away does not tell where the other recording was.
    bundle = page.read_text().partition('"summary":"')[2].partition('"')[0]
    summary = gzip.decompress(base64.b64decode(bundle)).decode()
    assert '"before.tilerec"' in summary and str(tmp_path) not in summary
    capsys.readouterr()
    assert run(["explore", *LAUNCH, "--compare", str(tmp_path / "none"), "--html", str(page)]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert run(["explore", *LAUNCH, "--compare", str(page), "--html", str(page)]) == 1
    assert "no recording" in capsys.readouterr().err


def test_sanitize_chooses_what_is_looked_for(tmp_path: Path) -> None:
    # Half of the array is never written, and its first half is read without having been.
    arguments = [VECTOR_ADD, "--grid", "1", "--arg", "empty:f32:256", "--arg", "zeros:f32:256"]
    arguments += ["--arg", "zeros:f32:256", "--arg", "256", "--record", str(tmp_path / "launch.rec")]
    arguments += ["--picture", str(tmp_path / "c.svg")]
    kinds = {}
    for what in ("errors", "all", "none"):
        found = explored(*arguments, f"--sanitize={what}")
        assert found.returncode == 0, found.stderr
        recording = tileir.recording.load(tmp_path / "launch.rec")
        kinds[what] = sorted({finding.kind for finding in recording.findings})
    assert kinds == {"errors": ["uninitialized"], "all": ["uninitialized", "unwritten"], "none": []}
