"""The micro-kernels: a register tile of C through a k-block, in vector registers or in matrix tiles of AMX.

In vectors every element of A is loaded by itself and multiplied with a row of a packed panel of B, so that A needs no
packing and any row stride will do.  `_STEPS` has a step for each kind of plan.

A tile register of AMX holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 block of C, two the rows of A and two the
columns of B: every tile of A and B that is loaded is multiplied twice.  Packed A and B have tiles of 1024 bytes.
Products of bytes are exact.  A product of bf16 adds two chains of 16 fused multiply-adds, even and odd k, to each other
and then to C: never less accurate than the chain of all k.

The fallback multiplies special values from the same operands by fused multiply-adds of vectors.

The unit falls asleep some 200 ns after a product and takes 300 ns to wake up (Emerald Rapids).  So C is loaded into the
tiles before they are multiplied: adding it later would be a loop nest between this matmul and the next.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy

from tileir.execute.arithmetic.rounding import to_odd, two_sum
from tileir.execute.cpu.matmul.plan import AMX_BYTES, AMX_ROWS, TILE_BYTES, Plan, RowBlock, Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import HALF, INT32, SINGLE, bf16_pairs, intrinsic
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import trace

Step: TypeAlias = Callable[[Builder, Register, Register, Register], Register]  # A, B, accumulator to the new one

_TILES: Final = 8
_PARTS: Final = {1: [(0, 0)], 2: [(0, 0), (0, 1), (1, 1), (1, 0)]}  # Parts of A and B, one stays in its register
_FALLBACK_ROWS: Final = 8  # Rows of C that the fallback of AMX computes at the same time.


# --- vector registers ---


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
        """One register tile: rows of A, a packed panel of B, the tiles of C it begins with and becomes."""
        builder, plan = self.builder, self.plan
        dtype = plan.acc_dtype
        starts, ends = (self._vectors(rows, len(a[1])) for rows in (c_in, c_out))
        accumulators = [builder.load(dtype, self.width, pointer) for pointer in starts]

        def iteration(index: Number, before: list[Register]) -> list[Register]:
            return self._steps(a, b.pointer, index, before, fallback)

        accumulators = builder.carry(0, k, plan.k_unroll, accumulators, iteration)
        if self.signed_zero:
            zero = builder.splat(Register(self.signed_zero, dtype), self.width).name
            accumulators = [builder.value(f"fadd {each.typed}, {zero}", dtype, self.width) for each in accumulators]
        for pointer, accumulator in zip(ends, accumulators, strict=True):
            builder.store(accumulator, pointer)

    def _vectors(self, rows: Rows, count: int) -> list[str]:
        """Pointers to the vectors of a register tile."""
        builder = self.builder
        first = Rows(builder.opaque_pointer(rows.pointer), rows.stride)
        pointers = [first.from_row(builder, row).pointer for row in range(count)]
        step = self.plan.lanes * self.plan.acc_dtype.itemsize
        return [builder.moved(pointer, vector * step) for pointer in pointers for vector in range(self.vectors)]

    def _steps(
        self, a: RowBlock, panel: str, k: Number, accumulators: list[Register], fallback: bool
    ) -> list[Register]:
        """The steps of one iteration of the innermost loop."""
        builder, plan = self.builder, self.plan
        step = _fma if fallback else _STEPS[plan.kind]
        a_bytes, b_step = plan.k_group * plan.a_dtype.itemsize, plan.layout(1).step
        b_bytes = plan.k_group * b_step
        here = builder.moved(a[0], builder.multiply(k, plan.a_dtype.itemsize))
        rows = [builder.moved(here, offset) for offset in a[1]]
        panel_rows = builder.moved(panel, builder.multiply(k, b_step))
        for number in range(plan.k_unroll // plan.k_group):
            starts = [number * b_bytes + vector * b_bytes // self.vectors for vector in range(self.vectors)]
            pointers = [builder.moved(panel_rows, start) for start in starts]
            rights = [self._operands(1, pointer, fallback) for pointer in pointers]
            following: list[Register] = []
            for row in rows:
                left = self._operands(0, builder.moved(row, number * a_bytes), fallback)
                for right in rights:
                    accumulator = accumulators[len(following)]
                    for one, other in zip(left, right, strict=True):
                        accumulator = step(builder, one, other, accumulator)
                    following.append(accumulator)
            accumulators = following
        return accumulators

    def _operands(self, side: int, pointer: str, fallback: bool) -> list[Register]:
        """What a step multiplies of A or B; for the fallback the even, then the odd elements of pairs, as f32."""
        loaded, low = self._load(side, pointer), self.low_parts[side]
        if not fallback:
            return [loaded]
        builder, found = self.builder, bf16_pairs(self.builder, loaded)
        if not low:
            return found
        # The sum of the parts is the number itself.
        pairs = zip(found, bf16_pairs(builder, self._load(side, builder.moved(pointer, low))), strict=True)
        return [builder.value(f"fadd {high.typed}, {rest.name}", SINGLE, high.width) for high, rest in pairs]

    def _load(self, side: int, pointer: str) -> Register:
        """An element of A, or a pair of them, in all lanes; a vector of a row of B."""
        builder, plan = self.builder, self.plan
        dtype, lanes = (plan.a_dtype, plan.b_dtype)[side], plan.lanes * plan.k_group
        if side:
            return builder.load(dtype, lanes if lanes > 1 else 0, pointer, min(64, lanes * dtype.itemsize))
        if plan.k_group == 1:
            return builder.splat(builder.load(dtype, 0, pointer), self.width)
        both = builder.splat(builder.load(INT32, 0, pointer, dtype.itemsize), self.width)
        return builder.value(f"bitcast {both.typed} to {value_type(dtype, lanes)}", dtype, lanes)


def _fma(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    return intrinsic(builder, "fma", [left, right, accumulator])


def _widened(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    return casting.binary(builder, "add", accumulator, casting.binary(builder, "mul", left, right))


def _pairs(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Products of neighbors added, for which LLVM finds x86's instruction: operands of nine bits cannot overflow."""
    left, right = (casting.convert(builder, "sext", one, INT32) for one in (left, right))
    product = casting.binary(builder, "mul", left, right)
    if accumulator.width:
        even, odd = (shuffled(builder, product, None, range(part, left.width, 2)).name for part in (0, 1))
    else:
        even, odd = (builder.emit(f"extractelement {product.typed}, i64 {part}") for part in (0, 1))
    sums = builder.value(f"add {accumulator.type} {even}, {odd}", INT32, accumulator.width)
    return casting.binary(builder, "add", accumulator, sums)


