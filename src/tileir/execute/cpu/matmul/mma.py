"""Lowering of one matmul: its plan, its operands, and their scratch memory."""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import MMAF_SCALED
from tileir.dialect.types import tile_type
from tileir.execute.analysis.values import dtype_of, is_scalar, is_tile, tile_of
from tileir.execute.cpu.ir.expressions import (
    Buffer,
    BufferRead,
    Elementwise,
    Expression,
    Iota,
    Mapped,
    Splat,
    Table,
    ViewLoad,
    matrix_in_memory,
    nodes,
)
from tileir.execute.cpu.ir.statements import LoopNest, Matmul, PackCache, StoreBuffer, StoreScalar
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.matmul.plan import Plan, make_plan, make_scaled_plan
from tileir.execute.dtypes import DType, value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import F32, TF32
from tileir.ir.values import Value

_CACHE_BYTES: Final = 1 << 23
"""How much memory the packed operands of one matmul may take; what is not used of it is never touched.

They pay as long as those of a whole row of tile blocks are cached, also far beyond a thread's own caches: packing takes
longer than reading from the next ones."""
_CACHE_SLOTS: Final = 256
_POINTER_KEYS: Final = 4
"""What operands behind pointers are found by (`operands.PointerOperand`)."""
_LARGEST_BATCH: Final = 8
"""Matmuls of one operation whose packed A are cached side by side."""


def lower_mma(lowering: Lowering, operation: Operation) -> None:
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
    # A copy of A is a nest of its own: what is used elsewhere too is stored before.
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
    left, right, *scales = lowering.resolved(roots)
    lowering.body.append(_matmul(lowering, operation, plan, left, right, scales, buffer, zero_init))
    lowering.finish({operation})
    is_wide = plan.acc_dtype != value_dtype(type.element)
    held = BufferRead(tile_type(type.shape, F32) if is_wide else type, None, buffer)
    if is_scalar(result):
        lowering.body.append(LoopNest(type.shape, [StoreScalar(held, result)]))
        return
    if is_wide:
        buffer = lowering.new_buffer(value_dtype(type.element), type.count)
        lowering.body.append(LoopNest(type.shape, [StoreBuffer(held, buffer)]))
    lowering.stored(result, buffer)


def _matmul(
    lowering: Lowering,
    operation: Operation,
    plan: Plan,
    left: Expression,
    right: Expression,
    scales: list[Expression],
    accumulator: Buffer,
    zero_init: bool,
) -> Matmul:
    """A matmul and its scratch memory."""
    computed = [side for side, operand in enumerate((left, right)) if scales or not _is_in_memory(plan, side, operand)]
    a_scratch = a_packed = b_packed = a_cache = b_cache = None
    if not isinstance(left, BufferRead) or not has_dtype(plan, 0, left) or scales:
        a_scratch = lowering.new_buffer(plan.a_dtype, plan.m * plan.k)
    b_keys = cache_keys(lowering, [right, *scales[1:]])
    slots = cache_slots(plan.packed_bytes)
    if b_keys and slots > 1:
        b_cache = new_pack_cache(lowering, plan.b_dtype, b_keys, slots, plan.packed_elements)
    else:
        b_packed = lowering.new_buffer(plan.b_dtype, plan.packed_elements)
    if plan.packs_a:
        # A that a loop finds made is packed once for all iterations.
        load = matrix_in_memory(left)
        batch = left.shape[0] if len(left.shape) == 3 else 1
        is_invariant = load is not None and load.operation.parent is not operation.parent and 0 not in computed
        a_keys = cache_keys(lowering, [left]) if is_invariant and batch <= _LARGEST_BATCH else []
        elements = plan.m * plan.k * plan.parts
        if a_keys:
            a_cache = new_pack_cache(lowering, plan.a_dtype, a_keys, batch, elements)
        else:
            a_packed = lowering.new_buffer(plan.a_dtype, elements)
    return Matmul(
        operation, plan, left, right, scales, accumulator, frozenset(computed),
        a_scratch, a_packed, b_packed, a_cache, b_cache, zero_init,
    )  # fmt: skip


def _plan(lowering: Lowering, operation: Operation) -> Plan:
    lhs, rhs, accumulator = [tile_of(value) for value in operation.operands[:3]]
    m, k, n = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    if operation.declaration is MMAF_SCALED:
        return make_scaled_plan(lowering.target, tile_of(operation.operands[3]).element, m, n, k)
    signs = [operation.keyword(f"signedness_{side}") != "unsigned" for side in ("lhs", "rhs")]
    exact = lowering.options.exact
    return make_plan(lowering.target, lhs.element, rhs.element, accumulator.element, m, n, k, exact, signs[0], signs[1])


