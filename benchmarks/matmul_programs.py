"""Matrix products of f32 on one thread, in the ways in which people write them, beside what PyTorch has for the same.

    python benchmarks/matmul_programs.py                     # a minute
    python benchmarks/matmul_programs.py --only pointers

All take turns in one run; a ratio is PyTorch's time over ours, the median of those of the rounds, in CPU time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy
import torch

import product_programs as written
import tileir
from matmul_shapes import THREAD_VARIABLES, Shape
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

SIZE = 1024
PART, MANY = 512, 8
TILES: tuple[Shape, ...] = ((32, 32, 32), (64, 64, 64), (128, 128, 32))


class Kind(NamedTuple):
    """A way to write it: the text for a tile shape, the arrays, of which one is the result, and PyTorch's own."""

    text: Callable[[Shape], str]
    arrays: list[Any]
    peer: Callable[..., Any]
    grid: Callable[[Shape], tuple[int, ...]]
    extent: int = SIZE
    result: int = 2


def _matrix(*shape: int) -> Any:
    random = numpy.random.default_rng(len(shape))
    return (random.standard_normal(shape) / 8).astype("f4")


def _square(tile: Shape) -> tuple[int, ...]:
    return SIZE // tile[0], SIZE // tile[1]


def kinds() -> dict[str, Kind]:
    out, outs = torch.zeros(SIZE, SIZE), torch.zeros(MANY, PART, PART)
    a, b, e, c = _matrix(SIZE, SIZE), _matrix(SIZE, SIZE), _matrix(SIZE, SIZE), numpy.zeros((SIZE, SIZE), "f4")
    bias, halves = _matrix(SIZE), [a.astype("f2"), b.astype("f2"), c]
    batch = [_matrix(MANY, PART, PART), _matrix(MANY, PART, PART), numpy.zeros((MANY, PART, PART), "f4")]

    def product(x: Any, y: Any, _: Any) -> Any:
        return torch.mm(x, y, out=out)

    def relu(x: Any, y: Any, _: Any, w: Any) -> Any:
        return torch.relu_(torch.addmm(w, x, y, out=out))

    def both(x: Any, y: Any, w: Any, _: Any) -> Any:
        return torch.mm(x, y, out=out).add_(torch.mm(x, w))

    return {
        "views": Kind(written.views, [a, b, c], product, _square),
        "pointers": Kind(partial(written.pointers, masked=False), [a, b, c], product, _square),
        "pointers, masked": Kind(written.pointers, [a, b, c], product, _square),
        "groups of rows": Kind(written.swizzled, [a, b, c], product, lambda t: (_square(t)[0] * _square(t)[1],)),
        "bias, relu": Kind(written.bias_relu, [a, b, c, bias], relu, _square),
        "f16 to f32": Kind(written.converted, halves, lambda x, y, _: torch.mm(x.float(), y.float(), out=out), _square),
        "A turned": Kind(
            partial(written.turned, which="a"), [a, b, c], lambda x, y, _: torch.mm(x.T, y, out=out), _square
        ),
        "B turned": Kind(
            partial(written.turned, which="b"), [a, b, c], lambda x, y, _: torch.mm(x, y.T, out=out), _square
        ),
        "two in a loop": Kind(written.twice, [a, b, e, c], both, _square, result=3),
        "batched": Kind(
            written.batched,
            batch,
            lambda x, y, _: torch.bmm(x, y, out=outs),
            lambda t: (PART // t[0], PART // t[1], MANY),
            PART,
        ),
        "split k, atomics": Kind(written.split, [a, b, c], product, lambda t: (*_square(t), 4)),
    }


def measured(name: str, kind: Kind, rounds: int) -> tuple[tuple[str, ...], Line]:
    tensors = [torch.from_numpy(each) for each in kind.arrays]
    wanted = kind.peer(*tensors).numpy().copy()
    actions: list[Callable[[], object]] = [partial(kind.peer, *tensors)]
    for tile in TILES:
        kernel = tileir.compile(tileir.parse(kind.text(tile)), backend="cpu")
        own = [each.copy() for each in kind.arrays]
        action = partial(kernel.launch, kind.grid(tile), (*own, *[kind.extent] * 3), threads=1)
        action()
        difference = float(abs(own[kind.result] - wanted).max())
        if not difference <= 1e-4:
            raise SystemExit(f"{name} is wrong by {difference}: nothing to measure")
        actions.append(action)
    found = race(0.0, *actions, clock=time.process_time, least=rounds)
    ratios = [found.ratio(number, 0) for number in range(1, len(actions))]
    row = (name, *[f"{ratio:.2f}" for ratio in ratios])
    return row, Line(f"product {name}, one thread", "PyTorch", max(ratios), None)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="the kinds that have this in their names")
    add_line_options(parser)
    options = parser.parse_args()
    if any(os.environ.get(variable) != "1" for variable in THREAD_VARIABLES):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREAD_VARIABLES, "1"))
    torch.set_num_threads(1)
    print(f"{tileir_build()}, {machine()}")
    found = [measured(name, kind, options.rounds) for name, kind in kinds().items() if options.only in name]
    tiles = ["x".join(map(str, tile)) for tile in TILES]
    print(table((f"product {SIZE}^3 of PyTorch, tiles", *tiles), [row for row, _ in found]))
    return finish([line for _, line in found], options)


if __name__ == "__main__":
    sys.exit(main())
