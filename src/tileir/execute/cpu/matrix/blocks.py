"""C += A * B with a block of C in vector registers.

The loops go over the rows of C, its columns, and k, all in blocks of the plan.  Rows are outside: the rows of A that a
block reads stay in the nearest cache while the panels of B pass.  Every element of A is read on its own and multiplied
with a row of a panel, so that A needs no packing and any row stride will do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import numpy

from tileir.execute.cpu.matrix.edges import Reach, end_of
from tileir.execute.cpu.matrix.plan import MmaPlan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import intrinsic
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, value_type

Step: TypeAlias = Callable[[Builder, Register, Register, Register], Register]
"""Emits one step of the chain: left, right, accumulator to the new accumulator."""
_BlockRows: TypeAlias = tuple[str, list[Number]]
"""The rows of A for a block: a pointer to the first, and the distance of each from it."""

_UNROLL: Final = 4
"""Steps along k in one turn of the innermost loop, if they are short."""
_LONG_STEP: Final = 16
"""Vectors of C that make a step long enough to take half as many."""


class Blocks:
    """Writes the loops; the suffix ends the loads and stores of B and C."""

    def __init__(
        self,
        builder: Builder,
        plan: MmaPlan,
        suffix: str,
        source: Rows | None = None,
        result: Rows | None = None,
        addend: str = "",
        reach: Reach | None = None,
    ) -> None:
        self.builder: Final = builder
        self.reach: Final = reach
        self.source: Final = source
        self.result: Final = result
        self.addend: Final = addend
        self.plan: Final = plan
        self.step: Final = _STEPS[plan.kind]
        self.suffix: Final = suffix
        self.width: Final = plan.lanes if plan.lanes > 1 else 0
        self.vectors: Final = plan.columns // plan.lanes

    def emit(self, a: Rows, b: str, c: Rows, extent: Number) -> None:
        builder, plan = self.builder, self.plan

        def rows(row: Number, count: int) -> None:
            first = builder.moved(a[0], builder.multiply(row, a[1]))
            distances = [builder.opaque(builder.multiply(one, a[1])) for one in range(count)]
            block_rows = builder.opaque_pointer(first), distances
            c_rows = builder.moved(c[0], builder.multiply(row, c[1]))

            def columns(column: Number) -> None:
                # A panel has `extent` times its columns elements, so the product is what lies in front of this one.
                before = builder.multiply(column, builder.multiply(extent, plan.rhs_dtype.itemsize))
                block = builder.moved(c_rows, builder.multiply(column, plan.accumulator_dtype.itemsize))
                self._block(block_rows, builder.moved(b, before), (block, c[1]), extent, (row, column))

            builder.count(0, end_of(builder, self.reach, 1, 0, plan.n, plan.columns), plan.columns, columns)

        start = 0
        for count, end in plan.row_blocks:
            last = end_of(builder, self.reach, 0, start, end, count)
            emit = partial(builder.count, start, last, count, partial(rows, count=count))
            if start and self.reach is not None:
                builder.branch(builder.emit(f"icmp ugt i64 {self.reach[0]}, {start}"), emit)
            else:
                emit()
            start = end

    def _block(self, left: _BlockRows, panel: str, block: Rows, extent: Number, origin: tuple[Number, Number]) -> None:
        """One block of C, from a row and a column on, through the whole of k."""
        builder, plan = self.builder, self.plan
        rows = range(len(left[1]))
        dtype = plan.accumulator_dtype
        kind = value_type(dtype, self.width)
        size = dtype.itemsize
        places = [
            builder.moved(block[0], builder.add(builder.multiply(row, block[1]), vector * plan.lanes * size))
            for row in rows
            for vector in range(self.vectors)
        ]
        begins, suffix = places, self.suffix
        if self.source is not None:
            begins, suffix = self._vectors(self._rows_of(self.source, origin, len(rows))), ""
        start = [
            builder.value(f"load {kind}, ptr {begin}, align {size}{suffix}", dtype, self.width) for begin in begins
        ]
        turn = min(plan.k, plan.group * (_UNROLL // 2 if plan.rows * self.vectors >= _LONG_STEP else _UNROLL))

        def steps(index: Number, accumulators: list[Register]) -> list[Register]:
            return self._steps(left, panel, index, accumulators, turn // plan.group)

        results = builder.carry(0, extent, turn, start, steps)
        if self.addend:
            last = builder.splat(Register(self.addend, dtype), self.width)
            results = [builder.value(f"fadd {each.typed}, {last.name}", dtype, self.width) for each in results]
        suffix = self.suffix
        if self.result is not None:
            # Either in scratch memory or not.
            suffix = ""
            places = self._vectors(self._rows_of(self.result, origin, len(rows)))
        for place, result in zip(places, results, strict=True):
            builder.do(f"store {result.typed}, ptr {place}, align {size}{suffix}")

    def _steps(
        self, left: _BlockRows, panel: str, k: Number, accumulators: list[Register], count: int
    ) -> list[Register]:
        builder, plan = self.builder, self.plan
        a_bytes = plan.group * plan.lhs_dtype.itemsize
        b_bytes = plan.columns * plan.group * plan.rhs_dtype.itemsize
        here = builder.moved(left[0], builder.multiply(k, plan.lhs_dtype.itemsize))
        right_rows = builder.moved(panel, builder.multiply(k, plan.columns * plan.rhs_dtype.itemsize))
        left_rows = [builder.moved(here, distance) for distance in left[1]]
        current = accumulators
        for step in range(count):
            right = [
                self._load_right(builder.moved(right_rows, step * b_bytes + vector * b_bytes // self.vectors))
                for vector in range(self.vectors)
            ]
            new = []
            for row, pointer in enumerate(left_rows):
                factor = self._load_left(builder.moved(pointer, step * a_bytes))
                for vector in range(self.vectors):
                    new.append(self.step(builder, factor, right[vector], current[row * self.vectors + vector]))
            current = new
        return current

    def _rows_of(self, rows: Rows, origin: tuple[Number, Number], count: int) -> list[str]:
        """Pointers to the rows of a block, from a row and a column on."""
        builder = self.builder
        column = builder.multiply(origin[1], self.plan.accumulator_dtype.itemsize)
        first = builder.opaque_pointer(
            builder.moved(rows[0], builder.add(builder.multiply(origin[0], rows[1]), column))
        )
        return [builder.moved(first, builder.multiply(number, rows[1])) for number in range(count)]

    def _vectors(self, rows: list[str]) -> list[str]:
        """Pointers to the vectors of a block of C, from those to its rows."""
        step = self.plan.lanes * self.plan.accumulator_dtype.itemsize
        return [self.builder.moved(row, vector * step) for row in rows for vector in range(self.vectors)]

    def _load_left(self, pointer: str) -> Register:
        """An element of A, or a pair of them, in all lanes."""
        builder = self.builder
        dtype = self.plan.lhs_dtype
        align = dtype.itemsize
        if self.plan.group == 1:
            text = f"load {scalar_type(dtype)}, ptr {pointer}, align {align}"
            return builder.splat(builder.value(text, dtype), self.width)
        pair = numpy.dtype(numpy.int32)
        one = builder.value(f"load i32, ptr {pointer}, align {align}", pair)
        both = builder.splat(one, self.width)
        lanes = self.plan.group * self.plan.lanes
        return builder.value(f"bitcast {both.typed} to {value_type(dtype, lanes)}", dtype, lanes)

    def _load_right(self, pointer: str) -> Register:
        plan = self.plan
        lanes = plan.lanes * plan.group
        width = lanes if lanes > 1 else 0
        align = min(64, lanes * plan.rhs_dtype.itemsize)
        kind = value_type(plan.rhs_dtype, width)
        return self.builder.value(f"load {kind}, ptr {pointer}, align {align}{self.suffix}", plan.rhs_dtype, width)


def _fma(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    return intrinsic(builder, "fma", [left, right, accumulator])


def _widened(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    product = builder.emit(f"mul {left.typed}, {right.name}")
    return builder.value(f"add {accumulator.typed}, {product}", accumulator.dtype, accumulator.width)


_PAIR_INSTRUCTIONS: Final = {
    32: "llvm.x86.avx512.pmaddw.d.512",
    16: "llvm.x86.avx2.pmadd.wd",
    8: "llvm.x86.sse2.pmadd.wd",
}


def _pairs(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Products of neighbours added: factors of nine bits cannot overflow in it."""
    instruction = _PAIR_INSTRUCTIONS.get(left.width)
    if instruction is not None:
        sums = builder.call(accumulator.type, instruction, [left.typed, right.typed])
        return builder.value(f"add {accumulator.typed}, {sums}", accumulator.dtype, accumulator.width)
    wide = value_type(accumulator.dtype, left.width)
    factors = [builder.emit(f"sext {one.typed} to {wide}") for one in (left, right)]
    product = builder.emit(f"mul {wide} {factors[0]}, {factors[1]}")
    result = accumulator
    for part in (0, 1):
        if accumulator.width:
            lanes = ", ".join([f"i32 {2 * lane + part}" for lane in range(accumulator.width)])
            text = f"shufflevector {wide} {product}, {wide} poison, <{accumulator.width} x i32> <{lanes}>"
        else:
            text = f"extractelement {wide} {product}, i64 {part}"
        one = builder.emit(text)
        result = builder.value(f"add {result.typed}, {one}", accumulator.dtype, accumulator.width)
    return result