def _sum_to_odd(left: Any, right: Any) -> Any:
    """A sum, and where it is inexact its neighbor with an odd last bit, so that a second rounding is correct."""
    return to_odd(*two_sum(left, right))


def _in_double(
    builder: Builder, left: Register, right: Register, accumulator: Register, add: Callable[[Any, Any], Any]
) -> Register:
    """The product of doubles is exact, its sum with f32 rounded once."""
    product = casting.binary(builder, "fmul", left, right)
    total = trace(builder, add, [product, casting.convert(builder, "fpext", accumulator, left.dtype)])
    return casting.convert(builder, "fptrunc", total, accumulator.dtype)


def _dot(builder: Builder, left: Register, right: Register, accumulator: Register) -> Register:
    """Both products of each pair added to f32, the odd one first, each sum rounded."""
    narrow = f"<{left.width} x bfloat>"
    pairs = [f"{narrow} {builder.emit(f'bitcast {one.typed} to {narrow}')}" for one in (left, right)]
    name = builder.call(accumulator.type, "llvm.x86.avx512bf16.dpbf16ps.512", [accumulator.typed, *pairs])
    return Register(name, accumulator.dtype, accumulator.width)


# The operands of `double` have no more bits than f32, so that rounding their sum to double first changes nothing.
_STEPS: Final[dict[str, Step]] = {
    "fma": _fma,
    "double": partial(_in_double, add=operator.add),
    "single": partial(_in_double, add=_sum_to_odd),
    "pairs": _pairs,
    "widened": _widened,
    "dots": _dot,
}


# --- matrix tiles ---


def configure(builder: Builder) -> None:
    """Give all tile registers their full shape, for this thread: once before all matmuls."""
    table = numpy.zeros(64, numpy.uint8)
    table[0] = 1  # the palette
    table[16 : 16 + 2 * _TILES].view(numpy.uint16)[:] = AMX_BYTES
    table[48 : 48 + _TILES] = AMX_ROWS
    builder.call("void", "llvm.x86.ldtilecfg", [f"ptr {builder.module.table(table)}"])


def release(builder: Builder) -> None:
    """Give the tile registers up after all matmuls, so that the system need not save them."""
    builder.call("void", "llvm.x86.tilerelease", [])


