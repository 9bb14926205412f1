"""Structured control flow, and `reduce` and `scan` with any body.


The order is fixed, and every engine keeps to it; docs/execution.md states it.  Along the dimension of n elements
(a power of two):

reduce: with more than 64 elements there are 64 lanes.  Lane j starts with element j and takes elements j + 64,
j + 128, and so on, in this order, each as `body(current = element, previous = lane)`.  What remains, lanes or elements,
is halved until one is left: items j and j + half become `body(current = item j + half, previous = item j)`.

scan: the first result is the first element, each further one is the body of the result before it, as first argument,
and the element, as second: the order NVIDIA's compiler gives a scan (docs/conflicts.md C13).  With `reverse` it goes
from the last element to the first.

Identities are never an operand: a tile has at least one element, and an identity that is one changes nothing.

The body runs on whole slices at once where all its operations are elementwise; otherwise (it may hold an `if`) element
by element, in the same order, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect.ops import CONSTANT, GET_TILE_BLOCK_ID
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.interpreter.compiler import (
    BLOCK_SLOT,
    BROKEN,
    RETURNED,
    Compiler,
    Registers,
    Step,
    copy_step,
    run_steps,
)
from tileir.execute.locations.wording import bracketed
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import IntegerType


def release_to(block: TileBlock, mark: int) -> None:
    """Release what `alloca` reserved since the mark."""
    while len(block.allocations) > mark:
        block.memory.release(block.allocations.pop())


def compile_if(compiler: Compiler, operation: Operation) -> Step:
    condition = compiler.slot(operation.operands[0])
    compiler.yields.append(compiler.slots_of(operation.results))
    branches: list[list[Step]] = [[], []]
    for number, region in enumerate(operation.regions):
        if region.blocks:
            branches[number] = compiler.block(region.blocks[0])
    compiler.yields.pop()
    then_steps, else_steps = branches

    def choose(registers: Registers) -> int | None:
        return run_steps(then_steps if registers[condition] else else_steps, registers)

    return choose


def _loop_body(compiler: Compiler, operation: Operation, carried: list[int]) -> Step:
    """One iteration; what it reserves is released at its end."""
    compiler.continues.append(carried)
    compiler.breaks.append(compiler.slots_of(operation.results))
    steps = compiler.block(operation.regions[0].blocks[0])
    compiler.continues.pop()
    compiler.breaks.pop()

    def iterate(registers: Registers) -> int | None:
        tile_block: TileBlock = registers[BLOCK_SLOT]
        mark = len(tile_block.allocations)
        signal = run_steps(steps, registers)
        release_to(tile_block, mark)
        return signal

    return iterate


def compile_for(compiler: Compiler, operation: Operation) -> Step:
    bounds = compiler.slots_of(operation.operands[:3])
    induction, *carried = compiler.slots_of(operation.regions[0].block.arguments)
    enter = copy_step(compiler.slots_of(operation.operands[3:]), carried, None)
    leave = copy_step(carried, compiler.slots_of(operation.results), None)
    iterate = _loop_body(compiler, operation, carried)
    element = cast(IntegerType, tile_of(operation.operands[0]).element)
    scalar = value_dtype(element).type
    unsigned = operation.unsigned_cmp
    half, whole = 1 << (element.width - 1), 1 << element.width

    def span(registers: Registers) -> range:
        numbers = [int(registers[slot]) % whole for slot in bounds]
        if not unsigned:
            numbers = [number - whole if number >= half else number for number in numbers]
        if numbers[2] <= 0:
            message = f"has a step of {numbers[2]}: it must be positive"
            raise ExecutionError(message, operation, registers[BLOCK_SLOT].id)
        return range(*numbers)

    def loop(registers: Registers) -> None:
        enter(registers)
        for number in span(registers):
            registers[induction] = scalar(number - whole if unsigned and number >= half else number)
            iterate(registers)
        leave(registers)

    return loop


def compile_loop(compiler: Compiler, operation: Operation) -> Step:
    carried = compiler.slots_of(operation.regions[0].block.arguments)
    enter = copy_step(compiler.slots_of(operation.operands), carried, None)
    iterate = _loop_body(compiler, operation, carried)

    def loop(registers: Registers) -> int | None:
        enter(registers)
        while True:
            signal = iterate(registers)
            if signal == BROKEN:
                return None
            if signal == RETURNED:
                return RETURNED

    return loop


def compile_assert(compiler: Compiler, operation: Operation) -> Step:
    condition = compiler.slot(operation.operands[0])

    def check(registers: Registers) -> None:
        value = registers[condition]
        if not value.all():
            index = numpy.unravel_index(int(numpy.argmin(value)), value.shape)
            element = tuple([int(number) for number in index])
            where = f" (first at element {bracketed(element)})" if element else ""
            message = f"failed: {operation.message}{where}"
            raise AssertionFailedError(message, operation, registers[BLOCK_SLOT].id, element)

    return check


# --- reduce and scan ---

LANES: Final = 64

Combine = Callable[[Registers, "list[Any]", "list[Any]"], "list[Any]"]
"""From the first and second arguments of a body to its results, on slices of any shape."""


def _is_elementwise(block: Block) -> bool:
    """Whether the body may run on slices: each operation looks at each element alone."""
    for operation in block:
        if operation is block.last or operation.declaration in (CONSTANT, GET_TILE_BLOCK_ID):
            continue
        if not operation.declaration.has_trait(ELEMENTWISE):
            return False
        if any(tile_of(value).shape for value in operation.operands):
            return False
    return True


def combination(compiler: Compiler, operation: Operation) -> Combine:
    """The body of a `reduce` or `scan` as a function."""
    block = operation.regions[0].block
    arguments = compiler.slots_of(block.arguments)
    results = [compiler.new_slot() for _ in operation.results]
    compiler.yields.append(results)
    steps = compiler.block(block)
    compiler.yields.pop()

    def combine(registers: Registers, first: list[Any], second: list[Any]) -> list[Any]:
        for slot, value in zip(arguments[0::2], first, strict=True):
            registers[slot] = value
        for slot, value in zip(arguments[1::2], second, strict=True):
            registers[slot] = value
        run_steps(steps, registers)
        return [registers[slot] for slot in results]

    def combine_slices(registers: Registers, first: list[Any], second: list[Any]) -> list[Any]:
        shape = first[0].shape
        # A yield of a constant or of an outer value is smaller than the slice.
        return [
            value if value.shape == shape else numpy.broadcast_to(value, shape)
            for value in combine(registers, first, second)
        ]

    dtypes = [value_dtype(tile_of(result).element) for result in operation.results]

    def combine_elements(registers: Registers, first: list[Any], second: list[Any]) -> list[Any]:
        outputs: list[Array] = [numpy.empty(first[0].shape, dtype) for dtype in dtypes]
        for index in numpy.ndindex(first[0].shape):
            values = combine(registers, [value[index] for value in first], [value[index] for value in second])
            for output, value in zip(outputs, values, strict=True):
                output[index] = value
        return outputs

    return combine_slices if _is_elementwise(block) else combine_elements


def compile_reduce(compiler: Compiler, operation: Operation) -> Step:
    operands, results = compiler.slots_of(operation.operands), compiler.slots_of(operation.results)
    axis = operation.dim
    combine = combination(compiler, operation)

    def reduce(registers: Registers) -> None:
        values = [numpy.moveaxis(registers[slot], axis, 0) for slot in operands]
        lanes = [value[:LANES] for value in values]
        for start in range(LANES, len(values[0]), LANES):
            lanes = combine(registers, [value[start : start + LANES] for value in values], lanes)
        while len(lanes[0]) > 1:
            half = len(lanes[0]) // 2
            lanes = combine(registers, [lane[half:] for lane in lanes], [lane[:half] for lane in lanes])
        for slot, lane in zip(results, lanes, strict=True):
            registers[slot] = lane[0][()]

    return reduce


def compile_scan(compiler: Compiler, operation: Operation) -> Step:
    operands, results = compiler.slots_of(operation.operands), compiler.slots_of(operation.results)
    axis = operation.dim
    combine = combination(compiler, operation)

    def scan(registers: Registers) -> None:
        values = [numpy.moveaxis(registers[slot], axis, 0) for slot in operands]
        outputs = [numpy.empty(value.shape, value.dtype) for value in values]
        count = len(values[0])
        last: list[Any] = []
        for index in range(count - 1, -1, -1) if operation.reverse else range(count):
            items = [value[index] for value in values]
            last = combine(registers, last, items) if last else items
            for output, value in zip(outputs, last, strict=True):
                output[index] = value
        for slot, output in zip(results, outputs, strict=True):
            registers[slot] = numpy.moveaxis(output, 0, axis)

    return scan