def _sum_to_odd(builder: Builder, left: Register, right: Register) -> Register:
    """The sum, and where it is inexact the neighbour with an odd last bit, which a second rounding cannot mistake."""
    dtype, width, kind = left.dtype, left.width, left.type
    integer = numpy.dtype(f"i{dtype.itemsize}")
    bits = value_type(integer, width)

    def subtract(first: str, second: str) -> str:
        return builder.emit(f"fsub {kind} {first}, {second}")

    total = builder.emit(f"fadd {left.typed}, {right.name}")
    # Knuth's two-sum: what the addition lost, exactly.
    second = subtract(total, left.name)
    first = subtract(total, second)
    lost = builder.emit(f"fadd {kind} {subtract(left.name, first)}, {subtract(right.name, second)}")
    # Ordered, so that an infinite or undefined sum stays what it is.
    compared = builder.emit(f"fcmp one {kind} {lost}, {literal(0.0, dtype, width).name}")
    inexact = builder.emit(f"zext {f'<{width} x i1>' if width else 'i1'} {compared} to {bits}")
    pattern = builder.emit(f"bitcast {kind} {total} to {bits}")
    lost_pattern = builder.emit(f"bitcast {kind} {lost} to {bits}")
    # A lost part of the other sign says that the sum was rounded away from zero: back by one.
    signs = builder.emit(f"xor {bits} {pattern}, {lost_pattern}")
    other = builder.emit(f"lshr {bits} {signs}, {literal(dtype.itemsize * 8 - 1, integer, width).name}")
    back = builder.emit(f"and {bits} {other}, {inexact}")
    cut = builder.emit(f"sub {bits} {pattern}, {back}")
    return builder.value(f"bitcast {bits} {builder.emit(f'or {bits} {cut}, {inexact}')} to {kind}", dtype, width)


def _double(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Exact products in double, added to f32 and rounded to it.

    Double has more than twice the bits of f32 and both addends have no more bits than f32, so that rounding the sum
    to double first changes nothing.
    """
    product = builder.value(f"fmul {left.typed}, {right.name}", left.dtype, left.width)
    addend = builder.value(f"fpext {accumulator.typed} to {left.type}", left.dtype, left.width)
    total = builder.value(f"fadd {product.typed}, {addend.name}", left.dtype, left.width)
    return builder.value(f"fptrunc {total.typed} to {accumulator.type}", accumulator.dtype, accumulator.width)


def _single(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """fma of f32 in double: the product is exact, the sum is rounded once."""
    product = builder.value(f"fmul {left.typed}, {right.name}", left.dtype, left.width)
    addend = builder.value(f"fpext {accumulator.typed} to {left.type}", left.dtype, left.width)
    total = _sum_to_odd(builder, product, addend)
    return builder.value(f"fptrunc {total.typed} to {accumulator.type}", accumulator.dtype, accumulator.width)


_STEPS: Final[dict[str, Step]] = {
    "fma": _fma,
    "double": _double,
    "single": _single,
    "pairs": _pairs,
    "widened": _widened,
}
