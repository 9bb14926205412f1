"""A sanitized launch beside a plain one.

    python benchmarks/sanitizer_speed.py [--large]

The examples, on sizes that take a few milliseconds, with and without `sanitize=True`: on the interpreter, and on one
thread of the CPU engine.  Both take turns, the best of the rounds counts, in CPU time.  `--large` adds launches of
98,304 tile blocks, which take minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy

import cpu_pointer_programs
import cpu_programs
import tileir
from interpreter_speed import best, matmul_program
from measure import Line, add_line_options, finish, machine, table, tileir_build

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BAR = 4.0
MANY_BLOCKS = 1 << 14
MOST_BLOCKS = 3 << 15
MANY_PLACES = 1 << 20


def launches(large: bool) -> list[tuple[str, Any, Any, tuple[Any, ...]]]:
    """Name, kernel, grid and arguments of each launch."""
    rng = numpy.random.default_rng(0)

    def random(*shape: int, dtype: str = "f4") -> Any:
        return rng.random(shape).astype(dtype)

    def zeros(*shape: int, dtype: str = "f4") -> Any:
        return numpy.zeros(shape, dtype)

    def example(name: str) -> Any:
        return tileir.compile(tileir.load(EXAMPLES / f"{name}.mlir"), backend="interpreter")

    def released(name: str, ordering: str = "acq_rel") -> Any:
        text = (EXAMPLES / f"{name}.mlir").read_text().replace("relaxed device", f"{ordering} device")
        return tileir.compile(tileir.parse(text), backend="interpreter")

    def histogram(blocks: int, places: int = 64) -> tuple[Any, ...]:
        return rng.integers(0, places, blocks * 128).astype("i4"), zeros(places, dtype="i4"), blocks * 128

    many = 1 << 16
    found = [
        ("vector_add, 65,536", example("vector_add"), many // 128, (random(many), random(many), zeros(many), many)),
        ("softmax, 256 x 1,000", example("softmax"), 256, (random(256, 1000), zeros(256, 1000), 256, 1000)),
        (
            "matmul 512^3 in 64^3",
            tileir.compile(tileir.parse(matmul_program(512, 64)), backend="interpreter"),
            (8, 8),
            (random(512, 512), random(512, 512), zeros(512, 512)),
        ),
        (
            "histogram, 65,536",
            example("histogram"),
            many // 128,
            histogram(many // 128),
        ),
        ("the same, acquire and release", released("histogram"), many // 128, histogram(many // 128)),
        ("the same, 16,384 tile blocks", released("histogram"), MANY_BLOCKS, histogram(MANY_BLOCKS)),
        (
            "the same, a million counts at random",
            released("histogram"),
            MANY_BLOCKS,
            histogram(MANY_BLOCKS, MANY_PLACES),
        ),
        (
            "the same, release only",
            released("histogram", "release"),
            MANY_BLOCKS,
            histogram(MANY_BLOCKS, MANY_PLACES),
        ),
    ]
    if large:
        for ordering in ("acq_rel", "release"):
            name = f"98,304 tile blocks, {ordering}, a million counts"
            found.append((name, released("histogram", ordering), MOST_BLOCKS, histogram(MOST_BLOCKS, MANY_PLACES)))
    return found


def compiled_launches() -> list[tuple[str, Any, Any, tuple[Any, ...]]]:
    """The same on the CPU engine, with more to do."""
    rng = numpy.random.default_rng(0)

    def random(*shape: int) -> Any:
        return rng.random(shape).astype("f4")

    def example(name: str) -> Any:
        return tileir.compile(tileir.load(EXAMPLES / f"{name}.mlir"), backend="cpu")

    def program(text: str) -> Any:
        return tileir.compile(tileir.parse(text), backend="cpu")

    many = 1 << 22
    zeros = numpy.zeros
    places = rng.integers(0, many, many).astype("i4")
    return [
        (
            "cpu: vector_add, 4,194,304",
            example("vector_add"),
            many // 128,
            (random(many), random(many), zeros(many, "f4"), many),
        ),
        (
            "cpu: softmax, 1,024 x 1,000",
            example("softmax"),
            1024,
            (random(1024, 1000), zeros((1024, 1000), "f4"), 1024, 1000),
        ),
        (
            "cpu: matmul 512^3 in 64^3",
            program(matmul_program(512, 64)),
            (8, 8),
            (random(512, 512), random(512, 512), zeros((512, 512), "f4")),
        ),
        (
            "cpu: vector add with views, 4,194,304",
            program(cpu_programs.vector_add(1024)),
            many // 1024,
            (random(many), random(many), zeros(many, "f4"), many),
        ),
        (
            "cpu: gather, 4,194,304",
            program(cpu_pointer_programs.gather(1024)),
            many // 1024,
            (places, random(many), zeros(many, "f4"), many),
        ),
        (
            "cpu: histogram, 4,194,304 into 1,024",
            program(cpu_pointer_programs.histogram(1024)),
            many // 1024,
            (places % 1024, zeros(1024, "i4"), many),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="What the sanitizer costs.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--large", action="store_true", help="also 98,304 tile blocks")
    add_line_options(parser)
    options = parser.parse_args()
    print(tileir_build())
    print(f"{machine()}, NumPy {numpy.__version__}; best of {options.rounds} rounds in turns\n")
    rows = []
    lines: list[Line] = []
    for name, kernel, grid, arguments in [*launches(options.large), *compiled_launches()]:
        plain = partial(kernel.launch, grid, arguments, threads=1)
        # A few rounds are enough where one takes seconds.
        most = {MANY_BLOCKS: 3, MOST_BLOCKS: 1}.get(grid, options.rounds)
        sanitized = partial(plain, sanitize=True)
        without, with_it = best(min(options.rounds, most), plain, sanitized, clock=time.process_time)
        ratio = with_it / without
        line = Line(f"sanitized: {name}", "the plain launch", ratio, BAR, True)
        lines.append(line)
        verdict = f"{line.asked} {line.verdict}"
        rows.append((name, f"{without * 1e3:.1f} ms", f"{with_it * 1e3:.1f} ms", f"{ratio:.1f}", verdict))
    print(table(("launch", "plain", "sanitized", "ratio", "bar"), rows))
    sys.exit(finish(lines, options))


if __name__ == "__main__":
    main()
