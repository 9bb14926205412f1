"""Matrix products of f32 and f64 on one thread, at many tile shapes, beside OpenBLAS (NumPy) and MKL (PyTorch).

    python benchmarks/matmul_shapes.py                       # every third tile shape, a few minutes
    python benchmarks/matmul_shapes.py --all --size 2048     # all 64
    python benchmarks/matmul_shapes.py --kinds               # other extents, types, ways to memory

All take turns in one run; a ratio is the median of those of the rounds, in CPU time. A row is the speed over that of
each peer, and over that of the best tile shape: a shape far below the best is a cliff. The best and the slowest are
found in a second race of those that may be it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import cpu_pointer_programs
import cpu_programs
import tileir
from measure import Line, Rounds, add_line_options, candidates, finish, machine, race, table, tileir_build

try:
    import torch
except ImportError:
    torch = None

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
SIDES = (32, 64, 128, 256)
Shape = tuple[int, int, int]
Result = tuple[list[tuple[str, ...]], list[Line]]
PEER_BAR = 1.0
SHAPE_BAR = 0.9


class Race:
    """Products of the same two matrices, which take turns."""

    def __init__(self, m: int, n: int, k: int, dtype: Any = numpy.float32, turned: bool = False) -> None:
        random = numpy.random.default_rng(0)
        self.extents: Shape = (m, n, k)
        self.a = random.standard_normal((m, k)).astype(dtype)
        self.b = random.standard_normal((n, k) if turned else (k, n)).astype(dtype)
        self.right = self.b.T if turned else self.b
        self.wanted = self.a @ self.right
        d = numpy.zeros_like(self.wanted)
        self.peers: dict[str, Callable[[], object]] = {"OpenBLAS": lambda: numpy.matmul(self.a, self.right, out=d)}
        if torch is not None:
            torch.set_num_threads(1)
            x, y, z = torch.from_numpy(self.a), torch.from_numpy(self.right), torch.from_numpy(numpy.zeros_like(d))
            self.peers["MKL"] = lambda: torch.mm(x, y, out=z)
        self.ours: dict[str, Callable[[], object]] = {}

    def add(self, name: str, text: str, tile: Shape, scalars: list[int]) -> None:
        kernel = tileir.compile(tileir.parse(text), backend="cpu")
        c = numpy.zeros_like(self.wanted)
        grid = (-(-self.extents[0] // tile[0]), -(-self.extents[1] // tile[1]))

        def action() -> None:
            kernel.launch(grid, (self.a, self.b, c, *scalars), threads=1)

        action()
        difference = float(abs(c - self.wanted).max())
        if not difference <= 1e-5 * self.extents[2]:
            raise SystemExit(f"{name} is wrong by {difference}: nothing to measure")
        self.ours[name] = action

    def run(self, rounds: int, names: list[str]) -> tuple[Rounds, list[float]]:
        """A race of the peers and some products, and the speeds of these."""
        actions = [*self.peers.values(), *[self.ours[name] for name in names]]
        found = race(0.0, *actions, clock=time.process_time, least=rounds)
        return found, found.speeds(range(len(self.peers), len(actions)))

    def result(self, rounds: int, title: str, has_bars: bool = False) -> Result:
        """A row for each tile shape; lines for the best of them and for the slowest."""
        names, others = list(self.ours), len(self.peers)
        found, speeds = self.run(rounds, names)
        m, n, k = self.extents
        rows = [
            (
                f"{title} {name}",
                f"{2 * m * n * k / found.typical(number) / 1e9:.1f}",
                *[f"{found.ratio(number, other):.2f}" for other in range(others)],
                f"{speeds[number - others] / max(speeds):.2f}",
            )
            for number, name in enumerate(names, others)
        ]
        chosen = [names[number] for number in candidates(speeds)]
        if len(chosen) < len(names):
            names = chosen
            found, speeds = self.run(rounds, names)
        fastest, slowest = (others + speeds.index(choose(speeds)) for choose in (max, min))
        work = f"product {title}, one thread"
        bar = PEER_BAR if has_bars else None
        lines = [Line(work, peer, found.ratio(fastest, other), bar) for other, peer in enumerate(self.peers)]
        if len(names) > 1:
            words = [names[number - others] for number in (slowest, fastest)]
            print(f"{title}: slowest in {words[0]}, best in {words[1]}", file=sys.stderr)
            lines.append(Line(f"{work}: slowest tiles", "the best tiles", found.ratio(slowest, fastest), SHAPE_BAR))
        return rows, lines


def shapes(sizes: list[int], every: int, rounds: int) -> list[Result]:
    found = []
    for size in sizes:
        race = Race(size, size, size)
        for tile in list(itertools.product(SIDES, SIDES, SIDES))[::every]:
            race.add("x".join(map(str, tile)), cpu_programs.matmul(tile), tile, [size] * 5)
        found.append(race.result(rounds, f"{size}^3", has_bars=True))
    return found


def kinds(rounds: int) -> list[Result]:
    """Other extents, types and ways to memory."""
    found = []
    for m, n, k in ((1000, 1000, 1000), (4096, 512, 512), (16, 1024, 1024), (32, 4096, 512), (512, 512, 4096)):
        race = Race(m, n, k)
        for tile in ((min(m, 64), 128, 64), (min(m, 128), 128, 32), (min(m, 32), 32, 32)):
            tile = (1 << (tile[0].bit_length() - 1), *tile[1:])
            race.add("x".join(map(str, tile)), cpu_programs.matmul(tile), tile, [m, n, k, n, k])
        found.append(race.result(rounds, f"{m}x{n}x{k}"))
    size = 1024
    race = Race(size, size, size)
    for side in (32, 64, 128):
        race.add(f"{side}x{side}x{side}", cpu_pointer_programs.matmul(side), (side, side, side), [size])
    found.append(race.result(rounds, "through pointers"))
    race = Race(size, size, size, turned=True)
    for tile in ((64, 128, 64), (128, 128, 32), (32, 32, 32)):
        race.add("x".join(map(str, tile)), cpu_programs.matmul(tile, turned=True), tile, [size] * 5)
    found.append(race.result(rounds, "B transposed"))
    race = Race(size, size, size, numpy.float64)
    for tile in ((64, 128, 64), (128, 128, 32), (32, 32, 32)):
        race.add("x".join(map(str, tile)), cpu_programs.matmul(tile, "f64"), tile, [size] * 5)
    return [*found, race.result(rounds, "f64")]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--all", action="store_true", help="every tile shape")
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--kinds", action="store_true", help="other extents, types and ways to memory instead")
    parser.add_argument("--both", action="store_true", help="those too")
    parser.add_argument("--rounds", type=int, default=10)
    add_line_options(parser)
    options = parser.parse_args()
    if any(os.environ.get(variable) != "1" for variable in THREAD_VARIABLES):
        # OpenBLAS looks when it is loaded, which it is by now.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREAD_VARIABLES, "1"))
    print(f"{tileir_build()}, {machine()}")
    found: list[Result] = []
    if not options.kinds:
        found += shapes(options.size or [1024], 1 if options.all else options.every, options.rounds)
    if options.kinds or options.both:
        found += kinds(options.rounds)
    rows = [row for rows, _ in found for row in rows]
    peers = ["of OpenBLAS"] + (["of MKL"] if torch is not None else [])
    print(table(("product, tiles", "GFLOP/s", *peers, "of the best"), rows))
    return finish([line for _, lines in found for line in lines], options)


if __name__ == "__main__":
    sys.exit(main())
