"""Lowering of control flow, and of what ends or watches a tile block: where regions put their results."""

from __future__ import annotations

from functools import partial
from math import prod

from tileir.dialect.ops import BREAK, CONTINUE, FOR, YIELD
from tileir.execute.analysis.values import is_tile
from tileir.execute.cpu.loops.expressions import Buffer, Stored
from tileir.execute.cpu.loops.sinks import CheckAll, StoreBuffer
from tileir.execute.cpu.loops.statements import Branch, Nest, Print, Repeat, Terminator
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Frame, Lowering
from tileir.execute.cpu.matmul.recognize import from_loop
from tileir.ir.core import Operation
from tileir.ir.values import Value


def lower_print(lowering: Lowering, operation: Operation) -> None:
    sources: list[Stored | None] = []
    for value in operation.args:
        sources.append(lowering.store(value) if is_tile(value) else None)
    lowering.body.append(Print(operation, sources))


def lower_assert(lowering: Lowering, operation: Operation) -> None:
    condition = lowering.expression(operation.operands[0])
    lowering.nest(condition, operation, lambda root: CheckAll(root, operation))


def lower_if(lowering: Lowering, operation: Operation) -> None:
    lowering.before_region(operation)
    buffers = lowering.result_buffers(operation.results)
    frame = Frame(None, [], [], buffers)
    branches = []
    for region in operation.regions:
        lowering.yields.append(frame)
        branches.append(lowering.inner(region.blocks[0]) if region.blocks else [])
        lowering.yields.pop()
    lowering.body.append(Branch(operation, branches))
    lowering.stored_results(operation.results, buffers)


def lower_loop(lowering: Lowering, operation: Operation) -> None:
    counted = operation.declaration is FOR
    block = operation.regions[0].blocks[0]
    initial = operation.operands[3:] if counted else operation.operands
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    lowering.before_region(operation)
    carried = lowering.result_buffers(arguments)
    deliver(lowering, list(initial), carried, operation)
    lowering.stored_results(arguments, carried)
    buffers = carried if counted else lowering.result_buffers(operation.results)
    lowering.loops.append(Frame(block, arguments, carried, buffers))
    body = lowering.inner(block)
    lowering.loops.pop()
    loop = Repeat(operation, body)
    lowering.body.extend(from_loop(lowering, loop) or [loop])
    lowering.stored_results(operation.results, buffers)


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
            copy = lowering.new_buffer(expression.dtype, prod(expression.shape))
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
                fresh = lowering.new_buffer(expression.dtype, prod(expression.shape))
                lowering.keep(value, fresh)
    for value, buffer in pairs:
        lowering.nest(lowering.expression(value), operation, partial(StoreBuffer, buffer=buffer))
