"""Lowering of `reduce`, `scan` and matrix products."""

from __future__ import annotations

from math import prod
from typing import Final

from tileir.dialect.ops import MMAF_SCALED, SCAN
from tileir.dialect.types import tile_type
from tileir.execute.analysis.values import is_scalar, is_tile, tile_of
from tileir.execute.cpu.loops.expressions import (
    Buffer,
    Expression,
    Mapping,
    Stored,
    Table,
    is_along_lanes,
    matrix_in_memory,
)
from tileir.execute.cpu.loops.sinks import StoreBuffer, StoreScalar
from tileir.execute.cpu.loops.statements import Alias, Memo, Multiply, Nest, Reduce, memo_slots, works_on_vectors
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.memos import memo_keys, remembered
from tileir.execute.cpu.lowering.tiles import see_through
from tileir.execute.cpu.matrix.plan import MmaPlan, plan, plan_scaled
from tileir.execute.dtypes import value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import F32, TF32
from tileir.ir.values import Value


def lower_reduce(lowering: Lowering, operation: Operation) -> None:
    axis = operation.dim
    shape = tile_of(operation.operands[0]).shape
    if prod(shape) == 1:
        for source, result in zip(operation.operands, operation.results, strict=True):
            lowering.body.append(Alias(result, source))
        return
    if shape[axis] == 1:
        # Nothing to combine: the elements themselves.
        for source, result in zip(operation.operands, operation.results, strict=True):
            _drop_axis(lowering, result, source, axis)
        return
    body = lowering.inner_scalars(operation.regions[0].blocks[0])
    scanning = operation.declaration is SCAN
    if scanning or not is_along_lanes(shape, axis) or not works_on_vectors(body):
        for value in operation.operands:
            lowering.store(value)
    sources = [lowering.expression(value) for value in operation.operands]
    sources, kept = lowering.prepare(sources, shape, operation)
    targets = lowering.result_buffers(operation.results)
    lowering.body.append(Reduce(operation, shape, axis, sources, targets, kept, body))
    lowering.stored_results(operation.results, targets)


def _drop_axis(lowering: Lowering, result: Value, source: Value, axis: int) -> None:
    if is_scalar(source):
        lowering.body.append(Alias(result, source))
        return
    expression = lowering.expression(source)
    keeps_rank = len(tile_of(result).shape) == len(expression.shape)
    mapping: Mapping = tuple(
        [
            (place if keeps_rank or place < axis else None if place == axis else place - 1, None)
            for place in range(len(expression.shape))
        ]
    )
    see_through(lowering, result, expression, mapping)


def lower_product(lowering: Lowering, operation: Operation) -> None:
    lhs, rhs = operation.operands[:2]
    result = operation.results[0]
    type = tile_of(result)
    plan = _plan(lowering, operation)
    scales = [lowering.expression(value) for value in operation.operands[3:5]]
    left, right = lowering.expression(lhs), lowering.expression(rhs)
    for value, expression in ((lhs, left), (rhs, right), *zip(operation.operands[3:5], scales, strict=True)):
        if is_tile(value) and expression.cost > fusion.LARGEST // 2:
            lowering.store(value)
    roots = lowering.resolved([left, right, *scales])
    # A copy of the left operand is a nest of its own: what is wanted elsewhere too is stored before.
    for root in roots:
        reach = fusion.Reach([root], root.shape, [operation])
        for node in reach.order:
            if fusion.must_be_kept(node, reach, lowering.done) and node.value is not None:
                lowering.store(node.value)
    roots = lowering.resolved(roots)
    prepared = [lowering.prepare([root], root.shape, operation) for root in roots]
    assert not any(kept for _, kept in prepared)
    roots = lowering.resolved([root for (root,), _ in prepared])
    # The operands are read while the accumulator is written.
    busy = frozenset().union(*[root.buffers for root in roots])
    buffer, zero_init = _accumulator(lowering, operation, plan, busy)
    roots = lowering.resolved(roots)
    left, right, scales = roots[0], roots[1], roots[2:]
    load = matrix_in_memory(left)
    # The bits of a tf32 that do not count are dropped on the way to a copy.
    as_it_is = left.dtype == plan.lhs_dtype and left.element is not TF32 and not scales
    in_place = load is not None and fusion.is_plain_load(load) and as_it_is
    copy: Buffer | None = None
    if not isinstance(left, Stored) or not as_it_is:
        copy = lowering.new_buffer(plan.lhs_dtype, plan.m * plan.k)
    memo = _memo(lowering, operation, right, scales, plan)
    packed = None if memo is not None else lowering.new_buffer(plan.rhs_dtype, plan.packed_elements)
    stage = lowering.new_buffer(plan.lhs_dtype, plan.stage_elements) if plan.stage_elements else None
    brought = _brought(lowering, operation, left, plan) if stage is not None and in_place else None
    product = Multiply(
        operation, plan, left, right, scales, buffer, packed, copy, in_place, memo,
        None if brought is not None else stage, brought, zero_init,
    )  # fmt: skip
    lowering.body.append(product)
    lowering.finish({operation})
    is_wide = plan.accumulator_dtype != value_dtype(type.element)
    held = Stored(tile_type(type.shape, F32) if is_wide else type, None, buffer)
    if is_scalar(result):
        lowering.body.append(Nest(type.shape, [StoreScalar(held, result)]))
        return
    if is_wide:
        buffer = lowering.new_buffer(value_dtype(type.element), type.count)
        lowering.body.append(Nest(type.shape, [StoreBuffer(held, buffer)]))
    lowering.stored(result, buffer)


