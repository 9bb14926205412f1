"""C += A * B with AVX512_BF16: a block of C in vector registers, two k at a time.

An instruction multiplies pairs of bf16 and adds both products to a vector of f32, each rounded: a chain of fused
multiply-adds, with twice as many in the same time.  It counts subnormal numbers as zero.  Those are looked for in the
rows of A before a block of them is multiplied; who packs B says whether there are some in it.  With either, what one
operation has of the rows of the block is multiplied by the chain for k = 0, 1, 2 and on, from the same operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from tileir.execute.cpu.matrix.guards import Guard
from tileir.execute.cpu.matrix.plan import BFLOAT16, MmaPlan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import SINGLE, intrinsic
from tileir.execute.cpu.vector.llvm import Register

_LANES: Final = 16
_SINGLES: Final = f"<{_LANES} x float>"
_PAIRS: Final = f"<{_LANES} x i32>"
_NARROW: Final = f"<{2 * _LANES} x bfloat>"
_UNROLL: Final = 2
"""Pairs of k in one turn of the innermost loop."""

Step: TypeAlias = Callable[[Builder, str, str, Register], Register]
"""Emits one step: pairs of the left and of the right operand, accumulator to the new accumulator."""


def emit_dots(builder: Builder, plan: MmaPlan, a: Rows, b: str, c: Rows, extent: Number, odd: str) -> None:
    """Emit the product; `extent` is how far k goes, `odd` an i1: there are subnormal numbers in B."""
    size = plan.lhs_dtype.itemsize
    panel_bytes = builder.multiply(extent, plan.columns * size)

    def panel_of(column: Number, first: Number) -> str:
        shift = plan.columns.bit_length() - 1
        number = column >> shift if isinstance(column, int) else builder.emit(f"lshr i64 {column}, {shift}")
        panel = builder.moved(b, builder.multiply(number, panel_bytes))
        return builder.moved(panel, builder.multiply(first, plan.columns * size))

    def rows(row: Number) -> None:
        start = builder.moved(a[0], builder.multiply(row, a[1]))
        c_rows = builder.moved(c[0], builder.multiply(row, c[1]))

        def lines(first: Number) -> list[str]:
            here = builder.moved(start, builder.multiply(first, size))
            return [builder.moved(here, builder.multiply(number, a[1])) for number in range(plan.rows)]

        def columns(step: Step, first: Number, length: Number) -> None:
            def block(column: Number) -> None:
                place = builder.moved(c_rows, builder.multiply(column, plan.accumulator_dtype.itemsize))
                _emit_block(builder, plan, lines(first), panel_of(column, first), (place, c[1]), step, length)

            builder.count(0, plan.n, plan.columns, block)

        def part(first: Number) -> None:
            # What one operation has of k: the result does not depend on how many are taken together.
            def look(column: Number, seen: list[Register]) -> list[Register]:
                return guard.looking(builder, panel_of(column, first), plan.k * plan.columns * size, seen)

            seen = builder.carry(0, plan.n, plan.columns, [guard.start(2 * _LANES)], look)
            found = builder.any_of([guard.answer(builder, seen), _is_odd(builder, plan, lines(first), plan.k)])
            builder.branch(found, lambda: columns(_chain, first, plan.k), lambda: columns(_dot, first, plan.k))

        if not plan.guard:
            columns(_dot, 0, extent)
            return
        guard = Guard(plan.guard)
        clean = builder.emit(f"xor i1 {builder.any_of([odd, _is_odd(builder, plan, lines(0), extent)])}, true")
        builder.branch(
            clean, lambda: columns(_dot, 0, extent), lambda: builder.count(0, extent, plan.k, part), likely=True
        )

    builder.count(0, plan.m, plan.rows, rows)


def _is_odd(builder: Builder, plan: MmaPlan, rows: list[str], extent: Number) -> str:
    """Whether there are subnormal numbers in some rows."""
    guard = Guard(plan.guard)
    width = 2 * _LANES

    def look(k: Number, seen: list[Register]) -> list[Register]:
        found = []
        for number, row in enumerate(rows):
            place = builder.moved(row, builder.multiply(k, plan.lhs_dtype.itemsize))
            vector = builder.value(f"load <{width} x i16>, ptr {place}, align 2", BFLOAT16, width)
            found.append(guard.seen(builder, seen[number], vector))
        return found

    return guard.answer(builder, builder.carry(0, extent, width, [guard.start(width)] * len(rows), look))


def _emit_block(
    builder: Builder, plan: MmaPlan, rows: list[str], panel: str, c: Rows, step: Step, extent: Number
) -> None:
    """One block of C through the whole of k."""
    size = plan.accumulator_dtype.itemsize
    vectors = plan.columns // _LANES
    places = [
        builder.moved(c[0], builder.add(builder.multiply(row, c[1]), vector * _LANES * size))
        for row in range(plan.rows)
        for vector in range(vectors)
    ]
    start = [builder.value(f"load {_SINGLES}, ptr {place}, align {size}", SINGLE, _LANES) for place in places]

    def turn(k: Number, sums: list[Register]) -> list[Register]:
        for number in range(_UNROLL):
            here = builder.add(builder.multiply(k, 2), 4 * number)
            line = builder.moved(panel, builder.multiply(builder.add(k, 2 * number), 2 * plan.columns))
            rights = [
                builder.emit(f"load {_PAIRS}, ptr {builder.moved(line, 64 * vector)}, align 64")
                for vector in range(vectors)
            ]
            following = []
            for row, pointer in enumerate(rows):
                word = builder.emit(f"load i32, ptr {builder.moved(pointer, here)}, align 2")
                one = builder.emit(f"insertelement {_PAIRS} poison, i32 {word}, i64 0")
                left = builder.emit(f"shufflevector {_PAIRS} {one}, {_PAIRS} poison, {_PAIRS} zeroinitializer")
                for vector, right in enumerate(rights):
                    following.append(step(builder, left, right, sums[row * vectors + vector]))
            sums = following
        return sums

    results = builder.carry(0, extent, 2 * _UNROLL, start, turn)
    for place, result in zip(places, results, strict=True):
        builder.do(f"store {result.typed}, ptr {place}, align {size}")


def _dot(builder: Builder, left: str, right: str, accumulator: Register) -> Register:
    factors = [f"{_NARROW} {builder.emit(f'bitcast {_PAIRS} {pairs} to {_NARROW}')}" for pairs in (left, right)]
    name = builder.call(_SINGLES, "llvm.x86.avx512bf16.dpbf16ps.512", [accumulator.typed, *factors])
    return Register(name, SINGLE, _LANES)


def _chain(builder: Builder, left: str, right: str, accumulator: Register) -> Register:
    """The even element of each pair, then the odd one, as f32."""
    for pattern in ("shl {} {}, splat (i32 16)", f"and {{}} {{}}, splat (i32 {-1 << 16})"):
        factors = [
            builder.value(
                f"bitcast {_PAIRS} {builder.emit(pattern.format(_PAIRS, pairs))} to {_SINGLES}", SINGLE, _LANES
            )
            for pairs in (left, right)
        ]
        accumulator = intrinsic(builder, "fma", [*factors, accumulator])
    return accumulator
