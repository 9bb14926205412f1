"""Lowering of control flow, and of what ends or watches a tile block: where regions put their results."""

from __future__ import annotations

from tileir.dialect.ops import BREAK, CONTINUE, FOR, YIELD
from tileir.execute.cpu.analysis.values import dtype_of, is_tile, tile_of
from tileir.execute.cpu.loops.expressions import Buffer, Stored, count_of
from tileir.execute.cpu.loops.sinks import CheckAll, StoreBuffer
from tileir.execute.cpu.loops.statements import Branch, Nest, Print, Repeat, Terminator
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.chains import chained
from tileir.execute.cpu.lowering.context import Frame, Lowering
from tileir.ir.core import Operation
from tileir.ir.values import Value


def lower_print(lowering: Lowering, operation: Operation) -> None:
    sources: list[Stored | None] = []
    for value in operation.operand_group("args"):
        sources.append(lowering.store(value) if is_tile(value) else None)
    lowering.body.append(Print(operation, sources))


def lower_assert(lowering: Lowering, operation: Operation) -> None:
    condition = operation.operands[0]
    shape = tile_of(condition).shape
    (root,), kept = lowering.prepare([lowering.expression(condition)], shape, operation)
    lowering.body.append(Nest(shape, [*kept, CheckAll(root, operation)]))


def _result_buffers(lowering: Lowering, values: list[Value]) -> list[Buffer | None]:
    return [lowering.new_buffer(dtype_of(value), tile_of(value).count) if is_tile(value) else None for value in values]


def _realize_results(lowering: Lowering, values: list[Value], buffers: list[Buffer | None]) -> None:
    for value, buffer in zip(values, buffers, strict=True):
        if buffer is not None:
            lowering.stored(value, buffer)


def lower_if(lowering: Lowering, operation: Operation) -> None:
    lowering.before_region(operation)
    results: list[Value] = list(operation.results)
    buffers = _result_buffers(lowering, results)
    frame = Frame(None, [], [], buffers)
    branches = []
    for region in operation.regions:
        lowering.yields.append(frame)
        branches.append(lowering.inner(region.blocks[0]) if region.blocks else [])
        lowering.yields.pop()
    lowering.body.append(Branch(operation, branches))
    _realize_results(lowering, results, buffers)


def lower_loop(lowering: Lowering, operation: Operation) -> None:
    counted = operation.declaration is FOR
    block = operation.regions[0].blocks[0]
    initial = operation.operands[3:] if counted else operation.operands
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    lowering.before_region(operation)
    carried = _result_buffers(lowering, arguments)
    deliver(lowering, list(initial), carried, operation)
    _realize_results(lowering, arguments, carried)
    results: list[Value] = list(operation.results)
    buffers = carried if counted else _result_buffers(lowering, results)
    lowering.loops.append(Frame(block, arguments, carried, buffers))
    body = lowering.inner(block)
    lowering.loops.pop()
    loop = Repeat(operation, body)
    lowering.body.append(chained(lowering, loop) or loop)
    _realize_results(lowering, results, buffers)


def lower_terminator(lowering: Lowering, operation: Operation) -> None:
    declaration = operation.declaration
    values = list(operation.operands)
    if declaration is CONTINUE:
        deliver(lowering, values, lowering.loops[-1].carried, operation)
    elif declaration is BREAK:
        deliver(lowering, values, lowering.loops[-1].results, operation)
    elif declaration is YIELD and lowering.yields:
        deliver(lowering, values, lowering.yields[-1].results, operation)
    lowering.body.append(Terminator(operation))


def deliver(lowering: Lowering, values: list[Value], buffers: list[Buffer | None], operation: Operation) -> None:
    """Put tiles where the results of a region go, all at once: none may overwrite what another still reads."""
    pairs: list[tuple[Value, Buffer]] = []
    for value, buffer in zip(values, buffers, strict=False):
        if buffer is None:
            continue
        place = lowering.expression(value)
        if isinstance(place, Stored) and place.buffer is buffer:
            continue
        pairs.append((value, buffer))
    targets = {buffer for _, buffer in pairs}
    for value, buffer in pairs:
        expression = lowering.expression(value)
        if isinstance(expression, Stored) and expression.buffer in targets:
            # Another value's old place: moved away first.
            copy = lowering.new_buffer(expression.dtype, count_of(expression.shape))
            lowering.body.append(Nest(expression.shape, [StoreBuffer(expression, copy)]))
            lowering.stored(value, copy)
        elif expression.buffers & targets and not isinstance(expression, Stored):
            others = expression.buffers & targets - {buffer}
            reach = fusion.Reach([expression], expression.shape, [operation])
            is_reordered = any(
                isinstance(node, Stored) and node.buffer is buffer and not reach.is_straight(node)
                for node in reach.order
            )
            if others or is_reordered:
                fresh = lowering.new_buffer(expression.dtype, count_of(expression.shape))
                lowering.keep(value, fresh)
    for value, buffer in pairs:
        (expression,), kept = lowering.prepare([lowering.expression(value)], tile_of(value).shape, operation)
        lowering.body.append(Nest(expression.shape, [*kept, StoreBuffer(expression, buffer)]))
