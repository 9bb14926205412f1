"""Lowering of one matmul: its plan and its operands; and scratch memory for all of them."""

from __future__ import annotations

from math import prod
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
from tileir.execute.cpu.ir.statements import LoopNest, Matmul, PackCache, Program, StoreBuffer, StoreScalar, statements
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.matmul.plan import Layout, Plan, make_plan, make_scaled_plan
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
"""What operands behind pointers are found by (`operands.pointer_operand`)."""
_LARGEST_BATCH: Final = 8
"""Matmuls of one operation whose packed A are cached side by side."""


def lower_mma(lowering: Lowering, operation: Operation) -> None:
    result, type = operation.results[0], tile_of(operation.results[0])
    plan = _plan(lowering, operation)
    values = [*operation.operands[:2], *operation.operands[3:5]]
    roots = [lowering.expression(value) for value in values]
    for value, expression in zip(values, roots, strict=True):
        if is_tile(value) and expression.cost > fusion.LARGEST // 2:
            lowering.store(value)
    roots = lowering.resolved(roots)
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
    lowering.body.append(_matmul(lowering, operation, plan, lowering.resolved(roots), (buffer, zero_init)))
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
    lowering: Lowering, operation: Operation, plan: Plan, roots: list[Expression], accumulator: tuple[Buffer, bool]
) -> Matmul:
    left, right, *scales = roots
    computed = [side for side, operand in enumerate((left, right)) if scales or not _is_in_memory(plan, side, operand)]
    a_keys: list[Value] = []
    load = matrix_in_memory(left)
    if plan.kind == "amx" and load is not None and load.operation.parent is not operation.parent and not computed:
        # A that a loop finds made is packed once for all iterations.
        a_keys = cache_keys(lowering, [left]) if prod(left.shape[:-2]) <= _LARGEST_BATCH else []
    b_keys = cache_keys(lowering, [right, *scales[1:]])
    buffer, zero_init = accumulator
    return Matmul(operation, plan, left, right, scales, buffer, frozenset(computed), (a_keys, b_keys), zero_init)


def _plan(lowering: Lowering, operation: Operation) -> Plan:
    lhs, rhs, accumulator = [tile_of(value) for value in operation.operands[:3]]
    shape = lhs.shape[-2], rhs.shape[-1], lhs.shape[-1]
    if operation.declaration is MMAF_SCALED:
        return make_scaled_plan(lowering.target, tile_of(operation.operands[3]).element, shape)
    a, b = (operation.keyword(f"signedness_{side}") != "unsigned" for side in ("lhs", "rhs"))
    elements = lhs.element, rhs.element, accumulator.element
    return make_plan(lowering.target, *elements, shape, lowering.options.exact, (a, b))


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


def allocate(program: Program) -> None:
    """Give all matmuls scratch memory for the packed operands of a k-block."""

    def new_buffer(dtype: DType, count: int, persistent: bool = False) -> Buffer:
        program.buffers.append(Buffer(f"b{len(program.buffers)}", dtype, count, persistent))
        return program.buffers[-1]

    for matmul in list(statements(program.body)):
        if not isinstance(matmul, Matmul):
            continue
        for side, keys in enumerate(matmul.keys):
            layout = Layout(matmul.plan, side)
            count = matmul.iterations * layout.elements
            is_lone_a = matmul.loop is None and side == 0
            slots = prod(matmul.lhs.shape[:-2]) if is_lone_a else cache_slots(count * layout.dtype.itemsize)
            if keys and (slots > 1 or is_lone_a):
                panels = new_buffer(layout.dtype, slots * count, True)
                # A batch, a first iteration and an extent may come to the keys; the launch, and what packing returned.
                words = max(len(keys), _POINTER_KEYS) + 5
                tags = new_buffer(numpy.dtype(numpy.int64), slots * words, True)
                matmul.packed[side] = PackCache(keys, slots, panels, tags)
            elif side == 1 or layout.is_tiled or 0 in matmul.computed or not isinstance(matmul.lhs, BufferRead):
                matmul.packed[side] = new_buffer(layout.dtype, count)
