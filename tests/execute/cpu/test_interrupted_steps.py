"""An exception at any step of a compilation or a launch where a signal handler may raise one breaks nothing.

In a process of its own, which what breaks takes along.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

COMMON = """
import faulthandler, gc, os, random, sys, threading
faulthandler.enable()
faulthandler.dump_traceback_later(150, exit=True)
import llvmlite, numpy, tileir
from tileir.execute.cpu.runtime import llvm_compile, loader, target
from tests.execute.interrupting import interrupted, steps
from tests.soak.programs import Elementwise

OURS = os.path.dirname(tileir.__file__)
LLVM = os.path.dirname(llvmlite.__file__)
NAMES = ["/forking.py", "/execute/overlap.py", "/execute/cpu/kernel.py", "/execute/cpu/code.py"]
PLACES = tuple([OURS + each for each in NAMES])
PLACES += (OURS + "/execute/cpu/runtime/", LLVM)

def check(seed, blocks=3):
    each = Elementwise(seed)
    source, result = each.arrays(random.Random(seed), blocks)
    kernel = tileir.compile(tileir.parse(each.text), backend="cpu")
    kernel.launch(blocks, (source, result))
    with tileir.kernels.overlap():
        again = numpy.zeros_like(result)
        kernel.launch(blocks, (source, again))
    assert result.tobytes() == again.tobytes() == each.expected(source).tobytes()

def check_in_thread(seed):
    failures = []
    def work():
        try:
            check(seed)
        except BaseException as error:
            failures.append(error)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and not failures, failures
"""


def run(script: str, *arguments: str, **environment: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", COMMON + script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TILEIR_CACHE": "0", **environment},
    )
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-10000:]
    return process.stdout


LOADING = """
TEXT = "define i64 @worker(ptr %record, ptr %scratch) { ret i64 {number} }"

def work(number):
    data = llvm_compile.assemble(TEXT.replace("{number}", str(number)), target.host(), 0)
    loaded = loader.load(data)
    assert loaded.call(0, 0) == number

work(0)
total = steps(lambda: work(1), PLACES)
assert total > 20, total
for number in range(1, total + 1):
    print(number, *interrupted(lambda: work(number), number, PLACES))
    work(number + 1)
check_in_thread(1)
"""


def test_interrupt_at_each_step_of_making_and_loading_an_object() -> None:
    run(LOADING)


LAUNCHING = """
check(1)
total = steps(lambda: check(1), PLACES)
assert total > 200, total
rng = random.Random(int(sys.argv[1]))
for turn in range(int(sys.argv[2])):
    print(*interrupted(lambda: check(1), rng.randrange(1, total), PLACES))
    if turn % 8 == 0:
        check(2)
        check_in_thread(3)
child = os.fork() if hasattr(os, "fork") else 0
if child == 0:
    check(4)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_interrupt_at_some_steps_of_compiling_and_launching(tmp_path: Path) -> None:
    run(LAUNCHING, "1", "30", TILEIR_CACHE="1", TILEIR_CACHE_DIR=str(tmp_path / "cache"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_interrupt_at_many_steps_of_compiling_and_launching(seed: int) -> None:
    run(LAUNCHING, str(seed), "400")


def test_nothing_of_llvm_runs_on_the_thread_that_asks_for_it() -> None:
    # Signal handlers run there.
    run("""
import llvmlite.binding
seen = set()
def enter(frame, event, argument):
    name = frame.f_code.co_filename
    if name.startswith(LLVM):
        seen.add(f"{name}:{frame.f_lineno}")
sys.settrace(enter)
check(1)
kernel = tileir.compile(tileir.parse(Elementwise(2).text), backend="cpu")
for stage in ("llvm-opt", "asm"):
    assert kernel.dump(stage)
try:
    llvm_compile.assemble("define i64 @worker() { ret i32 0 }", target.host())
except tileir.errors.CompilationError as error:
    assert "LLVM refuses" in str(error)
else:
    raise AssertionError
try:
    loader.load(b"")
except tileir.errors.CompilationError:
    pass
del kernel
gc.collect()
sys.settrace(None)
assert not seen, seen
""")
