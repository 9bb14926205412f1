"""Independent kernels one after the other, and within `tileir.kernels.overlap()`.

    python benchmarks/cpu_overlap.py

64 launches of one kernel, each with one tile block and arrays of its own, so that a launch alone cannot use a second
processor.  The tile grows from row to row: what overlap gains depends on how long a launch takes.  The last column is
the CPU time of all threads with overlap over that without: what overlap costs, whether or not processors are free.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import cpu_programs
import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

LAUNCHES = 64


def actions(tile: int) -> tuple[Callable[[], object], Callable[[], object], Callable[[], bool]]:
    """The launches one after the other, the same with overlap, and whether both give the same results."""
    kernel = tileir.compile(tileir.parse(cpu_programs.elementwise_chain(tile)), backend="cpu")
    random = numpy.random.default_rng(0)
    inputs = [[random.random(tile, numpy.float32) for _ in range(2)] for _ in range(LAUNCHES)]
    results: list[list[Any]] = [[numpy.zeros(tile, numpy.float32) for _ in range(LAUNCHES)] for _ in range(2)]

    def launch_all(targets: list[Any]) -> None:
        for (a, b), c in zip(inputs, targets, strict=True):
            kernel.launch(1, (a, b, c, tile))

    def overlapped() -> None:
        with tileir.kernels.overlap():
            launch_all(results[1])

    def agree() -> bool:
        return all((one == other).all() for one, other in zip(*results, strict=True))

    return lambda: launch_all(results[0]), overlapped, agree


def main() -> int:
    parser = argparse.ArgumentParser(description="What overlapping launches gains.")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each comparison takes (default: 3)")
    add_line_options(parser)
    options = parser.parse_args()
    lines: list[Line] = []
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average not known"
    print(f"{tileir_build()}\n{machine()}; {load}")
    rows: list[tuple[str, ...]] = []
    for tile in (256, 4096, 16384, 65536, 262144):
        sequential, overlapped, agree = actions(tile)
        sequential()
        overlapped()
        if not agree():
            sys.exit("the results differ: nothing to measure")
        rounds = race(options.seconds, sequential, overlapped)
        work = race(options.seconds / 2, sequential, overlapped, clock=time.process_time).ratio(0, 1)
        one, other, ratio = rounds.typical(0), rounds.typical(1), rounds.ratio(1, 0)
        lines.append(Line(f"overlap: tiles of {tile}", "launches in sequence", ratio))
        each = f"{one / LAUNCHES * 1e6:.0f} us"
        rows.append((each, f"{one * 1e3:.2f} ms", f"{other * 1e3:.2f} ms", f"{ratio:.2f}", f"{work:.2f}"))
    print(f"\n{LAUNCHES} independent launches of one tile block\n")
    print(table(("a launch takes", "sequential", "overlapped", "ratio", "CPU time"), rows))
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
