"""The interpreter against NumPy, and against Triton's interpreter mode where triton is installed.

    python benchmarks/interpreter_speed.py

A 1024 x 1024 x 1024 f32 matmul in tiles of 64 x 64 x 64 beside `numpy.matmul`, which has all threads of the machine in
one row and one thread in the other, where the interpreter has one processor too; the time of one
f32 `addf` on a tile of 1,024 elements, everything included; the time and the memory that grids take which double in
size.  Both sides of a comparison take turns, the best of the rounds counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import tileir
from measure import Line, add_line_options, finish, machine, table, tileir_build
from tileir import Kernel

SOFTMAX = Path(__file__).resolve().parent.parent / "examples" / "softmax.mlir"
Array = numpy.ndarray[Any, numpy.dtype[Any]]

MATMUL_BAR = 0.3
ADDITION_BAR = 5.0
TRITON_BAR = 10.0


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


def addition_program(count: int) -> str:
    """A chain of additions on a tile that comes from memory, so that none of them is computed ahead."""
    view = "partition_view<tile=(1024), tensor_view<1024xf32, strides=[1]>>"
    chain = "\n".join([f"%r{i + 1} = addf %r{i}, %r0 : tile<1024xf32>" for i in range(count)])
    return f"""cuda_tile.module @m {{ entry @add(%a: tile<ptr<f32>>) {{
      %zero = constant <i32: 0> : tile<i32>
      %t = make_tensor_view %a, shape = [1024], strides = [1] : tensor_view<1024xf32, strides=[1]>
      %v = make_partition_view %t : {view}
      %r0, %k0 = load_view_tko weak %v[%zero] : {view}, tile<i32> -> tile<1024xf32>, token
      {chain}
      %s = store_view_tko weak %r{count}, %v[%zero] : tile<1024xf32>, {view}, tile<i32> -> token
      return }} }}"""


def best(
    rounds: int, *actions: Callable[[], object], clock: Callable[[], float] = time.perf_counter, pause: float = 0
) -> list[float]:
    """The best time of each action, in seconds; they take turns, with a pause before each."""
    found = [float("inf")] * len(actions)
    for _ in range(rounds):
        for number, action in enumerate(actions):
            time.sleep(pause)
            start = clock()
            action()
            found[number] = min(found[number], clock() - start)
    return found


def measure_matmul(rounds: int) -> tuple[float, float]:
    rng = numpy.random.default_rng(0)
    a, b = (rng.standard_normal((1024, 1024)).astype(numpy.float32) for _ in range(2))
    c = numpy.zeros_like(a)
    kernel = tileir.compile(tileir.parse(matmul_program(1024, 64)), backend="interpreter")
    kernel.launch((16, 16), a, b, c)
    if not numpy.allclose(c, a @ b, atol=1e-2):
        sys.exit("the matmul is wrong: nothing to measure")
    # Threads of NumPy's library wait for the next product in a loop, and take a processor meanwhile.
    actions = (lambda: kernel.launch((16, 16), a, b, c), lambda: numpy.matmul(a, b, out=c))
    ours, theirs = best(rounds, *actions, pause=0.15)
    return ours, theirs


def measure_matmul_in_one_thread(rounds: int) -> tuple[float, float]:
    """The same in a process of its own, since the number of threads is fixed when NumPy is imported.

    It may use one processor: the interpreter has as many threads as there are processors, up to three.
    """
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    command = [sys.executable, __file__, "--only-matmul", "--rounds", str(rounds)]
    answer = subprocess.run(command, env={**os.environ, **one}, check=True, capture_output=True, text=True)
    ours, theirs = answer.stdout.split()
    return float(ours), float(theirs)


def measure_addition(rounds: int) -> float:
    """Microseconds of one addition."""
    times = []
    for count in (100, 1100):
        kernel = tileir.compile(tileir.parse(addition_program(count)), backend="interpreter")
        data = numpy.zeros(1024, numpy.float32)
        (seconds,) = best(rounds, lambda kernel=kernel, data=data: kernel.launch(1, data))  # type: ignore[misc]
        times.append(seconds)
    return (times[1] - times[0]) / 1000 * 1e6


def peak_bytes(action: Callable[[], object]) -> int:
    """The most memory that Python and NumPy hold at once during an action, beyond what they held before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def measure_grids(rounds: int) -> list[tuple[str, int, float, int]]:
    """Grids that double in size: a name, the number of tile blocks, microseconds for each, and peak bytes of all."""
    softmax = tileir.compile(tileir.load(SOFTMAX), backend="interpreter")
    rows = []
    for count in (256, 512, 1024, 2048, 4096):
        x = numpy.ones((count, 1000), numpy.float32)
        y = numpy.zeros_like(x)

        def launch(count: int = count, x: Array = x, y: Array = y) -> None:
            softmax.launch(count, x, y, count, 1000)

        (seconds,) = best(rounds, launch)
        rows.append(("softmax, rows of 1,000", count, seconds / count * 1e6, peak_bytes(launch)))
    for size in (512, 1024, 2048):
        matmul = tileir.compile(tileir.parse(matmul_program(size, 64, 256)), backend="interpreter")
        grid = (size // 64, size // 64)

        arrays = [numpy.ones((size, size), numpy.float32) for _ in range(3)]

        def multiply(kernel: Kernel = matmul, grid: tuple[int, int] = grid, arrays: list[Array] = arrays) -> None:
            kernel.launch(grid, *arrays)

        (seconds,) = best(rounds, multiply)
        count = grid[0] * grid[1]
        rows.append(("matmul, tiles of 64^2, K = 256", count, seconds / count * 1e6, peak_bytes(multiply)))
    return rows


def compare_with_triton(rounds: int) -> list[tuple[str, float, float]] | str:
    """Name, our seconds and Triton's; or why there is no comparison."""
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        import triton_kernels
    except ImportError as error:
        return f"Triton's interpreter mode is not compared: {error} (pip install triton)"
    rng = numpy.random.default_rng(0)
    size = 256
    a, b = (rng.standard_normal((size, size)).astype(numpy.float32) for _ in range(2))
    c, d = numpy.zeros_like(a), numpy.zeros_like(a)
    matmul = tileir.compile(tileir.parse(matmul_program(size, 64)), backend="interpreter")
    ours, theirs = best(
        rounds,
        lambda: matmul.launch((size // 64, size // 64), a, b, c),
        lambda: triton_kernels.matmul(a, b, d, 64),
    )
    if not numpy.allclose(c, d, atol=1e-2):
        sys.exit("the two matmuls disagree: nothing to compare")
    rows = [(f"matmul {size}^3 in 64^3", ours, theirs)]
    x = rng.standard_normal((128, 1000)).astype(numpy.float32)
    y, z = numpy.zeros_like(x), numpy.zeros_like(x)
    softmax = tileir.compile(tileir.load(SOFTMAX), backend="interpreter")
    ours, theirs = best(
        rounds, lambda: softmax.launch(128, x, y, 128, 1000), lambda: triton_kernels.softmax(x, z, 1024)
    )
    if not numpy.allclose(y, z, atol=1e-5):
        sys.exit("the two softmaxes disagree: nothing to compare")
    return [*rows, ("softmax 128 x 1000", ours, theirs)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the interpreter.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only-matmul", action="store_true", help="print the two times of the matmul in seconds")
    add_line_options(parser)
    options = parser.parse_args()
    if options.only_matmul:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(*measure_matmul(options.rounds))
        return
    print(tileir_build())
    print(f"{machine()}, NumPy {numpy.__version__}; best of {options.rounds} rounds in turns\n")
    lines: list[Line] = []

    def bar(line: Line) -> str:
        lines.append(line)
        return f"{line.asked}{line.unit} {line.verdict}"

    rows: list[tuple[str, ...]] = []
    for threads, measure in (("all threads", measure_matmul), ("one thread", measure_matmul_in_one_thread)):
        ours, theirs = measure(options.rounds)
        verdict = bar(Line("interpreter: matmul 1024^3 in 64^3", f"NumPy, {threads}", theirs / ours, MATMUL_BAR))
        peer = f"numpy.matmul, {threads} {theirs * 1e3:.1f} ms"
        rows.append(("matmul 1024^3 in 64^3", f"{ours * 1e3:.1f} ms", peer, f"{theirs / ours:.2f}", verdict))
    addition = measure_addition(options.rounds)
    verdict = bar(Line("interpreter: addf, 1,024 elements", "", addition, ADDITION_BAR, True, " us"))
    rows.append(("addf, 1,024 elements", f"{addition:.2f} us", "", "", verdict))
    compared = compare_with_triton(max(options.rounds // 5, 2))
    if not isinstance(compared, str):
        for name, mine, other in compared:
            ratio = other / mine
            verdict = bar(Line(f"interpreter: {name}", "Triton's interpreter", ratio, TRITON_BAR))
            peer = f"Triton's interpreter {other * 1e3:.1f} ms"
            rows.append((name, f"{mine * 1e3:.2f} ms", peer, f"{ratio:.1f}", verdict))
    print(table(("what", "tileir", "peer", "ratio", "bar"), rows))
    if isinstance(compared, str):
        print(compared)
    print("\nGrids that double in size: the time of each tile block, and the memory of all beside the arrays:")
    grids: list[tuple[str, ...]] = [
        (name, str(count), f"{each:.1f}", f"{peak / 1024:.0f}") for name, count, each, peak in measure_grids(5)
    ]
    print(table(("kernel", "tile blocks", "us each", "peak KiB"), grids))
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
