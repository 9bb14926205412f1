"""Micro-kernels in vector registers: a register tile of C through a k-block.

Every element of A is loaded by itself and multiplied with a row of a panel of B, so that A needs no packing and any row
stride will do.  `_STEPS` has a step of each kind of plan: the accumulators for one group of k.

The step of `dots` takes subnormal bf16 for zero.  Its fallback is the chain of fused multiply-adds from the same
operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy

from tileir.execute.cpu.matmul.plan import BFLOAT16, Plan, Rows
from tileir.execute.cpu.matmul.special_values import SpecialValueScan
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import SINGLE, intrinsic
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, value_type

Step: TypeAlias = Callable[[Builder, Register, Register, Register], Register]
"""Emits one step: elements of A, of B and an accumulator to the new accumulator."""


class FmaKernel:
    """Emits register tiles of a plan; `signed_zero` is a number to add to every accumulator at the end, if any."""

    def __init__(self, builder: Builder, plan: Plan, signed_zero: str = "") -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.signed_zero: Final = signed_zero
        self.width: Final = plan.lanes if plan.lanes > 1 else 0
        self.vectors: Final = plan.nr // plan.lanes

    def block(
        self, a: Rows, offsets: list[Number], b: Rows, c_in: Rows, c_out: Rows, k: Number, fallback: bool
    ) -> None:
        """One register tile: rows of A at offsets, a panel of B, the tiles of C it begins with and becomes."""
        builder, plan = self.builder, self.plan
        dtype, size = plan.acc_dtype, plan.acc_dtype.itemsize
        kind = value_type(dtype, self.width)
        step = _FALLBACK if fallback else _STEPS[plan.kind]
        starts, ends = (self._vectors(rows, len(offsets)) for rows in (c_in, c_out))
        accumulators = [builder.value(f"load {kind}, ptr {each}, align {size}", dtype, self.width) for each in starts]

        def iteration(index: Number, before: list[Register]) -> list[Register]:
            return self._steps(step, a[0], offsets, b[0], index, before)

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
        self, step: Step, a: str, offsets: list[Number], panel: str, k: Number, accumulators: list[Register]
    ) -> list[Register]:
        """The steps of one iteration of the innermost loop."""
        builder, plan = self.builder, self.plan
        a_bytes, b_bytes = plan.k_group * plan.a_dtype.itemsize, plan.k_group * plan.b_step
        here = builder.moved(a, builder.multiply(k, plan.a_dtype.itemsize))
        rows = [builder.moved(here, offset) for offset in offsets]
        panel_rows = builder.moved(panel, builder.multiply(k, plan.b_step))
        for number in range(plan.k_unroll // plan.k_group):
            right = [
                self._load_b(builder.moved(panel_rows, number * b_bytes + vector * b_bytes // self.vectors))
                for vector in range(self.vectors)
            ]
            following = []
            for row, pointer in enumerate(rows):
                left = self._load_a(builder.moved(pointer, number * a_bytes))
                for vector, one in enumerate(right):
                    following.append(step(builder, left, one, accumulators[row * self.vectors + vector]))
            accumulators = following
        return accumulators

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

    def scan_a(self, a: Rows, offsets: list[Number], k: Number) -> str:
        """An i1: there are special values in rows of A."""
        builder, scan = self.builder, SpecialValueScan(self.plan.guard)
        width = 2 * self.plan.lanes

        def add(index: Number, states: list[Register]) -> list[Register]:
            here = builder.moved(a[0], builder.multiply(index, self.plan.a_dtype.itemsize))
            found = []
            for offset, state in zip(offsets, states, strict=True):
                text = f"load <{width} x i16>, ptr {builder.moved(here, offset)}, align 2"
                found.append(scan.add(builder, state, builder.value(text, BFLOAT16, width)))
            return found

        return scan.result(builder, builder.carry(0, k, width, [scan.start(width)] * len(offsets), add))


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


def _dot(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Both products of each pair added to f32, the odd one first, each sum rounded."""
    narrow = f"<{left.width} x bfloat>"
    pairs = [f"{narrow} {builder.emit(f'bitcast {one.typed} to {narrow}')}" for one in (left, right)]
    name = builder.call(accumulator.type, "llvm.x86.avx512bf16.dpbf16ps.512", [accumulator.typed, *pairs])
    return Register(name, accumulator.dtype, accumulator.width)


def pair_chain(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """The even element of each pair of bf16, then the odd one, as f32."""
    for one, other in zip(widened_pairs(builder, left), widened_pairs(builder, right), strict=True):
        accumulator = intrinsic(builder, "fma", [one, other, accumulator])
    return accumulator


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


_FALLBACK: Final[Step] = pair_chain
_STEPS: Final[dict[str, Step]] = {
    "fma": _fma,
    "double": _double,
    "single": _single,
    "pairs": _pairs,
    "widened": _widened,
    "dots": _dot,
}