def _plan(lowering: Lowering, operation: Operation) -> MmaPlan:
    lhs, rhs, accumulator = [tile_of(value) for value in operation.operands[:3]]
    m, k, n = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    if operation.declaration is MMAF_SCALED:
        return plan_scaled(lowering.target, tile_of(operation.operands[3]).element, m, n, k)
    signs = [operation.keyword(f"signedness_{side}") != "unsigned" for side in ("lhs", "rhs")]
    exact = lowering.options.exact
    return plan(lowering.target, lhs.element, rhs.element, accumulator.element, m, n, k, exact, signs[0], signs[1])


def _accumulator(
    lowering: Lowering, operation: Operation, plan: MmaPlan, busy: frozenset[Buffer]
) -> tuple[Buffer, bool]:
    """The buffer that gets the result, and whether the addend is zero and not there yet.

    It is the addend's own buffer where nobody else wants it.
    """
    value, result = operation.operands[2], operation.results[0]
    type = tile_of(result)
    place = lowering.expression(value)
    if plan.accumulator_dtype != value_dtype(type.element):
        buffer = lowering.new_buffer(plan.accumulator_dtype, type.count)
        lowering.nest(place, operation, lambda root: StoreBuffer(root, buffer))
        return buffer, False
    if isinstance(place, Stored) and value.parent_block is operation.parent and place.buffer not in busy:
        alone = all(user is operation or user in lowering.done for user in value.users)
        if alone and not lowering.shares(place.buffer, value, operation):
            return place.buffer, False
    reach = fusion.Reach([place], type.shape, [operation])
    finished = fusion.finished(reach, set(), [operation], lowering.done)
    buffer = lowering.buffer_for(result, reach, finished)
    if buffer in busy:
        buffer = lowering.new_buffer(plan.accumulator_dtype, type.count)
    (place,), kept = lowering.prepare([place], place.shape, operation)
    if _is_zero(place) and plan.kind != "dots" and not kept:
        return buffer, True
    lowering.body.append(Nest(place.shape, [*kept, StoreBuffer(place, buffer)]))
    return buffer, False


def _is_zero(expression: Expression) -> bool:
    """Whether all elements are 0, and none -0.0."""
    if not isinstance(expression, Table) or expression.array.size != 1:
        return False
    return not any(expression.array.tobytes())


def _memo(
    lowering: Lowering, operation: Operation, right: Expression, scales: list[Expression], plan: MmaPlan
) -> Memo | None:
    """How packed right operands can be remembered; None where they cannot."""
    keys = memo_keys(lowering, [right, *scales[1:]])
    slots = memo_slots(plan.packed_bytes)
    if not keys or slots == 1:
        return None
    return remembered(lowering, keys, slots, plan.rhs_dtype, plan.packed_elements)


def _brought(lowering: Lowering, operation: Operation, left: Expression, plan: MmaPlan) -> Memo | None:
    """How staged rows can be remembered for all turns of a loop that finds the left operand made; None where not."""
    load = matrix_in_memory(left)
    batch = left.shape[0] if len(left.shape) == 3 else 1
    if load is None or load.operation.parent is operation.parent or batch > _LARGEST_BATCH:
        return None
    keys = memo_keys(lowering, [left])
    if not keys:
        return None
    return remembered(lowering, keys, batch, plan.lhs_dtype, plan.m * plan.k * plan.parts)


_LARGEST_BATCH: Final = 8
"""Products of one operation whose left operands are remembered side by side."""
