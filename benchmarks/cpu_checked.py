"""What it costs that native code looks where it accesses memory: time with checks over time without, in the same run.

    python benchmarks/cpu_checked.py [--seconds 1] [--only NAME]

Both take turns, and the median of the rounds' ratios counts; one thread is measured in CPU time, two in wall clock.
Bars: 1.03 for views, which are looked at once for a launch, and 1.15 for pointers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import cpu_pointer_programs as pointers
import cpu_programs as views
import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

VIEW_BAR = 1.03
POINTER_BAR = 1.15
SHORT = 2e-4
"""Seconds of a launch below which two threads are not measured: chance decides whether the second wakes in time."""

Work = tuple[str, float, Callable[[], tuple[str, Any, tuple[Any, ...]]]]
"""A name, the bar, and what makes the program, the grid and the arguments."""


def _random(*shape: int) -> Any:
    return numpy.random.default_rng(1).random(shape, numpy.float32)


def _index(count: int, below: int) -> Any:
    return numpy.random.default_rng(2).integers(0, below, count, numpy.int32)


def _vector_add(tile: int, count: int) -> tuple[str, Any, tuple[Any, ...]]:
    arrays = (_random(count), _random(count), _random(count))
    return views.vector_add(tile), -(-count // tile), (*arrays, count)


def _square(text: str, size: int) -> tuple[str, Any, tuple[Any, ...]]:
    return text, size, (_random(size, size), _random(size, size))


def _edge(rows: int, columns: int) -> tuple[str, Any, tuple[Any, ...]]:
    text = (Path(__file__).parents[1] / "examples" / "softmax.mlir").read_text()
    return text, rows, (_random(rows, columns), _random(rows, columns), rows, columns)


def _matmul(size: int, tile: int) -> tuple[str, Any, tuple[Any, ...]]:
    arrays = [_random(size, size) for _ in range(3)]
    return views.matmul((tile, tile, tile)), (size // tile, size // tile), (*arrays, *[size] * 5)


def _attention() -> tuple[str, Any, tuple[Any, ...]]:
    heads, length, width, rows = 2, 512, 64, 64
    arrays = [_random(heads, length, width) for _ in range(4)]
    return views.attention(heads, length, width, rows, 64), (length // rows, heads), tuple(arrays)


def _pointer_add(tile: int, count: int, masked: bool) -> tuple[str, Any, tuple[Any, ...]]:
    arrays = (_random(count), _random(count), _random(count))
    return pointers.vector_add(tile, masked), -(-count // tile), (*arrays, count)


def _strided(tile: int, count: int) -> tuple[str, Any, tuple[Any, ...]]:
    return pointers.strided(tile, 3), count // tile, (_random(3 * count), _random(count), count)


def _moved(text: str, tile: int, count: int) -> tuple[str, Any, tuple[Any, ...]]:
    return text, count // tile, (_index(count, count), _random(count), _random(count), count)


def _histogram(tile: int, count: int, bins: int) -> tuple[str, Any, tuple[Any, ...]]:
    arguments = (_index(count, bins), numpy.zeros(bins, numpy.int32), count)
    return pointers.histogram(tile), count // tile, arguments


def _pointer_softmax(tile: int, rows: int, columns: int) -> tuple[str, Any, tuple[Any, ...]]:
    return pointers.softmax(tile), rows, (_random(rows, columns), _random(rows, columns), columns)


def _pointer_matmul(size: int, tile: int) -> tuple[str, Any, tuple[Any, ...]]:
    arrays = [_random(size, size) for _ in range(3)]
    return pointers.matmul(tile), (size // tile, size // tile), (*arrays, size)


MEGA = 1 << 20
WORK: list[Work] = [
    ("views: vector add, tiles of 64, 16K", VIEW_BAR, lambda: _vector_add(64, 1 << 14)),
    ("views: vector add, tiles of 1024, 64K", VIEW_BAR, lambda: _vector_add(1024, 1 << 16)),
    ("views: vector add, tiles of 1024, 8M", VIEW_BAR, lambda: _vector_add(1024, 8 * MEGA)),
    ("views: vector add, tiles of 65536, 8M", VIEW_BAR, lambda: _vector_add(65536, 8 * MEGA)),
    ("views: softmax 1024 x 1024", VIEW_BAR, lambda: _square(views.softmax(1024), 1024)),
    ("views: softmax 1024 x 1000, over the edge", VIEW_BAR, lambda: _edge(1024, 1000)),
    ("views: layer norm 1024^2", VIEW_BAR, lambda: _square(views.layer_norm(1024), 1024)),
    ("views: matmul 512^3", VIEW_BAR, lambda: _matmul(512, 64)),
    ("views: attention, 2 heads, 512 x 64", VIEW_BAR, _attention),
    ("pointers: vector add, 64K", POINTER_BAR, lambda: _pointer_add(1024, 1 << 16, False)),
    ("pointers: vector add with a mask, 64K", POINTER_BAR, lambda: _pointer_add(1024, 1 << 16, True)),
    ("pointers: vector add with a mask, tiles of 64", POINTER_BAR, lambda: _pointer_add(64, 1 << 14, True)),
    ("pointers: vector add with a mask, 8M", POINTER_BAR, lambda: _pointer_add(1024, 8 * MEGA, True)),
    ("pointers: every third element, 64K", POINTER_BAR, lambda: _strided(1024, 1 << 16)),
    ("pointers: gather, 64K", POINTER_BAR, lambda: _moved(pointers.gather(1024), 1024, 1 << 16)),
    ("pointers: scatter, 64K", POINTER_BAR, lambda: _moved(pointers.scatter(1024), 1024, 1 << 16)),
    ("pointers: histogram, 64K into 1024", POINTER_BAR, lambda: _histogram(1024, 1 << 16, 1024)),
    ("pointers: softmax 256 x 1024", POINTER_BAR, lambda: _pointer_softmax(1024, 256, 1024)),
    ("pointers: softmax 256 x 1000, half masked", POINTER_BAR, lambda: _pointer_softmax(2048, 256, 1000)),
    ("pointers: matmul 256^3", POINTER_BAR, lambda: _pointer_matmul(256, 32)),
]


def ratio(
    kernel: tileir.Kernel, grid: Any, arguments: tuple[Any, ...], threads: int, seconds: float
) -> tuple[float, float]:
    """Checked over unchecked, and how many seconds a launch takes."""

    for unchecked in (False, True, True):
        start = time.perf_counter()
        kernel.launch(grid, arguments, threads=threads, unchecked=unchecked)
    # So many that a turn takes some milliseconds.
    count = max(1, int(0.002 / (time.perf_counter() - start)))

    def launches(unchecked: bool) -> Callable[[], None]:
        def run() -> None:
            for _ in range(count):
                kernel.launch(grid, arguments, threads=threads, unchecked=unchecked)

        return run

    clock = time.process_time if threads == 1 else time.perf_counter
    rounds = race(seconds, launches(False), launches(True), clock=clock)
    return rounds.ratio(1, 0), rounds.typical(1) / count


def main() -> None:
    parser = argparse.ArgumentParser(description="time with checks over time without")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    parser.add_argument("--only", default="", help="the kernels whose names have this in them")
    add_line_options(parser)
    given = parser.parse_args()
    print(f"{machine()}, {tileir_build()}\n")
    rows = []
    lines: list[Line] = []
    for name, bar, make in WORK:
        if given.only not in name:
            continue
        text, grid, arguments = make()
        kernel = tileir.compile(tileir.parse(text), backend="cpu")
        alone, time_alone = ratio(kernel, grid, arguments, 1, given.seconds)
        found = [alone]
        if time_alone > SHORT:
            found.append(ratio(kernel, grid, arguments, 2, given.seconds)[0])
        line = Line(f"checked: {name}", "unchecked", max(found), bar, True)
        lines.append(line)
        each = [f"{one:.3f}" for one in found]
        rows.append((name, each[0], *(each[1:] or ["-"]), line.asked, line.verdict))
    print(table(("checked / unchecked", "one thread", "two threads", "bar", ""), rows))
    sys.exit(finish(lines, given))


if __name__ == "__main__":
    main()
