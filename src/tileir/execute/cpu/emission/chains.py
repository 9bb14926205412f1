"""Emission of chains: the products of a whole k loop at once (`lowering.chains`)."""

from __future__ import annotations

from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.panels import panel_of
from tileir.execute.cpu.emission.products import guarded, row_offset, stage_of, store_packed, woven
from tileir.execute.cpu.emission.views import Box
from tileir.execute.cpu.loops.expressions import Viewed
from tileir.execute.cpu.loops.statements import Chain, Multiply
from tileir.execute.cpu.matrix.microkernel import emit_mma
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type


def emit_chain(emission: Emission, statement: Chain) -> None:
    builder = emission.builder
    product = statement.product
    plan = product.plan
    loop = statement.loop.operation
    lower, upper = (emission.whole(value) for value in loop.operands[:2])
    turns = builder.subtract(upper, lower)
    # The boxes of the first turn: the counter is the lower bound.
    counter = loop.regions[0].blocks[0].arguments[0]
    emission.scalars[counter] = emission.scalars[loop.operands[0]]
    assert isinstance(product.lhs, Viewed) and isinstance(product.rhs, Viewed)
    left = accesses.open_box(emission, product.lhs.operation)
    right = accesses.open_box(emission, product.rhs.operation)
    answers = [builder.emit(f"icmp sge i64 {lower}, 0")]
    answers += [box.view.tensor.fits(box.operation) for box in (left, right)]
    for box, along in ((left, 1), (right, 0)):
        for axis in (0, 1):
            length: Number = box.view.shape[axis]
            if axis == along:
                length = builder.multiply(turns, plan.k)
            end = builder.add(box.starts[axis], length)
            answers.append(builder.emit(f"icmp ule i64 {end}, {box.view.extents[axis]}"))
        answers.append(builder.emit(f"icmp eq i64 {box.view.strides[1]}, 1"))
    answers.append(builder.emit(f"icmp sgt i64 {turns}, 0"))

    def part(turn: Number) -> None:
        rest = builder.emit(f"sub i64 {turns}, {turn}")
        count = builder.call("i64", "llvm.smin.i64", [f"i64 {rest}", f"i64 {statement.tiles}"])
        extent = builder.emit(f"mul i64 {count}, {plan.k}")
        _emit_part(emission, statement, left, right, turn, lower, extent)

    builder.branch(
        builder.all_of(answers),
        lambda: builder.count(0, turns, statement.tiles, part),
        lambda: emission.statements([statement.loop]),
    )


def _emit_part(
    emission: Emission, statement: Chain, left: Box, right: Box, turn: Number, lower: Number, extent: str
) -> None:
    builder = emission.builder
    product, memo = statement.product, statement.memo
    plan = product.plan
    start = builder.multiply(turn, plan.k)
    size = plan.lhs_dtype.itemsize
    rows = builder.moved(left.pointer, builder.multiply(start, size)), builder.multiply(left.view.strides[0], size)
    row = builder.multiply(right.view.strides[0], plan.rhs_dtype.itemsize)
    b_pointer = builder.moved(right.pointer, builder.multiply(start, row))
    first = builder.add(lower, turn)
    keys = [str(first), str(emission.whole(memo.keys[0]))]
    panel_size = statement.tiles * plan.packed_bytes
    slot = builder.add(builder.emit(f"udiv i64 {first}, {statement.tiles}"), keys[1])

    def pack(panel: str) -> str:
        _pack_rows(emission, product, b_pointer, row, panel, extent)
        return guarded(emission, plan, panel, builder.multiply(extent, plan.n * plan.rhs_dtype.itemsize * plan.parts))

    panel, odd = panel_of(emission, memo, [*keys, extent], slot, panel_size, pack)
    target = emission.buffer(product.accumulator), plan.n * plan.accumulator_dtype.itemsize
    stage = stage_of(emission, product)
    emit_mma(builder, plan, rows, panel, target, suffix=emission.arena_suffix, extent=extent, stage=stage, odd=odd)


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
