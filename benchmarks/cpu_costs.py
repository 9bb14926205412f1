"""What the CPU engine costs beside the work: compiling, launching, large grids, tiles over an edge.

    python benchmarks/cpu_costs.py

`cpu_speed.py` prints the same tables after its own.  A kernel is compiled in a process of its own for each figure, with
a cache directory of its own; importing the engine, which a process pays once, is a row of its own.  All but the launch
is CPU time of one thread, which other processes leave alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import cpu_programs
import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

Row = tuple[Line, str]
"""A line, and how much it is in words."""

EXAMPLES = Path(__file__).parents[1] / "examples"
COLD_BAR = 300.0
CACHED_BAR = 3.0
LAUNCH_BAR = 10.0
GROWTH_BAR = 1.6
LONG_KERNEL_BAR = 10.0
EDGE_BAR = 1.3

MATMUL_TILE = (64, 64, 64)


def compiled(text: str) -> tileir.Kernel:
    return tileir.compile(tileir.parse(text), backend="cpu")


# --- compiling ---


def compile_once(operations: int) -> dict[str, float]:
    """CPU seconds in this process: the import of the engine, the first kernel, and the same again with all set up.

    The second is read from the disk, as is the first where the directory has it already; the third is made anew.
    """
    text = cpu_programs.long_chain(operations) if operations else cpu_programs.matmul(MATMUL_TILE)
    kernel = compiled(text)
    # Whether a full collection falls into the time is chance: a twentieth of it for one length of a kernel, nothing for
    # the next.
    gc.disable()
    times = [time.process_time()]
    # All that compiling needs, which the engine itself imports only when it compiles.
    from tileir.execute.cpu import kernel as native
    from tileir.execute.cpu import pipeline  # noqa: F401
    from tileir.execute.cpu.runtime import target

    target.host()

    def prepare(kernel: tileir.Kernel) -> None:
        prepared = kernel.prepare()
        assert isinstance(prepared, native.CpuKernel)
        prepared.version(False, False)

    times.append(time.process_time())
    prepare(kernel)
    times.append(time.process_time())
    if not operations:
        for switch in ("1", "0"):
            os.environ["TILEIR_CACHE"] = switch
            kernel = compiled(text)
            times.append(time.process_time())
            prepare(kernel)
            times[-1] = time.process_time() - times[-1]
    found = {"import": times[1] - times[0], "first": times[2] - times[1]}
    return {**found, **dict(zip(("read", "made"), times[3:], strict=False))}


def compile_in_processes(rounds: int, operations: int = 0) -> dict[str, float]:
    """The best of several processes: without a cache entry, and with one."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TILEIR_CACHE_DIR": folder, "TILEIR_CACHE": "1"}
            for kind in ("made first", "read first") if not operations else ("made first",):
                command = [sys.executable, __file__, "--compile", str(operations)]
                answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
                for name, seconds in json.loads(answer.stdout).items():
                    key = kind if name == "first" else name
                    best[key] = min(best.get(key, float("inf")), seconds)
    return best


def compile_rows(rounds: int) -> list[Row]:
    best = {name: seconds * 1e3 for name, seconds in compile_in_processes(rounds).items()}
    imported = best["import"]
    rows: list[Row] = [(Line("importing the engine", "", imported, None, True, " ms"), f"{imported:.0f} ms")]
    for what, name, bar in (
        ("compiling a matmul, first of a process", "made first", COLD_BAR),
        ("compiling a matmul, later", "made", COLD_BAR),
        ("a matmul from the cache, first of a process", "read first", CACHED_BAR),
        ("a matmul from the cache, later", "read", CACHED_BAR),
    ):
        rows.append((Line(what, "", best[name], bar, True, " ms"), f"{best[name]:.1f} ms"))
    return rows


def long_kernel_rows(rounds: int) -> list[Row]:
    """Compile times of kernels that grow; the growth is that of one operation's time over the best before."""
    rows: list[Row] = []
    least = float("inf")
    for operations in (500, 1_000, 2_000, 5_000, 10_000):
        seconds = compile_in_processes(rounds, operations)["made first"]
        each = seconds / operations * 1e3
        least = min(least, each)
        growth = each / least
        what = f"compiling {operations:,} operations"
        much = f"{each:.3f} ms each, growth {growth:.2f}"
        rows.append((Line(what, "", seconds, LONG_KERNEL_BAR, True, " s"), f"{seconds:.2f} s"))
        rows.append((Line(f"{what}: growth", "shorter kernels", growth, GROWTH_BAR, True), much))
    return rows


# --- launching ---


def launch_rows(seconds: float) -> list[Row]:
    """`Kernel.launch` with arrays of NumPy and tensors of torch, and `tileir.launch` beside it (`cutile_launches`)."""
    kernel = compiled(cpu_programs.vector_add(1024))
    a, b, c = (numpy.zeros(1024, numpy.float32) for _ in range(3))
    names = ["launching a small kernel"]
    bars = [LAUNCH_BAR]
    actions: list[Callable[[], object]] = [lambda: kernel.launch(1, (a, b, c, 1024))]
    try:
        import torch
    except ImportError:
        pass
    else:
        x, y, z = (torch.zeros(1024) for _ in range(3))
        names.append("launching a small kernel, tensors of torch")
        bars.append(0.0)
        actions.append(lambda: kernel.launch(1, (x, y, z, 1024)))
    try:
        import cutile_launches
    except ImportError as missing:
        print(f"no rows about cuTile kernels: {missing}", file=sys.stderr)
    else:
        for name, bar, action in cutile_launches.launches():
            names.append(name)
            bars.append(bar)
            actions.append(action)
    rows: list[Row] = []
    rounds = race(seconds, *[repeated(each) for each in actions])
    for number, (name, bar) in enumerate(zip(names, bars, strict=True)):
        each = rounds.best(number) / REPEATS * 1e6
        rows.append((Line(name, "", each, bar or None, True, " us"), f"{each:.1f} us"))
    return rows


