"""A launch under the debugger beside a plain one in the interpreter, and how long its user waits.

    python benchmarks/debugger_speed.py

Each program runs plainly, under the debugger without breakpoints, with one that is never hit, and with one in its
innermost block whose condition is false each time.  CPU time counts, of the best of some rounds; ratios are to the
plain launch, whose program is compiled already, and opening the debugger counts apart.  Then a launch of 4,096 tile
blocks: its first stop, a step, a step back, and a stop far behind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import tileir
from measure import machine, table, tileir_build
from tileir.serve.debugger.session import Debugger

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ROUNDS = 3
BAR = 2.0

COUNTING = """cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>, %rounds: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %three = constant <i32: 3> : tile<i32>
    %sum = for %i in (%zero to %rounds, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<i32>) {
      %square = muli %i, %i : tile<i32>
      %odd = xori %square, %three : tile<i32>
      %next = addi %acc, %odd : tile<i32>
      continue %next : tile<i32>
    }
    %token = store_ptr_tko weak %x, %sum : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


class Case:
    def __init__(self, name: str, kernel: Any, grid: Any, arguments: tuple[Any, ...], operation: str) -> None:
        self.name = name
        self.kernel = tileir.compile(kernel, backend="interpreter")
        self.grid = grid
        self.arguments = arguments
        self.operation = operation
        """Where breakpoints are."""

    def plain(self) -> None:
        self.kernel.launch(self.grid, *self.arguments)

    def debugged(self, options: dict[str, Any]) -> tuple[float, float]:
        """How long it takes to open the debugger, and to run the launch under it."""
        found = []
        for _ in range(ROUNDS):
            start = time.process_time()
            debugger = Debugger(self.kernel, self.grid, self.arguments)
            if options:
                assert debugger.breakpoints.add_operation(self.operation, **options).is_verified
            opened = time.process_time()
            stop = debugger.start(stop_on_entry=False)
            found.append((opened - start, time.process_time() - opened))
            assert stop.reason == "end" and not stop.text, stop
        return min([opened for opened, _ in found]), min([ran for _, ran in found])


def cases() -> list[Case]:
    rng = numpy.random.default_rng(0)
    sys.path.insert(0, str(EXAMPLES))
    import run_all

    count = 4096 * 128
    vectors = (*rng.random((2, count), numpy.float32), numpy.zeros(count, numpy.float32), count)
    found = [Case("vector_add, 4,096 small tile blocks", EXAMPLES / "vector_add.mlir", 4096, vectors, "addf")]
    a, b = rng.random((512, 512), numpy.float32).astype(numpy.float16), rng.random((512, 512)).astype(numpy.float16)
    c = numpy.zeros((512, 512), numpy.float32)
    found.append(Case("matmul, 512 x 512 x 512", EXAMPLES / "matmul.mlir", (8, 8), (a, b, c, 512, 512, 512), "mmaf"))
    for name, operation in (("softmax", "divf"), ("attention", "exp")):
        example = getattr(run_all, name)()
        given = (*example.inputs, example.output, *example.scalars)
        found.append(Case(name, EXAMPLES / f"{name}.mlir", example.grid, given, operation))
    # The one of some that takes longest: others are over before they are compiled.
    program = max([tileir.smith.program(seed) for seed in range(40)], key=operations_run)
    found.append(Case("a random program", program.module, program.grid, tuple(program.arguments), "constant"))
    counter = numpy.zeros(1, numpy.int32)
    found.append(Case("a loop of 30,000 rounds, 4 scalars each", tileir.parse(COUNTING), 1, (counter, 30000), "addi"))
    return found


def operations_run(program: Any) -> int:
    count = 0

    def counted(*_: Any) -> None:
        nonlocal count
        count += 1

    kernel = tileir.compile(program.module, backend="interpreter")
    kernel.launch(program.grid, *program.arguments, observer=tileir.Callback(counted))
    return count


def best(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def ratios() -> list[tuple[str, ...]]:
    rows = []
    for case in cases():
        plain = best(case.plain)
        ways: list[dict[str, Any]] = [
            {},
            {"block": 0, "hit_condition": "> 1000000"},
            {"condition": "tile_block[0] < 0"},
        ]
        taken = [case.debugged(options) for options in ways]
        opening = min([opened for opened, _ in taken])
        times = [f"{ran / plain:.2f}" for _, ran in taken]
        rows.append((case.name, f"{plain * 1000:.1f}", *times, f"{opening * 1000:.1f}"))
    return rows


def waits() -> list[tuple[str, ...]]:
    tile, blocks = 4096, 4096
    text = (EXAMPLES / "vector_add.mlir").read_text().replace("128", str(tile))
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    rng = numpy.random.default_rng(0)
    count = blocks * tile
    arguments = (*rng.random((2, count), numpy.float32), numpy.zeros(count, numpy.float32), count)
    kernel.launch(blocks, *arguments)
    rows: list[tuple[str, ...]] = [
        ("the launch itself", f"{best(lambda: kernel.launch(blocks, *arguments)) * 1000:.1f}")
    ]
    debugger: Debugger | None = None

    def timed(name: str, work: Callable[[], Any]) -> None:
        rows.append((name, f"{best(work, 1) * 1000:.1f}"))

    def opened() -> None:
        nonlocal debugger
        debugger = Debugger(kernel, blocks, arguments)
        debugger.start()

    timed("to the first stop, at entry", opened)
    assert debugger is not None
    timed("a step", debugger.step)
    timed("another one", debugger.step)
    timed("stack and variables", lambda: (debugger.stack(), [one.shown for one in debugger.variables()]))
    timed("a step back", lambda: debugger.step(reverse=True))
    debugger.breakpoints.add_operation("addf", block=blocks * 3 // 4)
    timed("to a breakpoint in tile block 3,072", debugger.resume)
    timed("a step there", debugger.step)
    timed("a step back there", lambda: debugger.step(reverse=True))
    timed("stack and variables there", lambda: (debugger.stack(), [one.shown for one in debugger.variables()]))
    timed("the arrays there", lambda: [one.shown for one in debugger.arrays()])
    timed("back to the beginning", lambda: debugger.resume(reverse=True))
    timed("to the end", debugger.finish)
    return rows


def main() -> None:
    print(machine(), tileir_build(), sep="\n")
    print("\nUnder the debugger: times the plain launch")
    heads = ("program", "plain, ms", "no breakpoint", "one never hit", "condition false each time", "opening, ms")
    rows = ratios()
    print(table(heads, rows))
    print("\nvector_add of 4,096 tile blocks over 16,777,216 elements, ms")
    print(table(("", "ms"), waits()))
    worst = max([float(row[2]) for row in rows])
    print(f"\nwithout breakpoints at most {worst:.2f} times the plain launch (the bar is {BAR})")


if __name__ == "__main__":
    main()
