"""Lowering of `reduce` and `scan`."""

from __future__ import annotations

from math import prod

from tileir.dialect.ops import SCAN
from tileir.execute.analysis.values import is_scalar, tile_of
from tileir.execute.cpu.loops.expressions import (
    Mapping,
    is_along_lanes,
)
from tileir.execute.cpu.loops.statements import Alias, Reduce, works_on_vectors
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.tiles import see_through
from tileir.ir.core import Operation
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