def _accumulator(lowering: Lowering, operation: Operation, plan: Plan, busy: frozenset[Buffer]) -> tuple[Buffer, bool]:
    """The buffer that gets the result, and whether the addend is zero and not there yet.

    It is the addend's own buffer where nobody else needs it.
    """
    value, result = operation.operands[2], operation.results[0]
    type = tile_of(result)
    place = lowering.expression(value)
    if plan.acc_dtype != value_dtype(type.element):
        buffer = lowering.new_buffer(plan.acc_dtype, type.count)
        lowering.nest(place, operation, lambda root: StoreBuffer(root, buffer))
        return buffer, False
    if isinstance(place, BufferRead) and value.parent_block is operation.parent and place.buffer not in busy:
        alone = all(user is operation or user in lowering.done for user in value.users)
        if alone and not lowering.shares(place.buffer, value, operation):
            return place.buffer, False
    reach = fusion.Reach([place], type.shape, [operation])
    finished = fusion.finished(reach, set(), [operation], lowering.done)
    buffer = lowering.buffer_for(result, reach, finished)
    if buffer in busy:
        buffer = lowering.new_buffer(plan.acc_dtype, type.count)
    (place,), kept = lowering.prepare([place], place.shape, operation)
    if is_zero(place) and not kept:
        return buffer, True
    lowering.body.append(LoopNest(place.shape, [*kept, StoreBuffer(place, buffer)]))
    return buffer, False


def is_zero(expression: Expression) -> bool:
    """Whether all elements are 0, and none -0.0."""
    return isinstance(expression, Table) and expression.array.size == 1 and not any(expression.array.tobytes())


# --- operands ---


def has_dtype(plan: Plan, side: int, operand: Expression) -> bool:
    """Whether an operand has the elements that the kernel reads; of TF32 some bits do not count."""
    return operand.dtype == (plan.a_dtype, plan.b_dtype)[side] and operand.element is not TF32


def _is_in_memory(plan: Plan, side: int, operand: Expression) -> bool:
    """Whether an operand is read or packed where it lies."""
    if side == 0 and isinstance(operand, BufferRead):
        return has_dtype(plan, side, operand)
    load = matrix_in_memory(operand)
    return load is not None and fusion.is_plain_load(load) and has_dtype(plan, side, operand)


def cache_keys(lowering: Lowering, roots: list[Expression]) -> list[Value]:
    """The numbers that operands depend on, besides memory that stays as it is; none where they depend on more."""
    keys: dict[Value, None] = {}
    for node in nodes(roots):
        if isinstance(node, ViewLoad):
            view = node.operation.view
            if node.positions is not None or not lowering.origins.is_launch_constant(view):
                return []
            if not lowering.is_never_written(lowering.origins.of(view)):
                return []
            for index in node.operation.index:
                keys[index] = None
        elif isinstance(node, Splat):
            keys[node.scalar] = None
        elif isinstance(node, Mapped):
            for _, scalar in node.mapping:
                if scalar is not None:
                    keys[scalar] = None
        elif not isinstance(node, (Elementwise, Table, Iota)):
            return []
    return list(keys) if all(dtype_of(key).kind in "iub" for key in keys) else []


def cache_slots(panel_bytes: int) -> int:
    """How many operands of a size are cached; 1 where it is not worth it."""
    slots = 1
    while slots < _CACHE_SLOTS and 2 * slots * panel_bytes <= _CACHE_BYTES:
        slots *= 2
    return slots


def new_pack_cache(lowering: Lowering, dtype: DType, keys: list[Value], slots: int, elements: int) -> PackCache:
    """Memory for so many packed operands of a size."""
    panels, tags = lowering.new_buffer(dtype, 0), lowering.new_buffer(numpy.dtype(numpy.int64), 0)
    panels.persistent = tags.persistent = True
    return resized(PackCache(keys, slots, panels, tags), keys, slots, elements)


def resized(cache: PackCache, keys: list[Value], slots: int, elements: int) -> PackCache:
    """A cache with memory for other operands."""
    cache.keys, cache.slots = keys, slots
    cache.panels.count = slots * elements
    # A batch, a first iteration and an extent may come to the keys; and the launch, and what packing returned.
    cache.tags.count = slots * (max(len(keys), _POINTER_KEYS) + 5)
    return cache
