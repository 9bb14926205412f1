"""Loops that do nothing but add products of tiles, without a step for each operation.

    for %k in (...) iter_values(%acc = %initial) {
      %x = load_view_tko %a[%i, %k]    %y = load_view_tko %b[%k, %j]    %r = mmaf %x, %y, %acc    continue %r
    }

This is most of what a matrix product does, and its steps took as long as the products.  What is computed is the same,
in the same order with the same bits: only the tiles of all rounds are found at once, the right ones as a copy that
stays with its region, the left ones where they lie in memory (`reading.py` says when either is allowed) or, where many
tile blocks want them, as such a copy too: rows that lie pages apart fall into few sets of a cache.  NumPy then
multiplies the pairs of many rounds in one call, and adds the products up in another, round after round: a call of its
own for each product and each sum took as long again as the work.  A loop that an observer may look into, and a run of
one whose tiles are not all whole, goes its steps.

Where all tiles are such copies, and which ones follows from the number of the tile block, other threads do this for
tile blocks to come (`looking_ahead.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, cast

import numpy

from tileir.dialect.ops import CONTINUE, LOAD_VIEW_TKO, MMAF
from tileir.dialect.types import PartitionViewType, TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.accumulation import accumulates, aligned_tiles
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.interpreter.copies import Copies
from tileir.execute.interpreter.looking_ahead import LookAhead, registers_of, steps_before_blocks
from tileir.execute.interpreter.reading import BORROWED, KEPT, how_held
from tileir.execute.interpreter.views import TileView
from tileir.execute.memory import KEPT_BYTES
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64
from tileir.ir.values import Value

_PRODUCT_BYTES: Final = 1 << 18
"""Bytes of the products that are made before they are added up: a part of a processor's cache."""
_SHARING: Final = 4
"""Tile blocks that have to want a row of tiles for a copy to be worth its time."""
_ONE_THREAD: Final = 1 << 18
"""Multiplications of a product that NumPy's library makes in one thread: those of more have threads already."""
_TASK: Final = 1 << 20
"""Multiplications of a tile block that are worth another thread's time, 20 microseconds or so."""
_LAUNCH: Final = 1 << 26
"""Multiplications of a launch that are worth the start of a thread, a millisecond or so."""


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
    left_view, right_view = (compiler.slot(load.view) for load in (left, right))
    row, column = (compiler.slot(load.index[number]) for load, number in ((left, 0), (right, 1)))
    is_shared = compiler.known_before_blocks(left.view)
    initial, result = compiler.slot(operation.operands[3]), compiler.slot(operation.results[0])
    tile = cast(TileType, product.results[0].type)
    shape, dtype = tile.shape, value_dtype(tile.element)
    rounds = max(_PRODUCT_BYTES // (prod(shape) * dtype.itemsize), 1)
    spare: list[Array] = []
    copies = Copies()
    matmul, add, sum = numpy.matmul, numpy.add, numpy.add.reduce

    def multiply(left_tiles: Array, right_tiles: Array, total: Array) -> Array:
        # Other threads may run this program meanwhile.
        try:
            room = spare.pop()
        except IndexError:
            room = aligned_tiles(rounds, shape, dtype)
        target = numpy.empty(shape, dtype)
        for first in range(0, len(right_tiles), rounds):
            one, two = left_tiles[first : first + rounds], right_tiles[first : first + rounds]
            products = matmul(one, two, room[: len(two)])
            add(products[0], total, products[0])
            # The rounds are the outermost dimension, along which NumPy adds one after the other.
            total = sum(products, axis=0, out=target, initial=None)
        spare.append(room)
        return total

    def find(registers: Registers) -> tuple[tuple[Array, Array, Array], bool] | None:
        """The tiles and what their products are added to, and whether the tiles are copies."""
        blocks = prod(registers[BLOCK_SLOT].grid) if is_shared else 1
        left, right = registers[left_view], registers[right_view]
        span = bounds(registers)
        tiles = _tiles(left, int(registers[row]), right, int(registers[column]), span, blocks, copies)
        return ((tiles[0], tiles[1], registers[initial]), tiles[2]) if tiles is not None else None

    def run(registers: Registers) -> int | None:
        given = find(registers)
        if given is None:
            return loop(registers)
        registers[result] = multiply(*given[0])
        return None

    wanted = [*operation.operands[:3], left.index[0], right.index[1]]
    steps = steps_before_blocks(compiler, operation, wanted)
    size = prod(shape) * cast(TileType, product.operands[0].type).shape[1]
    is_known = is_shared and compiler.known_before_blocks(operation.operands[3])
    if steps is None or not is_known or size > _ONE_THREAD:
        return run
    later = compiler.new_slot()
    compiler.closing.append(later)
    compiler.uniform.append(_look_ahead(later, multiply))

    def foretell(registers: Registers, number: int) -> tuple[Array, Array, Array] | None:
        """What the tile block of a number will find; None if it may find anything else."""
        try:
            given = find(registers_of(registers, number, steps))
        except (ExecutionError, MemoryError, RecursionError):
            # It is told of where it happens.
            return None
        return given[0] if given is not None and given[1] else None

    def run_ahead(registers: Registers) -> int | None:
        given = find(registers)
        if given is None:
            return loop(registers)
        tiles, are_copies = given
        block: TileBlock = registers[BLOCK_SLOT]
        if not are_copies or len(tiles[1]) * size < _TASK or len(tiles[1]) * size * prod(block.grid) < _LAUNCH:
            registers[result] = multiply(*tiles)
            return None
        ahead: LookAhead = registers[later]
        registers[result] = ahead.result(block.number, tiles, lambda number: foretell(registers, number))
        return None

    return run_ahead


def _look_ahead(slot: int, work: Callable[[Array, Array, Array], Array]) -> Step:
    """What a launch begins with."""

    def look_ahead(registers: Registers) -> None:
        registers[slot] = LookAhead(work, prod(registers[BLOCK_SLOT].grid))

    return look_ahead


def _tiles(
    left: TileView, row: int, right: TileView, column: int, span: range, blocks: int, copies: Copies
) -> tuple[Array, Array, bool] | None:
    """The tiles of both sides, round by round, and whether all are copies.

    None unless all are whole and lie as products want them.

    `blocks` is how many tile blocks of the launch may share a copy of the left ones.
    """
    start, stop = span.start, span.stop
    if span.step != 1 or start < 0 or stop <= start or row < 0 or column < 0 or not left.orderly:
        return None
    rows, columns = left.whole, right.whole
    if rows.ndim != 4 or columns.ndim != 4 or row >= rows.shape[0] or column >= columns.shape[1]:
        return None
    if stop > rows.shape[1] or stop > columns.shape[0]:
        return None
    panel = _kept(right, 1, column, start, stop, copies)
    if panel is None:
        return None
    # Each row of tiles is wanted by so many tile blocks, if all rows are wanted alike.
    if blocks >= _SHARING * rows.shape[0] and rows.nbytes <= KEPT_BYTES:
        copy = _kept(left, 0, row, start, stop, copies)
        if copy is not None:
            return copy, panel, True
    return rows[row, start:stop], panel, False


def _kept(view: TileView, axis: int, place: int, start: int, stop: int, copies: Copies) -> Array | None:
    """The copy of a row (axis 0) or column of tiles that stays with their region; None if they are too many for it."""
    key = (view, axis, place, start, stop)
    found: Array | None = view.kept.get(key)
    if found is not None:
        return found
    tiles = view.whole[start:stop, place] if axis else view.whole[place, start:stop]
    region = view.tensor.region
    if region is None or tiles.nbytes > KEPT_BYTES:
        return None
    copy = copies.of(tiles)
    region.keep(key, copy)
    return copy


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
    (i, along), (down, j) = (load.index for load in sides)
    if along is not counter or down is not counter or i in block.arguments or j in block.arguments:
        return None
    return (sides[0], sides[1], product) if accumulates(compiler, product) else None


def _is_plain(compiler: Compiler, load: Operation, tile: Value, held: int) -> bool:
    if load.declaration is not LOAD_VIEW_TKO or tile.use_count != 1:
        return False
    if any(other.use_count for other in load.results[1:]):
        return False
    type = load.view.type
    return isinstance(type, PartitionViewType) and len(type.tile_shape) == 2 and how_held(compiler, load) == held
