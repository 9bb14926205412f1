"""An interrupt ends a launch whose tile blocks would never end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

ENDLESS = """
import sys
import numpy
import tileir

BODIES = {
    "loop": '''%r = loop iter_values(%n = %zero) : tile<i32> -> tile<i32> {
      %less = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
      if %less { break %n : tile<i32> }
      continue %n : tile<i32> }''',
    "for": '''for %i in (%low to %high, step %one) : tile<i64> {
      %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
      %s = store_ptr_tko weak %a, %x : tile<ptr<f32>>, tile<f32> -> token
      continue }''',
}
module = tileir.parse('''cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %low = constant <i64: 0> : tile<i64>
  %high = constant <i64: 9000000000000000> : tile<i64>
  %one = constant <i64: 1> : tile<i64>
  ''' + BODIES[sys.argv[1]] + ''' return } }''')
kernel = tileir.compile(module, backend="cpu")
kernel.prepare().version(False, False)
print("ready", flush=True)
try:
    kernel.launch(int(sys.argv[2]), (numpy.zeros(4, "f4"),))
except KeyboardInterrupt:
    print("interrupted")
"""


def interrupted(script: str, *arguments: str) -> str:
    """What a script says on standard error that is interrupted soon after it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert output == "interrupted\n", errors
    return errors


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGINT for one process")


@pytest.mark.parametrize("kind", ["loop", "for"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_interrupt_ends_a_tile_block_that_would_not_end(kind: str, blocks: int) -> None:
    interrupted(ENDLESS, kind, str(blocks))


QUICK_AT_FIRST = """
import sys
import numpy
import tileir

NEST = '''for %j in (%zero to %limit, step %one) : tile<i32> {
      for %i in (%zero to %limit, step %one) : tile<i32> {
        %x, %u = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
        %s = store_ptr_tko weak %a, %x : tile<ptr<i32>>, tile<i32> -> token
        continue }
      continue }'''
BODIES = {
    "memory": '''%r = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
      %limit, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
      %done = cmpi greater_than_or_equal %i, %limit, signed : tile<i32> -> tile<i1>
      if %done { break %i : tile<i32> }
      %rest = remi %i, %million signed : tile<i32>
      %next = addi %rest, %one : tile<i32>
      continue %next : tile<i32> }''',
    "bound in memory": '''%limit, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token ''' + NEST,
    "argument": NEST.replace("%limit", "%n"),
}
module = tileir.parse('''cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %million = constant <i32: 1000000> : tile<i32>
  ''' + BODIES[sys.argv[1]] + ''' return } }''')
kernel = tileir.compile(module, backend="cpu")
blocks = int(sys.argv[2])
for _ in range(4):
    kernel.launch(blocks, (numpy.full(1, 3, "i4"), 3))
print("ready", flush=True)
try:
    if sys.argv[3] == "overlap":
        with tileir.kernels.overlap():
            for _ in range(3):
                kernel.launch(blocks, (numpy.full(1, 2000000000, "i4"), 2000000000))
    else:
        kernel.launch(blocks, (numpy.full(1, 2000000000, "i4"), 2000000000))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("kind", ["memory", "bound in memory", "argument"])
def test_interrupt_ends_a_launch_whose_kernel_was_quick_the_last_time(kind: str) -> None:
    interrupted(QUICK_AT_FIRST, kind, "1", "alone")


def test_interrupt_ends_launches_on_several_threads_that_were_quick_the_last_time() -> None:
    interrupted(QUICK_AT_FIRST, "memory", "4", "alone")


def test_interrupt_ends_overlapping_launches_that_were_quick_the_last_time() -> None:
    interrupted(QUICK_AT_FIRST, "memory", "1", "overlap")


PRINTING = """
import tileir

module = tileir.parse('''cuda_tile.module @m { entry @k() {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %t = print_tko "block %i", %x : tile<i32> -> token
  return } }''')
kernel = tileir.compile(module, backend="cpu")
kernel.launch(1, output=lambda text: None)
print("ready", flush=True)
written = []
try:
    kernel.launch(2**31 - 1, output=written.append)
except KeyboardInterrupt:
    print("interrupted" if len(written) < 2**30 else "too late")
"""


def test_interrupt_ends_a_launch_that_prints() -> None:
    assert interrupted(PRINTING) == ""
