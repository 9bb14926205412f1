"""What compiling, loading and launching take is given back: counted in bytes, mappings and objects."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.soak.memory import bytes_in_use, can_tell_use

import tileir
from tileir.execute.cpu.runtime import llvm_thread, loader
from tileir.execute.cpu.runtime.llvm_compile import assemble
from tileir.execute.cpu.runtime.loader import load
from tileir.execute.cpu.runtime.target import host

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not can_tell_use(), reason="the C library does not say what is in use"
)

ANSWER = "define i64 @worker(ptr %a, ptr %b) {\n  ret i64 42\n}\n"
KERNEL = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %one = constant <i32: 1> : tile<i32>
  %x, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
  %y = addi %x, %one : tile<i32>
  %s = store_ptr_tko weak %a, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
  return } }"""

TURNS = 4 * loader._MOST_LIBRARIES
"""As many as whole engines of LLVM take."""


class Held:
    """What the process holds when nothing is under way."""

    def __init__(self) -> None:
        gc.collect()
        # What comes before it in the queue is done then, and what that has let go, after it.
        for _ in range(2):
            llvm_thread.uninterrupted(int)
        self.bytes = bytes_in_use()
        self.resources = len(llvm_thread._resources)
        self.objects = len(gc.get_objects())
        with open("/proc/self/maps") as file:
            self.code = sum([" r-xp " in line for line in file])


def kept(action: Callable[[], object], turns: int = TURNS) -> tuple[float, Held, Held]:
    """How many bytes are not given back each time something is done; what was held before and after."""
    for _ in range(loader._MOST_LIBRARIES):
        action()
    before = Held()
    for _ in range(turns):
        action()
    after = Held()
    return (after.bytes - before.bytes) / turns, before, after


def test_code_that_is_let_go_takes_no_memory() -> None:
    data = assemble(ANSWER, host())
    size, before, after = kept(lambda: load(data))
    assert size < 1000
    assert (after.resources, after.code) == (before.resources, before.code)


def test_library_that_cannot_be_linked_takes_no_memory() -> None:
    data = assemble(ANSWER, host())

    def fail() -> None:
        with pytest.raises(tileir.errors.CompilationError):
            # LLVM finds nothing in it.
            loader._linked(data, ["absent"])

    size, before, after = kept(lambda: llvm_thread.uninterrupted(fail))
    assert size < 1000
    assert (after.resources, after.code) == (before.resources, before.code)


def test_code_stays_when_llvm_goes_on_with_another_engine() -> None:
    data = assemble(ANSWER, host())
    functions = [load(data) for _ in range(3 * loader._MOST_LIBRARIES)]
    kept_ones = functions[:: loader._MOST_LIBRARIES - 1]
    del functions
    Held()
    assert [function.call(0, 0) for function in kept_ones] == [42] * len(kept_ones)


def test_compilation_keeps_little() -> None:
    # 1.5 KB are llvmlite's, which never gives back the callbacks of a pass builder.
    size, _, _ = kept(lambda: assemble(ANSWER, host()))
    assert size < 3000


@pytest.mark.parametrize("is_done", [False, True], ids=["early", "late"])
def test_interrupted_calls_leave_nothing(is_done: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = assemble(ANSWER, host())
    wait = llvm_thread._wait

    def interrupted(call: Any) -> None:
        if is_done:
            wait(call)
        raise KeyboardInterrupt

    def interrupt() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(llvm_thread, "_wait", interrupted)
            for action in (lambda: assemble(ANSWER, host()), lambda: load(data)):
                with pytest.raises(KeyboardInterrupt):
                    action()

    size, before, after = kept(interrupt)
    assert size < 3000
    assert (after.resources, after.code) == (before.resources, before.code)


def test_kernels_that_are_let_go_take_no_memory() -> None:
    array = numpy.zeros(1, numpy.int32)

    def launch() -> None:
        tileir.compile(tileir.parse(KERNEL), backend="cpu").launch(1, (array,))

    size, before, after = kept(launch)
    assert size < 1000
    assert (after.resources, after.code) == (before.resources, before.code)
    assert after.objects - before.objects < TURNS
