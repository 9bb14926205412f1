"""`tileir run` on the CPU backend: whatever a kernel does, the tool has the last word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from tests.messages import compact

from tileir.tools import guard

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork, so there is no guard")

PROGRAM = """
cuda_tile.module @m {
  entry @store(%a: tile<ptr<i32>>, %far: tile<i64>) {
    %p = offset %a, %far : tile<ptr<i32>>, tile<i64> -> tile<ptr<i32>>
    %one = constant <i32: 1> : tile<i32>
    %k = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


def tool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tileir", "run", *arguments, "--backend", "cpu"]


def ran(*arguments: str) -> tuple[int, str, str]:
    found = subprocess.run(tool(*arguments), capture_output=True, text=True, check=False)
    return found.returncode, found.stdout, found.stderr


def test_wild_kernel_is_an_error_of_the_tool(program: str) -> None:
    assert ran(program, "--unchecked", "--entry=store", "--arg=zeros:i32:4", "--arg=1000000000000") == (
        1,
        "",
        "error: the kernel accessed memory outside its arrays and was stopped\nhelp: run without --unchecked or TILEIR_UNCHECKED to see where\n",
    )


@pytest.mark.parametrize("far", ["4", "-1", "1000000000000"])
def test_access_outside_of_an_array_is_told_with_its_place(program: str, far: str) -> None:
    status, output, errors = ran(program, "--entry=store", "--arg=zeros:i32:4", f"--arg={far}")
    assert (status, output) == (1, "")
    first, *rest = compact(errors).splitlines()
    assert first.startswith(f"{program}:6:10: error: 'cuda_tile.store_ptr_tko' op accesses 4 bytes at address 0x")
    assert rest[-1] == "note: in tile block (0, 0, 0)"
    assert not any("Traceback" in line for line in rest)


def test_arrays_too_small_for_a_vector_addition() -> None:
    """What is beside them in memory used to be overwritten, the shapes of other arrays among it."""
    path = str(Path(__file__).parents[2] / "examples" / "vector_add.mlir")
    for sizes in ((10, 1000, 1000), (1000, 10, 1000), (1000, 1000, 10)):
        arguments = [f"--arg=ones:f32:{size}" for size in sizes]
        status, output, errors = ran(path, "--grid=8", *arguments, "--arg=1000")
        assert (status, output) == (1, "")
        # Which array it lies past depends on where the system put them.
        assert "error: 'cuda_tile.load_ptr_tko' op accesses 4 bytes at address" in errors or (
            "error: 'cuda_tile.store_ptr_tko' op accesses 4 bytes at address" in errors
        )
        assert "Traceback" not in errors


def test_results_and_mistakes_pass_the_guard(program: str, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert ran(program, "--entry=store", "--arg=zeros:i32:4", "--arg=2", f"--output=0={out}") == (
        0,
        "argument 0: int32[4]  min 0, max 1, mean 0.25  [0, 0, 1, 0]\n",
        "",
    )
    assert numpy.load(out).tolist() == [0, 0, 1, 0]
    status, text, message = ran(program, "--entry=store", "--arg=zeros:i32:4")
    assert (status, text, message.count("takes 2 arguments")) == (1, "", 1)
    status, text, message = ran(program, "--entry=store", "--arg=zeros:i32:4", "--arg=2", "--output=0=/none/such.npy")
    assert (status, text, message.count("cannot write '/none/such.npy'")) == (2, "", 1)


IN_CHILD = """
import os, signal, sys
from tileir.tools.guard import in_child
print("before")
status = in_child(lambda: {work})
print("status", status)
"""


@pytest.mark.parametrize(
    ("work", "status", "message"),
    [
        ("print('within') or 7", "within\nstatus 7", ""),
        ("os.kill(os.getpid(), signal.SIGBUS)", "status 1", "outside its arrays"),
        ("os.abort()", "status 1", "outside its arrays"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "status 1", "memory runs out"),
        ("os.kill(os.getpid(), signal.SIGUSR1)", f"status {128 + signal.SIGUSR1}", ""),
        ("1 // 0", "status 1", "ZeroDivisionError"),
        ("sys.exit(5)", "status 1", "SystemExit"),
    ],
)
def test_however_the_work_ends_the_tool_goes_on(work: str, status: str, message: str) -> None:
    code = IN_CHILD.format(work=work)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == f"before\n{status}\n"
    assert message in found.stderr
    assert bool(found.stderr) == bool(message)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_signals_for_the_tool_alone_end_the_work(number: int, status: int) -> None:
    code = IN_CHILD.format(work="print('ready', flush=True) or __import__('time').sleep(600)")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert [process.stdout.readline() for _ in range(2)] == ["before\n", "ready\n"]
        process.send_signal(number)
        # To the end of its output: nobody holds the pipe then, so the child is gone too.
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert output == f"status {status}\n"


def test_no_guard_where_the_output_is_kept_by_the_caller(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    work: Callable[[], int] = lambda: seen.append(os.getpid()) or 3  # type: ignore[func-returns-value] # noqa: E731
    assert guard.in_child(work) == 3
    assert seen == [os.getpid()]
