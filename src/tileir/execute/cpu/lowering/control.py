"""Lowering of control flow, reductions, prints and asserts: where regions put their results."""

from __future__ import annotations

from functools import partial
from math import prod

from tileir.dialect.ops import BREAK, CONTINUE, FOR, SCAN, YIELD
from tileir.execute.analysis.values import is_scalar, is_tile, tile_of
from tileir.execute.cpu.ir import statements as st
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, Mapping, is_along_lanes
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Frame, Lowering
from tileir.execute.cpu.lowering.tiles import map_tile
from tileir.execute.cpu.matmul.recognize import from_loop
from tileir.ir.core import Operation
from tileir.ir.values import Value


def lower_print(lowering: Lowering, operation: Operation) -> None:
    sources = [lowering.store(value) if is_tile(value) else None for value in operation.args]
    lowering.body.append(st.Print(operation, sources))


def lower_assert(lowering: Lowering, operation: Operation) -> None:
    condition = lowering.expression(operation.operands[0])
    lowering.nest(condition, operation, lambda root: st.AssertAll(root, operation))


def lower_if(lowering: Lowering, operation: Operation) -> None:
    lowering.before_region(operation)
    buffers = lowering.result_buffers(operation.results)
    branches = [lowering.branch(region.blocks[0], buffers) if region.blocks else [] for region in operation.regions]
    lowering.body.append(st.Branch(operation, branches))
    lowering.stored_results(operation.results, buffers)


def lower_loop(lowering: Lowering, operation: Operation) -> None:
    counted = operation.declaration is FOR
    block = operation.regions[0].blocks[0]
    initial = operation.operands[3:] if counted else operation.operands
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    lowering.before_region(operation)
    carried = lowering.result_buffers(arguments)
    _deliver(lowering, list(initial), carried, operation)
    lowering.stored_results(arguments, carried)
    buffers = carried if counted else lowering.result_buffers(operation.results)
    lowering.loops.append(Frame(block, arguments, carried, buffers))
    body = lowering.inner(block)
    lowering.loops.pop()
    loop = st.LoopStatement(operation, body)
    lowering.body.extend(from_loop(lowering, loop) or [loop])
    lowering.stored_results(operation.results, buffers)


def lower_terminator(lowering: Lowering, operation: Operation) -> None:
    declaration = operation.declaration
    buffers: list[Buffer | None] = []
    if declaration is CONTINUE:
        buffers = lowering.loops[-1].carried
    elif declaration is BREAK:
        buffers = lowering.loops[-1].results
    elif declaration is YIELD and lowering.yields:
        buffers = lowering.yields[-1]
    _deliver(lowering, list(operation.operands), buffers, operation)
    lowering.body.append(st.Terminator(operation))


def _deliver(lowering: Lowering, values: list[Value], buffers: list[Buffer | None], operation: Operation) -> None:
    """Put tiles where the results of a region go, all at once: none may overwrite what another still reads."""
    pairs: list[tuple[Value, Buffer]] = []
    for value, buffer in zip(values, buffers, strict=False):
        if buffer is not None:
            expression = lowering.expression(value)
            if not (isinstance(expression, BufferRead) and expression.buffer is buffer):
                pairs.append((value, buffer))
    targets = {buffer for _, buffer in pairs}
    for value, buffer in pairs:
        expression = lowering.expression(value)
        if isinstance(expression, BufferRead):
            if expression.buffer in targets:
                # Another value's target: moved away first.
                copy = lowering.new_buffer(expression.dtype, prod(expression.shape))
                lowering.body.append(st.LoopNest(expression.shape, [st.StoreBuffer(expression, copy)]))
                lowering.stored(value, copy)
        elif expression.buffers & targets:
            fused = fusion.FusedNodes([expression], expression.shape, [operation])
            is_reordered = any(
                isinstance(node, BufferRead) and node.buffer is buffer and not fused.is_straight(node)
                for node in fused.order
            )
            if is_reordered or expression.buffers & targets - {buffer}:
                lowering.keep(value, lowering.new_buffer(expression.dtype, prod(expression.shape)))
    for value, buffer in pairs:
        lowering.nest(lowering.expression(value), operation, partial(st.StoreBuffer, buffer=buffer))


def lower_reduce(lowering: Lowering, operation: Operation) -> None:
    axis = operation.dim
    shape = tile_of(operation.operands[0]).shape
    if shape[axis] == 1 or prod(shape) == 1:
        # Nothing to combine: the elements themselves.
        for source, result in zip(operation.operands, operation.results, strict=True):
            _drop_axis(lowering, result, source, axis)
        return
    # Its body works on scalars alone.
    body = lowering.branch(operation.regions[0].blocks[0], [])
    if operation.declaration is SCAN or not is_along_lanes(shape, axis) or not st.works_on_vectors(body):
        for value in operation.operands:
            lowering.store(value)
    sources = [lowering.expression(value) for value in operation.operands]
    sources, kept = lowering.prepare(sources, shape, operation)
    targets = lowering.result_buffers(operation.results)
    lowering.body.append(st.Reduce(operation, shape, axis, sources, targets, kept, body))
    lowering.stored_results(operation.results, targets)


def _drop_axis(lowering: Lowering, result: Value, source: Value, axis: int) -> None:
    if is_scalar(source):
        lowering.body.append(st.Alias(result, source))
        return
    expression = lowering.expression(source)
    rank = len(expression.shape)
    axes: list[int | None] = list(range(rank))
    if len(tile_of(result).shape) < rank:
        axes = [*range(axis), None, *range(axis, rank - 1)]
    mapping: Mapping = tuple([(each, None) for each in axes])
    map_tile(lowering, result, expression, mapping)
