"""Forks and signal handlers in the middle of compilations and launches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tileir

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

COMMON = """
import faulthandler, os, signal, sys, threading, time
faulthandler.dump_traceback_later(90, exit=True)
os.environ["TILEIR_CACHE"] = "0"
import numpy, tileir

def program(constant, many=0):
    lines = [f"%c = constant <f32: {constant}.0> : tile<64xf32>", "%v0 = addf %x, %c : tile<64xf32>"]
    lines += [f"%v{n + 1} = {'addf' if n % 3 else 'mulf'} %v{n}, %c : tile<64xf32>" for n in range(many)]
    return '''cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
      %i = iota : tile<64xi32>
      %b = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
      %d = broadcast %b : tile<1xptr<f32>> -> tile<64xptr<f32>>
      %p = offset %d, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
      %x, %t = load_ptr_tko weak %p : tile<64xptr<f32>> -> tile<64xf32>, token
      ''' + "\\n".join(lines) + f'''
      %s = store_ptr_tko weak %p, %v{many} : tile<64xptr<f32>>, tile<64xf32> -> token
      return }} }}'''

def check(constant, together=False):
    array = numpy.zeros(64, "f4")
    kernel = tileir.compile(tileir.parse(program(constant)), backend="cpu")
    if together:
        with tileir.kernels.overlap():
            kernel.launch(1, (array,))
    else:
        kernel.launch(1, (array,))
    assert (array == constant).all(), constant
"""


def run(script: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", COMMON + script], cwd=ROOT, capture_output=True, text=True, timeout=110
    )
    assert process.stdout == "fine\n", process.stderr
    assert process.returncode == 0


def test_fork_while_other_threads_compile_leaves_a_child_that_compiles() -> None:
    # Also the first compilation of all, during which modules are imported.
    run("""
stop = threading.Event()
def work(seed):
    number = seed
    while not stop.is_set():
        number += 2
        check(number % 1000)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
for thread in threads:
    thread.start()
children = []
for number in range(8):
    time.sleep(0.05 * number)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        check(1000 + number)
        check(2000 + number, True)
        os._exit(0)
    children.append(child)
statuses = [os.waitpid(child, 0)[1] for child in children]
stop.set()
for thread in threads:
    thread.join()
assert not any(statuses), statuses
print("fine")
""")


def test_fork_within_overlapping_launches_leaves_a_child_that_leaves_the_context() -> None:
    run("""
kernel = tileir.compile(tileir.parse(program(1, 2)), backend="cpu")
arrays = [numpy.zeros(64, "f4") for _ in range(40)]
kernel.launch(1, (arrays[0],))
for _ in range(10):
    children = []
    try:
        with tileir.kernels.overlap():
            for array in arrays:
                kernel.launch(1, (array,))
                kernel.launch(1, (array,))
            child = os.fork()
        if child == 0:
            check(3)
            os._exit(0)
    except BaseException:
        if child == 0:
            os._exit(1)
        raise
    assert os.waitpid(child, 0)[1] == 0
print("fine")
""")


def test_signal_handler_may_compile_and_launch_whatever_it_interrupts() -> None:
    # Without a lock that is renewed or taken again, this hangs within a few signals.
    run("""
count = 0
def handler(number, frame):
    global count
    count += 1
    # It runs in the context of what it interrupts: outside of this one its launch would be left to that.
    check(500 + count % 3, True)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.signal(signal.SIGALRM, handler)
check(1)
signal.setitimer(signal.ITIMER_REAL, 0.02)
number = 0
while count < 12:
    number += 1
    check(number)
    check(number, True)
signal.setitimer(signal.ITIMER_REAL, 0)
print("fine")
""")


def test_fork_in_a_signal_handler_leaves_no_child_that_waits_for_ever() -> None:
    run("""
kernel = tileir.compile(tileir.parse('''cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %r = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
    %limit, %t = load_ptr_tko relaxed device %a : tile<ptr<i32>> -> tile<i32>, token
    %done = cmpi greater_than %limit, %zero, signed : tile<i32> -> tile<i1>
    if %done { break %i : tile<i32> }
    continue %one : tile<i32> }
  return } }'''), backend="cpu")
