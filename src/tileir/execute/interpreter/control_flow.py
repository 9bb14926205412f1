"""Structured control flow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import numpy

from tileir.dialect.ops import ALLOCA, IF, YIELD
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.errors import AssertionFailedError, ExecutionError
from tileir.execute.interpreter.compiler import (
    BLOCK_SLOT,
    BROKEN,
    CONTINUED,
    RETURNED,
    Compiler,
    Loop,
    Registers,
    Step,
    copy_step,
    run_checked,
)
from tileir.execute.interpreter.product_loops import product_loop
from tileir.execute.locations.wording import bracketed
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Block, Operation
from tileir.ir.types import IntegerType

# Loops of more steps make their counters as they go.
_MOST_COUNTERS: Final = 1024


def release_to(block: TileBlock, mark: int) -> None:
    """Give back what `alloca` reserved since the mark."""
    while len(block.allocations) > mark:
        block.memory.release(block.allocations.pop())


def reserves_memory(block: Block) -> bool:
    """Whether an `alloca` has this block as its allocation scope: directly, or inside branches."""
    for operation in block:
        declaration = operation.declaration
        if declaration is ALLOCA:
            return True
        if declaration is IF and any(reserves_memory(inner) for region in operation.regions for inner in region.blocks):
            return True
    return False


def compile_if(compiler: Compiler, operation: Operation) -> Step:
    condition = compiler.slot(operation.operands[0])
    branches: list[tuple[list[Step], bool]] = []
    for region in operation.regions:
        compiler.yields.append([compiler.slot(result) for result in operation.results])
        branches.append(compiler.block(region.blocks[0]) if region.blocks else ([], False))
        compiler.yields.pop()
    while len(branches) < 2:
        branches.append(([], False))
    (then_steps, then_checked), (else_steps, else_checked) = branches
    escapes = (
        then_checked
        or else_checked
        or any(region.blocks and _ends_early(region.blocks[0]) for region in operation.regions)
    )
    if escapes:

        def choose_checked(registers: Registers) -> int | None:
            return run_checked(then_steps if registers[condition] else else_steps, registers)

        return choose_checked

    def choose(registers: Registers) -> None:
        for step in then_steps if registers[condition] else else_steps:
            step(registers)

    return choose


def _ends_early(block: Block) -> bool:
    return block.last is not None and block.last.declaration is not YIELD


def _body(compiler: Compiler, operation: Operation, loop: Loop) -> tuple[list[Step], bool]:
    compiler.loops.append(loop)
    compiled = compiler.block(operation.regions[0].blocks[0])
    compiler.loops.pop()
    return compiled


def _entering(loop: Loop, initial: list[int]) -> Step:
    """What happens before a loop begins."""
    carry = copy_step(initial, loop.arguments, None)
    scratch = loop.scratch
    if not scratch:
        return carry

    def enter(registers: Registers) -> None:
        for slot in scratch:
            registers[slot] = None
        carry(registers)

    return enter


def compile_for(compiler: Compiler, operation: Operation) -> Step:
    lower, upper, stride = (compiler.slot(value) for value in operation.operands[:3])
    initial = [compiler.slot(value) for value in operation.operands[3:]]
    arguments = operation.regions[0].block.arguments
    induction = compiler.slot(arguments[0])
    carried = [compiler.slot(argument) for argument in arguments[1:]]
    results = [compiler.slot(result) for result in operation.results]
    body = Loop(carried, results)
    steps, checked = _body(compiler, operation, body)
    enter = _entering(body, initial)
    leave = copy_step(carried, results, None)
    element = cast(IntegerType, cast(TileType, arguments[0].type).element)
    scalar = value_dtype(element).type
    unsigned = operation.unsigned_cmp
    reserves = reserves_memory(operation.regions[0].block)
    half, whole = 1 << (element.width - 1), 1 << element.width

    def bounds(registers: Registers) -> range:
        numbers = [int(registers[slot]) for slot in (lower, upper, stride)]
        if unsigned or element.width == 1:
            numbers = [number % whole for number in numbers]
            if element.width == 1 and not unsigned:
                numbers = [number - whole if number >= half else number for number in numbers]
        if numbers[2] <= 0:
            message = f"has a step of {numbers[2]}: it must be positive"
            raise ExecutionError(message, operation, registers[BLOCK_SLOT].id)
        return range(*numbers)

    # The counters of the last run: a loop runs over the same numbers in most tile blocks.
    last: tuple[range, list[Any]] = (range(0), [])

    def counters(span: range) -> Iterable[Any]:
        nonlocal last
        known, found = last
        if known == span:
            return found
        made = (scalar(number - whole if unsigned and number >= half else number) for number in span)
        if len(span) > _MOST_COUNTERS:
            return made
        found = list(made)
        last = (span, found)
        return found

    def loop(registers: Registers) -> None:
        enter(registers)
        if checked:
            for counter in counters(bounds(registers)):
                registers[induction] = counter
                run_checked(steps, registers)
        else:
            for counter in counters(bounds(registers)):
                registers[induction] = counter
                for step in steps:
                    step(registers)
        leave(registers)

    if not reserves:
        return product_loop(compiler, operation, bounds, loop) or loop

    def loop_with_memory(registers: Registers) -> None:
        enter(registers)
        tile_block: TileBlock = registers[BLOCK_SLOT]
        mark = len(tile_block.allocations)
        for counter in counters(bounds(registers)):
            registers[induction] = counter
            run_checked(steps, registers)
            release_to(tile_block, mark)
        leave(registers)

    return loop_with_memory


def compile_loop(compiler: Compiler, operation: Operation) -> Step:
    initial = [compiler.slot(value) for value in operation.operands]
    carried = [compiler.slot(argument) for argument in operation.regions[0].block.arguments]
    results = [compiler.slot(result) for result in operation.results]
    body = Loop(carried, results)
    steps, _ = _body(compiler, operation, body)
    enter = _entering(body, initial)
    reserves = reserves_memory(operation.regions[0].block)

    def loop(registers: Registers) -> int | None:
        enter(registers)
        tile_block: TileBlock = registers[BLOCK_SLOT]
        mark = len(tile_block.allocations)
        while True:
            signal = run_checked(steps, registers)
            if reserves:
                release_to(tile_block, mark)
            if signal == BROKEN:
                return None
            if signal == RETURNED:
                return RETURNED

    return loop


def compile_continue(compiler: Compiler, operation: Operation) -> Step:
    sources = [compiler.slot(value) for value in operation.operands]
    return copy_step(sources, compiler.loops[-1].arguments, CONTINUED)


def compile_break(compiler: Compiler, operation: Operation) -> Step:
    sources = [compiler.slot(value) for value in operation.operands]
    return copy_step(sources, compiler.loops[-1].results, BROKEN)


def compile_yield(compiler: Compiler, operation: Operation) -> Step:
    sources = [compiler.slot(value) for value in operation.operands]
    return copy_step(sources, compiler.yields[-1], None)


def compile_return(compiler: Compiler, operation: Operation) -> Step:
    return copy_step([], [], RETURNED)


def compile_assert(compiler: Compiler, operation: Operation) -> Step:
    condition = compiler.slot(operation.operands[0])
    message = operation.message

    def check(registers: Registers) -> None:
        value = registers[condition]
        if not value.all():
            tile_block: TileBlock = registers[BLOCK_SLOT]
            element = failing_element(value)
            where = f" (first at element {bracketed(element)})" if element else ""
            raise AssertionFailedError(f"failed: {message}{where}", operation, tile_block.id, element)

    return check


def failing_element(truth: Array | numpy.bool_) -> tuple[int, ...]:
    """Which element of a tile of truth values is the first false one."""
    if truth.ndim == 0:
        return ()
    return tuple([int(number) for number in numpy.unravel_index(int(numpy.argmin(truth)), truth.shape)])
