"""Emission of chains: the products of a whole k loop at once (`lowering.chains`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tileir.execute.cpu.emission import accesses
from tileir.execute.cpu.emission.nests import Number
from tileir.execute.cpu.emission.products import panel_of, stage_of, woven
from tileir.execute.cpu.loops.expressions import Viewed
from tileir.execute.cpu.loops.statements import Chain, Multiply, Statement
from tileir.execute.cpu.matrix.microkernel import emit_mma
from tileir.execute.cpu.vector.llvm import Register, scalar_type

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission


def emit_chain(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Chain)
    builder = emission.builder
    product = statement.product
    plan = product.plan
    loop = statement.loop.operation
    lower, upper = (emission.whole(value) for value in loop.operands[:2])
    turns = emission.subtract(upper, lower)
    # The boxes of the first turn: the counter is the lower bound.
    counter = loop.regions[0].blocks[0].arguments[0]
    emission.scalars[counter] = emission.scalars[loop.operands[0]]
    assert isinstance(product.lhs, Viewed) and isinstance(product.rhs, Viewed)
    left = accesses.open_box(emission, product.lhs.operation)
    right = accesses.open_box(emission, product.rhs.operation)
    answer = builder.emit(f"icmp sge i64 {lower}, 0")
    for box in (left, right):
        fits = box.view.tensor.fits(box.operation)
        answer = answer if fits == "true" else builder.emit(f"and i1 {answer}, {fits}")
    for box, along in ((left, 1), (right, 0)):
        for axis in (0, 1):
            length: Number = box.view.shape[axis]
            if axis == along:
                length = emission.multiply(turns, plan.k)
            end = emission.add(box.starts[axis], length)
            fits = builder.emit(f"icmp ule i64 {end}, {box.view.extents[axis]}")
            answer = builder.emit(f"and i1 {answer}, {fits}")
        together = builder.emit(f"icmp eq i64 {box.view.strides[1]}, 1")
        answer = builder.emit(f"and i1 {answer}, {together}")
    some = builder.emit(f"icmp sgt i64 {turns}, 0")
    answer = builder.emit(f"and i1 {answer}, {some}")
    name = builder.fresh("chain")
    builder.do(f"br i1 {answer}, label %{name}.before, label %{name}.apart")
    builder.label(f"{name}.apart")
    emission.statements([statement.loop])
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.before")
    builder.do(f"br label %{name}.head")
    builder.label(f"{name}.head")
    builder.lines.append(f"  %{name}.i = phi i64 [ 0, %{name}.before ], [ %{name}.next, %{name}.latch ]")
    rest = builder.emit(f"sub i64 {turns}, %{name}.i")
    count = builder.call("i64", "llvm.smin.i64", [f"i64 {rest}", f"i64 {statement.tiles}"])
    extent = builder.emit(f"mul i64 {count}, {plan.k}")
    _emit_part(emission, statement, left, right, f"%{name}.i", lower, extent)
    builder.do(f"br label %{name}.latch")
    builder.label(f"{name}.latch")
    builder.lines.append(f"  %{name}.next = add i64 %{name}.i, {statement.tiles}")
    more = builder.emit(f"icmp slt i64 %{name}.next, {turns}")
    builder.do(f"br i1 {more}, label %{name}.head, label %{name}.done")
    builder.label(f"{name}.done")
    builder.do(f"br label %{name}.end")
    builder.label(f"{name}.end")


def _emit_part(
    emission: Emission, statement: Chain, left: accesses.Box, right: accesses.Box, turn: str, lower: Number, extent: str
) -> None:
    product, memo = statement.product, statement.memo
    plan = product.plan
    start = emission.multiply(turn, plan.k)
    size = plan.lhs_dtype.itemsize
    a_pointer = emission.shifted(left.pointer, emission.multiply(start, size))
    a_stride = emission.multiply(left.view.strides[0], size)
    row = emission.multiply(right.view.strides[0], plan.rhs_dtype.itemsize)
    b_pointer = emission.shifted(right.pointer, emission.multiply(start, row))
    first = emission.add(lower, turn)
    keys = [str(first), str(emission.whole(memo.keys[0]))]
    panel_size = statement.tiles * plan.packed_bytes
    slot = emission.add(emission.builder.emit(f"udiv i64 {first}, {statement.tiles}"), keys[1])

    def pack(panel: str) -> None:
        _pack_rows(emission, product, b_pointer, row, panel, extent)

    panel = panel_of(emission, memo, [*keys, extent], slot, panel_size, pack)
    suffix = emission.arena_suffix
    emit_mma(
        emission.builder,
        plan,
        a_pointer,
        str(a_stride),
        panel,
        emission.buffer(product.accumulator),
        plan.n * plan.accumulator_dtype.itemsize,
        b_suffix=suffix,
        c_suffix=suffix,
        extent=extent,
        stage=stage_of(emission, product),
    )


def _pack_rows(emission: Emission, product: Multiply, source: str, row: Number, panel: str, extent: str) -> None:
    """Pack rows that lie in memory as the plan wants them, `extent` of them."""
    builder = emission.builder
    plan = product.plan
    group, columns, size = plan.group, plan.columns, plan.rhs_dtype.itemsize
    element = scalar_type(plan.rhs_dtype)
    groups = builder.emit(f"udiv i64 {extent}, {group}")
    panel_bytes = emission.multiply(extent, columns * size)

    def step(position: Number) -> None:
        here = emission.shifted(source, emission.multiply(emission.multiply(position, group), row))
        there = emission.shifted(panel, emission.multiply(position, group * columns * size))
        for column in range(0, plan.n, columns):
            rows = []
            for part in range(group):
                where = emission.shifted(here, emission.add(emission.multiply(row, part), column * size))
                text = f"load <{columns} x {element}>, ptr {where}, align {size}{emission.memory_suffix}"
                rows.append(Register(builder.emit(text), plan.rhs_dtype, columns))
            packed = woven(emission, rows)
            target = emission.shifted(there, emission.multiply(panel_bytes, column // columns))
            builder.do(f"store {packed.typed}, ptr {target}, align {size}{emission.arena_suffix}")

    emission.count_loop(groups, step)