array = numpy.ones(1, "i4")
kernel.launch(1, (array,))
child = -1
def handler(number, frame):
    global child
    child = os.fork()
    if child:
        array[0] = 1
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
array[0] = 0
try:
    kernel.launch(1, (array,))
except tileir.LaunchError as error:
    assert "fork" in str(error), error
    os._exit(3 if child == 0 else 4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print("fine")
""")


def test_fork_in_a_signal_handler_during_a_compilation_leaves_both_with_a_kernel() -> None:
    # The thread that compiles is not in the new process: the call is made again there.
    run("""
children, in_child = [], False
def handler(number, frame):
    global in_child
    child = os.fork()
    if child == 0:
        in_child = True
        children.clear()
    else:
        children.append(child)
signal.signal(signal.SIGALRM, handler)
check(1)
for number in range(8):
    signal.setitimer(signal.ITIMER_REAL, 0.003 + 0.003 * number)
    for other in range(3):
        check(10 * number + other)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if in_child:
        check(100 + number)
        os._exit(0)
assert children
assert not any([os.waitpid(child, 0)[1] for child in children])
print("fine")
""")


def test_kernels_dropped_after_a_fork_are_given_back_and_others_compiled() -> None:
    run("""
from tileir.execute.cpu.runtime import llvm_thread
kernels = []
for number in range(3):
    kernels.append(tileir.compile(tileir.parse(program(number)), backend="cpu"))
    kernels[-1].launch(1, (numpy.zeros(64, "f4"),))
held = len(llvm_thread._resources)
def dropped():
    # Not the last one: a thread that is not in the new process may have been at the end of its launch.
    kernels.pop(0)
    check(7)
    for _ in range(3000):
        if not held or len(llvm_thread._resources) < held:
            return
        time.sleep(0.01)
    raise AssertionError(llvm_thread._resources)
child = os.fork()
if child == 0:
    try:
        dropped()
    except BaseException:
        os._exit(1)
    os._exit(0)
dropped()
assert os.waitpid(child, 0)[1] == 0
print("fine")
""")


def test_process_that_ends_while_an_interrupted_compilation_goes_on_ends_in_peace() -> None:
    run("""
class Enough(BaseException):
    pass
def handler(number, frame):
    raise Enough
signal.signal(signal.SIGALRM, handler)
check(1)
print("fine", flush=True)
signal.setitimer(signal.ITIMER_REAL, 0.4)
try:
    # LLVM takes longer for this than what comes before.
    kernel = tileir.compile(tileir.parse(program(1, 3000)), backend="cpu")
    while True:
        kernel.launch(1, (numpy.zeros(64, "f4"),))
except Enough:
    pass
""")


def test_interrupt_during_a_compilation_leaves_everything_usable() -> None:
    run("""
interrupted = 0
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
check(1)
for number in range(15):
    # Again if it comes while Python cleans up, where nothing can be raised.
    signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.008 * number, 1)
    try:
        for other in range(5):
            check(number + other)
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
assert interrupted == 15
check(7)
child = os.fork()
if child == 0:
    check(8)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("fine")
""")


def test_lock_that_an_interrupt_left_with_llvmlite_is_given_back() -> None:
    run("""
import llvmlite.binding.ffi as ffi
check(1)
# As after an interrupt in `__enter__`, when the lock is taken.
ffi.lib._lock._lock.acquire()
ffi.lib._lock._lock.acquire()
check(2)
thread = threading.Thread(target=check, args=(3,), daemon=True)
thread.start()
thread.join(50)
assert not thread.is_alive()
# One that somebody holds with a call under way is left alone.
with ffi.lib._lock:
    pass
print("fine")
""")


def test_signal_handler_that_interrupts_the_import_of_the_engine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tileir.execute.cpu.kernel"
    kernel = tileir.compile(tileir.parse("cuda_tile.module @m { entry @k() { return } }"), backend="cpu")
    # As it is while the module is executed.
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(tileir.LaunchError, match="interrupts the loading of the CPU backend"):
        kernel.launch(1)
