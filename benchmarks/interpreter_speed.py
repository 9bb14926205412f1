"""The interpreter against NumPy.

    python benchmarks/interpreter_speed.py

A 1024 x 1024 x 1024 f32 matmul in tiles of 64 x 64 x 64 beside `numpy.matmul`, both on one thread.  The two take turns,
the best of the rounds counts.  The interpreter is written to be read: whoever wants speed uses the CPU engine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy

import tileir
from measure import Line, add_line_options, finish, line_table, machine, tileir_build

BAR = 0.1


def matmul_program(size: int, tile: int, depth: int | None = None) -> str:
    """Square matrices; `depth` is how far the sum over k goes, all the way if not given."""
    tensor = f"tensor_view<{size}x{size}xf32, strides=[{size},1]>"
    view = f"partition_view<tile=({tile}x{tile}), {tensor}>"
    part = f"tile<{tile}x{tile}xf32>"
    views = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [{size}, {size}], strides = [{size}, 1] : {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in "abc"
    )
    return f"""cuda_tile.module @m {{ entry @matmul(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      {views}
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %count = constant <i32: {(depth or size) // tile}> : tile<i32>
      %empty = constant <f32: 0.0> : {part}
      %sum = for %k in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({part}) {{
        %x, %tx = load_view_tko weak %va[%i, %k] : {view}, tile<i32> -> {part}, token
        %y, %ty = load_view_tko weak %vb[%k, %j] : {view}, tile<i32> -> {part}, token
        %r = mmaf %x, %y, %acc : {part}, {part}, {part}
        continue %r : {part}
      }}
      %s = store_view_tko weak %sum, %vc[%i, %j] : {part}, {view}, tile<i32> -> token
      return }} }}"""


def best(rounds: int, *actions: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """The best time of each action, in seconds; they take turns."""
    found = [float("inf")] * len(actions)
    for _ in range(rounds):
        for number, action in enumerate(actions):
            start = clock()
            action()
            found[number] = min(found[number], clock() - start)
    return found


def measure_matmul(rounds: int) -> list[float]:
    """Our seconds and NumPy's."""
    rng = numpy.random.default_rng(0)
    a, b = (rng.standard_normal((1024, 1024)).astype(numpy.float32) for _ in range(2))
    c = numpy.zeros_like(a)
    kernel = tileir.compile(tileir.parse(matmul_program(1024, 64)), backend="interpreter")
    kernel.launch((16, 16), (a, b, c))
    if not numpy.allclose(c, a @ b, atol=1e-2):
        sys.exit("the matmul is wrong: nothing to measure")
    return best(rounds, lambda: kernel.launch((16, 16), (a, b, c)), lambda: numpy.matmul(a, b, out=c))


def measure_in_one_thread(rounds: int) -> tuple[float, float]:
    """The same in a process of its own, since the number of threads is fixed when NumPy is imported."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    command = [sys.executable, __file__, "--only-matmul", "--rounds", str(rounds)]
    answer = subprocess.run(command, env={**os.environ, **one}, check=True, capture_output=True, text=True)
    ours, theirs = answer.stdout.split()
    return float(ours), float(theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the interpreter.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only-matmul", action="store_true", help="print the two times of the matmul in seconds")
    add_line_options(parser)
    options = parser.parse_args()
    if options.only_matmul:
        print(*measure_matmul(options.rounds))
        return
    print(tileir_build())
    print(f"{machine()}, NumPy {numpy.__version__}; best of {options.rounds} rounds in turns\n")
    ours, theirs = measure_in_one_thread(options.rounds)
    lines = [Line("interpreter: matmul 1024^3 in 64^3", "NumPy, one thread", theirs / ours, BAR)]
    print(line_table(lines))
    print(f"tileir {ours * 1e3:.1f} ms, numpy.matmul {theirs * 1e3:.1f} ms")
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
