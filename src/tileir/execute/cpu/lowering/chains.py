"""Loops over k that only add products of tiles, taken many iterations at a time.

The tiles that such a loop multiplies lie side by side in memory, so many products of short tiles are one of long ones.
The sum is the same: its terms are added in the same order.  Accumulators stay in registers from the first term to the
last, and the right operand is packed in stretches that fill a good part of the second cache, whatever the tiles are.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import FOR
from tileir.dialect.types import PartitionViewType
from tileir.execute.analysis.values import scalar_constant
from tileir.execute.cpu.loops.expressions import Expression, Gathered, Table, Viewed, matrix_in_memory
from tileir.execute.cpu.loops.order import block_axis, may_change_order
from tileir.execute.cpu.loops.sinks import StoreBuffer
from tileir.execute.cpu.loops.statements import (
    Chain,
    Group,
    Memo,
    Multiply,
    Nest,
    Repeat,
    Terminator,
    memo_slots,
)
from tileir.execute.cpu.lowering.context import Lowering, source_of
from tileir.execute.cpu.lowering.memos import memo_keys, remembered
from tileir.execute.cpu.lowering.pointer_chains import chained_through_pointers
from tileir.execute.cpu.matrix.plan import MmaPlan, plan_of_vectors
from tileir.execute.dtypes import plain_memory
from tileir.ir.core import Operation
from tileir.ir.types import TF32
from tileir.ir.values import Value

_LENGTHS: Final[dict[str, int]] = {"amx": 1024, "dots": 1024, "fma": 2048}
"""About how many terms are taken together, by the kind of the plan.  Blocks of C in vectors, which are small, are read
and written for each such part, and wait for it: twice as many parts of half as many terms took 4 % longer."""
_PANEL_PARTS: Final[dict[str, int]] = {"amx": 2, "dots": 4, "fma": 2}
"""How large the packed operand of that may be: such a part of the second cache.  It is read once for every few rows,
and should stay there beside the rest."""

_COPY_PARTS: Final = 4
"""How large a left operand that is computed may be: such a part of the second cache."""
_COPY_LENGTH: Final = 1024
"""About how many terms of it are taken together: many rows are to be remembered."""
_LEFT_SLOTS: Final = 64
"""Stretches of k of rows of tile blocks of which the left operand of matrix tiles is remembered, at most."""
_LEFT_BYTES: Final = 1 << 22
"""How much memory that may take; what is not used of it is never touched."""


def chained(lowering: Lowering, loop: Repeat) -> list[Chain]:
    """The loop as chains of products, one for each sum that it carries; none where it is something else, or nothing is
    gained."""
    operation = loop.operation
    if operation.declaration is not FOR:
        return []
    *products, end = loop.body
    block = operation.regions[0].blocks[0]
    if not isinstance(end, Terminator) or not products or len(products) != len(operation.results):
        return _through_pointers(lowering, loop)
    found: list[Chain] = []
    for product in products:
        if not isinstance(product, Multiply) or product.plan.kind not in _PANEL_PARTS:
            return _through_pointers(lowering, loop)
        if isinstance(product.lhs, Gathered):
            return _through_pointers(lowering, loop)
        if len(products) > 1 and product.plan.kind != "fma":
            return []
        start, result = product.operation.operands[2], product.operation.results[0]
        places = [number for number, value in enumerate(end.operation.operands) if value is result]
        if len(places) != 1 or block.arguments[1 + places[0]] is not start:
            return []
        if not _suits(lowering, operation, product):
            return []
        if len(products) > 1 and not _stays_in_arrays(lowering, product):
            return []
    for product in products:
        assert isinstance(product, Multiply)
        part = Repeat(operation, [product, end]) if len(products) > 1 else loop
        found.append(_chained(lowering, part, product))
    return found


def _stays_in_arrays(lowering: Lowering, product: Multiply) -> bool:
    """Whether no load of a product can fail: of several mistakes a loop finds that of the first turn, whatever sum it
    belongs to, and chains that follow each other would not."""
    return all(
        isinstance(read, Viewed) and lowering.origins.stays_in_array(source_of(read))
        for read in product.lhs.reads | product.rhs.reads
    )


def _through_pointers(lowering: Lowering, loop: Repeat) -> list[Chain]:
    largest = lowering.target.second_cache_bytes // _PANEL_PARTS["fma"]
    chain = chained_through_pointers(lowering, loop, _LENGTHS["fma"], largest)
    return [chain] if chain is not None else []


def _tiles(lowering: Lowering, plan: MmaPlan) -> int:
    """How many iterations are taken together; 0 where even one has too large a panel."""
    largest = lowering.target.second_cache_bytes // _PANEL_PARTS[plan.kind]
    tiles = max(min(_LENGTHS[plan.kind] // plan.k, largest // plan.packed_bytes), 1)
    return tiles if tiles * plan.packed_bytes <= largest else 0


def _suits(lowering: Lowering, operation: Operation, product: Multiply) -> bool:
    """Whether the products of a loop may be a chain."""
    if (
        product.scales
        or product.zero_init
        or len(product.lhs.shape) != 2
        or scalar_constant(operation.operands[2]) != 1
    ):
        return False
    if not _tiles(lowering, product.plan):
        return False
    if product.plan.kind == "fma":
        if product.memo is None or product.left is None or operation.unsigned_cmp:
            return False
        return 0 not in _computed(lowering, operation, product) or _may_be_copied(product.lhs)
    lhs, rhs = product.lhs, product.rhs
    counter = operation.regions[0].blocks[0].arguments[0]
    if not isinstance(lhs, Viewed) or not isinstance(rhs, Viewed) or not product.in_place:
        return False
    if not _walks(lowering, lhs, counter, 1, operation) or not _walks(lowering, rhs, counter, 0, operation):
        return False
    view = rhs.operation.view
    if not lowering.origins.is_launch_constant(view) or not lowering.is_never_written(lowering.origins.of(view)):
        return False
    return _lie_in_rows(lhs, rhs)


def _chained(lowering: Lowering, loop: Repeat, product: Multiply) -> Chain:
    """The loop of one product as a chain."""
    plan = product.plan
    tiles = _tiles(lowering, plan)
    if plan.kind == "fma":
        return _without_the_loop(lowering, loop, product, tiles)
    lhs, rhs = product.lhs, product.rhs
    assert isinstance(lhs, Viewed) and isinstance(rhs, Viewed)
    size = tiles * plan.packed_bytes
    slots = memo_slots(size)
    keys = [rhs.operation.index[1]]
    memo = remembered(lowering, keys, slots, plan.rhs_dtype, size // plan.rhs_dtype.itemsize, 2)
    chain = Chain(loop, product, tiles, memo)
    if plan.kind == "amx":
        _remember_left(lowering, chain, lhs)
    return chain


def _computed(lowering: Lowering, operation: Operation, product: Multiply) -> list[int]:
    """The operands (0 and 1) that are not matrices in memory, tiles side by side: they are brought tile by tile."""
    plan = product.plan
    counter = operation.regions[0].blocks[0].arguments[0]
    found = []
    for side, operand in enumerate((product.lhs, product.rhs)):
        load = matrix_in_memory(operand)
        as_it_is = operand.dtype == (plan.lhs_dtype, plan.rhs_dtype)[side] and operand.element is not TF32
        if load is None or not as_it_is or not _walks(lowering, load, counter, 1 - side, operation):
            found.append(side)
    return found


def _without_the_loop(lowering: Lowering, loop: Repeat, product: Multiply, tiles: int) -> Chain:
    """A chain that does all turns: what lies over an edge is copied, as long as everything else.

    So the buffers of the product hold more, and its panels are found without the loop's counter.
    """
    operation, plan, memo = loop.operation, product.plan, product.memo
    assert memo is not None and product.left is not None
    counter = operation.regions[0].blocks[0].arguments[0]
    computed = _computed(lowering, operation, product)
    if 0 in computed:
        limit = lowering.target.second_cache_bytes // _COPY_PARTS
        tiles = max(min(tiles, _COPY_LENGTH // plan.k, limit // (plan.m * plan.k * plan.lhs_dtype.itemsize)), 1)
    size = plan.m * tiles * plan.k
    product.left.count = size
    left = None
    keys = memo_keys(lowering, [product.lhs]) if 0 in computed else []
    if keys:
        slots = memo_slots(size * plan.lhs_dtype.itemsize)
        others = [key for key in keys if key is not counter]
        left = remembered(lowering, others, slots, plan.lhs_dtype, size, 2)
    memo.keys = [key for key in reversed(memo.keys) if key is not counter]
    memo.slots = memo_slots(tiles * plan.packed_bytes)
    memo.panels.count = memo.slots * tiles * plan.packed_elements
    memo.tags.count = (4 + max(len(memo.keys), 1)) * memo.slots
    return Chain(loop, product, tiles, memo, left, computed=frozenset(computed))


def _may_be_copied(operand: Expression) -> bool:
    """Whether a left operand is copied in every turn anyway, as the loop would: it is in no buffer."""
    return not operand.buffers


def _remember_left(lowering: Lowering, chain: Chain, lhs: Viewed) -> None:
    """Have the left operand of matrix tiles packed once for all tile blocks of a row, if it stays as it is.

    They find it where a launch has one row of them, or a thread some neighbours of one.
    """
    plan = chain.product.plan
    view = lhs.operation.view
    if not lowering.origins.is_launch_constant(view) or not lowering.is_never_written(lowering.origins.of(view)):
        return
    if not plan.stage_elements:
        return
    size = chain.tiles * plan.m * plan.k * plan.parts
    slots = _LEFT_SLOTS
    while slots and slots * size * plan.lhs_dtype.itemsize > _LEFT_BYTES:
        slots //= 2
    if not slots:
        return
    panels = lowering.new_buffer(plan.lhs_dtype, slots * size)
    tags = lowering.new_buffer(numpy.dtype(numpy.int64), 5 * slots)
    panels.persistent = tags.persistent = True
    chain.left = Memo([lhs.operation.index[0]], slots, panels, tags)


_LEAST_ROWS: Final = 64
"""Rows of a product, and for each two columns another, below which those of several tile blocks are better."""
_MOST_BLOCKS: Final = 64
"""Tile blocks that a thread takes at a time, if it is the only one: a larger group is never computed together."""


def _group(lowering: Lowering, chain: Chain) -> Group | None:
    """Tile blocks whose products are one, where theirs is so small that panels are read too often, or not filled."""
    product = chain.product
    small = product.plan
    lhs, rhs = product.lhs, product.rhs
    if not isinstance(lhs, Viewed) or not isinstance(rhs, Viewed) or chain.computed or len(lhs.type.shape) != 2:
        return None
    axes = block_axis(lhs.operation.index[0]), block_axis(rhs.operation.index[1])
    if -1 in axes or axes[0] == axes[1] or not _lie_in_rows(lhs, rhs):
        return None
    if lowering.options.sanitize or not may_change_order(lowering.entry):
        return None
    view = lhs.operation.view
    if not lowering.origins.is_launch_constant(view) or not lowering.is_never_written(lowering.origins.of(view)):
        return None
    # Those that fill the registers beside many rows; beside few they would be more.
    filled = plan_of_vectors(lowering.target, small, max(small.m, _LEAST_ROWS), 1 << 10).columns
    columns = max(filled // small.n, 1)
    rows = max(max(_LEAST_ROWS, columns * small.n // 2) // small.m, 1)
    if not 1 < rows * columns <= _MOST_BLOCKS:
        return None
    plan = plan_of_vectors(lowering.target, small, rows * small.m, columns * small.n)
    result = lowering.new_buffer(plan.accumulator_dtype, plan.m * plan.n)
    tags = lowering.new_buffer(numpy.dtype(numpy.int64), 5)
    result.persistent = tags.persistent = True
    # Panels of the wide product go where those of the other are.
    size = chain.tiles * plan.packed_bytes
    memo = chain.memo
    memo.slots = memo_slots(size)
    memo.panels.count, memo.tags.count = memo.slots * chain.tiles * plan.packed_elements, 5 * memo.slots
    return Group((rows, columns), axes, plan, Memo([], 1, result, tags))


def _lie_in_rows(*loads: Viewed) -> bool:
    """Whether no view turns the matrices it is made of."""
    views = [load.operation.view.type for load in loads]
    return not any(isinstance(view, PartitionViewType) and view.dim_map != (0, 1) for view in views)


def take_clearing(lowering: Lowering, chain: Chain, is_alone: bool) -> None:
    """Leave it to a chain to begin with zeros, where the statement before it does nothing but write them.

    Others than those on matrix tiles are given the chains of their neighbours with it, if they are small and each the
    only one of its loop.
    """
    body = lowering.body
    last = body[-1] if body else None
    if not isinstance(last, Nest) or len(last.sinks) != 1 or chain.product.plan.kind not in ("amx", "fma"):
        return
    sink = last.sinks[0]
    if not isinstance(sink, StoreBuffer) or sink.buffer is not chain.product.accumulator:
        return
    root = sink.expression
    if not isinstance(root, Table) or any(root.array.tobytes()):
        return
    if chain.product.plan.kind == "fma" and chain.paths is None and is_alone:
        chain.group = _group(lowering, chain)
    chain.clearing = last
    body.pop()


def _walks(lowering: Lowering, load: Viewed, counter: Value, axis: int, loop: Operation) -> bool:
    """Whether a load goes along one dimension with the loop's counter, and stays where it is in the other."""
    operation = load.operation
    view = operation.view.type
    if not isinstance(view, PartitionViewType) or not plain_memory(load.element):
        return False
    *before, row, column = operation.index
    along, across = (row, column) if axis == 0 else (column, row)
    for other in (*before, across):
        made = other.defining_operation
        inside = made is not None and lowering.begins[loop] <= lowering.begins[made] <= lowering.ends[loop]
        if other is counter or inside:
            return False
    return along is counter
