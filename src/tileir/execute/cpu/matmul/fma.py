"""Micro-kernels in vector registers: a register tile of C through a k-block.

Every element of A is loaded by itself and multiplied with a row of a panel of B, so that A needs no packing and any row
stride will do.  `_STEPS` has a step for each kind of plan.  The step of `dots` takes subnormal bf16 for zero; its
fallback is the chain of fused multiply-adds from the same operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy

from tileir.execute.arithmetic.rounding import to_odd, two_sum
from tileir.execute.cpu.matmul.plan import Plan, RowBlock, Rows
from tileir.execute.cpu.matmul.special_values import BFLOAT16, is_found, nothing_found, scanned
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import SINGLE, intrinsic
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, scalar_type, value_type
from tileir.execute.cpu.vector.tracing import trace

Step: TypeAlias = Callable[[Builder, Register, Register, Register], Register]  # A, B, accumulator to the new one


class FmaKernel:
    """Emits register tiles of a plan; `signed_zero`, if any, is added to every accumulator at the end.  For the
    fallback, `low_parts` is the distance from elements of A and B to their low parts, if they are split."""

    def __init__(
        self, builder: Builder, plan: Plan, signed_zero: str = "", low_parts: tuple[int, int] = (0, 0)
    ) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.signed_zero: Final = signed_zero
        self.low_parts: Final = low_parts
        self.width: Final = plan.lanes if plan.lanes > 1 else 0
        self.vectors: Final = plan.nr // plan.lanes

    def block(self, a: RowBlock, b: Rows, c_in: Rows, c_out: Rows, k: Number, fallback: bool) -> None:
        """One register tile: rows of A, a panel of B, the tiles of C it begins with and becomes."""
        builder, plan = self.builder, self.plan
        dtype, size = plan.acc_dtype, plan.acc_dtype.itemsize
        kind = value_type(dtype, self.width)
        starts, ends = (self._vectors(rows, len(a[1])) for rows in (c_in, c_out))
        accumulators = [builder.value(f"load {kind}, ptr {each}, align {size}", dtype, self.width) for each in starts]

        def iteration(index: Number, before: list[Register]) -> list[Register]:
            return self._steps(a, b[0], index, before, fallback)

        accumulators = builder.carry(0, k, plan.k_unroll, accumulators, iteration)
        if self.signed_zero:
            zero = builder.splat(Register(self.signed_zero, dtype), self.width).name
            accumulators = [builder.value(f"fadd {each.typed}, {zero}", dtype, self.width) for each in accumulators]
        for pointer, accumulator in zip(ends, accumulators, strict=True):
            builder.do(f"store {accumulator.typed}, ptr {pointer}, align {size}")

    def _vectors(self, rows: Rows, count: int) -> list[str]:
        """Pointers to the vectors of a register tile."""
        builder = self.builder
        first = builder.opaque_pointer(rows[0])
        pointers = [builder.moved(first, builder.multiply(row, rows[1])) for row in range(count)]
        step = self.plan.lanes * self.plan.acc_dtype.itemsize
        return [builder.moved(pointer, vector * step) for pointer in pointers for vector in range(self.vectors)]

    def _steps(
        self, a: RowBlock, panel: str, k: Number, accumulators: list[Register], fallback: bool
    ) -> list[Register]:
        """The steps of one iteration of the innermost loop."""
        builder, plan = self.builder, self.plan
        step = _fma if fallback else _STEPS[plan.kind]
        a_bytes, b_bytes = plan.k_group * plan.a_dtype.itemsize, plan.k_group * plan.b_step
        here = builder.moved(a[0], builder.multiply(k, plan.a_dtype.itemsize))
        rows = [builder.moved(here, offset) for offset in a[1]]
        panel_rows = builder.moved(panel, builder.multiply(k, plan.b_step))
        for number in range(plan.k_unroll // plan.k_group):
            pointers = [
                builder.moved(panel_rows, number * b_bytes + vector * b_bytes // self.vectors)
                for vector in range(self.vectors)
            ]
            rights = [self._factors(self._load_b, pointer, self.low_parts[1], fallback) for pointer in pointers]
            following: list[Register] = []
            for row in rows:
                left = self._factors(self._load_a, builder.moved(row, number * a_bytes), self.low_parts[0], fallback)
                for right in rights:
                    accumulator = accumulators[len(following)]
                    for one, other in zip(left, right, strict=True):
                        accumulator = step(builder, one, other, accumulator)
                    following.append(accumulator)
            accumulators = following
        return accumulators

    def _factors(self, load: Callable[[str], Register], pointer: str, low: int, fallback: bool) -> list[Register]:
        """What a step multiplies; for the fallback the even, then the odd elements of pairs of bf16 as f32."""
        if not fallback:
            return [load(pointer)]
        builder, found = self.builder, widened_pairs(self.builder, load(pointer))
        if not low:
            return found
        # The sum of the parts is the number itself.
        pairs = zip(found, widened_pairs(builder, load(builder.moved(pointer, low))), strict=True)
        return [builder.value(f"fadd {high.typed}, {rest.name}", SINGLE, high.width) for high, rest in pairs]

    def _load_a(self, pointer: str) -> Register:
        """An element of A, or a pair of them, in all lanes."""
        builder, dtype = self.builder, self.plan.a_dtype
        if self.plan.k_group == 1:
            text = f"load {scalar_type(dtype)}, ptr {pointer}, align {dtype.itemsize}"
            return builder.splat(builder.value(text, dtype), self.width)
        pair = builder.value(f"load i32, ptr {pointer}, align {dtype.itemsize}", numpy.dtype(numpy.int32))
        both = builder.splat(pair, self.width)
        lanes = self.plan.k_group * self.plan.lanes
        return builder.value(f"bitcast {both.typed} to {value_type(dtype, lanes)}", dtype, lanes)

    def _load_b(self, pointer: str) -> Register:
        dtype, lanes = self.plan.b_dtype, self.plan.lanes * self.plan.k_group
        width = lanes if lanes > 1 else 0
        align = min(64, lanes * dtype.itemsize)
        return self.builder.value(f"load {value_type(dtype, width)}, ptr {pointer}, align {align}", dtype, width)

    def has_special(self, a: RowBlock, k: Number) -> str:
        """An i1: there are special values in rows of A."""
        builder, guard, width = self.builder, self.plan.guard, 2 * self.plan.lanes

        def add(index: Number, states: list[Register]) -> list[Register]:
            here = builder.moved(a[0], builder.multiply(index, self.plan.a_dtype.itemsize))
            for offset in a[1]:
                text = f"load <{width} x i16>, ptr {builder.moved(here, offset)}, align 2"
                states = [scanned(builder, guard, states[0], builder.value(text, BFLOAT16, width))]
            return states

        return is_found(builder, builder.carry(0, k, width, [nothing_found(width)], add)[0])


def _fma(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    return intrinsic(builder, "fma", [left, right, accumulator])


def _widened(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    product = builder.emit(f"mul {left.typed}, {right.name}")
    return builder.value(f"add {accumulator.typed}, {product}", accumulator.dtype, accumulator.width)


def _pairs(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Products of neighbors added, for which LLVM finds x86's instruction: factors of nine bits cannot overflow."""
    wide = value_type(accumulator.dtype, left.width)
    factors = [builder.emit(f"sext {one.typed} to {wide}") for one in (left, right)]
    product = builder.value(f"mul {wide} {factors[0]}, {factors[1]}", accumulator.dtype, left.width)
    if accumulator.width:
        even, odd = (shuffled(builder, product, None, range(part, left.width, 2)).name for part in (0, 1))
    else:
        even, odd = (builder.emit(f"extractelement {product.typed}, i64 {part}") for part in (0, 1))
    sums = builder.emit(f"add {accumulator.type} {even}, {odd}")
    return builder.value(f"add {accumulator.typed}, {sums}", accumulator.dtype, accumulator.width)


