"""Packing of rows in memory for matrix tiles: the right operands of chains."""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.products import store_packed, woven
from tileir.execute.cpu.loops.statements import Multiply
from tileir.execute.cpu.matrix.edges import lanes_below, load_masked
from tileir.execute.cpu.matrix.guards import Guard
from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register

_UNROLL: Final = 2
"""Rows of a panel that are packed in one turn of the innermost loop."""


def pack_tiles(
    emission: Emission, product: Multiply, source: str, row: Number, panel: str, extent: str, known: Number
) -> str:
    """Pack rows that lie in memory as the plan wants them, `extent` of them; an i1 as `guarded` gives it.

    As many columns as are `known` lie there: zeros for the others.

    Tile after tile, two panels at a time: lines are read as a whole, and written next to each other.
    """
    builder, plan = emission.builder, product.plan
    group, columns, size = plan.group, plan.columns, plan.rhs_dtype.itemsize
    width = min(plan.n, 2 * columns)
    guard = Guard(plan.guard) if plan.guard else None
    panel_bytes = builder.multiply(extent, columns * size * plan.parts)
    deep = AMX_ROWS * group

    def tile(k: Number, seen: list[Register]) -> list[Register]:
        here = builder.moved(source, builder.multiply(k, row))
        there = builder.moved(panel, builder.multiply(k, columns * size * plan.parts))

        def across(column: Number, seen: list[Register]) -> list[Register]:
            block = builder.moved(here, builder.multiply(column, size))
            mask = lanes_below(builder, builder.subtract(known, column), width)
            first = builder.moved(there, builder.multiply(_divided(emission, column, columns), panel_bytes))

            def one(position: Number, seen: list[Register]) -> list[Register]:
                place = builder.moved(block, builder.multiply(builder.multiply(position, group), row))
                members = []
                for member in range(group):
                    where = builder.moved(place, builder.multiply(row, member))
                    members.append(load_masked(builder, plan.rhs_dtype, width, where, mask, emission.memory_suffix))
                    # Rows are often pages apart, where no machine looks ahead by itself.
                    ahead = builder.moved(where, builder.multiply(row, deep))
                    builder.call("void", "llvm.prefetch.p0", [f"ptr {ahead}", "i32 0", "i32 3", "i32 1"])
                target = builder.moved(first, builder.multiply(position, AMX_BYTES))
                found = []
                for number in range(width // columns):
                    packed = woven(emission, [_part(emission, one, number * columns, columns) for one in members])
                    where = builder.moved(target, builder.multiply(panel_bytes, number))
                    high = store_packed(emission, plan, packed, where)
                    if guard is not None:
                        found.append(guard.seen(builder, seen[number], high))
                return found

            def steps(position: Number, seen: list[Register]) -> list[Register]:
                for number in range(_UNROLL):
                    seen = one(builder.add(position, number), seen)
                return seen

            return builder.carry(0, AMX_ROWS, _UNROLL, seen, steps)

        return builder.carry(0, plan.n, width, seen, across)

    start = [] if guard is None else [guard.start(2 * columns)] * (width // columns)
    seen = builder.carry(0, extent, deep, start, tile)
    return "false" if guard is None else guard.answer(builder, seen)


def _divided(emission: Emission, number: Number, size: int) -> Number:
    if isinstance(number, int):
        return number // size
    return emission.builder.emit(f"lshr i64 {number}, {size.bit_length() - 1}")


def _part(emission: Emission, vector: Register, first: int, count: int) -> Register:
    """Some successive lanes of a vector."""
    if vector.width == count:
        return vector
    lanes = ", ".join([f"i32 {first + lane}" for lane in range(count)])
    text = f"shufflevector {vector.typed}, {vector.type} poison, <{count} x i32> <{lanes}>"
    return emission.builder.value(text, vector.dtype, count)
