"""`tileir run --timeout`: an end to every run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tileir.tools import guard
from tileir.tools.bytecode import run

ENDLESS = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %t = print_tko "begun\\n" -> token
  loop {
    %s = store_ptr_tko weak %a, %one : tile<ptr<i32>>, tile<i32> -> token
    continue }
  return } }"""

QUICK = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %s = store_ptr_tko weak %a, %one : tile<ptr<i32>>, tile<i32> -> token
  return } }"""


@pytest.fixture
def endless(tmp_path: Path) -> str:
    path = tmp_path / "endless.mlir"
    path.write_text(ENDLESS)
    return str(path)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_endless_kernel_is_stopped_with_a_message(endless: str, backend: str) -> None:
    command = [sys.executable, "-m", "tileir", "run", endless, "--arg=zeros:i32:1", "--backend", backend, "--timeout=3"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (found.returncode, found.stderr) == (124, "error: stopped after 3 seconds by --timeout\n")
    # On a busy machine the kernel may not have begun.
    assert found.stdout in ("", "begun\n")


def test_what_was_printed_until_then_is_there() -> None:
    script = """
import sys
from tileir.tools.guard import limited
def work():
    sys.stdout.write("begun")
    while True:
        pass
sys.exit(limited(2, work))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert (found.returncode, found.stdout) == (124, "begun")


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_endless_kernel_is_stopped_where_there_is_no_guard(
    endless: str, backend: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileir.tools.guard.can_fork", lambda: False)
    assert run.run([endless, "--arg=zeros:i32:1", "--backend", backend, "--timeout=1.5"]) == 124
    assert capsys.readouterr().err == "error: stopped after 1.5 seconds by --timeout\n"


def test_run_that_ends_in_time_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quick.mlir"
    path.write_text(QUICK)
    for backend in ("cpu", "interpreter"):
        assert run.run([str(path), "--arg=zeros:i32:1", "--backend", backend, "--timeout=1e300"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", "", "1e400"])
def test_times_that_make_no_sense_are_refused(endless: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run([endless, f"--timeout={text}"]) == 2
    assert "is no time" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork, so there is no guard")
def test_work_that_takes_no_exception_is_ended_from_outside(tmp_path: Path) -> None:
    script = """
import signal, sys, time
from tileir.tools import guard
guard.GRACE = 0.2
def work():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(100)
sys.exit(guard.in_child(work, 0.3))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert (found.returncode, found.stderr) == (124, "error: stopped after 0.3 seconds by --timeout\n")


def test_timer_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delattr("signal.setitimer", raising=False)

    def endless() -> int:
        while True:
            pass

    assert guard.limited(0.2, endless) == 124
    assert guard.limited(50, lambda: 3) == 3
