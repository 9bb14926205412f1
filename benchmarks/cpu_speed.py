"""The CPU engine against NumPy and, where it is installed, PyTorch; with one thread and with all.

    python benchmarks/cpu_speed.py                  # everything, a few minutes
    python benchmarks/cpu_speed.py --only matmul    # the rows whose name has it
    python benchmarks/cpu_speed.py --strict         # exit status 1 when a bar is missed

Each number of threads has a process of its own, since NumPy's is fixed when it is imported. All sides of a comparison
take turns in one run and write into arrays that exist already where they can; times are medians, a ratio is the median
of the rounds' own, and every result is compared with NumPy's first. With one thread it is CPU time that counts, which a
busy machine leaves alone, with several it is the clock on the wall. `exact` results are the interpreter's bit for bit;
`default` ones are but for products, which the best unit of the machine makes; `fast` ones are not: see
docs/internals/cpu.md.

What is not work but cost (compiling, launching, large grids, tiles over an edge) follows: `cpu_costs.py`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy

import cpu_costs
import cpu_programs
import tileir
from measure import Line, Rounds, add_line_options, extremes, finish, machine, race, table, tileir_build
from tileir.execute.cpu.runtime.target import host

try:
    import torch
except ImportError:
    torch = None

Action = Callable[[], object]
Array = numpy.ndarray[Any, numpy.dtype[Any]]

Bars = float | dict[str, float]
"""What is asked of every variant, or of each; 0 asks nothing."""
Peer = tuple[str, Action, Bars]


class Row(NamedTuple):
    """A comparison: seconds are medians, `ratio` is theirs / ours in the middle round.

    `best` is the ratio of the best rounds of both: far from the other where threads are kept waiting by somebody else.
    `bar` is the least ratio that is asked for, or 0.
    """

    work: str
    ours: float
    peer: str
    theirs: float
    ratio: float
    best: float
    bar: float

    @classmethod
    def of(cls, work: str, peer: str, rounds: Rounds, number: int, other: int, bar: float) -> Row:
        best = rounds.best(other) / rounds.best(number)
        return cls(work, rounds.typical(number), peer, rounds.typical(other), rounds.ratio(number, other), best, bar)


TILES = (
    *((32, 32, 32), (64, 64, 32), (64, 64, 64), (32, 256, 32), (256, 32, 64), (64, 128, 64), (128, 128, 32)),
    *((128, 128, 128), (128, 256, 64), (256, 256, 64), (256, 256, 256)),
)

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def compiled(text: str, mode: str = "default") -> tileir.Kernel:
    return tileir.compile(tileir.parse(text), backend="cpu", exact=mode == "exact", fast=mode == "fast")


def check(name: str, found: Array, wanted: Any, tolerance: float = 1e-4) -> None:
    """Nothing is measured that is wrong."""
    difference = float(abs(found - numpy.asarray(wanted, numpy.float32)).max())
    if not difference <= tolerance * max(1.0, float(abs(found).max())):
        sys.exit(f"{name} is wrong by {difference}: nothing to measure")


class Session:
    """The comparisons of one number of threads."""

    def __init__(self, threads: int, seconds: float, only: str) -> None:
        self.threads: int = threads
        self.seconds: float = seconds
        self.only: list[str] = only.split(",")
        self.random = numpy.random.default_rng(0)
        if torch is not None:
            torch.set_num_threads(threads)

    def wants(self, name: str) -> bool:
        return any(word in name for word in self.only)

    def compare(
        self,
        name: str,
        ours: dict[str, tuple[Action, Array]],
        peers: list[Peer],
        wanted: Action,
        patience: float = 1.0,
    ) -> Iterator[Row]:
        """A row for each of our variants against each peer; what takes long needs `patience` for as many rounds."""
        expected = wanted()
        for variant, (action, result) in ours.items():
            action()
            narrow = "f16" in name
            check(f"{name} {variant}", result.astype(numpy.float32), expected, 2e-2 if narrow else 1e-4)
        actions = [action for action, _ in ours.values()] + [action for _, action, _ in peers]
        if self.threads == 1:
            rounds = race(self.seconds * patience, *actions, clock=time.process_time)
        else:
            rounds = race(self.seconds * patience, *actions, rest=0.06, turn=0.1)
        for number, variant in enumerate(ours):
            work = f"{name}{variant and ', '}{variant}"
            for other, (peer, _, bars) in enumerate(peers, len(ours)):
                bar = bars.get(variant, 0.0) if isinstance(bars, dict) else bars
                yield Row.of(work, peer, rounds, number, other, bar)

    # --- the work ---

    def vector_add(self) -> Iterator[Row]:
        name = "vector add f32, 16M"
        if not self.wants(name):
            return
        size, tile = 1 << 24, 4096
        a, b = (self.random.random(size, numpy.float32) for _ in range(2))
        c, d = numpy.zeros_like(a), numpy.zeros_like(a)
        kernel = compiled(cpu_programs.vector_add(tile))
        peers: list[Peer] = [("numpy.add, out=", lambda: numpy.add(a, b, out=d), 0.0)]
        if torch is not None:
            x, y, z = (torch.from_numpy(array) for array in (a, b, d))
            peers.insert(0, ("torch.add, out=", lambda: torch.add(x, y, out=z), 1.0 if self.threads > 1 else 0.95))

        def ours() -> None:
            kernel.launch(size // tile, (a, b, c, size), threads=self.threads)

        yield from self.compare(name, {"": (ours, c)}, peers, lambda: a + b)

    def chain(self) -> Iterator[Row]:
        # Once bound by memory, which the bars are for, once within the caches.
        for size, name in ((1 << 24, "seven elementwise, 16M"), (1 << 18, "seven elementwise, 256K")):
            if self.wants(name):
                yield from self._chain(name, size, 4096)

    def _chain(self, name: str, size: int, tile: int) -> Iterator[Row]:
        a, b = (self.random.random(size, numpy.float32) for _ in range(2))

        def with_numpy() -> Any:
            s = a * b + a
            return s / (1 + numpy.exp(-s)) * b

        peers: list[Peer] = [("NumPy", with_numpy, 5.0)]
        if torch is not None:
            x, y = torch.from_numpy(a), torch.from_numpy(b)
            peers += _compiled_by_torch(x, y, torch.empty_like(x))
        ours = self._variants(cpu_programs.elementwise_chain(tile), size // tile, [a, b], a, [size])
        if size < 1 << 24:
            asked = {"torch.compile": 1.1} if self.threads > 1 else {}
            peers = [(peer, action, asked.get(peer, 0.0)) for peer, action, _ in peers]
        yield from self.compare(name, ours, peers, with_numpy)

    def rows(self) -> Iterator[Row]:
        size = 4096
        for name, program in (("softmax f32", cpu_programs.softmax), ("layer norm f32", cpu_programs.layer_norm)):
            name = f"{name} {size}^2"
            if not self.wants(name):
                continue
            a = self.random.standard_normal((size, size), numpy.float32)
            peers: list[Peer] = []
            if torch is not None:
                x, z = torch.from_numpy(a), torch.empty(size, size)
                mean, factor = torch.empty(size, 1), torch.empty(size, 1)

                def softmax(x: Any = x, z: Any = z) -> None:
                    torch.ops.aten._softmax.out(x, 1, False, out=z)

                def norm(x: Any = x, z: Any = z, mean: Any = mean, factor: Any = factor) -> None:
                    torch.ops.aten.native_layer_norm.out(x, [size], None, None, 1e-5, out0=z, out1=mean, out2=factor)

                bars: Bars = {"exact": 0.9, "fast": 1.1} if "softmax" in name and self.threads > 1 else 0.9
                peers = [("torch, out=", softmax if "softmax" in name else norm, bars)]
            wanted = _softmax_of if "softmax" in name else _norm_of
            peers.append(("NumPy", lambda a=a, wanted=wanted: wanted(a), 0.0))  # type: ignore[misc]
            ours = self._variants(program(size), size, [a], a, [])
            yield from self.compare(name, ours, peers, lambda a=a, wanted=wanted: wanted(a))  # type: ignore[misc]

    def matmul(self) -> Iterator[Row]:
        for size in (1024, 2048):
            name = f"matmul f32 {size}^3"
            if not self.wants(name):
                continue
            a, b = (self.random.standard_normal((size, size), numpy.float32) for _ in range(2))
            c, d = numpy.zeros_like(a), numpy.zeros_like(a)
            kernel = compiled(cpu_programs.matmul((64, 128, 64)))
            extents = [size] * 5
            grid = (size // 64, size // 128)

            def ours(kernel: Any = kernel, a: Any = a, b: Any = b, c: Any = c, e: Any = extents, g: Any = grid) -> None:
                kernel.launch(g, (a, b, c, *e), threads=self.threads)

            bar = 1.0 if self.threads == 1 else 0.85
            peers: list[Peer] = [("numpy.matmul (OpenBLAS)", functools.partial(numpy.matmul, a, b, out=d), bar)]
            if torch is not None:
                x, y, z = (torch.from_numpy(array) for array in (a, b, d))
                peers.append(("torch.matmul, out=", functools.partial(torch.matmul, x, y, out=z), bar))
            wanted = functools.partial(numpy.matmul, a, b)
            yield from self.compare(name, {"": (ours, c)}, peers, wanted, 3.0 if size > 1024 else 1.0)

    def shapes(self) -> Iterator[Row]:
        """The same product in tiles of other shapes: none is to be much slower than the best."""
        name = "matmul f32 1024^3 in the slowest tiles"
        if not self.wants(name) or self.threads > 1:
            return
        size = 1024
        a, b = (self.random.standard_normal((size, size), numpy.float32) for _ in range(2))
        expected, actions = a @ b, []
        for m, n, k in TILES:
            kernel, out = compiled(cpu_programs.matmul((m, n, k))), numpy.zeros_like(a)

            def action(kernel: Any = kernel, out: Array = out, grid: Any = (size // m, size // n)) -> None:
                kernel.launch(grid, (a, b, out, *[size] * 5), threads=1)

            action()
            check(f"matmul in tiles of {m}x{n}x{k}", out, expected)
            actions.append(action)
        best, slowest, rounds = extremes(self.seconds * 2, *actions)
        words = ["x".join(map(str, TILES[number])) for number in (slowest, best)]
        print(f"matmul f32 1024^3: slowest in {words[0]}, best in {words[1]}", file=sys.stderr)
        yield Row.of(name, "the best tiles", rounds, 1, 0, 0.9)

    def matmul_narrow(self) -> Iterator[Row]:
        size = 1024
        for element, wide in (("bf16", ml_dtypes.bfloat16), ("f16", numpy.float16)):
            name = f"matmul {element} {size}^3"
            if not self.wants(name):
                continue
            a, b = (self.random.standard_normal((size, size), numpy.float32) for _ in range(2))
            narrow = [array.astype(wide) for array in (a, b)]
            d = numpy.zeros_like(a)
            has_amx = host().has_amx
            # What rounds after each product is not what the bars are about.
            asked: Bars = {"fast": 2.5, "default": 0.0} if has_amx and element == "bf16" else 0.0
            peers: list[Peer] = [("numpy.matmul f32", functools.partial(numpy.matmul, a, b, out=d), asked)]
            if torch is not None:
                type = torch.bfloat16 if element == "bf16" else torch.float16
                x, y = torch.from_numpy(a).to(type), torch.from_numpy(b).to(type)
                z = torch.empty(size, size, dtype=type)
                asked = {"fast": 0.9, "default": 0.9} if has_amx else 0.0
                peers.append((f"torch.matmul {element}", functools.partial(torch.matmul, x, y, out=z), asked))
            text = cpu_programs.matmul((128, 256, 64), element)
            grid = (size // 128, size // 256)
            ours = self._variants(text, grid, narrow, a, [size] * 5, ("exact", "default", "fast"))
            yield from self.compare(name, ours, peers, functools.partial(numpy.matmul, a, b))

    def attention(self) -> Iterator[Row]:
        """With square tiles, and with 512 keys at a time, as PyTorch's kernel for CPUs (and more rows) does."""
        heads, length, width, rows = 8, 1024, 64, 64
        kinds = (("f32", numpy.float32), ("f16", numpy.float16), ("bf16", ml_dtypes.bfloat16))
        for (element, narrow), keys in itertools.product(kinds, (64, 512)):
            name = f"attention {element} {heads}x{length}x{width}, tiles {rows}x{keys}"
            if not self.wants(name):
                continue
            q, k, v = (self.random.standard_normal((heads, length, width), numpy.float32) for _ in range(3))
            modes = ("exact", "fast") if element == "f32" else ("default", "fast")
            peers: list[Peer] = []
            if torch is not None:
                type = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[element]
                tensors = [torch.from_numpy(array)[None].to(type) for array in (q, k, v)]
                attend = torch.nn.functional.scaled_dot_product_attention
                bars = dict(zip(modes, (0.95, 1.1), strict=True))
                peers.append(("torch SDPA", functools.partial(attend, *tensors), bars))

            def with_numpy(q: Any = q, k: Any = k, v: Any = v) -> Any:
                return _softmax_of(q @ k.transpose(0, 2, 1) * numpy.float32(width**-0.5)) @ v

            if keys == rows:
                peers.append(("NumPy f32", with_numpy, 0.0))
            text = cpu_programs.attention(heads, length, width, rows, keys, element)
            given = [array.astype(narrow) for array in (q, k, v)]
            ours = self._variants(text, (length // rows, heads), given, given[0], [], modes)
            yield from self.compare(name, ours, peers, with_numpy)

    def _variants(
        self,
        text: str,
        grid: Any,
        inputs: list[Any],
        like: Array,
        scalars: list[int],
        modes: tuple[str, ...] = ("exact", "fast"),
    ) -> dict[str, tuple[Action, Array]]:
        """A kernel in several modes."""
        found: dict[str, tuple[Action, Array]] = {}
        for variant in modes:
            kernel, out = compiled(text, variant), numpy.zeros_like(like)

            def action(kernel: Any = kernel, out: Array = out) -> None:
                kernel.launch(grid, (*inputs, out, *scalars), threads=self.threads)

            found[variant] = action, out
        return found

    def measure(self) -> Iterator[Row]:
        products = (self.matmul, self.shapes, self.matmul_narrow, self.attention)
        for work in (self.vector_add, self.chain, self.rows, *products):
            yield from work()


def _softmax_of(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _norm_of(x: Any) -> Any:
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / numpy.sqrt((centered * centered).mean(axis=-1, keepdims=True) + numpy.float32(1e-5))


def _compiled_by_torch(x: Any, y: Any, z: Any) -> list[Peer]:
    """The chain through torch.compile, where that works: it needs a C++ compiler and Python's headers."""

    def chain(a: Any, b: Any) -> Any:
        s = a * b + a
        return s / (1 + torch.exp(-s)) * b

    def chain_into(a: Any, b: Any, out: Any) -> None:
        out.copy_(chain(a, b))

    try:
        action, into = torch.compile(chain), torch.compile(chain_into)
        action(x, y)
        into(x, y, z)
    except Exception as error:  # whatever its tool chain raises
        reason = str(error).strip().splitlines()[0][:100] if str(error).strip() else type(error).__name__
        print(f"torch.compile does not work here and is not compared: {reason}", file=sys.stderr)
        return []
    # As it is called, with a new tensor for the result (as NumPy's rows have), and with a given one.
    return [("torch.compile", lambda: action(x, y), 2.0), ("torch.compile, out=", lambda: into(x, y, z), 0.0)]


# --- both numbers of threads ---


def measured_with(threads: int, seconds: float, only: str) -> list[Row]:
    """The rows of a process with so many threads."""
    number = dict.fromkeys(THREAD_VARIABLES, str(threads))
    # torch.compile would take what it made for another number of threads out of its cache.
    number["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    command = [sys.executable, __file__, "--threads", str(threads), "--seconds", str(seconds), "--only", only]
    answer = subprocess.run(command, env={**os.environ, **number}, check=False, stdout=subprocess.PIPE, text=True)
    if answer.returncode:
        sys.exit(answer.returncode)
    return [Row(*json.loads(line)) for line in answer.stdout.splitlines()]


def shown(rows: list[Row], threads: int) -> tuple[str, list[Line]]:
    """The table, and the lines."""
    cells: list[tuple[str, ...]] = []
    lines: list[Line] = []
    words = "one thread" if threads == 1 else f"{threads} threads"
    for row in rows:
        line = Line(f"{row.work}, {words}", row.peer, row.ratio, row.bar or None)
        lines.append(line)
        seconds = f"{row.ours * 1e3:.2f} ms", f"{row.peer} {row.theirs * 1e3:.2f} ms"
        cells.append((row.work, *seconds, f"{row.best:.2f}", f"{row.ratio:.2f}", line.asked, line.verdict))
    return table(("work", "ours", "peer", "of the best", "ratio", "bar", "met"), cells), lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed of the CPU engine.")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each comparison takes (default: 4)")
    parser.add_argument("--only", default="", help="only the work whose name has one of these words in it, with commas")
    parser.add_argument("--threads", type=int, help="print the rows for a number of threads, as JSON")
    parser.add_argument("--no-costs", action="store_true", help="leave out what is not work but cost")
    add_line_options(parser)
    options = parser.parse_args()
    if options.threads:
        for row in Session(options.threads, options.seconds, options.only).measure():
            print(json.dumps(row), flush=True)
        return 0
    processors = os.cpu_count() or 1
    peers = f"NumPy {numpy.__version__}" + (f", torch {torch.__version__}" if torch is not None else "")
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average not known"
    print(f"{tileir_build()}, {host().name}\n{machine()}, {peers}; {load}")
    if torch is None:
        print("torch is not installed, so it is not compared: pip install torch")
    if not host().has_amx:
        print("this CPU has no AMX (or the system keeps it): the bars for bf16 products do not apply")
    lines: list[Line] = []
    for threads in sorted({1, processors}):
        text, found = shown(measured_with(threads, options.seconds, options.only), threads)
        lines += found
        title = "one thread, CPU time" if threads == 1 else f"{threads} threads, wall clock"
        print(f"\n{title}; ratio: their time / ours\n{text}", flush=True)
    if not options.only and not options.no_costs:
        text, costs = cpu_costs.report(options.seconds / 2)
        lines += costs
        print(f"\ncosts\n{text}")
    return finish(lines, options)


if __name__ == "__main__":
    sys.exit(main())
