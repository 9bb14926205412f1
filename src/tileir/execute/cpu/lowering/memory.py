"""Lowering of loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy

from tileir.dialect.ops import ATOMIC_CAS_TKO, ATOMIC_RED_VIEW_TKO, LOAD_PTR_TKO, MULTIMEM_REDUCE_VIEW_TKO
from tileir.dialect.types import DYNAMIC, GatherScatterViewType, TileViewType, with_element
from tileir.execute.analysis.values import is_scalar, is_tile, ordering_of, reserved_bytes, tile_of
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir import statements as st
from tileir.execute.cpu.ir.checks import refused_allocation
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, Expression, Load, PointerLoad, ViewLoad, nodes
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.sanitizer import inspection
from tileir.execute.dtypes import value_dtype
from tileir.execute.memory import are_distinct, available_memory
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32
from tileir.ir.values import Value


def _optional(lowering: Lowering, value: Value | None) -> Expression | None:
    return lowering.expression(value) if value is not None else None


def lower_load_pointers(lowering: Lowering, operation: Operation) -> None:
    guard = inspection.inspect_pointers(lowering, operation)
    pointers = lowering.expression(operation.operands[0])
    padding = operation.padding_value if operation.declaration is LOAD_PTR_TKO else None
    expression = PointerLoad(operation, pointers, _optional(lowering, operation.mask), _optional(lowering, padding))
    _load(lowering, operation, expression, guard)


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    positions = _positions(lowering, operation)
    guard = inspection.inspect_view(lowering, operation, positions)
    _load(lowering, operation, ViewLoad(operation, positions), guard)


def _positions(lowering: Lowering, operation: Operation) -> Expression | None:
    """The tile of positions of an access through a gather view."""
    view = operation.view.type
    if not isinstance(view, GatherScatterViewType):
        return None
    index = operation.index[view.sparse_dim]
    expression = lowering.expression(index)
    return lowering.store(index) if expression.cost > fusion.CHEAP else expression


def _load(lowering: Lowering, operation: Operation, expression: Expression, guard: Buffer | None) -> None:
    result = operation.results[0]
    ordered = ordering_of(operation) != "weak"
    if is_scalar(result):
        if result.has_uses or ordered:
            lowering.nest(expression, operation, lambda root: st.StoreScalar(root, result), guard)
        return
    lowering.wait(result, expression)
    if ordered or guard is not None:
        lowering.store(result)
        if guard is not None:
            nest = lowering.body[-1]
            assert isinstance(nest, st.LoopNest)
            nest.guard = guard


def lower_store_pointers(lowering: Lowering, operation: Operation) -> None:
    target, source = operation.operands[:2]
    guard = inspection.inspect_pointers(lowering, operation)
    mask = _optional(lowering, operation.mask)
    roots = [lowering.expression(source), lowering.expression(target), *([mask] if mask is not None else [])]
    roots = _roots_of_store(lowering, operation, target, roots, lambda read: False)
    shape = tile_of(target).shape
    roots, kept = lowering.prepare(roots, shape, operation)
    store = st.StorePointers(roots[0], operation, roots[1], roots[2] if mask is not None else None)
    lowering.body.append(_versioned(lowering, st.LoopNest(shape, [*kept, store], guard), target, lambda read: False))


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    source, view, indices = operation.tile, operation.view, operation.index
    positions = _positions(lowering, operation)
    guard = inspection.inspect_view(lowering, operation, positions)
    # Elements that share memory would be read after others were written.
    distinct = positions is None and _elements_are_distinct(cast(TileViewType, view.type))

    def reads_same_elements(read: ViewLoad) -> bool:
        other = read.operation
        return distinct and other.view is view and other.index == indices

    roots = [lowering.expression(source), *([positions] if positions is not None else [])]
    roots = _roots_of_store(lowering, operation, view, roots, reads_same_elements)
    shape = tile_of(source).shape
    (root,), kept = lowering.prepare(roots[:1], shape, operation)
    positions = lowering.resolved(roots[1:])[0] if positions is not None else None
    nest = st.LoopNest(shape, [*kept, st.StoreView(root, operation, positions)], guard)
    lowering.body.append(_versioned(lowering, nest, view, reads_same_elements))


def _elements_are_distinct(view: TileViewType) -> bool:
    """Whether no two elements of a tile share memory, as far as its strides are known."""
    strides = [view.tensor.strides[axis] for axis in view.dim_map]
    if any(stride == DYNAMIC and extent > 1 for stride, extent in zip(strides, view.tile_shape, strict=True)):
        return False
    return are_distinct(strides, view.tile_shape)


def _roots_of_store(
    lowering: Lowering,
    operation: Operation,
    target: Value,
    roots: list[Expression],
    reads_same_elements: Callable[[ViewLoad], bool],
) -> list[Expression]:
    """The expressions of a store without reads of what it writes, but for those of the very same elements.  Pointers
    are taken to stay in their array (`_versioned`); an ordered store reads everything before."""
    origins = lowering.origins
    ordered = ordering_of(operation) != "weak"
    lowering.before_write(operation, None if ordered else origins.of(target), roots)
    if ordered:
        for root in lowering.resolved(roots):
            for node in nodes([root]):
                if isinstance(node, Load) and node.value is not None:
                    lowering.store(node.value)
    roots = lowering.resolved(roots)
    fused = fusion.FusedNodes(roots, roots[0].shape, [])
    origin = origins.provenance(target)
    for node in fused.order:
        if not isinstance(node, Load):
            continue
        is_same = isinstance(node, ViewLoad) and fused.is_straight(node) and reads_same_elements(node)
        if not is_same and not origins.never_alias(origins.provenance(node.address), origin):
            assert node.value is not None
            lowering.store(node.value)
    return lowering.resolved(roots)


def _versioned(
    lowering: Lowering, nest: st.LoopNest, target: Value, reads_same_elements: Callable[[ViewLoad], bool]
) -> st.Statement:
    """The loop nest of a store, made safe against reads of what it writes by pointers that left their array."""
    reads = [
        node
        for node in nodes(nest.roots)
        if isinstance(node, PointerLoad) or (isinstance(node, ViewLoad) and not reads_same_elements(node))
    ]
    origins = lowering.origins
    accesses: list[Expression | st.Store] = [read for read in reads if not origins.stays_in_array(read.address)]
    store = nest.stores[-1]
    assert isinstance(store, (st.StorePointers, st.StoreView))
    if not origins.stays_in_array(target):
        accesses.append(store)
    if not reads or not accesses or nest.guard is not None:
        return nest
    first: list[st.Statement] = []
    kept: list[st.Store] = list(nest.stores[:-1])
    renewed: dict[str, Any] = {}
    for name in ("expression", "positions", "pointers", "mask"):
        root: Expression | None = getattr(store, name, None)
        if root is None or not root.reads:
            continue
        buffer = lowering.new_buffer(root.dtype, prod(root.shape))
        if ex.squeezed(root.shape) == ex.squeezed(nest.shape):
            kept.append(st.StoreBuffer(root, buffer))
        else:
            first.append(st.LoopNest(root.shape, [st.StoreBuffer(root, buffer)]))
        renewed[name] = BufferRead(root.type, None, buffer)
    last = st.LoopNest(nest.shape, [replace(store, **renewed)])
    fused = None if lowering.options.overlapping else nest
    return st.VersionedLoopNest(fused, [*first, st.LoopNest(nest.shape, kept), last], accesses)


def lower_atomic(lowering: Lowering, operation: Operation) -> None:
    """atomic_rmw_tko, atomic_cas_tko, atomic_red_view_tko: neighbors together or one by one, a loop nest for each."""
    declaration = operation.declaration
    others: list[Expression] = []
    pointers: Expression | None = None
    mask: Expression | None = None
    buffer: Buffer | None = None
    if declaration is ATOMIC_RED_VIEW_TKO:
        value = operation.value
        positions = _positions(lowering, operation)
        guard = inspection.inspect_view(lowering, operation, positions)
        if positions is not None:
            others.append(positions)
    else:
        mask = _optional(lowering, operation.mask)
        guard = inspection.inspect_pointers(lowering, operation)
        pointers = lowering.expression(operation.operands[0])
        value = operation.operands[1]
        if declaration is ATOMIC_CAS_TKO:
            value = operation.operands[2]
            others.append(lowering.expression(operation.operands[1]))
        result = operation.results[0]
        if is_tile(result) and result.has_uses:
            buffer = lowering.buffer_of(result)
    roots = [lowering.expression(value), *others, *[each for each in (pointers, mask) if each is not None]]
    lowering.before_write(operation, None, roots)
    # Where the loop is scalar, what can be a vector is computed before; and no read may follow a write.
    together = pointers is not None and st.updated_together(
        operation, lowering.resolved([pointers])[0], lowering.target
    )
    lowered = []
    for root in roots:
        if root.value is not None and (root.reads or (root.cost > fusion.CHEAP and not together)):
            lowering.store(root.value)
        lowered.append(lowering.resolved([root])[0])
    shape = tile_of(value).shape
    roots, kept = lowering.prepare(lowered, shape, operation)
    rest = iter(roots)
    first = next(rest)
    others = [next(rest) for _ in others]
    pointers = next(rest) if pointers is not None else None
    update = st.AtomicUpdate(first, operation, pointers, next(rest) if mask is not None else None, others, buffer)
    lowering.body.append(st.LoopNest(shape, [*kept, update], guard))
    if buffer is not None:
        lowering.stored(operation.results[0], buffer)


def lower_multimem(lowering: Lowering, operation: Operation) -> None:
    """multimem_store_view_tko, multimem_reduce_view_tko: what a store or an atomic does, on each device."""
    value = operation.tile
    lowering.before_write(operation, None, [lowering.expression(value)])
    source = lowering.expression(value)
    if source.value is not None and (source.operands or source.reads):
        # Computed once; and no read may follow a write.
        source = lowering.store(value)
    (source,), kept = lowering.prepare([source], source.shape, operation)
    store: st.Store = st.StoreView(source, operation, None)
    if operation.declaration is MULTIMEM_REDUCE_VIEW_TKO:
        store = st.AtomicUpdate(source, operation, None, None, [], None)
    nest = st.LoopNest(source.shape, [*kept, store])
    lowering.body.append(st.DeviceLoop(operation, nest, nest))


def lower_multimem_load(lowering: Lowering, operation: Operation) -> None:
    """The tiles of all devices are combined in a buffer; f16 and bf16 are added in f32."""
    result = operation.results[0]
    type = tile_of(result)
    if operation.reduction == "add" and type.element in (F16, BF16):
        type = with_element(type, F32)
    load = ViewLoad(operation, None)
    total = BufferRead(type, None, lowering.new_buffer(value_dtype(type.element), type.count))
    first = st.LoopNest(type.shape, [st.StoreBuffer(load, total.buffer)])
    rest = st.LoopNest(type.shape, [st.CombineBuffer(load, total.buffer, before=total, operation=operation)])
    lowering.body.append(st.DeviceLoop(operation, first, rest))
    if is_scalar(result):
        lowering.nest(total, operation, lambda root: st.StoreScalar(root, result))
        return
    buffer = total.buffer
    if type is not result.type:
        buffer = lowering.buffer_of(result)
        lowering.nest(total, operation, lambda root: st.StoreBuffer(root, buffer))
    lowering.stored(result, buffer)


def lower_alloca(lowering: Lowering, operation: Operation) -> None:
    alignment = operation.alignment
    size = max(reserved_bytes(operation), 1)
    byte = numpy.dtype(numpy.uint8)
    if size + alignment > available_memory():
        # It may never be executed.
        lowering.body.append(st.Alloca(operation, lowering.new_buffer(byte, 1), None, refused_allocation(operation)))
        return
    # Buffers are aligned to 64 bytes; a larger alignment takes more bytes.
    buffer = lowering.new_buffer(byte, size + max(alignment - 64, 0))
    lowering.body.append(st.Alloca(operation, buffer, inspection.shadow_buffer(lowering, size)))
