"""Kernels that operators of torch and functions of JAX are made of."""

from __future__ import annotations

from typing import Any

import pytest

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")


@ct.kernel
def scale(x, out, factor: float, TILE: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(x, (place,), (TILE,)) * factor)


@ct.kernel
def square(x, out, TILE: ct.Constant[int]):
    place = ct.bid(0)
    tile = ct.load(x, (place,), (TILE,))
    ct.store(out, (place,), tile * tile)


@ct.kernel
def square_backward(grad_out, x, grad_x, TILE: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(grad_x, (place,), ct.load(grad_out, (place,), (TILE,)) * ct.load(x, (place,), (TILE,)) * 2)


def blocks(x: Any, TILE: int) -> tuple[int]:
    return (ct.cdiv(x.shape[0], TILE),)