def _sum(builder: Builder, product: Register, addend: Register) -> Register:
    return builder.value(f"fadd {product.typed}, {addend.name}", product.dtype, product.width)


def _sum_to_odd(builder: Builder, product: Register, addend: Register) -> Register:
    """The sum, and where it is inexact its neighbor with an odd last bit, which a second rounding cannot mistake."""

    def rounded(left: Any, right: Any) -> Any:
        return to_odd(*two_sum(left, right))

    return trace(builder, rounded, [product, addend])


def _in_double(add: Callable[[Builder, Register, Register], Register]) -> Step:
    """A step whose operands are doubles and whose accumulator is f32: the product is exact, the sum rounded once."""

    def step(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
        product = builder.value(f"fmul {left.typed}, {right.name}", left.dtype, left.width)
        addend = builder.value(f"fpext {accumulator.typed} to {left.type}", left.dtype, left.width)
        total = add(builder, product, addend)
        return builder.value(f"fptrunc {total.typed} to {accumulator.type}", accumulator.dtype, accumulator.width)

    return step


def _dot(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Both products of each pair added to f32, the odd one first, each sum rounded."""
    narrow = f"<{left.width} x bfloat>"
    pairs = [f"{narrow} {builder.emit(f'bitcast {one.typed} to {narrow}')}" for one in (left, right)]
    name = builder.call(accumulator.type, "llvm.x86.avx512bf16.dpbf16ps.512", [accumulator.typed, *pairs])
    return Register(name, accumulator.dtype, accumulator.width)


def widened_pairs(builder: Builder, pairs: Register) -> list[Register]:
    """The even and the odd elements of pairs of bf16, as f32."""
    width = pairs.width // 2
    words, singles = f"<{width} x i32>", f"<{width} x float>"
    both = builder.emit(f"bitcast {pairs.typed} to {words}")
    patterns = [
        builder.emit(f"shl {words} {both}, splat (i32 16)"),
        builder.emit(f"and {words} {both}, splat (i32 {-1 << 16})"),
    ]
    return [builder.value(f"bitcast {words} {each} to {singles}", SINGLE, width) for each in patterns]


# The factors of `double` have no more bits than f32, so that rounding their sum to double first changes nothing.
_STEPS: Final[dict[str, Step]] = {
    "fma": _fma,
    "double": _in_double(_sum),
    "single": _in_double(_sum_to_odd),
    "pairs": _pairs,
    "widened": _widened,
    "dots": _dot,
}
