"""Structured control flow, and `reduce` and `scan` with any body.

The order is fixed, and every engine keeps to it: docs/guide/execution.md states it; that of a scan is the one of
NVIDIA's compiler (docs/reference/conflicts.md C13).  Identities are never an operand: a tile has at least one element.
The body runs on whole slices at once where all its operations are elementwise, otherwise element by element in the same
order.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy

from tileir.dialect.ops import BREAK, CONSTANT, GET_TILE_BLOCK_ID, RETURN, YIELD
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.interpreter.frame import Ending, Frame
from tileir.execute.locations.wording import bracketed
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import IntegerType


def run_terminator(operation: Operation, frame: Frame) -> Ending:
    return operation.declaration, frame.values_of(operation.operands)


def run_if(operation: Operation, frame: Frame) -> Ending | None:
    # Without `else`, the second region has no block.
    blocks = operation.regions[0 if frame[operation.operands[0]] else 1].blocks
    ending = frame.run(blocks[0]) if blocks else None
    if ending is not None and ending[0] is not YIELD:
        return ending
    frame.assign(operation.results, ending[1] if ending is not None else ())
    return None


def _iterate(operation: Operation, frame: Frame, values: list[Any]) -> Ending:
    """One iteration of a loop; what it reserves is released at its end."""
    mark = len(frame.block.allocations)
    ending = frame.run(operation.regions[0].block, values)
    frame.release_to(mark)
    assert ending is not None
    return ending


def run_for(operation: Operation, frame: Frame) -> None:
    element = cast(IntegerType, tile_of(operation.operands[0]).element)
    half, whole = 1 << (element.width - 1), 1 << element.width
    unsigned = operation.unsigned_cmp
    bounds = [int(value) % whole for value in frame.values_of(operation.operands[:3])]
    if not unsigned:
        bounds = [number - whole if number >= half else number for number in bounds]
    if bounds[2] <= 0:
        raise ExecutionError(f"has a step of {bounds[2]}: it must be positive", operation, frame.block.id)
    scalar = value_dtype(element).type
    values = frame.values_of(operation.operands[3:])
    for number in range(*bounds):
        induction = scalar(number - whole if unsigned and number >= half else number)
        _, values = _iterate(operation, frame, [induction, *values])
    frame.assign(operation.results, values)


def run_loop(operation: Operation, frame: Frame) -> Ending | None:
    values = frame.values_of(operation.operands)
    while True:
        kind, values = _iterate(operation, frame, values)
        if kind is RETURN:
            return kind, values
        if kind is BREAK:
            frame.assign(operation.results, values)
            return None


def run_assert(operation: Operation, frame: Frame) -> None:
    value = frame[operation.operands[0]]
    if not value.all():
        index = numpy.unravel_index(int(numpy.argmin(value)), value.shape)
        element = tuple([int(number) for number in index])
        where = f" (first at element {bracketed(element)})" if element else ""
        raise AssertionFailedError(f"failed: {operation.message}{where}", operation, frame.block.id, element)


LANES: Final = 64


def is_elementwise(block: Block) -> bool:
    """Whether a body may run on slices: each operation looks at each element alone."""
    for operation in block:
        if operation is block.last or operation.declaration in (CONSTANT, GET_TILE_BLOCK_ID):
            continue
        if not operation.declaration.has_trait(ELEMENTWISE):
            return False
        if any(tile_of(value).shape for value in operation.operands):
            return False
    return True


def combine(operation: Operation, frame: Frame, first: list[Any], second: list[Any]) -> list[Any]:
    """The results of the body of a `reduce` or `scan` for its first and second arguments, slices of any shape."""
    shape = first[0].shape
    if frame.program.prepared[operation]:
        # A yield of a constant or of an outer value is smaller than the slice.
        values = _combine(operation, frame, first, second)
        return [value if value.shape == shape else numpy.broadcast_to(value, shape) for value in values]
    outputs: list[Array] = [numpy.empty(shape, value_dtype(tile_of(result).element)) for result in operation.results]
    for index in numpy.ndindex(shape):
        values = _combine(operation, frame, [value[index] for value in first], [value[index] for value in second])
        for output, value in zip(outputs, values, strict=True):
            output[index] = value
    return outputs


def _combine(operation: Operation, frame: Frame, first: list[Any], second: list[Any]) -> list[Any]:
    arguments = [value for pair in zip(first, second, strict=True) for value in pair]
    ending = frame.run(operation.regions[0].block, arguments)
    assert ending is not None
    return ending[1]


def run_reduce(operation: Operation, frame: Frame) -> None:
    values = [numpy.moveaxis(value, operation.dim, 0) for value in frame.values_of(operation.operands)]
    lanes = [value[:LANES] for value in values]
    for start in range(LANES, len(values[0]), LANES):
        lanes = combine(operation, frame, [value[start : start + LANES] for value in values], lanes)
    while len(lanes[0]) > 1:
        half = len(lanes[0]) // 2
        lanes = combine(operation, frame, [lane[half:] for lane in lanes], [lane[:half] for lane in lanes])
    frame.assign(operation.results, [lane[0][()] for lane in lanes])


def run_scan(operation: Operation, frame: Frame) -> None:
    axis = operation.dim
    values = [numpy.moveaxis(value, axis, 0) for value in frame.values_of(operation.operands)]
    outputs = [numpy.empty(value.shape, value.dtype) for value in values]
    last: list[Any] = []
    order = range(len(values[0]))
    for index in reversed(order) if operation.reverse else order:
        items = [value[index] for value in values]
        last = combine(operation, frame, last, items) if last else items
        for output, value in zip(outputs, last, strict=True):
            output[index] = value
    frame.assign(operation.results, [numpy.moveaxis(output, 0, axis) for output in outputs])
