"""`tileir sweep` on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import tileir
from tileir.judging.executor.scheduler import SweepProgress
from tileir.judging.model import JudgeStage, Verdict
from tileir.judging.report.text import progress_line, progress_summary
from tileir.judging.results.results import Results
from tileir.tools.main import run
from tileir.tools.testing.sweep import USAGE, SweepReporter

GOOD = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"
ENDLESS = """cuda_tile.module @m {
  entry @f() {
    loop {
      continue
    }
    return
  }
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.mlir").write_text(GOOD)
    return tmp_path


def test_all_passed_some_failed_and_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "good.mlir", "--backend", "none", "-j", "1"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("1 program: 1 passed; 1 judged in ") and error == ""
    (folder / "wrong.mlir").write_text(GOOD.replace("return", "nonsense"))
    (folder / "twin.mlir").write_text(GOOD)
    assert run(["sweep", ".", "--backend", "none", "-j", "1"]) == 1
    out, error = capsys.readouterr()
    counts, hint = out.splitlines()
    assert counts.startswith("3 programs: 1 passed, 1 failed; 1 judged in ")
    assert counts.endswith(", 1 judged before, 1 the same as another one")
    assert hint == "tileir report results.sqlite  shows what is wrong with which"
    assert error.startswith(f"failed: {os.path.join('.', 'wrong.mlir')}: check: ") and "'nonsense' is unknown" in error
    assert run(["sweep", ".", "--backend", "none", "-q"]) == 1
    assert capsys.readouterr() == ("", "")


def test_the_plan_is_what_the_options_say(folder: Path) -> None:
    options = "-O 2 --backend interpreter --sanitize --compile --cost --target h200,sm_100 --time --seed 7"
    limits = "--timeout 2.5 --memory-limit 512M"
    # An archive that is missing is not judged, so none of it is done.
    assert run(["sweep", "none.zip", *options.split(), *limits.split(), "-q"]) == 1
    with Results("results.sqlite") as results:
        limits_found = results.settings.pop("limits")
        assert (limits_found["seconds"], limits_found["memory"]) == (2.5, 1 << 29)
        expected = {"optimize": 2, "backends": ["interpreter"], "sanitize": True, "targets": ["sm_90", "sm_100"]}
        assert {**results.settings, **expected, "cost": ["h200", "b200"], "time": True, "seed": 7} == results.settings


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to judge\nhelp: give files, directories or archives, or --seeds 0:1000"),
        (["k", "--seeds", "5:5"], "'--seeds 5:5' is no seed at all: the last one is left out"),
        (["k", "--seeds", "-1"], "'--seeds -1' is no range of seeds\nhelp: give one as 7 or 0:10000"),
        (["k", "--seeds", "1:2:3"], "'--seeds 1:2:3' is no range of seeds\nhelp: give one as 7 or 0:10000"),
        (["k", "--family", "a"], "--family is about programs of seeds\nhelp: give --seeds as well"),
        (["k", "--jobs", "0"], "'--jobs 0' is not valid\nhelp: give a number from 1 on"),
        (["k", "--target", "h100"], "--target is about --compile and --cost\nhelp: add one of them"),
        (["k", "--backend", "abacus"], "there is no backend 'abacus'\nhelp: choose one of"),
        (["k", "--backend", ","], "'--backend' needs names, separated by commas"),
        (["k", "--cost", "--target", "abacus"], "abacus"),
        (["k", "--compile", "--target", "abacus"], "'abacus' is no GPU that Tile IR is compiled for"),
        (["--seeds", "0:2", "--family", "abacus"], "there is no family 'abacus' of programs"),
        (["--seeds", "0:2", "--ops", "abacus"], "there is no operation 'abacus'"),
        (["k", "--retry", "slow"], "'slow' is no outcome\nhelp: use passed, failed"),
        (
            ["k", "--memory-limit", "nan"],
            "'--memory-limit nan' is no size\nhelp: give one with its unit, as 512M or 4G",
        ),
        (["k", "--timeout", "0"], "'--timeout 0' is no time\nhelp: give seconds, as 2.5, or a unit, as 30s, 10m or 1h"),
        (["k", "-o", "missing/results.sqlite"], "cannot write 'missing/results.sqlite': No such file or directory"),
        (["k", "-o", "good.mlir"], "'good.mlir' holds no results of a sweep: it is no SQLite file"),
        (["k", "--dask", "nonsense://x"], "there is no Dask scheduler at 'nonsense://x'"),
    ],
)
def test_wrong_values_are_reported_with_help(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--dask" in words:
        pytest.importorskip("distributed", reason="distributed is not installed: pip install 'tileir[dask]'")
    assert run(["sweep", *words]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith("error: ") and told in error and error.count("\n") <= 2


def process_of(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "tileir", "sweep", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(parent: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(parent).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_interrupted_sweep_leaves_what_is_done_and_no_process(folder: Path, name: str) -> None:
    (folder / "endless.mlir").write_text(ENDLESS)
    sweep = process_of("good.mlir", "endless.mlir", "--backend", "interpreter", "-j", "2", folder=folder)
    until = time.monotonic() + 100
    children: list[int] = []
    while time.monotonic() < until:
        # Two servers, and the child in which the program runs; the other one is judged by then.
        children = children_of(sweep.pid)
        if len(children) >= 3 and _count(folder / "results.sqlite") == 1:
            break
        time.sleep(0.1)
    assert len(children) >= 3 and sweep.poll() is None
    sweep.send_signal(getattr(signal, name))
    out, error = sweep.communicate(timeout=60)
    if name == "SIGKILL":
        assert sweep.returncode == -9
    else:
        assert (sweep.returncode, out) == (130, "")
        assert error == "interrupted: what is done is in 'results.sqlite'; the same command goes on\n"
    until = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_alive, children))
    assert _count(folder / "results.sqlite") == 1
    # Nor any scratch directory.
    assert [each for each in os.listdir(folder) if each.startswith("tileir-judge")] == []


def _count(path: Path) -> int:
    try:
        with Results(str(path)) as results:
            return sum(results.counts().values())
    except tileir.errors.ResultsError:
        return 0


# --- words ---


def progress(**figures: object) -> SweepProgress:
    found = SweepProgress(10_000)
    for name, figure in figures.items():
        setattr(found, name, figure)
    return found


def test_progress_in_a_line() -> None:
    assert progress_line(progress()) == "0 of 10,000: none judged yet"
    found = progress(judged=1204, seconds=14.0)
    found.outcomes.update({"failed": 9, "passed": 1190, "timeout": 5})
    assert progress_line(found) == "1,204 of 10,000: 1,190 passed, 9 failed, 5 timeout; 86 a second, 2 minutes left"
    found.total = None
    assert progress_line(found) == "1,204: 1,190 passed, 9 failed, 5 timeout; 86 a second"
    assert progress_summary(progress(judged=1, seconds=0.5, lost=1)) == (
        "1 program: nothing; 1 judged in 0.5 seconds, 1 chunk lost and judged again"
    )


def test_the_first_of_each_cause_is_told_and_nothing_in_it_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = SweepReporter(False, False)
    found = progress()
    for number in range(40):
        step = JudgeStage("run cpu", "failed", f"\x1b[31mwrong {number}\nmore", f"cause {number % 25}")
        found.latest = [(f"a\x1b]0;{number}", Verdict("", "failed", step.cause, [step]))]
        reporter.show(found)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 21 and told[-1] == "more kinds of failures are in the report only"
    assert told[3] == "failed: a\\x1b]0;3: run cpu: \\x1b[31mwrong 3"


ODD = ["", " ", "-1", "0", "²", "nan", "9" * 400, "\x1b[31m", "\udcff", ",", ":", "a,,b", "1:", "é" * 300]


def test_odd_values_of_options_are_told_in_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in USAGE.options:
        # A scheduler that is not there is waited for.
        for word in ODD if option.value and option.name != "dask" else ["x"]:
            if option.name in ("output", "reference") and len(word) > 255:
                continue
            words = f"--{option.name}={word}"
            status = run(["sweep", "missing.mlir", "--quiet", words])
            error = capsys.readouterr().err
            # The file that is missing is a row, which did not pass.
            assert status in (1, 2) and (status == 1 or error.startswith("error: ")), words
            assert error.count("\n") <= 3 and "\x1b" not in error and "Traceback" not in error, words
            for left in ("results.sqlite", word.partition("\0")[0] if option.name == "output" else ""):
                if left.strip() and os.path.lexists(left):
                    os.remove(left)
