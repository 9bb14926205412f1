"""Cost per operation as programs grow: parse, verify and print at 20 thousand to 400 thousand operations.

A straight line through the origin means the same microseconds per operation in every row. The last column is the sum of
the three steps against the first row; above the bar something grows faster than the program. The garbage collector is
left on, as a user has it (`--collector-off` turns it off).

    python benchmarks/scaling.py
    python benchmarks/scaling.py --sizes 1000 10000 --rounds 5
"""

from __future__ import annotations

import argparse
import sys

from measure import Line, add_line_options, finish, machine, table, tileir_build, timed
from programs import cuda_tile_program

SIZES = (20_000, 50_000, 100_000, 200_000, 400_000)
GROWTH_BAR = 1.5


def measure(size: int, rounds: int, *, collector: bool) -> tuple[int, list[float]]:
    """The number of operations, and the best microseconds per operation to parse, verify and print."""
    import tileir

    text, operations = cuda_tile_program(size)
    best = [float("inf")] * 3
    for _ in range(rounds):
        parse, module = timed(lambda: tileir.parse(text), collector=collector)
        verify, _ = timed(lambda module=module: tileir.verify(module), collector=collector)
        printing, _ = timed(lambda module=module: str(module), collector=collector)
        best = [min(pair) for pair in zip(best, (parse, verify, printing), strict=True)]
        del module
    return operations, [seconds * 1e6 / operations for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(description="Microseconds per operation as programs grow.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--collector-off", action="store_true", help="turn the garbage collector off")
    add_line_options(parser)
    options = parser.parse_args()

    print(tileir_build())
    print(machine())
    print(f"best of {options.rounds}, collector {'off' if options.collector_off else 'on'}; us per operation\n")
    rows: list[tuple[str, ...]] = []
    first, worst = 0.0, 0.0
    for size in options.sizes:
        operations, costs = measure(size, options.rounds, collector=not options.collector_off)
        total = sum(costs)
        first = first or total
        worst = max(worst, total / first)
        cells = tuple(f"{cost:.2f}" for cost in [*costs, total])
        rows.append((f"{operations:,}", *cells, f"{total / first:.2f}"))
    print(table(("operations", "parse", "verify", "print", "sum", "against first"), rows))
    line = Line("growth of parse + verify + print of a text", "smaller programs", worst, GROWTH_BAR, True)
    print(f"\nlargest growth {worst:.2f}, bar {line.asked}: {line.verdict}")
    each = Line("parse + verify + print of a text", "", first, unit=" us an operation", at_most=True)
    sys.exit(finish([line, each], options))


if __name__ == "__main__":
    main()
