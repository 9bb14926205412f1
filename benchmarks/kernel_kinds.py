"""cuTile kernels of many kinds on the CPU engine beside what PyTorch has for the same: elementwise functions, norms,
reductions, scans, indices, atomics, products with edges.

    python benchmarks/kernel_kinds.py                        # one thread, two minutes
    python benchmarks/kernel_kinds.py --threads 2 --only sum

Both take turns in one run; a ratio is PyTorch's time over ours, the median of those of the rounds.  No bar: what is
far below 1 is what to look at next.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy
import torch
from torch.nn import functional

import cutile_programs as written
import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

MANY, SIDE = 1 << 22, 2048


class Kind(NamedTuple):
    """A kernel with its grid and arguments, of which one is the result, and PyTorch's own."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: list[Any]
    peer: Callable[[], Any]
    result: int = -1
    adds: bool = False
    """Whether every launch adds to the result."""


def _numbers(*shape: int) -> Any:
    random = numpy.random.default_rng(len(shape))
    return torch.from_numpy(random.standard_normal(shape).astype("f4"))


def kinds() -> Iterator[tuple[str, Kind]]:
    """One at a time, so that the arrays of one are gone before those of the next are made."""
    yield from _elementwise()
    yield from _rows()
    yield from _indices()
    yield from _products()


