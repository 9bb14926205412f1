"""C += A * B from the tiles of `amx`, by the chain of fused multiply-adds for k = 0, 1, 2 and on.

For operands that the unit does not take: from bf16, or its two parts, the factors are f32 exactly.  It takes a block of
rows of A, as they lie in the stage, and a panel of B.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS, MmaPlan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import SINGLE, intrinsic
from tileir.execute.cpu.vector.llvm import Register

_TILE_BYTES: Final = AMX_ROWS * AMX_BYTES
_ROWS: Final = 8
"""Rows of C that are computed at the same time."""
_WORDS: Final = f"<{AMX_ROWS} x i32>"
_SINGLES: Final = f"<{AMX_ROWS} x float>"


def emit_tile_chain(builder: Builder, plan: MmaPlan, stage: str, panel: str, c: Rows, extent: int) -> None:
    """Emit it for a block of rows and the 16 columns of a panel; `extent` is how far k goes."""
    size = plan.accumulator_dtype.itemsize

    def rows(row: Number) -> None:
        first = builder.moved(c[0], builder.multiply(row, c[1]))
        places = [builder.moved(first, builder.multiply(number, c[1])) for number in range(_ROWS)]
        start = [builder.value(f"load {_SINGLES}, ptr {place}, align {size}", SINGLE, AMX_ROWS) for place in places]
        # The rows of a block lie one after the other, tile after tile.
        left = builder.moved(stage, builder.multiply(row, AMX_BYTES))

        def tile(number: Number, sums: list[Register]) -> list[Register]:
            a = builder.moved(left, builder.multiply(number, plan.rows * AMX_BYTES * plan.parts))
            b = builder.moved(panel, builder.multiply(number, _TILE_BYTES * plan.parts))

            def pair(place: Number, sums: list[Register]) -> list[Register]:
                right = _pair(builder, plan, builder.moved(b, builder.multiply(place, AMX_BYTES)), _TILE_BYTES, False)
                found = []
                for number, total in enumerate(sums):
                    here = builder.moved(builder.moved(a, builder.multiply(place, 4)), number * AMX_BYTES)
                    left = _pair(builder, plan, here, plan.rows * AMX_BYTES, True)
                    for one, other in zip(left, right, strict=True):
                        total = intrinsic(builder, "fma", [one, other, total])
                    found.append(total)
                return found

            return builder.carry(0, AMX_BYTES // 4, 1, sums, pair)

        sums = builder.carry(0, extent // (AMX_BYTES // plan.lhs_dtype.itemsize), 1, start, tile)
        for place, total in zip(places, sums, strict=True):
            builder.do(f"store {total.typed}, ptr {place}, align {size}")

    builder.count(0, plan.rows, _ROWS, rows)


def _pair(builder: Builder, plan: MmaPlan, pointer: str, apart: int, is_left: bool) -> list[Register]:
    """The elements of two successive k: one of A in all lanes, or those of all columns of B."""
    found: list[Register] = []
    for part in range(plan.parts):
        here = builder.moved(pointer, part * apart)
        if is_left:
            word = builder.emit(f"load i32, ptr {here}, align 4")
            one = builder.emit(f"insertelement {_WORDS} poison, i32 {word}, i64 0")
            words = builder.emit(f"shufflevector {_WORDS} {one}, {_WORDS} poison, {_WORDS} zeroinitializer")
        else:
            words = builder.emit(f"load {_WORDS}, ptr {here}, align 64")
        patterns = [
            builder.emit(f"shl {_WORDS} {words}, splat (i32 16)"),
            builder.emit(f"and {_WORDS} {words}, splat (i32 {-1 << 16})"),
        ]
        numbers = [builder.value(f"bitcast {_WORDS} {one} to {_SINGLES}", SINGLE, AMX_ROWS) for one in patterns]
        if found:
            numbers = [
                builder.value(f"fadd {before.typed}, {number.name}", SINGLE, AMX_ROWS)
                for before, number in zip(found, numbers, strict=True)
            ]
        found = numbers
    return found
