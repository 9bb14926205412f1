"""How a matrix product of tiles is computed on a machine, and in what form it wants its operands.

    left     row-major in place, any row stride, elements of `lhs_dtype` side by side along k
    right    packed: `plan.packed_index(k, n)` is where an element of `rhs_dtype` goes; aligned to 64 bytes
    C        row-major, elements of `accumulator_dtype`

The packed form holds panels of `columns` columns, one after another.  Within a panel come groups of `group` successive
k, then the columns, then the k of the group.  With a group of one a row of a panel is `columns` neighbours along n.

| kind      | products                    | left, right | C          | group | one step                               |
|-----------|-----------------------------|-------------|------------|-------|----------------------------------------|
| `fma`     | mmaf to f64, f32 and f16    | as C        | f64, f32   | 1     | fma, rounded once                      |
| `single`  | mmaf to f32 and f16 without | f64         | f32        | 1     | the same, in double                    |
|           | instructions for it         |             |            |       |                                        |
| `double`  | mmaf_scaled                 | f64         | f32        | 1     | the sum in double, rounded once to f32 |
| `pairs`   | mmai on x86                 | int16       | int32      | 2     | two products added, added to C         |
| `widened` | mmai elsewhere              | int32       | int32      | 1     | multiply, add                          |
| `amx`     | mmai; mmaf of bf16, f16 and | bytes, bf16 | int32, f32 | 4, 2  | a product of tiles                     |
|           | f8 unless `exact`           | or f16      |            |       |                                        |
| `dots`    | mmaf of bf16 and f8 unless  | bf16        | f32        | 2     | two products added to C, one after the |
|           | `exact`, with AVX512_BF16   |             |            |       | other                                  |

Conversions of factors to these dtypes are exact, int8 to int16 by the signedness of the operand.  An f16 accumulator is
widened to the C of an operation, which is rounded to f16 when the operation is done.

A plan of two `parts` splits f16 in two numbers of bf16 (`halves`): the packed operand has every tile of the unit twice,
the high parts and then the low ones.  `guard` is what the unit does not take (`guards`).
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy

from tileir.execute.cpu.matrix.guards import INFINITE, SUBNORMAL
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import DOUBLE, HALF, INT32, SINGLE, UINT8
from tileir.execute.dtypes import DType
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, FloatType, Type

BFLOAT16: Final = numpy.dtype(ml_dtypes.bfloat16)
_INT8: Final = numpy.dtype(numpy.int8)
_INT16: Final = numpy.dtype(numpy.int16)

AMX_ROWS: Final = 16
"""Rows of a matrix tile of AMX, and columns of one that holds elements of four bytes."""
AMX_BYTES: Final = 64
"""Bytes of a row of it."""
STAGED_BYTES: Final = 2048
"""How much of each row of the left operand is staged at a time: with less, blocks of C come and go too often."""
_STAGED_COLUMNS: Final = 256
"""Columns of the right operand from which on that is worth it."""

_DOT_LANES: Final = 16
"""Sums in a vector of AVX512_BF16."""
_UNIT_FACTORS: Final = (BF16, F16, F8E4M3FN, F8E5M2)
"""The floats that a matrix unit multiplies."""
_ROWS: Final = 6
"""Rows of a large block of C.  No power of two is a multiple of six, but each from 16 on a sum of sixes and fives."""

COPY_GAP: Final = 16
"""Elements between the rows of a long copy of the left operand: rows whose distance is a power of two share a few
places of the nearest cache."""

Shape = tuple[int, int, int]
Rows = tuple[str, Number]
"""A matrix in memory: a pointer to it, and the distance of its rows in bytes."""


class MmaPlan:
    """How a product of an m x k by a k x n tile is computed; the table above says what the kinds are."""

    __slots__ = (
        "accumulator_dtype", "columns", "group", "guard", "k", "kind", "lanes", "lhs_dtype", "m", "n", "parts",
        "rhs_dtype", "rows",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        shape: Shape,
        dtypes: tuple[DType, DType, DType],
        block: Shape,
        group: int,
        parts: int = 1,
        guard: str = "",
    ) -> None:
        self.kind: str = kind
        self.m, self.n, self.k = shape
        self.lhs_dtype, self.rhs_dtype, self.accumulator_dtype = dtypes
        self.rows, self.columns, self.lanes = block
        self.group: int = group
        self.parts: int = parts
        self.guard: str = guard

    def __repr__(self) -> str:
        block = f"{self.rows}x{self.columns}"
        return f"MmaPlan({self.kind}, {self.m}x{self.n}x{self.k} of {self.lhs_dtype}, {self.rhs_dtype}, blocks {block})"

    def packed_index(self, k: int, n: int, extent: int = 0) -> int:
        """The position of an element of the right operand, in elements; `extent` of k if it is not the plan's.

        With two parts it is that of the high one, and the low one is a tile of AMX behind it.
        """
        panel, column = divmod(n, self.columns)
        step, member = divmod(k, self.group)
        if self.parts > 1:
            tile, row = divmod(step, AMX_ROWS)
            step = tile * self.parts * AMX_ROWS + row
        panel_size = (extent or self.k) * self.columns * self.parts
        return panel * panel_size + (step * self.columns + column) * self.group + member

    @property
    def packed_elements(self) -> int:
        """How many elements the packed right operand has."""
        return self.k * self.n * self.parts

    @property
    def row_blocks(self) -> list[tuple[int, int]]:
        """How the rows of C are divided, from the first on: so many rows at a time, up to a row.

        Where the plan's rows do not divide them the last blocks have one row less: a much smaller block would read as
        much of a panel, and wait for it.
        """
        rest = self.m % self.rows
        if not rest:
            return [(self.rows, self.m)]
        return [(self.rows, self.m - (self.rows - rest) * (self.rows - 1)), (self.rows - 1, self.m)]

    @property
    def packed_bytes(self) -> int:
        """The size of the packed right operand."""
        return self.packed_elements * self.rhs_dtype.itemsize

    @property
    def staged(self) -> int:
        """How many elements of each row of the left operand are staged at a time."""
        return STAGED_BYTES // (self.lhs_dtype.itemsize * self.parts)

    @property
    def stage_elements(self) -> int:
        """How many elements a copy of a block of rows of the left operand takes, 0 where they are read where they lie.

        AMX takes twice as long to load rows that do not begin at a cache line.  A copy is read for all columns, from
        the nearest caches, which pays for it if there are enough of them, or if elements have to be looked at anyway.
        """
        if self.kind != "amx" or (self.n < _STAGED_COLUMNS and not self.guard):
            return 0
        return self.rows * STAGED_BYTES // self.lhs_dtype.itemsize


def plan(
    target: Target,
    lhs: Type,
    rhs: Type,
    accumulator: Type,
    m: int,
    n: int,
    k: int,
    exact: bool,
    lhs_signed: bool = True,
    rhs_signed: bool = True,
) -> MmaPlan:
    """Choose for mmaf and mmai; the extents are powers of two.

    With `exact` the sums of floats are those of the chain of fma, whatever the machine has.
    """
    shape = (m, n, k)
    if isinstance(accumulator, FloatType):
        if not exact and lhs in _UNIT_FACTORS and rhs in _UNIT_FACTORS:
            found = _narrow(target, shape, lhs, rhs)
            if found is not None:
                return found
        if accumulator is F64:
            return _blocks(target, "fma", shape, DOUBLE, DOUBLE)
        if accumulator is F32 or accumulator is F16:
            return _single(target, shape)
        raise ValueError(f"no matrix product accumulates in {accumulator.name}")
    if target.has_amx_int8 and _fills_amx(shape, 4):
        return _amx(shape, (_INT8 if lhs_signed else UINT8, _INT8 if rhs_signed else UINT8, INT32))
    if target.is_x86 and k > 1:
        return _blocks(target, "pairs", shape, _INT16, INT32, 2)
    return _blocks(target, "widened", shape, INT32, INT32)


def plan_scaled(target: Target, scale: Type, m: int, n: int, k: int) -> MmaPlan:
    """Choose for mmaf_scaled; the factors are the elements times their scales."""
    # Only a power of two can lead out of what f32 holds: all other scales are eight-bit numbers around one.
    if scale is F8E8M0FNU:
        return _blocks(target, "double", (m, n, k), DOUBLE, SINGLE)
    return _single(target, (m, n, k))


def plan_of_vectors(target: Target, like: MmaPlan, m: int, n: int) -> MmaPlan:
    """The same with blocks of C in vectors, for other rows and columns."""
    return _blocks(target, like.kind, (m, n, like.k), like.lhs_dtype, like.accumulator_dtype, like.group)


def _narrow(target: Target, shape: Shape, lhs: Type, rhs: Type) -> MmaPlan | None:
    """Floats of 16 and eight bits by a unit of the machine; None if it has none that is better than f32."""
    is_half = F16 in (lhs, rhs)
    # Eight-bit floats are normal numbers of bf16.
    guard = INFINITE if is_half else SUBNORMAL if BF16 in (lhs, rhs) else ""
    if is_half and target.has_amx_fp16 and _fills_amx(shape, 2):
        return _amx(shape, (HALF, HALF, SINGLE))
    if target.has_amx and _fills_amx(shape, 2):
        factors = HALF if is_half else BFLOAT16
        return _amx(shape, (factors, factors, SINGLE), 2 if is_half else 1, guard)
    m, n, k = shape
    if not target.has_bf16_dots or is_half or n < _DOT_LANES or k < 2 * _DOT_LANES:
        return None
    block = (min(m, 8), min(n, 2 * _DOT_LANES), _DOT_LANES)
    return MmaPlan("dots", shape, (BFLOAT16, BFLOAT16, SINGLE), block, 2, 1, guard)


def _single(target: Target, shape: Shape) -> MmaPlan:
    if target.has_fma:
        return _blocks(target, "fma", shape, SINGLE, SINGLE)
    # A call for every element would be slow, and C libraries exist that round it twice.
    return _blocks(target, "single", shape, DOUBLE, SINGLE)


def _blocks(target: Target, kind: str, shape: Shape, factors: DType, accumulator: DType, group: int = 1) -> MmaPlan:
    """A block of C in registers: half of them for it, the other half for the factors.

    A step of fma needs no others, so that three quarters of them can hold C where it is large enough: six rows of four
    vectors, or of two.  The more of C a step computes, the fewer elements are loaded for each.
    """
    m, n, _ = shape
    lanes = min(n, target.vector_bytes // max(factors.itemsize * group, accumulator.itemsize))
    registers = 16 if target.vector_bytes == 64 or target.is_aarch64 else 8
    across = registers // 4
    if kind == "fma" and m >= 8 and n >= across * lanes:
        rows, columns = (_ROWS if m > 8 else 4), across * lanes
    else:
        rows = min(m, max(1, registers // min(2, n // lanes)))
        columns = min(n, registers // rows * lanes)
    return MmaPlan(kind, shape, (factors, factors, accumulator), (rows, columns, lanes), group)


def _fills_amx(shape: Shape, group: int) -> bool:
    m, n, k = shape
    return m >= AMX_ROWS and n >= AMX_ROWS and k >= AMX_ROWS * group


def _amx(shape: Shape, dtypes: tuple[DType, DType, DType], parts: int = 1, guard: str = "") -> MmaPlan:
    group = 4 // dtypes[0].itemsize
    block = (min(shape[0], 2 * AMX_ROWS), AMX_ROWS, AMX_ROWS)
    return MmaPlan("amx", shape, dtypes, block, group, parts, guard)