def _elementwise() -> Iterator[tuple[str, Kind]]:
    x, y, out = _numbers(MANY), _numbers(MANY), torch.zeros(MANY)
    grid = (MANY // written.LONG,)
    for count in (1000, 999_999):
        a, b, c = x[:count].clone(), y[:count].clone(), torch.zeros(count)
        yield f"addition of {count:,}", Kind(written.add, (-(-count // 1024),), [a, b, c], partial(torch.add, a, b))
    yield "gelu", Kind(written.gelu, grid, [x, out], lambda: functional.gelu(x, approximate="tanh"))
    yield "swiglu", Kind(written.swiglu, grid, [x, y, out], lambda: functional.silu(x) * y)
    yield "choice", Kind(written.choose, grid, [x, y, out], lambda: torch.where(x > y, x * 2, y - 1))
    yield "sine times cosine", Kind(written.sine, grid, [x, out], lambda: torch.sin(x) * torch.cos(x))
    whole = (x * 1e9).to(torch.int32)

    def mixed() -> Any:
        t = (whole ^ (whole >> 16)) * 0x45D9F3B
        t = (t ^ (t >> 16)) * 0x45D9F3B
        return t ^ (t >> 16)

    yield "hash of i32", Kind(written.mixed, grid, [whole, torch.zeros_like(whole)], mixed)
    a, b = x.to(torch.bfloat16), y.to(torch.bfloat16)
    yield (
        "addition of bf16",
        Kind(written.add, (MANY // 1024,), [a, b, torch.zeros_like(a)], partial(torch.add, a, b)),
    )
    m, bias = _numbers(8192, 1024), _numbers(1024)
    yield (
        "bias and relu",
        Kind(written.bias_relu, (1024,), [m, bias, torch.zeros_like(m)], lambda: torch.relu(m + bias)),
    )
    q, cosine, sine = _numbers(16384, 128), _numbers(16384, 64), _numbers(16384, 64) + 1

    def rotary() -> Any:
        a, b = q[:, :64], q[:, 64:]
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], 1)

    yield "rotary embedding", Kind(written.rotary, (256,), [q, cosine, sine, torch.zeros_like(q)], rotary)


def _rows() -> Iterator[tuple[str, Kind]]:
    rows, long = SIDE, written.LONG
    x, weight, line = _numbers(rows, long), _numbers(long), torch.zeros(rows)
    same = torch.zeros_like(x)
    yield (
        "rms norm",
        Kind(written.rms_norm, (rows,), [x, weight, same], lambda: functional.rms_norm(x, (long,), weight, 1e-6)),
    )
    yield "sum of rows", Kind(written.sum_of_rows, (rows // 4,), [x, line], lambda: torch.sum(x, 1))
    columns = torch.zeros(long)
    yield "sum of columns", Kind(written.sum_of_columns, (long // 64,), [x, columns], lambda: torch.sum(x, 0))
    whole = torch.zeros(rows, dtype=torch.int32)
    yield "place of the largest", Kind(written.place_of_largest, (rows // 4,), [x, whole], lambda: torch.argmax(x, 1))
    yield "running sum", Kind(written.running_sum, (rows,), [x, same], lambda: torch.cumsum(x, 1))
    standing = torch.zeros(rows, 1)
    yield (
        "log of sum of exp",
        Kind(written.log_sum_exp, (rows // 8,), [x, standing], lambda: torch.logsumexp(x, 1, keepdim=True)),
    )
    short = _numbers(65536, 64)
    yield (
        "softmax of 64",
        Kind(written.short_softmax, (4096,), [short, torch.zeros_like(short)], lambda: torch.softmax(short, 1)),
    )
    square, turned = _numbers(SIDE, SIDE), torch.zeros(SIDE, SIDE)
    yield (
        "transposition",
        Kind(written.transpose, (SIDE // 64, SIDE // 64), [square, turned], lambda: square.T.contiguous()),
    )


def _indices() -> Iterator[tuple[str, Kind]]:
    random = numpy.random.default_rng(3)
    index = torch.from_numpy(random.integers(0, 4096, 4096).astype("i4"))
    x, out = _numbers(4096, 1024), torch.zeros(4096, 1024)
    yield (
        "rows by index",
        Kind(written.rows_by_index, (256,), [index, x, out], lambda: torch.index_select(x, 0, index)),
    )
    many = torch.from_numpy(random.integers(0, 100_000, 1 << 20).astype("i4"))
    values, target = _numbers(1 << 20), torch.zeros(100_000)
    yield (
        "addition by index",
        Kind(
            written.add_by_index,
            (1024,),
            [many, values, target],
            lambda: torch.zeros(100_000).index_add_(0, many, values),
            adds=True,
        ),
    )
    line = _numbers(MANY + 2)
    yield (
        "three neighbors",
        Kind(
            written.neighbors,
            (MANY // 1024,),
            [line, torch.zeros(MANY)],
            lambda: (line[:-2] + line[1:-1] + line[2:]) * 0.25,
        ),
    )


def _products() -> Iterator[tuple[str, Kind]]:
    a, x = _numbers(4096, 4096), _numbers(4096)
    yield "matrix times vector", Kind(written.matrix_vector, (256,), [a, x, torch.zeros(4096)], partial(torch.mv, a, x))
    for size in (1024, 1056, 300):
        a, b, c = _numbers(size, size), _numbers(size, size) + 0.5, torch.zeros(size, size)
        peer = partial(torch.mm, a, b)
        for tile in ((64, 64, 64), (128, 128, 32)):
            count = -(-size // tile[0])
            name = f"{size}^3, tiles {'x'.join(map(str, tile))}"
            yield f"product {name}", Kind(written.product, (count, count), [a, b, c, *tile], peer, 2)
            if size != 300:
                yield f"persistent {name}", Kind(written.persistent_product, (8,), [a, b, c, *tile], peer, 2)
            if size == 1024:
                arguments = [a, b, torch.zeros(size, size), *tile]
                yield f"split {name}", Kind(written.split_product, (count, count, 4), arguments, peer, 2, True)
    for many, side in ((64, 128), (512, 32)):
        a, b, c = (_numbers(many, side, side) for _ in range(3))
        yield (
            f"{many} products of {side}^3",
            Kind(written.small_products, (many,), [a, b, c, side], partial(torch.bmm, a, b), 2),
        )


def measured(name: str, kind: Kind, threads: int, seconds: float) -> tuple[tuple[str, ...], list[Line]]:
    launches = []
    wanted = kind.peer().double()
    for fast in (False, True):
        kernel = tileir.compile(kind.kernel, tuple(kind.arguments), backend="cpu", fast=fast)
        result = kind.arguments[kind.result]
        result.zero_()
        launch = partial(kernel.launch, kind.grid, kind.arguments, threads=threads)
        launch()
        difference = float(((result.double() - wanted).abs() / (1 + wanted.abs())).max())
        if not difference <= 0.02:
            raise SystemExit(f"{name} is wrong by {difference}: nothing to measure")
        launches.append(launch)
    found = race(seconds, kind.peer, *launches, turn=0.01)
    ratios = [found.ratio(number, 0) for number in (1, 2)]
    words = f"{threads} threads" if threads > 1 else "one thread"
    lines = [
        Line(f"{name}{mode}, {words}", "PyTorch", ratio, None)
        for mode, ratio in zip(("", " fast"), ratios, strict=True)
    ]
    return (name, f"{found.typical(1) * 1e3:.3f}", *[f"{ratio:.2f}" for ratio in ratios]), lines


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each kind")
    parser.add_argument("--only", default="", help="the kinds that have this in their names")
    add_line_options(parser)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{tileir_build()}, {machine()}")
    found = [measured(name, kind, options.threads, options.seconds) for name, kind in kinds() if options.only in name]
    header = (f"kernel, threads: {options.threads}", "ms", "of PyTorch", "fast")
    print(table(header, [row for row, _ in found]))
    return finish([line for _, lines in found for line in lines], options)


if __name__ == "__main__":
    sys.exit(main())
