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
kernel.native.version(False, False)
print("ready", flush=True)
try:
    kernel.launch(int(sys.argv[2]), numpy.zeros(4, "f4"))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGINT for one process")
@pytest.mark.parametrize("kind", ["loop", "for"])
@pytest.mark.parametrize("blocks", [1, 4])
def test_interrupt_ends_a_tile_block_that_would_not_end(kind: str, blocks: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, kind, str(blocks)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert output == "interrupted\n"
