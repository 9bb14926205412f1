"""Loops that do nothing but add products of tiles, without a step for each operation.

    for %k in (...) iter_values(%acc = %initial) {
      %x = load_view_tko %a[%i, %k]    %y = load_view_tko %b[%k, %j]    %r = mmaf %x, %y, %acc    continue %r
    }

This is most of what a matrix product does, and its steps took as long as the products.  What is computed is the same,
in the same order with the same bits: only the tiles of all rounds are found at once, the left ones where they lie in
memory, the right ones as a copy that stays with its region (`reading.py` says when either is allowed).  A loop that an
observer may look into, and a run of one whose tiles are not all whole, goes its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy

from tileir.dialect.ops import CONTINUE, LOAD_VIEW_TKO, MMAF
from tileir.dialect.types import PartitionViewType, TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.interpreter.accumulation import accumulates, two_tiles
from tileir.execute.interpreter.compiler import Compiler, Registers, Step
from tileir.execute.interpreter.reading import BORROWED, KEPT, how_held
from tileir.execute.interpreter.views import TileView
from tileir.execute.memory import KEPT_BYTES
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64
from tileir.ir.values import Value


def product_loop(
    compiler: Compiler, operation: Operation, bounds: Callable[[Registers], range], loop: Step
) -> Step | None:
    """The step of a `for` that only adds products; `loop` is its steps one by one.  None if it does anything else."""
    if compiler.options.observer is not None or compiler.options.exact or len(operation.results) != 1:
        return None
    found = _parts(compiler, operation)
    if found is None:
        return None
    left, right, product = found
    left_view, right_view = (compiler.slot(load.operand_group("view")[0]) for load in (left, right))
    row, column = (compiler.slot(load.operand_group("index")[number]) for load, number in ((left, 0), (right, 1)))
    initial, result = compiler.slot(operation.operands[3]), compiler.slot(operation.results[0])
    tile = cast(TileType, product.results[0].type)
    shape, dtype = tile.shape, value_dtype(tile.element)
    matmul, add = numpy.matmul, numpy.add

    def run(registers: Registers) -> int | None:
        span = bounds(registers)
        pair = _tiles(registers[left_view], int(registers[row]), registers[right_view], int(registers[column]), span)
        if pair is None:
            return loop(registers)
        total = registers[initial]
        target, other = two_tiles(shape, dtype)
        for one, two in zip(*pair, strict=True):
            matmul(one, two, target)
            add(target, total, target)
            total = target
            target, other = other, target
        registers[result] = total
        return None

    return run


def _tiles(left: TileView, row: int, right: TileView, column: int, span: range) -> tuple[Array, Array] | None:
    """The tiles of both sides, round by round; None unless all are whole and lie as products want them."""
    start, stop = span.start, span.stop
    if span.step != 1 or start < 0 or stop <= start or row < 0 or column < 0 or not left.orderly:
        return None
    rows, columns = left.whole, right.whole
    if rows.ndim != 4 or columns.ndim != 4 or row >= rows.shape[0] or column >= columns.shape[1]:
        return None
    region = right.tensor.region
    if stop > rows.shape[1] or stop > columns.shape[0] or region is None:
        return None
    key = (right, start, stop, column, "panel")
    panel: Any = right.kept.get(key)
    if panel is None:
        tiles = columns[start:stop, column]
        if tiles.nbytes > KEPT_BYTES:
            return None
        panel = tiles.copy()
        region.keep(key, panel)
    return rows[row, start:stop], panel


def _parts(compiler: Compiler, operation: Operation) -> tuple[Operation, Operation, Operation] | None:
    """The loads of the left and of the right tile, and the product; None if there is anything else in the loop."""
    block = operation.regions[0].block
    body = list(block)
    if len(body) != 4 or body[2].declaration is not MMAF or body[3].declaration is not CONTINUE:
        return None
    product = body[2]
    element = cast(TileType, product.operands[2].type).element
    if element not in (F32, F64) or len(cast(TileType, product.results[0].type).shape) != 2:
        return None
    sides: list[Operation] = []
    for number, held in ((0, BORROWED), (1, KEPT)):
        load = next((each for each in body[:2] if each.results and each.results[0] is product.operands[number]), None)
        if load is None or not _is_plain(compiler, load, product.operands[number], held):
            return None
        if cast(TileType, product.operands[number].type).element is not element:
            return None
        sides.append(load)
    counter = block.arguments[0]
    (i, along), (down, j) = (load.operand_group("index") for load in sides)
    if along is not counter or down is not counter or i in block.arguments or j in block.arguments:
        return None
    return (sides[0], sides[1], product) if accumulates(compiler, product) else None


def _is_plain(compiler: Compiler, load: Operation, tile: Value, held: int) -> bool:
    if load.declaration is not LOAD_VIEW_TKO or tile.use_count != 1:
        return False
    if any(other.use_count for other in load.results[1:]):
        return False
    type = load.operand_group("view")[0].type
    return isinstance(type, PartitionViewType) and len(type.tile_shape) == 2 and how_held(compiler, load) == held
