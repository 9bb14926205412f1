"""Lowering of loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

import numpy

from tileir.dialect.ops import ATOMIC_CAS_TKO, ATOMIC_RED_VIEW_TKO, LOAD_PTR_TKO
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TileViewType,
)
from tileir.execute.analysis.values import is_scalar, is_tile, ordering_of, reserved_bytes, tile_of
from tileir.execute.cpu.loops.checks import refused_allocation
from tileir.execute.cpu.loops.expressions import Buffer, Expression, Gathered, Stored, Viewed, nodes, squeezed
from tileir.execute.cpu.loops.sinks import (
    Sink,
    StoreBuffer,
    StorePointers,
    StoreScalar,
    StoreView,
    Update,
    updated_together,
)
from tileir.execute.cpu.loops.statements import Nest, Reserve, Statement, VersionedNest
from tileir.execute.cpu.lowering import fusion, inspection
from tileir.execute.cpu.lowering.context import Lowering, source_of
from tileir.execute.memory import are_distinct, available_memory
from tileir.ir.core import Operation
from tileir.ir.values import Value


def _optional(lowering: Lowering, value: Value | None) -> Expression | None:
    return lowering.expression(value) if value is not None else None


def lower_load_pointers(lowering: Lowering, operation: Operation) -> None:
    guard = inspection.inspect_pointers(lowering, operation)
    expression = Gathered(
        operation,
        lowering.expression(operation.operands[0]),
        _optional(lowering, operation.mask),
        _optional(lowering, operation.padding_value if operation.declaration is LOAD_PTR_TKO else None),
    )
    _load(lowering, operation, expression, guard)


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    positions = _positions(lowering, operation)
    guard = inspection.inspect_view(lowering, operation, positions)
    expression = Viewed(operation, positions)
    _load(lowering, operation, expression, guard)


def _positions(lowering: Lowering, operation: Operation) -> Expression | None:
    """The tile of positions that an access through a gather view takes."""
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
        if not result.has_uses and not ordered:
            return
        lowering.nest(expression, operation, lambda root: StoreScalar(root, result), guard)
        return
    lowering.wait(result, expression)
    if ordered or guard is not None:
        lowering.store(result)
        inspection.guard_last(lowering, guard)


def lower_store_pointers(lowering: Lowering, operation: Operation) -> None:
    target, source = operation.operands[:2]
    guard = inspection.inspect_pointers(lowering, operation)
    origin = lowering.origins.of(target)
    mask = _optional(lowering, operation.mask)
    roots = [lowering.expression(source), lowering.expression(target), *([mask] if mask is not None else [])]
    ordered = ordering_of(operation) != "weak"
    lowering.before_write(operation, None if ordered else origin, roots)
    if ordered:
        roots = _read_before(lowering, roots)
    roots = _without_conflicts(lowering, roots, target, lambda read: False)
    shape = tile_of(target).shape
    roots, kept = lowering.prepare(roots, shape, operation)
    sink = StorePointers(roots[0], operation, roots[1], roots[2] if mask is not None else None)
    lowering.body.append(_versioned(lowering, Nest(shape, [*kept, sink], guard), target, lambda read: False))


def _elements_are_distinct(view: TileViewType) -> bool:
    """Whether no two elements of a tile share memory, as far as its strides are known."""
    axes: tuple[int, ...] = tuple(range(len(view.tile_shape)))
    if isinstance(view, (PartitionViewType, StridedViewType)):
        axes = view.dim_map
    strides = [view.tensor.strides[axis] for axis in axes]
    if any(stride == DYNAMIC and extent > 1 for stride, extent in zip(strides, view.tile_shape, strict=True)):
        return False
    return are_distinct(strides, view.tile_shape)


def _read_before(lowering: Lowering, roots: list[Expression]) -> list[Expression]:
    """Roots whose reads are done: with the first element stored, others may begin to change what is read."""
    for root in lowering.resolved(roots):
        for node in nodes([root]):
            if isinstance(node, (Viewed, Gathered)) and node.value is not None:
                lowering.store(node.value)
    return lowering.resolved(roots)


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    source = operation.tile
    view = operation.view
    indices = operation.index
    origin = lowering.origins.of(view)
    positions = _positions(lowering, operation)
    guard = inspection.inspect_view(lowering, operation, positions)
    roots = [lowering.expression(source), *([positions] if positions is not None else [])]
    ordered = ordering_of(operation) != "weak"
    lowering.before_write(operation, None if ordered else origin, roots)
    if ordered:
        roots = _read_before(lowering, roots)

    # Elements that share memory would be read after others were written.
    distinct = positions is None and _elements_are_distinct(cast(TileViewType, view.type))

    def reads_same_elements(read: Viewed) -> bool:
        other = read.operation
        return distinct and other.view is view and other.index == indices

    roots = _without_conflicts(lowering, roots, view, reads_same_elements)
    shape = tile_of(source).shape
    if positions is not None:
        (root,), kept = lowering.prepare([roots[0]], shape, operation)
        sink = StoreView(root, operation, lowering.resolved([roots[1]])[0])
    else:
        (root,), kept = lowering.prepare(roots, shape, operation)
        sink = StoreView(root, operation, None)
    lowering.body.append(_versioned(lowering, Nest(shape, [*kept, sink], guard), view, reads_same_elements))


# --- stores beside reads of the same memory ---


def _without_conflicts(
    lowering: Lowering, roots: list[Expression], target: Value, reads_same_elements: Callable[[Viewed], bool]
) -> list[Expression]:
    """The expressions of a store without reads of what it writes, but for those of the very same elements.

    Pointers are taken to stay in the array they come from: see `_versioned`.
    """
    roots = lowering.resolved(roots)
    reach = fusion.Reach(roots, roots[0].shape, [])
    origins = lowering.origins
    origin = origins.provenance(target)
    for node in reach.order:
        if not isinstance(node, (Viewed, Gathered)):
            continue
        is_same = isinstance(node, Viewed) and reach.is_straight(node) and reads_same_elements(node)
        if not is_same and not origins.never_alias(origins.provenance(source_of(node)), origin):
            assert node.value is not None
            lowering.store(node.value)
    return lowering.resolved(roots)


def _versioned(
    lowering: Lowering, nest: Nest, target: Value, reads_same_elements: Callable[[Viewed], bool]
) -> Statement:
    """The nest of a store, made safe against reads of what it writes by pointers that left their array."""
    reads: dict[Viewed | Gathered, None] = {}
    for node in nodes(nest.roots):
        if isinstance(node, Gathered) or (isinstance(node, Viewed) and not reads_same_elements(node)):
            reads[node] = None
    origins = lowering.origins
    accesses: list[Expression | Sink] = [read for read in reads if not origins.stays_in_array(source_of(read))]
    sink = nest.sinks[-1]
    assert isinstance(sink, (StorePointers, StoreView))
    if not origins.stays_in_array(target):
        accesses.append(sink)
    if not reads or not accesses or nest.guard is not None:
        return nest
    first: list[Statement] = []
    kept: list[Sink] = list(nest.sinks[:-1])
    renewed: list[Expression] = []
    for root in sink.expressions:
        if not root.reads:
            renewed.append(root)
            continue
        buffer = lowering.new_buffer(root.dtype, prod(root.shape))
        if squeezed(root.shape) == squeezed(nest.shape):
            kept.append(StoreBuffer(root, buffer))
        else:
            first.append(Nest(root.shape, [StoreBuffer(root, buffer)]))
        renewed.append(Stored(root.type, None, buffer))
    last = Nest(nest.shape, [sink.with_expressions(renewed)])
    fused = None if lowering.options.overlapping else nest
    return VersionedNest(fused, [*first, Nest(nest.shape, kept), last], accesses)


# --- atomics and reservations ---


def lower_atomic(lowering: Lowering, operation: Operation) -> None:
    """atomic_rmw_tko, atomic_cas_tko, atomic_red_view_tko: neighbours together or one by one, a nest for each."""
    declaration = operation.declaration
    mask = _optional(lowering, operation.mask if declaration is not ATOMIC_RED_VIEW_TKO else None)
    others: list[Expression] = []
    pointers: Expression | None = None
    buffer: Buffer | None = None
    if declaration is ATOMIC_RED_VIEW_TKO:
        value = operation.value
        positions = _positions(lowering, operation)
        guard = inspection.inspect_view(lowering, operation, positions)
        if positions is not None:
            others.append(positions)
    else:
        guard = inspection.inspect_pointers(lowering, operation)
        pointers = lowering.expression(operation.operands[0])
        value = operation.operands[1]
        if declaration is ATOMIC_CAS_TKO:
            value = operation.operands[2]
            others.append(lowering.expression(operation.operands[1]))
        result = operation.results[0]
        if is_tile(result) and result.has_uses:
            buffer = lowering.buffer_of(result)
    roots = [lowering.expression(value), *others]
    roots += [pointers] if pointers is not None else []
    roots += [mask] if mask is not None else []
    lowering.before_write(operation, None, roots)
    shape = tile_of(value).shape
    # Where the loop is scalar, what can be a vector is computed before; and no read may follow a write.
    together = pointers is not None and updated_together(operation, lowering.resolved([pointers])[0], lowering.target)
    lowered = []
    for root in roots:
        if root.value is not None and (root.reads or (root.cost > fusion.CHEAP and not together)):
            lowering.store(root.value)
        lowered.append(lowering.resolved([root])[0])
    roots, kept = lowering.prepare(lowered, shape, operation)
    rest = iter(roots)
    first = next(rest)
    others = [next(rest) for _ in others]
    pointers = next(rest) if pointers is not None else None
    mask = next(rest) if mask is not None else None
    lowering.body.append(Nest(shape, [*kept, Update(first, operation, pointers, mask, others, buffer)], guard))
    if buffer is not None:
        lowering.stored(operation.results[0], buffer)


def lower_alloca(lowering: Lowering, operation: Operation) -> None:
    alignment = operation.alignment
    size = max(reserved_bytes(operation), 1)
    if size + alignment > available_memory():
        # It may never be executed.
        nothing = lowering.new_buffer(numpy.dtype(numpy.uint8), 1)
        lowering.body.append(Reserve(operation, nothing, None, refused_allocation(operation)))
        return
    # Buffers are aligned to 64 bytes; more is left over for what asks for more.
    buffer = lowering.new_buffer(numpy.dtype(numpy.uint8), size + max(alignment - 64, 0))
    lowering.body.append(Reserve(operation, buffer, inspection.shadow_buffer(lowering, size)))