class AmxKernel:
    """Emits blocks of C of a plan."""

    def __init__(self, builder: Builder, plan: Plan) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.down: Final = plan.mr // AMX_ROWS
        self.across: Final = plan.column_block // AMX_ROWS

    def block(self, a: RowBlock, b: Rows, c_in: Rows, c_out: Rows, k: Number, fallback: bool) -> None:
        """One block of C: packed A, packed panels of B and their size, the tiles of C it begins with and becomes."""
        builder, columns = self.builder, AMX_ROWS * self.plan.acc_dtype.itemsize
        if fallback:
            for panel in range(self.across):
                start, end = (rows.moved(builder, panel * columns) for rows in (c_in, c_out))
                self._fallback(a[0], b.from_row(builder, panel).pointer, start, end, k)
            return
        for number, pointer in enumerate(self._tiles_of(c_in)):
            self._move("tileloadd64", number, pointer, c_in.stride)
        self._products(a[0], b, k)
        for number, pointer in enumerate(self._tiles_of(c_out)):
            self._move("tilestored64", number, pointer, c_out.stride)

    def _tiles_of(self, c: Rows) -> list[str]:
        """Pointers to the tiles of a block of C."""
        builder, columns = self.builder, AMX_ROWS * self.plan.acc_dtype.itemsize
        rows = [c.from_row(builder, AMX_ROWS * i) for i in range(self.down)]
        return [row.moved(builder, columns * j).pointer for row in rows for j in range(self.across)]

    def _move(self, name: str, register: int, pointer: str, stride: Number) -> None:
        operands = [f"i8 {register}", f"ptr {pointer}", f"i64 {stride}"]
        self.builder.call("void", f"llvm.x86.{name}", operands)

    @property
    def _instruction(self) -> str:
        plan = self.plan
        if plan.acc_dtype == SINGLE:
            return "tdpfp16ps" if plan.a_dtype == HALF and plan.parts == 1 else "tdpbf16ps"
        return f"tdpb{''.join(['su'[dtype.kind == 'u'] for dtype in (plan.a_dtype, plan.b_dtype)])}d"

    def _products(self, a: str, b: Rows, k: Number) -> None:
        """All products of a block of C, which is in registers."""
        builder, plan = self.builder, self.plan
        # Of A and B the first register, the tiles of the first k, and the distances of k and of the second part.
        lefts = [builder.moved(a, i * TILE_BYTES) for i in range(self.down)]
        rights = [b.from_row(builder, j).pointer for j in range(self.across)]
        a_step, b_step = (plan.layout(side).step for side in (0, 1))
        operands = ((4, lefts, a_step, self.down * TILE_BYTES), (6, rights, b_step, TILE_BYTES))

        def load(side: int, number: int, part: int, index: Number, step: int) -> None:
            register, tiles, k_bytes, part_bytes = operands[side]
            here = builder.moved(tiles[number], builder.multiply(index, k_bytes))
            pointer = builder.moved(here, step * plan.tile_k * k_bytes + part * part_bytes)
            self._move("tileloadd64", register + number, pointer, AMX_BYTES)

        def products(index: Number) -> None:
            for step in range(plan.k_unroll // plan.tile_k):
                a_part = b_part = -1
                for left, right in _PARTS[plan.parts]:
                    # Tiles are loaded just before their first products: the others go on meanwhile.
                    for i in range(self.down):
                        for j in range(self.across):
                            if i == 0 and right != b_part:
                                load(1, j, right, index, step)
                            if j == 0 and left != a_part:
                                load(0, i, left, index, step)
                            registers = [f"i8 {i * self.across + j}", f"i8 {4 + i}", f"i8 {6 + j}"]
                            builder.call("void", f"llvm.x86.{self._instruction}", registers)
                    a_part, b_part = left, right

        builder.count(0, k, plan.k_unroll, products)

    def _fallback(self, a: str, panel: str, c_in: Rows, c_out: Rows, k: Number) -> None:
        """The chain of fused multiply-adds for k = 0, 1, 2 and on, for the columns of a packed panel."""
        builder, plan = self.builder, self.plan
        low_parts = (plan.mr * AMX_BYTES, TILE_BYTES) if plan.parts == 2 else (0, 0)
        kernel = FmaKernel(builder, replace(plan, kind="dots", mr=_FALLBACK_ROWS, parts=1), low_parts=low_parts)

        def tile(number: Number) -> None:
            left = builder.moved(a, builder.multiply(number, plan.layout(0).step * plan.tile_k))
            right = builder.moved(panel, builder.multiply(number, TILE_BYTES * plan.parts))
            before = c_in.where(builder, builder.compared("eq", number, 0), c_out)

            def rows(row: Number) -> None:
                offsets: list[Number] = [i * AMX_BYTES for i in range(_FALLBACK_ROWS)]
                block = builder.moved(left, builder.multiply(row, AMX_BYTES)), offsets
                start, end = before.from_row(builder, row), c_out.from_row(builder, row)
                kernel.block(block, Rows(right, 0), start, end, plan.tile_k, True)

            builder.count(0, plan.mr, _FALLBACK_ROWS, rows)

        builder.count(0, builder.divided(k, plan.tile_k)[0], 1, tile)
