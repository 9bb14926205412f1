"""What the benchmarks share: timing with the collector under control, memory, tables, which build is tested, and lines.

A line is one ratio with the bar that it has to meet.  Benchmarks of the figures that we are measured by write their
lines with `--json FILE`, one JSON object each; `all.py` shows those of several benchmarks as one table and compares
them with earlier ones.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


def timed(
    action: Callable[..., Result], *, collector: bool = False, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Result]:
    """Seconds that `action` takes, and what it returns. Garbage made before is collected first, outside the time."""
    gc.collect()
    was_enabled = gc.isenabled()
    if collector:
        gc.enable()
    else:
        gc.disable()
    try:
        start = clock()
        result = action()
        return clock() - start, result
    finally:
        if was_enabled:
            gc.enable()
        else:
            gc.disable()


class Rounds:
    """What a race measured: the seconds of every action, one figure for each round.

    The clocks of many machines have fast moments that come and go.  The best time of one side may have met one, and
    that of the other not; but sides that take turns meet it in the same rounds, so that the ratio of a round is sound,
    and the median of those of all rounds hardly moves.
    """

    def __init__(self, times: list[list[float]]) -> None:
        self.times = times

    def best(self, number: int) -> float:
        """The least time of an action."""
        return min(self.times[number])

    def typical(self, number: int) -> float:
        """The median of the times of an action."""
        return median(self.times[number])

    def ratio(self, number: int, other: int) -> float:
        """How many times as long as an action another takes: the median of the rounds' own ratios."""
        return median(theirs / ours for ours, theirs in zip(self.times[number], self.times[other], strict=True))

    def speeds(self, numbers: Sequence[int]) -> list[float]:
        """The speed of each of some actions, 1 being that of the middle one: the median of what it is in each round."""
        middles = [median(times) for times in zip(*[self.times[number] for number in numbers], strict=True)]
        return [
            median(middle / time for middle, time in zip(middles, self.times[number], strict=True))
            for number in numbers
        ]


def race(
    seconds: float,
    *actions: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
    rest: float = 0.0,
    turn: float = 0.003,
    least: int = 3,
) -> Rounds:
    """Have actions take turns until the time is up, `least` times at the least, forwards and backwards.

    A turn of what is short goes on for some time, `turn`, and counts as the median of what it repeats.  With
    `time.process_time` as the clock, what other processes do in between does not count.  `rest` is a pause before each
    turn: the threads of OpenBLAS and OpenMP go on spinning after their work, in the way of whoever comes next.  After a
    pause a processor is slow at first, so turns have to be longer then.
    """
    found: list[list[float]] = [[] for _ in actions]
    order = list(range(len(actions)))
    end = time.perf_counter() + seconds
    while len(found[0]) < least or time.perf_counter() < end:
        for number in order:
            if rest:
                time.sleep(rest)
            found[number].append(_turn(actions[number], clock, turn))
        order.reverse()
    return Rounds(found)


def _turn(action: Callable[[], object], clock: Callable[[], float], seconds: float) -> float:
    """The median time of an action that is repeated for some seconds."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while True:
        start = clock()
        action()
        times.append(clock() - start)
        if time.perf_counter() >= until:
            return median(times)


CANDIDATES = 3
"""How many of the fastest and of the slowest take part in a second race."""


def candidates(speeds: Sequence[float]) -> list[int]:
    """Which of many may be the fastest and the slowest.

    Of many figures the least is the least by chance too, so that those which may be it, at both ends, should race once
    more among themselves.
    """
    ranked = sorted(range(len(speeds)), key=lambda number: -speeds[number])
    return ranked if len(ranked) <= 2 * CANDIDATES else ranked[:CANDIDATES] + ranked[-CANDIDATES:]


def extremes(seconds: float, *actions: Callable[[], object]) -> tuple[int, int, Rounds]:
    """The fastest and the slowest of many actions, in CPU time, and the rounds of these two."""
    speeds = race(seconds / 2, *actions, clock=time.process_time).speeds(range(len(actions)))
    chosen = candidates(speeds)
    rounds = race(seconds / 2, *[actions[number] for number in chosen], clock=time.process_time)
    speeds = rounds.speeds(range(len(chosen)))
    fastest, slowest = speeds.index(max(speeds)), speeds.index(min(speeds))
    return chosen[fastest], chosen[slowest], Rounds([rounds.times[fastest], rounds.times[slowest]])


def stay_on_one_processor() -> None:
    """Have this process and those it starts run on one processor: of two, one is often the slower, for long times."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def bytes_held(action: Callable[[], Result]) -> tuple[int, Result]:
    """Bytes still allocated by `action` while its result is alive."""
    gc.collect()
    tracemalloc.start()
    try:
        result = action()
        gc.collect()
        return tracemalloc.get_traced_memory()[0], result
    finally:
        tracemalloc.stop()


def is_compiled() -> bool:
    """Whether the imported tileir is the mypyc build."""
    import tileir.ir.core

    return str(tileir.ir.core.__file__).endswith((".so", ".pyd"))


def tileir_build() -> str:
    """The tileir under test in words: version and build."""
    import tileir

    return f"tileir {tileir.__version__} ({'compiled with mypyc' if is_compiled() else 'pure Python'})"


def machine() -> str:
    return f"Python {platform.python_version()}, {sys.platform} {platform.machine()}, {os.cpu_count()} cores"


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns as wide as their longest cell; the first flush left, the others flush right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: tuple[str, ...]) -> str:
        rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        return "  ".join([cells[0].ljust(widths[0]), *rest])

    return "\n".join([line(header), line(tuple("-" * width for width in widths)), *(line(row) for row in rows)])


class Line(NamedTuple):
    """One measured figure: the work, whom or what it is compared with, and the bar, if there is one.

    `ratio` is to be at least `bar`, or with `at_most` no more than it.  `unit` is empty for a ratio of two times.
    """

    work: str
    peer: str
    ratio: float
    bar: float | None = None
    at_most: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        if self.bar is None:
            return True
        return self.ratio <= self.bar if self.at_most else self.ratio >= self.bar

    @property
    def asked(self) -> str:
        return "" if self.bar is None else f"{'<=' if self.at_most else '>='} {self.bar:g}"

    @property
    def verdict(self) -> str:
        return "" if self.bar is None else "met" if self.met else "MISSED"


def line_table(lines: Sequence[Line]) -> str:
    cells = [(line.work, line.peer, f"{line.ratio:.2f}{line.unit}", line.asked, line.verdict) for line in lines]
    return table(("work", "peer", "measured", "bar", ""), cells)


def add_line_options(parser: argparse.ArgumentParser) -> None:
    """The options of every benchmark that has bars."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the lines to a file, one JSON object each")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when a bar is missed")


def finish(lines: Sequence[Line], options: argparse.Namespace) -> int:
    """Write the lines where they are wanted; the exit status."""
    if options.json is not None:
        with open(options.json, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(line._asdict()) + "\n" for line in lines)
    return 1 if options.strict and not all(line.met for line in lines) else 0
