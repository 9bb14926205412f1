"""Launches on the CPU backend: what may be asked for, who is told how far they are, and what is too large."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.dialect.ops import SINH
from tileir.execute.cpu.runtime import llvm_compile
from tileir.execute.interpreter.kernels import KERNELS
from tileir.execute.launching.kernel import Kernel

EXAMPLE = Path(__file__).parents[3] / "examples" / "vector_add.mlir"

COUNTING = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %turns: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  for %i in (%zero to %turns, step %one) : tile<i32> {
    %old, %t = atomic_rmw_tko relaxed device %q, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    continue
  }
  return } }"""

RESERVING = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
  %small = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
  %room = alloca num_elem = COUNT, alignment = 128 : tile<ptr<i32>>
  %x, %t0 = load_ptr_tko weak %small : tile<ptr<i32>> -> tile<i32>, token
  %y, %t1 = load_ptr_tko weak %room : tile<ptr<i32>> -> tile<i32>, token
  %sum = addi %x, %y : tile<i32>
  %t2 = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
  return } }"""


class _Enough(Exception):
    """What a caller raises that has seen enough."""


def kernel(text: str, backend: str = "cpu") -> Kernel:
    return tileir.compile(tileir.parse(text), backend=backend)


@pytest.mark.parametrize("number", [True, False, "2", 2.0, [2], numpy.float32(1)])
def test_a_number_of_threads_that_is_no_whole_number_is_refused(number: Any) -> None:
    with pytest.raises(tileir.LaunchError, match="pass a whole number of threads, or None for all processors"):
        kernel(COUNTING).launch(1, (numpy.zeros(1, "i4"), 1), threads=number)


@pytest.mark.parametrize("number", [0, -1, 1025, 20_000, 1 << 70])
def test_a_launch_has_no_fewer_threads_than_one_and_not_too_many(number: int) -> None:
    with pytest.raises(tileir.LaunchError, match=f"threads is {number}: pass 1 to 1024 threads"):
        kernel(COUNTING).launch(1, (numpy.zeros(1, "i4"), 1), threads=number)


def test_a_number_of_threads_may_be_numpys() -> None:
    data = numpy.zeros(1, "i4")
    kernel(COUNTING).launch(1, (data, 1), threads=numpy.int64(2))  # type: ignore[arg-type]


def test_a_number_of_threads_that_was_given_before_is_looked_at_again() -> None:
    counting = kernel(COUNTING)
    data = numpy.zeros(1, "i4")
    for number in (None, 1, 2, 1, None, 2):
        counting.launch(1, (data, 1), threads=number)
    assert data[0] == 6
    # True is 1, and 2.0 is 2, to a dictionary.
    for wrong in (True, 2.0, "1"):
        with pytest.raises(tileir.LaunchError, match="pass a whole number of threads"):
            counting.launch(1, (data, 1), threads=wrong)  # type: ignore[arg-type]
    for number in range(1, 200):
        counting.launch(1, (data, 1), threads=number)
    assert data[0] == 205


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_progress_begins_with_nothing_and_ends_with_everything(backend: str) -> None:
    seen: list[tuple[int, int]] = []
    counts = numpy.zeros(6, "i4")
    kernel(COUNTING, backend).launch(6, (counts, 2), progress=lambda done, count: seen.append((done, count)))
    assert seen[0] == (0, 6) and seen[-1] == (6, 6) and sorted(seen) == seen
    assert counts.tolist() == [2] * 6


@pytest.mark.parametrize("threads", [1, 2])
def test_what_progress_raises_ends_the_launch_and_is_raised(threads: int) -> None:
    blocks, turns = 1 << 14, 1 << 22
    calls: list[int] = []

    def progress(done: int, count: int) -> None:
        calls.append(done)
        if len(calls) == 2:
            raise _Enough

    run = kernel(COUNTING)
    counts = numpy.zeros(blocks, "i4")
    with pytest.raises(_Enough):
        run.launch(blocks, (counts, turns), threads=threads, progress=progress)
    assert len(calls) == 2 and counts[-1] == 0
    # No thread works in the array any more, and the next launch is whole.
    counts[:] = 0
    run.launch(blocks, (counts, 1), threads=threads)
    assert (counts == 1).all()


def test_what_progress_raises_at_once_leaves_out_the_launch() -> None:
    def progress(done: int, count: int) -> None:
        raise _Enough

    counts = numpy.zeros(8, "i4")
    with pytest.raises(_Enough):
        kernel(COUNTING).launch(8, (counts, 1), progress=progress)
    assert not counts.any()


@pytest.mark.parametrize("count", [1 << 44, 1 << 58])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_alloca_of_more_than_there_is_is_named_with_its_place(count: int, threads: int) -> None:
    found = []
    for backend in ("interpreter", "cpu"):
        with pytest.raises(tileir.ExecutionError) as caught:
            options: dict[str, Any] = {"threads": threads} if backend == "cpu" else {}
            kernel(RESERVING.replace("COUNT", str(count)), backend).launch(8, (numpy.zeros(1, "i4"),), **options)
        diagnostic = caught.value.diagnostics[0]
        found.append((diagnostic.message, str(diagnostic.location)))
    assert found[0] == found[1]
    assert f"requests {4 * count} bytes aligned to 128, more than is available" in found[1][0]


def _launched() -> list[int]:
    counts = numpy.zeros(4, "i4")
    kernel(COUNTING).launch(4, (counts, 3))
    return counts.tolist()


def test_kernel_from_the_cache_is_not_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    assert _launched() == [3] * 4
    monkeypatch.setattr(llvm_compile, "assemble", lambda *_given: pytest.fail("compiles"))
    assert _launched() == [3] * 4


NEEDED = (
    "cpu cpu.code cpu.engine cpu.ir cpu.ir.options cpu.kernel cpu.runtime cpu.runtime.binder"
    " cpu.runtime.launch_record cpu.runtime.llvm_thread"
    " cpu.runtime.loader cpu.runtime.parallel_launch cpu.runtime.target cpu.runtime.thread_pool"
)


def test_process_with_a_kernel_from_the_cache_imports_nothing_that_compiles(tmp_path: Path) -> None:
    """By name, so that what comes to the list is seen: each module takes a part of a millisecond."""
    program = (
        "import sys, numpy, tileir\n"
        f"kernel = tileir.compile(tileir.load({str(EXAMPLE)!r}), backend='cpu')\n"
        "a, b, c = numpy.ones(8, 'f4'), numpy.ones(8, 'f4'), numpy.zeros(8, 'f4')\n"
        "kernel.launch(1, (a, b, c, 8))\n"
        "names = [name for name in sys.modules if name.startswith('tileir.execute.cpu')]\n"
        "print(*c.tolist(), 'tileir.passes' in sys.modules)\n"
        "print(*sorted(name.removeprefix('tileir.execute.') for name in names))\n"
    )
    environment = dict(os.environ, TILEIR_CACHE_DIR=str(tmp_path))
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env=environment
        )
        assert done.stderr == ""
        result, names = done.stdout.splitlines()
    assert result == "2.0 " * 8 + "False"
    assert names == NEEDED


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_kernel_of_which_the_cache_has_a_part_is_compiled_again(
    part: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a process needs for its first launch with helpers is elsewhere.
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "first"))
    _launched()
    folder = tmp_path / "second"
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(folder))
    assert _launched() == [3] * 4
    (entry,) = [path for path in folder.glob("*.kernel") if not path.name.startswith("sources-")]
    whole = entry.read_bytes()
    entry.write_bytes(whole[: int(len(whole) * part)])
    assert _launched() == [3] * 4
    assert entry.read_bytes() == whole


def test_a_numpy_function_without_instructions_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
      %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
      %y = sinh %x : tile<f32>
      %s = store_ptr_tko weak %p, %y token=%t : tile<ptr<f32>>, tile<f32> -> token
      return } }"""
    monkeypatch.setitem(KERNELS, SINH, lambda operation, exact: numpy.sinh)
    with pytest.raises(tileir.LaunchError) as raised:
        tileir.compile(tileir.parse(text), backend="cpu").dump("llvm")
    message = "the CPU backend cannot compile 'cuda_tile.sinh': its NumPy function uses numpy.sinh, and can only use "
    assert raised.value.message.startswith(message) and "backend='interpreter'" in raised.value.message
    x = numpy.ones(1, "f4")
    tileir.compile(tileir.parse(text), backend="interpreter").launch(1, (x,))
    assert x[0] == numpy.sinh(numpy.float32(1))
