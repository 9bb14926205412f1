"""How long `tileir.diff` takes beside parsing both programs, and how that grows.

    python benchmarks/diff_speed.py [--operations N]

Additions that are all alike are the hard case: nothing about one of them tells which one of the other program it is.
The bar is growth: per operation, no size takes more than 1.6 times as long as the smallest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import tileir
from measure import Line, add_line_options, finish, table
from programs import cuda_tile_program

BAR = 1.6


def additions(count: int, chained: bool) -> str:
    lines = ["cuda_tile.module @m {", "entry @k(%a: tile<f32>, %b: tile<f32>) {"]
    lines += [f"%x{n} = addf {f'%x{n - 1}' if chained and n else '%a'}, %b : tile<f32>" for n in range(count)]
    return "\n".join([*lines, "return", "}", "}"])


def edited(text: str) -> str:
    """The program with another operation in the place of one in the middle."""
    lines = text.split("\n")
    middle = next(number for number in range(len(lines) // 2, len(lines)) if " = addf " in lines[number])
    lines[middle] = lines[middle].replace(" = addf ", " = subf ")
    return "\n".join(lines)


def seconds(before: str, after: str) -> tuple[float, float, str]:
    start = time.process_time()
    left, right = tileir.parse(before), tileir.parse(after)
    parsed = time.process_time()
    found = tileir.diff(left, right)
    return parsed - start, time.process_time() - parsed, found.summary()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--operations", type=int, default=20_000)
    add_line_options(options)
    given = options.parse_args()
    most = given.operations
    lines: list[Line] = []
    seconds(additions(100, True), additions(99, True))
    worst = 0.0
    rows = []
    programs: dict[str, Callable[[int], str]] = {
        "additions in a chain": lambda n: additions(n, True),
        "additions beside each other": lambda n: additions(n, False),
        "a program of everything": lambda n: cuda_tile_program(n)[0],
    }
    for name, make in programs.items():
        first = 0.0
        for count in (most // 8, most // 4, most // 2, most):
            before = make(count)
            for what, after in (("one changed", edited(before)), ("half as long", make(count // 2))):
                parse, diff, summary = seconds(before, after)
                each = diff / count * 1e6
                if what == "one changed":
                    first = first or each
                    worst = max(worst, each / first)
                figures = f"{parse * 1e3:.0f}", f"{diff * 1e3:.0f}", f"{diff / parse:.1f}", f"{each:.1f}"
                if count == most:
                    lines.append(Line(f"diff: {name}, {what}", "parsing both", diff / parse, at_most=True))
                rows.append((f"{name}, {what}", f"{count:,}", *figures, summary[:40]))
    print(table(("programs", "operations", "parse ms", "diff ms", "diff / parse", "us per operation", "found"), rows))
    lines.append(Line("growth of diff", "smaller programs", worst, BAR, True))
    print(f"\nlargest growth {worst:.2f}, bar {lines[-1].asked}: {lines[-1].verdict}")
    sys.exit(finish(lines, given))


if __name__ == "__main__":
    main()
