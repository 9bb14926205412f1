"""Launches of small cuTile kernels that were seen before: what `tileir.launch` costs, for arguments of many kinds.

`cpu_costs.py` times them, beside `Kernel.launch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cuda.tile as ct
import numpy

import tileir

BAR = 15.0
"""Microseconds for three arrays, a number and a constant."""
LENGTH = 1024


@ct.kernel
def one_array(a):
    place = ct.bid(0)
    ct.store(a, (place,), ct.load(a, (place,), (128,)) + 1.0)


@ct.kernel
def three_arrays(a, b, c, factor, N: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(c, (place,), ct.load(a, (place,), (N,)) * factor + ct.load(b, (place,), (N,)))


@ct.kernel
def eight_arrays(a, b, c, d, e, f, g, h):
    place = ct.bid(0)
    total = ct.load(a, (place,), (128,)) + ct.load(b, (place,), (128,)) + ct.load(c, (place,), (128,))
    total += ct.load(d, (place,), (128,)) + ct.load(e, (place,), (128,)) + ct.load(f, (place,), (128,))
    ct.store(h, (place,), total + ct.load(g, (place,), (128,)))


@ct.kernel
def three_matrices(a, b, c):
    place = (ct.bid(0), ct.bid(1))
    ct.store(c, place, ct.load(a, place, (8, 32)) + ct.load(b, place, (8, 32)))


@ct.kernel
def list_of_arrays(arrays, out):
    place = ct.bid(0)
    total = ct.zeros((128,), ct.float32)
    for number in range(3):
        total += ct.load(arrays[number], (place,), (128,))
    ct.store(out, (place,), total)


@ct.kernel
def pair_of_arrays(pair: tuple[Any, Any], out):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(pair[0], (place,), (128,)) + ct.load(pair[1], (place,), (128,)))


def launches() -> Iterator[tuple[str, float, Callable[[], None]]]:
    """What is launched, its bar or 0, and a launch."""
    makers: list[tuple[str, Callable[[], Any]]] = [("arrays of NumPy", lambda: numpy.zeros(LENGTH, numpy.float32))]
    try:
        import torch
    except ImportError:
        pass
    else:
        makers.append(("tensors of torch", lambda: torch.zeros(LENGTH)))
    for kind, make in makers:
        cases: list[tuple[str, float, Any, tuple[int, ...], tuple[Any, ...]]] = [
            ("3, a number and a constant", BAR, three_arrays, (8,), (make(), make(), make(), 2.0, 128)),
            ("1", 0.0, one_array, (8,), (make(),)),
            ("8", 0.0, eight_arrays, (8,), tuple([make() for _ in range(8)])),
            ("3 of rank 2", 0.0, three_matrices, (4, 1), tuple([make().reshape(32, 32) for _ in range(3)])),
            ("a list of 3, and 1", 0.0, list_of_arrays, (8,), ([make() for _ in range(3)], make())),
            ("a tuple of 2, and 1", 0.0, pair_of_arrays, (8,), ((make(), make()), make())),
        ]
        for words, bar, kernel, grid, args in cases:
            yield f"tileir.launch, {kind}: {words}", bar, _launch(kernel, grid, args)

        args = (make(), make(), make(), 2.0, 128)
        bound = tileir.compile(three_arrays, args).bind(8, args)
        yield f"a bound launch, {kind}: 3, a number and a constant", 0.0, bound


def _launch(kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...]) -> Callable[[], None]:
    return lambda: tileir.launch(kernel, grid, args)
