"""What `output` and `progress` raise ends the launch and is raised by it."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir

PRINTING = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %t = print_tko "block %i\\n", %x : tile<i32> -> token
  %p = offset %a, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %s = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
  return } }"""

LOOPING = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %many = constant <i32: 2000000000> : tile<i32>
  for %i in (%zero to %many, step %one) : tile<i32> {
    %t = print_tko "turn %i\\n", %i : tile<i32> -> token
    continue }
  return } }"""

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "interpreter"])


@pytest.mark.parametrize("where", ["main", "thread"])
@pytest.mark.parametrize("text", [PRINTING, LOOPING])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, StopIteration])
@BACKENDS
def test_what_output_raises_ends_the_launch(
    backend: str, error: type[BaseException], text: str, where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = tileir.compile(tileir.parse(text), backend=backend)
    array = numpy.full(3000, -1, "i4")
    written: list[str] = []
    raised: list[BaseException] = []

    def output(text: str) -> None:
        written.append(text)
        if len(written) == 3:
            raise error("enough")

    def launch() -> None:
        try:
            kernel.launch(3000, (array,), output=output)
        except BaseException as caught:
            raised.append(caught)

    for _ in range(2):
        written.clear()
        if where == "main":
            launch()
        else:
            thread = threading.Thread(target=launch)
            thread.start()
            thread.join()
        assert len(written) == 3
        assert type(raised.pop()) is error and not raised
    assert array[-1] == -1, "the launch went on"
    assert capfd.readouterr() == ("", "")


@BACKENDS
def test_launch_after_one_that_was_ended_by_its_output_is_whole(backend: str) -> None:
    kernel = tileir.compile(tileir.parse(PRINTING), backend=backend)
    array = numpy.full(50, -1, "i4")

    def failing(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kernel.launch(50, (array,), output=failing)
    written: list[str] = []
    kernel.launch(50, (array,), output=written.append)
    assert written == [f"block {number}\n" for number in range(50)]
    assert array.tolist() == list(range(50))


@BACKENDS
def test_output_runs_in_the_context_of_the_launch(backend: str) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="lost")
    variable.set("kept")
    seen: set[str] = set()
    kernel = tileir.compile(tileir.parse(PRINTING), backend=backend)
    kernel.launch(3, (numpy.zeros(3, "i4"),), output=lambda text: seen.add(variable.get()))
    assert seen == {"kept"}


@pytest.mark.parametrize("sanitize", [False, True])
def test_what_progress_raises_ends_a_launch_that_prints(sanitize: bool) -> None:
    kernel = tileir.compile(tileir.parse(LOOPING), backend="cpu")
    written: list[str] = []

    def progress(done: int, count: int) -> None:
        if written:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kernel.launch(1, (numpy.zeros(1, "i4"),), output=written.append, progress=progress, sanitize=sanitize)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's")
@BACKENDS
def test_reader_who_leaves_ends_a_run_that_prints(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "printing.mlir"
    path.write_text(PRINTING)
    script = "import sys; from tileir.tools.main import main; sys.exit(main())"
    command: list[Any] = [sys.executable, "-c", script, "run", path, "--grid", "300000"]
    command += ["--backend", backend, "--arg", "zeros:i32:300000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert process.stdout.readline() == "block 0\n"
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(60)
    finally:
        process.kill()
        process.stderr.close()
    assert len(errors) < 200, errors[:2000]
