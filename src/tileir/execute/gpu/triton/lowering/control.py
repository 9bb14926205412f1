"""Lowering of control flow."""

from __future__ import annotations

from tileir.dialect import ops
from tileir.dialect.types import TOKEN
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.ir.core import Operation


def lower_for(lowering: Lowering, operation: Operation) -> None:
    build = lowering.build
    start, end, step = [lowering.value(operand) for operand in operation.operands[:3]]
    block = operation.regions[0].blocks[0]
    # Tokens order what is in order anyway.
    pairs = [
        (given, inside, result)
        for given, inside, result in zip(operation.operands[3:], block.arguments[1:], operation.results, strict=True)
        if given.type is not TOKEN
    ]
    initial = [lowering.value(given) for given, _, _ in pairs]
    with build.for_loop(start, end, step, initial) as (counter, carried, results):
        lowering.values[block.arguments[0]] = counter
        for (_, inside, _), value in zip(pairs, carried, strict=True):
            lowering.values[inside] = value
        lowering.block(block)
    for (_, _, result), value in zip(pairs, results, strict=True):
        lowering.values[result] = value


def lower_continue(lowering: Lowering, operation: Operation) -> None:
    lowering.build.yields(lowering.operands(operation))


def lower_return(lowering: Lowering, operation: Operation) -> None:
    lowering.build.write("tt.return")


def lower_block_ids(lowering: Lowering, operation: Operation) -> None:
    name = "tt.get_program_id" if operation.declaration is ops.GET_TILE_BLOCK_ID else "tt.get_num_programs"
    for axis, result in zip("xyz", operation.results, strict=True):
        lowering.define(result, lowering.build.emit(f"{name} {axis} : i32", "i32"))
