"""Cost per operation as programs grow: parse, read, verify, print and optimize, beside what the machine does.

Linear means that an operation of a program of a million takes as long as one of twenty thousand.  No program has that:
the smaller one fits in the caches and the larger one does not.  A floor therefore goes with every program: as many
plain Python objects, linked as operations are (an object, a tuple with its result, a list of two operands), are built
and walked in the same process while the program is alive.  What grows more than the floor grows more than linearly.
Reading is compared with building, the others with walking; a floor that falls counts as one that stays.

The sizes take turns, so that all of them see the same moments of the clock, and a small program is measured often; the
median counts.  The garbage collector is left on, as a user has it, and what a step leaves to it is paid by the next
(`--collector-off` turns it off).  For the floors it is always off.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --sizes 1000 10000 --rounds 5
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

from measure import Line, add_line_options, finish, machine, table, tileir_build
from programs import cuda_tile_program

Taken = TypeVar("Taken")

SIZES = (20_000, 100_000, 1_000_000)
GROWTH_BAR = 1.3
BUILD, WALK = "floor: build", "floor: walk"
FLOORS = {"parse": BUILD, "read": BUILD, "verify": WALK, "print": WALK, "optimize": WALK}


class Result:
    __slots__ = ("index", "owner", "type", "user")

    def __init__(self, owner: Plain) -> None:
        self.type = None
        self.user: Plain | None = None
        self.index = 0
        self.owner = owner


class Plain:
    """What the floor has for an operation: the same slots."""

    __slots__ = (
        "attributes",
        "declaration",
        "location",
        "next",
        "operands",
        "parent",
        "previous",
        "regions",
        "results",
        "segments",
        "successors",
    )

    def __init__(self, operands: list[Result], previous: Plain | None) -> None:
        self.operands = operands
        for operand in operands:
            operand.user = self
        self.results: tuple[Result, ...] = (Result(self),)
        self.attributes = self.declaration = self.location = self.parent = self.regions = None
        self.segments = self.successors = None
        self.next: Plain | None = None
        self.previous = previous
        if previous is not None:
            previous.next = self


def build(count: int) -> Plain:
    first = last = before = Plain([], None)
    for _ in range(count - 1):
        before, last = last, Plain([last.results[0], before.results[0]], last)
    return first


def walk(first: Plain) -> int:
    found = 0
    cursor: Plain | None = first
    while cursor is not None:
        for operand in cursor.operands:
            if operand.user is cursor:
                found += 1
        for result in cursor.results:
            if result.owner is cursor:
                found += 1
        cursor = cursor.next
    return found


def release(first: Plain) -> None:
    """Take the objects apart: they hold one another in cycles, and in a chain deeper than Python's stack."""
    cursor: Plain | None = first
    while cursor is not None:
        following = cursor.next
        cursor.next = cursor.previous = None
        cursor.results, cursor.operands = (), []
        cursor = following


class Program:
    """A program of one size, and the seconds per operation of each step, one figure for each time."""

    def __init__(self, size: int) -> None:
        import tileir

        self.text, self.operations = cuda_tile_program(size, live=True)
        self.bytecode = tileir.to_bytecode(tileir.parse(self.text))
        self.times: dict[str, list[float]] = {step: [] for step in (*FLOORS, BUILD, WALK)}

    def take(self, step: str, action: Callable[[], Taken]) -> Taken:
        start = time.process_time()
        result = action()
        self.times[step].append((time.process_time() - start) / self.operations)
        return result

    def measure(self, *, collector: bool) -> None:
        import tileir

        if not collector:
            gc.disable()
        gc.collect()
        module = self.take("parse", lambda: tileir.parse(self.text))
        self.take("verify", lambda: tileir.verify(module))
        self.take("print", lambda: str(module))
        del module
        gc.collect()
        module = self.take("read", lambda: tileir.from_bytecode(self.bytecode, verify=False))
        self.take("optimize", lambda: tileir.optimize(module))
        gc.disable()
        first = self.take(BUILD, lambda: build(self.operations))
        self.take(WALK, lambda: walk(first))
        release(first)
        gc.enable()

    def cost(self, step: str) -> float:
        return median(self.times[step])


def main() -> None:
    parser = argparse.ArgumentParser(description="Microseconds per operation as programs grow.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--collector-off", action="store_true", help="turn the garbage collector off")
    add_line_options(parser)
    options = parser.parse_args()

    print(tileir_build())
    print(machine())
    programs = [Program(size) for size in options.sizes]
    largest = programs[-1].operations
    for _ in range(options.rounds):
        for program in programs:
            for _ in range(max(1, largest // program.operations // 4)):
                program.measure(collector=not options.collector_off)
    first, last = programs[0], programs[-1]
    rows: list[tuple[str, ...]] = []
    lines: list[Line] = []
    for step in (*FLOORS, BUILD, WALK):
        costs = [f"{program.cost(step) * 1e6:.2f}" for program in programs]
        growth = last.cost(step) / first.cost(step)
        cells = [f"{growth:.2f}"]
        if step in FLOORS:
            floor = last.cost(FLOORS[step]) / first.cost(FLOORS[step])
            # Nobody asks for operations that become cheaper.
            ratio = growth / max(1.0, floor)
            cells += [f"{floor:.2f}", f"{ratio:.2f}"]
            lines.append(Line(f"{step}: growth to {largest:,}", FLOORS[step], ratio, GROWTH_BAR, True))
        else:
            cells += ["", ""]
        rows.append((step, *costs, *cells))
    print(f"{options.rounds} rounds, collector {'off' if options.collector_off else 'on'}; us per operation\n")
    sizes = [f"{program.operations:,}" for program in programs]
    print(table(("step", *sizes, "growth", "floor's", "ratio"), rows))
    print(f"\nbar of the ratio: <= {GROWTH_BAR}: {'met' if all(line.met for line in lines) else 'MISSED'}")
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
