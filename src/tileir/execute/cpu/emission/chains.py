"""Emission of chains: the products of a whole k loop at once (`lowering.chains`)."""

from __future__ import annotations

from typing import TypeAlias

from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.control import emit_repeat
from tileir.execute.cpu.emission.destinations import destination_of
from tileir.execute.cpu.emission.grouped_chains import emit_vector_chain
from tileir.execute.cpu.emission.panels import fetch_rows_ahead, panel_of, row_place
from tileir.execute.cpu.emission.products import guarded, row_offset, stage_of, store_packed, woven
from tileir.execute.cpu.emission.tile_packing import pack_tiles
from tileir.execute.cpu.emission.views import Box
from tileir.execute.cpu.loops.expressions import Viewed
from tileir.execute.cpu.loops.order import block_axis
from tileir.execute.cpu.loops.statements import Chain, Multiply
from tileir.execute.cpu.matrix.edges import Reach
from tileir.execute.cpu.matrix.microkernel import bring_rows, emit_mma
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type

_Side: TypeAlias = tuple[Box, str]
"""The tile of an operand in the first turn, and how much of the tensor is left across k."""


def emit_chain(emission: Emission, statement: Chain) -> None:
    """Emit the turns whose tiles lie within their tensors at once, and the loop for those that are left."""
    if statement.product.plan.kind == "fma":
        emit_vector_chain(emission, statement)
        return
    builder = emission.builder
    product = statement.product
    plan = product.plan
    loop = statement.loop.operation
    lower, upper = (emission.whole(value) for value in loop.operands[:2])
    # The boxes of the first turn: the counter is the lower bound.
    counter = loop.regions[0].blocks[0].arguments[0]
    emission.scalars[counter] = emission.scalars[loop.operands[0]]
    assert isinstance(product.lhs, Viewed) and isinstance(product.rhs, Viewed)
    left = accesses.open_box(emission, product.lhs.operation)
    right = accesses.open_box(emission, product.rhs.operation)
    answers = [builder.emit(f"icmp sge i64 {lower}, 0")]
    answers += [box.view.tensor.fits(box.operation) for box in (left, right)]
    turns: Number = builder.subtract(upper, lower)
    known = []
    for box, along in ((left, 1), (right, 0)):
        across = 1 - along
        operands = [f"i64 {box.view.extents[across]}", f"i64 {box.starts[across]}"]
        known.append(builder.call("i64", "llvm.usub.sat.i64", operands))
        # Rows that are staged, and columns that are packed in tiles, are zeros behind an edge.
        if plan.kind != "amx" or (along and not plan.stage_elements) or not box.view.is_zero_outside:
            answers.append(builder.emit(f"icmp uge i64 {known[-1]}, {box.view.shape[across]}"))
        answers.append(builder.emit(f"icmp eq i64 {box.view.strides[1]}, 1"))
        operands = [f"i64 {box.view.extents[along]}", f"i64 {box.starts[along]}"]
        room = builder.emit(f"udiv i64 {builder.call('i64', 'llvm.usub.sat.i64', operands)}, {plan.k}")
        turns = builder.call("i64", "llvm.smin.i64", [f"i64 {turns}", f"i64 {room}"])
    answers.append(builder.emit(f"icmp sgt i64 {turns}, 0"))

    sides = (left, known[0]), (right, known[1])
    goal = destination_of(emission, statement)
    reach = None if goal is None else goal.reach

    def part(turn: Number) -> None:
        rest = builder.emit(f"sub i64 {turns}, {turn}")
        count = builder.call("i64", "llvm.smin.i64", [f"i64 {rest}", f"i64 {statement.tiles}"])
        extent = builder.emit(f"mul i64 {count}, {plan.k}")
        _emit_part(emission, statement, sides, turn, lower, builder.add(lower, turns), extent, reach)

    def parts() -> list[str]:
        builder.count(0, turns, statement.tiles, part)
        return [f"i64 {builder.add(lower, turns)}"]

    def none() -> list[str]:
        if statement.clearing is not None:
            emission.statements([statement.clearing])
        return [f"i64 {lower}"]

    (next_turn,) = builder.branch(builder.all_of(answers), parts, none)
    emit_repeat(emission, statement.loop, casting.cast(builder, Register(next_turn, casting.INT64), dtype_of(counter)))