REPEATS = 100


def repeated(action: Callable[[], object]) -> Callable[[], None]:
    def many() -> None:
        for _ in range(REPEATS):
            action()

    return many


def grid_rows(seconds: float) -> list[Row]:
    """The time of a tile block in grids that double."""
    kernel = compiled(cpu_programs.elementwise_chain(1024))
    largest = 16384
    a, b, c = (numpy.ones(largest * 1024, numpy.float32) for _ in range(3))
    counts = [256 << step for step in range(7)]

    def launch(count: int) -> Callable[[], object]:
        return lambda: kernel.launch(count, (a, b, c, count * 1024), threads=1)

    rows: list[Row] = []
    least = float("inf")
    rounds = race(seconds, *[launch(count) for count in counts], clock=time.process_time)
    for number, count in enumerate(counts):
        each = rounds.typical(number) / count * 1e6
        least = min(least, each)
        growth = each / least
        much = f"{each:.2f} us each, growth {growth:.2f}"
        rows.append((Line(f"{count:,} tile blocks: growth", "smaller grids", growth, GROWTH_BAR, True), much))
    return rows


def edge_rows(seconds: float) -> list[Row]:
    """The same kernel and grid with all tiles whole and with all tiles over an edge, by one element."""
    size, depth = 1024, 1024
    arrays: list[Any] = [numpy.ones((size, size), numpy.float32) for _ in range(3)]
    product = compiled(cpu_programs.matmul(MATMUL_TILE))
    chain = compiled(cpu_programs.elementwise_chain(4096))
    softmax = compiled((EXAMPLES / "softmax.mlir").read_text())
    lines: list[Any] = [numpy.ones((64, 1024), numpy.float32) for _ in range(2)]
    vectors: list[Any] = [numpy.ones(4096, numpy.float32) for _ in range(3)]
    m, n, _ = MATMUL_TILE
    cases: list[tuple[str, tileir.Kernel, Any, list[Any], list[int], list[int]]] = [
        ("a matmul's last rows", product, (1, 16), arrays, [m, size, depth], [m - 1, size, depth]),
        ("a matmul's last columns", product, (16, 1), arrays, [size, n, depth], [size, n - 1, depth]),
        ("a matmul's last of both", product, (1, 1), arrays, [m, n, depth], [m - 1, n - 1, depth - 1]),
        ("seven elementwise operations", chain, 1, vectors, [4096], [4095]),
        ("a softmax's rows", softmax, 64, lines, [64, 1024], [64, 1023]),
        ("a softmax's rows, half of each", softmax, 64, lines, [64, 1024], [64, 512]),
    ]
    rows: list[Row] = []
    for name, kernel, grid, given, whole, over in cases:
        pitches = [size, depth] if kernel is product else []

        def launch(extents: list[int], kernel: Any = kernel, grid: Any = grid, rest: Any = (given, pitches)) -> None:
            for _ in range(10):
                kernel.launch(grid, (*rest[0], *extents, *rest[1]), threads=1)

        actions = [lambda f=launch, e=extents: f(e) for extents in (whole, over)]
        ratio = race(seconds, *actions, clock=time.process_time).ratio(0, 1)
        rows.append((Line(f"edge: {name}", "whole tiles", ratio, EDGE_BAR, True), f"{ratio:.2f} of whole tiles"))
    return rows


def shown(rows: list[Row]) -> str:
    cells = [(line.work, much, line.asked + (line.unit if line.asked else ""), line.verdict) for line, much in rows]
    return table(("cost", "ours", "bar", "met"), cells)


def report(seconds: float, rounds: int = 5) -> tuple[str, list[Line]]:
    """The table, and the lines."""
    rows = [*compile_rows(rounds), *launch_rows(seconds), *edge_rows(seconds), *grid_rows(seconds)]
    rows += long_kernel_rows(min(rounds, 3))
    return shown(rows), [line for line, _ in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description="What the CPU engine costs beside the work.")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each comparison takes (default: 2)")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each compile time (default: 5)")
    parser.add_argument("--compile", type=int, help="compile one kernel of so many operations, 0 for a matmul")
    parser.add_argument("--launches", action="store_true", help="only what launches cost")
    add_line_options(parser)
    options = parser.parse_args()
    if options.compile is not None:
        print(json.dumps(compile_once(options.compile)))
        return 0
    print(f"{tileir_build()}\n{machine()}\n")
    if options.launches:
        rows = launch_rows(options.seconds)
        print(shown(rows))
        return finish([line for line, _ in rows], options)
    text, lines = report(options.seconds, options.rounds)
    print(text)
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
