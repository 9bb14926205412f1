"""`reduce` and `scan` with any body.

The order is fixed, and every engine keeps to it; docs/execution.md states it.  Along the dimension of n elements
(a power of two):

reduce: with more than 64 elements there are 64 lanes.  Lane j starts with element j and takes elements j + 64,
j + 128, and so on, in this order, each as `body(current = element, previous = lane)`.  What remains, lanes or elements,
is halved until one is left: items j and j + half become `body(current = item j + half, previous = item j)`.

scan: the first result is the first element, each further one `body(current = element, previous = result before it)`,
from the last element to the first with `reverse`.

Identities are never an operand: a tile has at least one element, and an identity that is one changes nothing.

The body runs on whole slices at once where all its operations are elementwise; otherwise (it may hold an `if`) element
by element, in the same order, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.interpreter.compiler import Compiler, Registers, Step
from tileir.execute.interpreter.shapes import tile_of
from tileir.ir.attributes import IntegerAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ELEMENTWISE

LANES: Final = 64

Combine = Callable[[Registers, "list[Any]", "list[Any]"], "list[Any]"]


def _is_elementwise(block: Block) -> bool:
    """Whether the body may run on slices: each operation looks at each element alone."""
    for operation in block:
        if operation is block.last or operation.declaration.mnemonic in ("constant", "get_tile_block_id"):
            continue
        if not operation.declaration.has_trait(ELEMENTWISE):
            return False
        if any(tile_of(value).shape for value in operation.operands):
            return False
    return True


def _combination(compiler: Compiler, operation: Operation) -> Combine:
    """The body as a function from current and previous values to new ones, on slices of any shape."""
    block = operation.regions[0].block
    arguments = [compiler.slot(argument) for argument in block.arguments]
    results = [compiler.new_slot() for _ in operation.results]
    compiler.yields.append(results)
    steps, _ = compiler.block(block)
    compiler.yields.pop()
    current, previous = arguments[0::2], arguments[1::2]

    def combine(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
        for slot, value in zip(current, newer, strict=True):
            registers[slot] = value
        for slot, value in zip(previous, older, strict=True):
            registers[slot] = value
        for step in steps:
            step(registers)
        return [registers[slot] for slot in results]

    if _is_elementwise(block):

        def combine_slices(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
            shape = newer[0].shape
            # A yield of a constant or of an outer value is smaller than the slice.
            return [
                value if value.shape == shape else numpy.broadcast_to(value, shape)
                for value in combine(registers, newer, older)
            ]

        return combine_slices

    dtypes = [value_dtype(tile_of(result).element) for result in operation.results]

    def combine_elements(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
        shape = newer[0].shape
        outputs = [numpy.empty(shape, dtype) for dtype in dtypes]
        for index in numpy.ndindex(shape):
            values = combine(registers, [value[index] for value in newer], [value[index] for value in older])
            for output, value in zip(outputs, values, strict=True):
                output[index] = value
        return outputs

    return combine_elements


def _front(values: list[Array], axis: int) -> list[Array]:
    """The dimension to go along first."""
    return [numpy.moveaxis(value, axis, 0) for value in values] if axis else values


def compile_reduce(compiler: Compiler, operation: Operation) -> Step:
    operands = [compiler.slot(value) for value in operation.operands]
    results = [compiler.slot(result) for result in operation.results]
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    extent = tile_of(operation.operands[0]).shape[axis]
    scalar = not tile_of(operation.results[0]).shape
    combine = _combination(compiler, operation)

    def reduce(registers: Registers) -> None:
        values = _front([registers[slot] for slot in operands], axis)
        count = extent
        if count > LANES:
            lanes = [value[:LANES] for value in values]
            for start in range(LANES, count, LANES):
                lanes = combine(registers, [value[start : start + LANES] for value in values], lanes)
            values, count = lanes, LANES
        while count > 1:
            count //= 2
            values = combine(registers, [value[count:] for value in values], [value[:count] for value in values])
        for slot, value in zip(results, values, strict=True):
            registers[slot] = value[0][()] if scalar else value[0]

    return reduce


def compile_scan(compiler: Compiler, operation: Operation) -> Step:
    operands = [compiler.slot(value) for value in operation.operands]
    results = [compiler.slot(result) for result in operation.results]
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    reverse = cast(IntegerAttribute, operation.attributes["reverse"]).value != 0
    extent = tile_of(operation.operands[0]).shape[axis]
    combine = _combination(compiler, operation)

    def scan(registers: Registers) -> None:
        values = _front([registers[slot] for slot in operands], axis)
        outputs = [numpy.empty(value.shape, value.dtype) for value in values]
        order = range(extent - 1, -1, -1) if reverse else range(extent)
        last: list[Any] = []
        for place in order:
            items = [value[place] for value in values]
            last = combine(registers, items, last) if last else items
            for output, value in zip(outputs, last, strict=True):
                output[place] = value
        for slot, output in zip(results, outputs, strict=True):
            registers[slot] = numpy.moveaxis(output, 0, axis) if axis else output

    return scan