def _emit_part(
    emission: Emission,
    statement: Chain,
    sides: tuple[_Side, _Side],
    turn: Number,
    lower: Number,
    last: Number,
    extent: str,
    reach: Reach | None,
) -> None:
    """Emit some turns, of operands with what is known of them; `reach` is how much of the result is wanted."""
    builder = emission.builder
    (left, known_rows), (right, known_columns) = sides
    product, memo = statement.product, statement.memo
    plan = product.plan
    known = known_rows, statement.tiles * plan.k
    start = builder.multiply(turn, plan.k)
    size = plan.lhs_dtype.itemsize
    rows = builder.moved(left.pointer, builder.multiply(start, size)), builder.multiply(left.view.strides[0], size)
    row = builder.multiply(right.view.strides[0], plan.rhs_dtype.itemsize)
    b_pointer = builder.moved(right.pointer, builder.multiply(start, row))
    first = builder.add(lower, turn)
    keys = [str(first), str(emission.whole(memo.keys[0]))]
    panel_size = statement.tiles * plan.packed_bytes
    stretch = builder.emit(f"udiv i64 {first}, {statement.tiles}")
    stretches = builder.emit(f"udiv i64 {builder.add(last, statement.tiles - 1)}, {statement.tiles}")
    slot = str(builder.add(stretch, builder.multiply(keys[1], stretches)))

    def pack(panel: str) -> str:
        if plan.kind == "amx":
            return pack_tiles(emission, product, b_pointer, row, panel, extent, known_columns)
        _pack_rows(emission, product, b_pointer, row, panel, extent)
        return guarded(emission, plan, panel, builder.multiply(extent, plan.n * plan.rhs_dtype.itemsize))

    panel, odd = panel_of(emission, memo, [*keys, extent], slot, panel_size, pack)
    stage, staged = stage_of(emission, product), False
    if statement.left is not None:
        index = str(emission.whole(statement.left.keys[0]))

        def bring(stage: str) -> str:
            return bring_rows(builder, plan, rows, extent, stage, known)

        size = statement.tiles * plan.m * plan.k * plan.parts * plan.lhs_dtype.itemsize
        axes = block_axis(statement.left.keys[0]), block_axis(memo.keys[0])
        place = row_place(emission, statement.left, axes, stretch, stretches)
        stage, found = panel_of(emission, statement.left, [str(first), index, extent], place, size, bring)
        odd, staged = builder.any_of([odd, found]), True
    target = emission.buffer(product.accumulator), plan.n * plan.accumulator_dtype.itemsize
    emit_mma(
        builder,
        plan,
        rows,
        panel,
        target,
        suffix=emission.arena_suffix,
        extent=extent,
        stage=stage,
        staged=staged,
        odd=odd,
        fresh=builder.emit(f"icmp eq i64 {turn}, 0") if statement.clearing is not None else "false",
        reach=reach,
        known=known if stage else None,
    )


def _pack_rows(emission: Emission, product: Multiply, source: str, row: Number, panel: str, extent: str) -> None:
    """Pack rows that lie in memory as the plan wants them, `extent` of them."""
    builder = emission.builder
    plan = product.plan
    group, columns, size = plan.group, plan.columns, plan.rhs_dtype.itemsize
    element = scalar_type(plan.rhs_dtype)
    groups = builder.emit(f"udiv i64 {extent}, {group}")
    panel_bytes = builder.multiply(extent, columns * size * plan.parts)

    def step(position: Number) -> None:
        here = builder.moved(source, builder.multiply(builder.multiply(position, group), row))
        fetch_rows_ahead(emission, here, row, group, plan.n * size)
        there = builder.moved(panel, row_offset(emission, plan, position))
        for column in range(0, plan.n, columns):
            rows = []
            for part in range(group):
                where = builder.moved(here, builder.add(builder.multiply(row, part), column * size))
                text = f"load <{columns} x {element}>, ptr {where}, align {size}{emission.memory_suffix}"
                rows.append(Register(builder.emit(text), plan.rhs_dtype, columns))
            target = builder.moved(there, builder.multiply(panel_bytes, column // columns))
            store_packed(emission, plan, woven(emission, rows), target)

    builder.count(0, groups, 1, step)
