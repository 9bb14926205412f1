"""Pieces that the programs of the growth tests are written with."""

from __future__ import annotations

from collections.abc import Callable

Maker = Callable[[int], str]


def module(body: str, before: str = "", after: str = "") -> str:
    return f"cuda_tile.module @m {{\n{before}  {body}\n}}\n{after}"


def kernel(lines: list[str], parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>", after: str = "") -> str:
    """A kernel with some constants at hand: %zero, %one (i32), %x (tile block), %f (f32), %v (tile of f32)."""
    head = [
        "%zero = constant <i32: 0> : tile<i32>",
        "%one = constant <i32: 1> : tile<i32>",
        "%true = constant <i1: 1> : tile<i1>",
        "%f = constant <f32: 1.5> : tile<f32>",
        "%x, %y, %z = get_tile_block_id : tile<i32>",
    ]
    body = "\n    ".join([*head, *lines, "return"])
    return module(f"entry @k({parameters}) {{\n    {body}\n  }}", after=after)


def each(n: int, line: Callable[[int], str]) -> list[str]:
    return [line(i) for i in range(n)]


def kept(lines: list[str], value: str) -> str:
    """With a store at the end, so that nothing is dead."""
    return kernel([*lines, f"%end = store_ptr_tko weak %p, {value} : tile<ptr<f32>>, tile<f32> -> token"])
