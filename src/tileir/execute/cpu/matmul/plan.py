"""How a matmul of tiles is computed on a machine: which kernel, and in what layout it reads its operands.

    A        row-major in place, any row stride, elements of `a_dtype`; packed for `amx`, which loads rows of matrix
             tiles twice as fast where they lie one after the other
    B        packed, elements of `b_dtype`, aligned to 64 bytes: packed panels of `nr` columns, one after another.
             Within a packed panel come groups of `k_group` successive k, then the columns, then the k of the group
    C        row-major, elements of `acc_dtype`; an f16 accumulator is widened, and rounded when the operation is done

    kind     operations                               A, B              C           group  one step
    fma      mmaf to f64, f32 and f16                 as C              f64, f32    1      fma, rounded once
    single   the same on machines without fma         f64               f32         1      the same, in double
    double   mmaf_scaled                              f64               f32         1      in double, rounded once
    pairs    mmai on x86                              int16             int32       2      adds two products, then to C
    widened  mmai elsewhere                           int32             int32       1      multiplies, adds
    amx      mmai; bf16, f16 and f8 unless `exact`    bytes, bf16, f16  int32, f32  4, 2   multiplies matrix tiles
    dots     bf16 and f8 unless `exact`               bf16              f32         2      adds two products in turn

Conversions of operands to these dtypes are exact, int8 to int16 by the signedness of the operand.

A plan of two `parts` splits f16 into two bf16 (`casting.split_bf16`): the packed operand has every matrix tile twice,
the high parts first.  `guard` names the special values that the unit does not multiply exactly: `subnormal` bf16, which
units take for zero, though it may be multiplied with something large; `infinite` f16 and NaN, since infinity times the
low part of a number, mostly zero, is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import ml_dtypes
import numpy

from tileir.execute.cpu.runtime.target import Target
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import BOOL, DOUBLE, HALF, INT32, SINGLE, UINT8
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.dtypes import DType
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F64, FloatType, Type

BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)
_INT8, _INT16 = numpy.dtype(numpy.int8), numpy.dtype(numpy.int16)

AMX_ROWS: Final = 16  # Rows of a matrix tile of AMX, and columns of one that holds elements of four bytes.
AMX_BYTES: Final = 64  # Bytes of a row of it.
TILE_BYTES: Final = AMX_ROWS * AMX_BYTES
SUBNORMAL, INFINITE = "subnormal", "infinite"
SCANNED: Final = 32  # Elements of a scan of memory that are tested at once.
_CHECKED_BYTES: Final = 2048  # Bytes of a row of A that are checked for special values together, at most.

_DOT_LANES: Final = 16  # Accumulators in a vector of AVX512_BF16.
_UNIT_ELEMENTS: Final = {BF16, F16, F8E4M3FN, F8E5M2}  # The floats that a matrix unit multiplies.
_ROWS: Final = 6  # Of a large register tile; each power of two from 16 on is a sum of sixes and fives
_UNROLL: Final = 4  # Steps along k in one iteration of the innermost loop, if they are short.
_LONG_STEP: Final = 16  # Vectors of C that make a step long enough to take half as many.

Shape = tuple[int, int, int]
RowBlock = tuple[str, list[Number]]  # A pointer to rows of A, and the offset of each; none if A is packed


class Rows(NamedTuple):
    """A matrix in memory: a pointer to it, and the distance of its rows in bytes."""

    pointer: str
    stride: Number

    def moved(self, builder: Builder, offset: Number) -> Rows:
        return Rows(builder.moved(self.pointer, offset), self.stride)

    def from_row(self, builder: Builder, row: Number) -> Rows:
        return self.moved(builder, builder.multiply(row, self.stride))

    def where(self, builder: Builder, condition: str, otherwise: Rows) -> Rows:
        """These rows where an i1 holds, else others."""
        pointer = str(builder.select(condition, self.pointer, otherwise.pointer, "ptr"))
        return Rows(pointer, builder.select(condition, self.stride, otherwise.stride))


@dataclass(frozen=True, slots=True)
class Plan:
    """How a matmul of an m x k by a k x n tile is computed; the table above lists the kinds.  The register tile has
    `mr` rows, and `nr` columns in vectors of `lanes` (`amx`: two packed panels of `nr`)."""

    kind: str
    m: int
    n: int
    k: int
    a_dtype: DType
    b_dtype: DType
    acc_dtype: DType
    mr: int
    nr: int
    lanes: int
    k_group: int
    parts: int = 1
    guard: str = ""

    @property
    def name(self) -> str:
        """A name that no plan of another kernel has."""
        dtypes = f"{self.a_dtype.name}.{self.b_dtype.name}.{self.acc_dtype.name}"
        return f"{self.kind}.{dtypes}.{self.m}x{self.n}x{self.k}"

    def layout(self, side: int) -> Layout:
        return Layout(self, side)

    @property
    def row_blocks(self) -> list[tuple[int, int]]:
        """How the rows of C are divided: so many rows at a time, up to a row.  The last blocks may have one row less: a
        much smaller one would read as much of a packed panel, and wait for it."""
        count = -(-self.m // self.mr)
        rows = -(-self.m // count)
        smaller = count * rows - self.m
        if not smaller:
            return [(rows, self.m)]
        return [(rows, self.m - smaller * (rows - 1)), (rows - 1, self.m)]

    @property
    def column_block(self) -> int:
        """Columns of a register tile."""
        return min(2 * self.nr, self.n) if self.kind == "amx" else self.nr

    @property
    def tile_k(self) -> int:
        """How many k of A a row of a matrix tile holds."""
        return AMX_BYTES // self.a_dtype.itemsize

    @property
    def k_unroll(self) -> int:
        """How many k the innermost loop of a kernel takes in one iteration."""
        if self.kind == "amx":
            return min(self.k, 2 * self.tile_k) if self.parts == 1 else self.tile_k
        is_long = self.mr * self.nr // self.lanes >= _LONG_STEP
        return min(self.k, self.k_group * (_UNROLL // 2 if is_long else _UNROLL))

    @property
    def checked_k(self) -> int:
        """How many k are multiplied with or without the unit as one, by the special values among their elements."""
        if self.kind != "amx":
            return self.k
        return min(self.k, _CHECKED_BYTES // (self.a_dtype.itemsize * self.parts))


class Layout:
    """Where the elements of A (side 0) or B (side 1) lie: rows of A as they are or in matrix tiles, packed panels of B.
    `group` rows are interleaved into one; so many columns are `adjacent`."""

    def __init__(self, plan: Plan, side: int) -> None:
        self.plan: Final = plan
        self.side: Final = side
        self.dtype: Final[DType] = (plan.a_dtype, plan.b_dtype)[side]
        self.is_tiled: Final = plan.kind == "amx"
        self.group: Final[int] = plan.k_group if side else 1
        self.unit: Final[int] = self.group * self.dtype.itemsize
        self.guard: Final = plan.guard if side or self.is_tiled else ""
        self.adjacent: Final[int] = plan.nr if side else plan.tile_k if self.is_tiled else plan.k
        self.shape: Final = (plan.k // self.group, plan.n) if side else (plan.m, plan.k)  # Packed rows, columns
        across = plan.nr if side else plan.mr if self.is_tiled else 1
        self.step: Final[int] = self.dtype.itemsize * across * plan.parts  # Bytes of a packed panel or row block per k
        self.elements: Final[int] = plan.k * (plan.m, plan.n)[side] * plan.parts
        self.bytes: Final[int] = self.elements * self.dtype.itemsize

    def offset(self, builder: Builder, row: Number, column: Number, k: Number) -> Number:
        """The bytes in front of a packed row and a column, of an operand with so many k."""
        plan = self.plan
        if self.side:
            block, column = builder.divided(column, plan.nr)
            tile, row = builder.divided(row, AMX_ROWS) if plan.parts > 1 else (0, row)
            terms = [(tile, TILE_BYTES * plan.parts), (row, plan.nr * self.unit), (column, self.unit)]
        else:
            block, row = builder.divided(row, plan.mr if self.is_tiled else 1)
            tile, column = builder.divided(column, plan.tile_k) if self.is_tiled else (0, column)
            terms = [(tile, AMX_BYTES * plan.mr * plan.parts), (row, AMX_BYTES), (column, self.unit)]
        total = builder.multiply(block, builder.multiply(k, self.step))
        for number, size in terms:
            total = builder.add(total, builder.multiply(number, size))
        return total

    def store(self, builder: Builder, packed: Register, pointer: str) -> Register:
        """Store elements, all parts of them; returns the first, to be searched for special values."""
        parts = [packed] if self.plan.parts == 1 else casting.split_bf16(builder, packed)
        for number, part in enumerate(parts):
            where = builder.moved(pointer, number * (TILE_BYTES if self.side else self.plan.mr * AMX_BYTES))
            builder.store(part, where, self.dtype.itemsize)
        return parts[0]


def make_plan(
    target: Target, lhs: Type, rhs: Type, acc: Type, shape: Shape, exact: bool, signed: tuple[bool, bool] = (True, True)
) -> Plan:
    """Choose for mmaf and mmai; extents are powers of two, and `exact` keeps the sums of the chain of fma."""
    if isinstance(acc, FloatType):
        found = _narrow(target, shape, lhs, rhs) if not exact and {lhs, rhs} <= _UNIT_ELEMENTS else None
        if found is not None:
            return found
        return _blocks(target, "fma", shape, DOUBLE, DOUBLE) if acc is F64 else _single(target, shape)
    if target.has_amx_int8 and _fills_amx(shape, 4):
        a, b = (_INT8 if sign else UINT8 for sign in signed)
        return _amx(shape, (a, b, INT32))
    if target.is_x86 and shape[2] > 1:
        return _blocks(target, "pairs", shape, _INT16, INT32, 2)
    return _blocks(target, "widened", shape, INT32, INT32)


def make_scaled_plan(target: Target, scale: Type, shape: Shape) -> Plan:
    """Choose for mmaf_scaled; the operands are the elements times their scales."""
    # Only a power of two can lead out of what f32 holds: all other scales are eight-bit numbers around one.
    if scale is F8E8M0FNU:
        return _blocks(target, "double", shape, DOUBLE, SINGLE)
    return _single(target, shape)


def _narrow(target: Target, shape: Shape, lhs: Type, rhs: Type) -> Plan | None:
    """Floats of 16 and eight bits by a unit of the machine; None if it has none that is better than f32."""
    is_half = F16 in (lhs, rhs)
    # Eight-bit floats are normal numbers of bf16.
    guard = INFINITE if is_half else SUBNORMAL if BF16 in (lhs, rhs) else ""
    if is_half and target.has_amx_fp16 and _fills_amx(shape, 2):
        return _amx(shape, (HALF, HALF, SINGLE))
    if target.has_amx and _fills_amx(shape, 2):
        dtype = HALF if is_half else BFLOAT16
        return _amx(shape, (dtype, dtype, SINGLE), 2 if is_half else 1, guard)
    m, n, k = shape
    if not target.has_bf16_dots or is_half or n < _DOT_LANES or k < 2 * _DOT_LANES:
        return None
    rows, columns = min(m, 8), min(n, 2 * _DOT_LANES)
    return Plan("dots", *shape, BFLOAT16, BFLOAT16, SINGLE, rows, columns, _DOT_LANES, 2, 1, guard)


def _single(target: Target, shape: Shape) -> Plan:
    if target.has_fma:
        return _blocks(target, "fma", shape, SINGLE, SINGLE)
    # A call for every element would be slow, and C libraries exist that round it twice.
    return _blocks(target, "single", shape, DOUBLE, SINGLE)


def _blocks(target: Target, kind: str, shape: Shape, dtype: DType, accumulator: DType, group: int = 1) -> Plan:
    """A block of C in half of the registers, the operands in the others.  A step of fma needs fewer, so a large C gets
    three quarters: six rows of four or two vectors, or twelve of two.  Larger blocks load fewer elements per step."""
    m, n, _ = shape
    lanes = min(n, target.vector_bytes // max(dtype.itemsize * group, accumulator.itemsize))
    registers = 16 if target.vector_bytes == 64 or target.is_aarch64 else 8
    across = registers // 4
    if kind == "fma" and m >= 8 and n >= across * lanes:
        rows, columns = (_ROWS if m > 8 else 4), across * lanes
    elif kind == "fma" and across == 4 and n == 2 * lanes and m >= 4 * _ROWS:
        rows, columns = 2 * _ROWS, n
    else:
        rows = min(m, max(1, registers // min(2, n // lanes)))
        columns = min(n, registers // rows * lanes)
    return Plan(kind, *shape, dtype, dtype, accumulator, rows, columns, lanes, group)


def _fills_amx(shape: Shape, group: int) -> bool:
    m, n, k = shape
    return m >= AMX_ROWS and n >= AMX_ROWS and k >= AMX_ROWS * group


def _amx(shape: Shape, dtypes: tuple[DType, DType, DType], parts: int = 1, guard: str = "") -> Plan:
    group = 4 // dtypes[0].itemsize
    return Plan("amx", *shape, *dtypes, min(shape[0], 2 * AMX_ROWS), AMX_ROWS, AMX_ROWS, group, parts, guard)


# --- special values: what a matrix unit does not multiply exactly ---


class SpecialValues:
    """Finds what a guard names among bf16; the state of a scan is the lanes that had it."""

    def __init__(self, builder: Builder, guard: str) -> None:
        self.builder: Final = builder
        self.guard: Final = guard

    def nothing(self, width: int = SCANNED) -> Register:
        """The state at first: no lane is special."""
        return Register("zeroinitializer", BOOL, width)

    def scanned(self, state: Register, vector: Register) -> Register:
        """The state after a vector."""
        builder, kind = self.builder, f"<{vector.width} x i16>"
        # Twice a pattern is without the sign; one less, zero is the largest.
        number = builder.emit(f"shl {kind} {vector.name}, splat (i16 1)")
        test = f"uge {kind} {number}, splat (i16 -256)"
        if self.guard == SUBNORMAL:
            test = f"ult {kind} {builder.emit(f'add {kind} {number}, splat (i16 -1)')}, splat (i16 255)"
        return builder.value(f"or {state.typed}, {builder.emit(f'icmp {test}')}", BOOL, state.width)

    def scanned_memory(self, state: Register, pointer: str, size: Number) -> Register:
        """The state, of `SCANNED` lanes, after so many bytes, a multiple of theirs."""
        builder = self.builder

        def line(offset: Number, states: list[Register]) -> list[Register]:
            return [self.scanned(states[0], builder.load(BFLOAT16, SCANNED, builder.moved(pointer, offset)))]

        return builder.carry(0, size, 2 * SCANNED, [state], line)[0]

    def is_found(self, state: Register) -> str:
        """An i1: a special value was found."""
        return self.builder.call("i1", f"llvm.vector.reduce.or.v{state.width}i1", [state.typed])
