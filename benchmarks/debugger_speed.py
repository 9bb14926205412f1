"""A launch under the debugger beside a plain one in the interpreter, and how long its user waits.

    python benchmarks/debugger_speed.py

Each program runs plainly, under the debugger without breakpoints, with one that is never reached (in a branch that is
not taken), with one in its innermost block that is reached each time and whose hit count never comes, and with one
there whose condition is false each time.  CPU time counts, of the best of some rounds; ratios are to the plain launch,
whose program is compiled already.  Without breakpoints there is a ratio with opening the debugger, too, which takes as
long for a short launch as for a long one.  Random programs are a fixed handful, all shown.  Then a launch of 4,096 tile
blocks: its first stop, a step, a step back, and a stop far behind.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import tileir
from measure import Line, add_line_options, finish, machine, table, tileir_build
from tileir.serve.debugger.session import Debugger

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ROUNDS = 3
BAR = 2.0
RANDOM = (1, 2, 3, 4, 5)

# Goes to the beginning of each program: a branch that no tile block takes.
BRANCH = """
    %never_bound = constant <i32: -1> : tile<i32>
    %never_x, %never_y, %never_z = get_tile_block_id : tile<i32>
    %never_taken = cmpi less_than %never_x, %never_bound, signed : tile<i32> -> tile<i1>
    if %never_taken {
      %never_reached = addi %never_x, %never_bound : tile<i32>
      yield
    }
"""

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
    def __init__(self, name: str, text: str, grid: Any, arguments: tuple[Any, ...], operation: str) -> None:
        self.name = name
        text = re.sub(r"entry @\w+\([^{]*\{", lambda found: found[0] + BRANCH, text, count=1)
        self.module = tileir.parse(text)
        self.kernel = tileir.compile(self.module, backend="interpreter")
        self.grid = grid
        self.arguments = arguments
        self.operation = operation
        """Where breakpoints are."""

    def plain(self) -> None:
        self.kernel.launch(self.grid, self.arguments)

    def first(self) -> None:
        """The first launch of a kernel, which compiles it: as a person starts a program, plainly or in the debugger."""
        tileir.compile(self.module, backend="interpreter").launch(self.grid, self.arguments)

    def debugged(self, operation: str = "", **options: Any) -> tuple[float, float]:
        """How long it takes to open the debugger, and to run the launch under it with a breakpoint at an operation."""
        found = []
        for _ in range(ROUNDS):
            start = time.process_time()
            debugger = Debugger(self.kernel, self.grid, self.arguments)
            if operation:
                assert debugger.breakpoints.add("operation", operation, **options).is_verified
            opened = time.process_time()
            stop = debugger.start(stop_on_entry=False)
            found.append((opened - start, time.process_time() - opened))
            assert stop.reason == "end" and not stop.text, stop
        return min([opened for opened, _ in found]), min([ran for _, ran in found])


def source(name: str) -> str:
    return (EXAMPLES / f"{name}.mlir").read_text()


def cases() -> list[Case]:
    rng = numpy.random.default_rng(0)
    sys.path.insert(0, str(EXAMPLES))
    import run_all

    count = 4096 * 128
    vectors = (*rng.random((2, count), numpy.float32), numpy.zeros(count, numpy.float32), count)
    found = [Case("vector_add, 4,096 small tile blocks", source("vector_add"), 4096, vectors, "addf")]
    a, b = rng.random((512, 512), numpy.float32).astype(numpy.float16), rng.random((512, 512)).astype(numpy.float16)
    c = numpy.zeros((512, 512), numpy.float32)
    found.append(Case("matmul, 512 x 512 x 512", source("matmul"), (8, 8), (a, b, c, 512, 512, 512), "mmaf"))
    for name, operation in (("softmax", "divf"), ("attention", "exp")):
        example = getattr(run_all, name)()
        given = (*example.inputs, example.output, *example.scalars)
        found.append(Case(name, source(name), example.grid, given, operation))
    for seed in RANDOM:
        program = tileir.smith(seed)
        name = f"random program {seed}"
        found.append(Case(name, str(program.module), program.grid, tuple(program.arguments), "constant"))
    counter = numpy.zeros(1, numpy.int32)
    found.append(Case("a loop of 30,000 rounds, 4 scalars each", COUNTING, 1, (counter, 30000), "addi"))
    return found


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
        taken = [
            case.debugged(),
            case.debugged("%never_reached"),
            case.debugged(case.operation, hit_condition="> 1000000"),
            case.debugged(case.operation, condition="tile_block[0] < 0"),
        ]
        opening = taken[0][0]
        times = [f"{ran / plain:.2f}" for _, ran in taken]
        opened = f"{sum(taken[0]) / plain:.2f}"
        fresh = f"{sum(taken[0]) / best(case.first):.2f}"
        rows.append((case.name, f"{plain * 1000:.1f}", times[0], opened, fresh, *times[1:], f"{opening * 1000:.1f}"))
    return rows


def waits() -> list[tuple[str, ...]]:
    tile, blocks = 4096, 4096
    text = (EXAMPLES / "vector_add.mlir").read_text().replace("128", str(tile))
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    rng = numpy.random.default_rng(0)
    count = blocks * tile
    arguments = (*rng.random((2, count), numpy.float32), numpy.zeros(count, numpy.float32), count)
    kernel.launch(blocks, arguments)
    rows: list[tuple[str, ...]] = [
        ("the launch itself", f"{best(lambda: kernel.launch(blocks, arguments)) * 1000:.1f}")
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
    timed("stack and variables", lambda: (debugger.stack(), [one.text for one in debugger.variables()]))
    timed("a step back", lambda: debugger.step(reverse=True))
    debugger.breakpoints.add("operation", "addf", block=blocks * 3 // 4)
    timed("to a breakpoint in tile block 3,072", debugger.resume)
    timed("a step there", debugger.step)
    timed("a step back there", lambda: debugger.step(reverse=True))
    timed("stack and variables there", lambda: (debugger.stack(), [one.text for one in debugger.variables()]))
    timed("the arrays there", lambda: [one.text for one in debugger.arrays()])
    timed("back to the beginning", lambda: debugger.resume(reverse=True))
    timed("to the end", debugger.finish)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_line_options(parser)
    options = parser.parse_args()
    print(machine(), tileir_build(), sep="\n")
    print("\nUnder the debugger: times the plain launch")
    heads = (
        "program",
        "plain, ms",
        "no breakpoint",
        "the same with opening",
        "with opening, to a first launch",
        "never reached",
        "hit count never comes",
        "condition false each time",
        "opening, ms",
    )
    rows = ratios()
    print(table(heads, rows))
    print("\nvector_add of 4,096 tile blocks over 16,777,216 elements, ms")
    print(table(("", "ms"), waits()))
    for words, column in (("without breakpoints", 2), ("with opening", 3), ("with opening, to a first launch,", 4)):
        worst = max(rows, key=lambda row: float(row[column]))
        print(f"\n{words} at most {worst[column]} times the plain launch: {worst[0]} (the bar is {BAR})")
    lines = [Line(f"debugger: {row[0]}", "the plain launch", float(row[2]), BAR, True) for row in rows]
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
