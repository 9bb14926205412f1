"""Structured control flow."""

from __future__ import annotations

from typing import cast

import numpy

from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.interpreter.compiler import (
    BLOCK_SLOT,
    BROKEN,
    CONTINUED,
    RETURNED,
    Compiler,
    Registers,
    Step,
    copy_step,
    run_steps,
)
from tileir.execute.locations.wording import bracketed
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Operation
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


def compile_continue(compiler: Compiler, operation: Operation) -> Step:
    return copy_step(compiler.slots_of(operation.operands), compiler.continues[-1], CONTINUED)


def compile_break(compiler: Compiler, operation: Operation) -> Step:
    return copy_step(compiler.slots_of(operation.operands), compiler.breaks[-1], BROKEN)


def compile_yield(compiler: Compiler, operation: Operation) -> Step:
    return copy_step(compiler.slots_of(operation.operands), compiler.yields[-1], None)


def compile_return(compiler: Compiler, operation: Operation) -> Step:
    return copy_step([], [], RETURNED)


def compile_assert(compiler: Compiler, operation: Operation) -> Step:
    condition = compiler.slot(operation.operands[0])

    def check(registers: Registers) -> None:
        value = registers[condition]
        if not value.all():
            element = failing_element(value)
            where = f" (first at element {bracketed(element)})" if element else ""
            message = f"failed: {operation.message}{where}"
            raise AssertionFailedError(message, operation, registers[BLOCK_SLOT].id, element)

    return check


def failing_element(truth: Array | numpy.bool_) -> tuple[int, ...]:
    """Which element of a tile of truth values is the first false one."""
    if truth.ndim == 0:
        return ()
    return tuple([int(number) for number in numpy.unravel_index(int(numpy.argmin(truth)), truth.shape)])
