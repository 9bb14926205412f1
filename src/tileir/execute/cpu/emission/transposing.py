"""Matrices whose columns lie in memory one after another, as the second factor of Q K^T does.

Vectors along a row would have to be gathered, an element at a time.  Vectors along columns are plain loads; as many of
them as they have elements are turned into rows in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.views import TileView
from tileir.execute.cpu.loops.expressions import Applied, Expression, Mapped, Stored, Viewed, row_major
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.parts import shuffled
from tileir.execute.dtypes import DType

_LANE_BYTES: Final = 16
"""Machines shuffle within parts of this size, or move the parts."""


def lies_in_columns(emission: Emission, matrix: Expression) -> bool:
    """Whether everything that a matrix is computed from has its neighbours along columns, and not along rows."""
    rank = len(matrix.shape)
    down = list(_distances(emission, matrix, rank - 2))
    along = list(_distances(emission, matrix, rank - 1))
    return bool(down) and all(one == 1 for one in down) and all(one != 1 for one in along)


def _distances(emission: Emission, expression: Expression, axis: int | None) -> Iterator[Number]:
    """How far apart neighbours along a dimension are, for each tile that is read; 0 where that is not known."""
    if isinstance(expression, Mapped):
        places = [place for place, (taken, _) in enumerate(expression.mapping) if taken == axis]
        yield from _distances(emission, expression.source, places[0] if axis is not None and places else None)
    elif isinstance(expression, Applied):
        for operand in expression.operands:
            yield from _distances(emission, operand, axis)
    elif isinstance(expression, Stored):
        yield row_major(expression.shape)[axis] if axis is not None else 0
    elif isinstance(expression, Viewed) and axis is not None:
        view = emission.views[expression.operation.view]
        yield view.strides[axis] if isinstance(view, TileView) and view.sparse < 0 else 0
    elif expression.reads:
        yield 0


def transposed(builder: Builder, rows: list[Register], unit: int) -> list[Register]:
    """The columns of a square of units of four or eight bytes, which may be several elements each."""
    like, count = rows[0], len(rows)
    kind = SINGLE if unit == SINGLE.itemsize else DOUBLE
    squares = [_reinterpreted(builder, row, kind, count) for row in rows]
    per = units_of_part(count, unit)
    # First squares within the parts that machines shuffle, then the parts.
    groups = [woven(builder, squares[start : start + per], per) for start in range(0, count, per)]
    columns: list[Register] = [like] * count
    for number in range(per):
        for place, found in enumerate(sorted_parts(builder, [group[number] for group in groups], per)):
            columns[place * per + number] = found
    return [_reinterpreted(builder, column, like.dtype, like.width) for column in columns]


def units_of_part(count: int, unit: int) -> int:
    """How many units of so many bytes lie in a part that machines shuffle, of vectors of so many."""
    return min(count, _LANE_BYTES // unit)


def woven(builder: Builder, rows: list[Register], per: int) -> list[Register]:
    """Elements of rows by turns, until those of a column are together; within each part."""
    width = rows[0].width
    for _ in range(per.bit_length() - 1):
        half = len(rows) // 2
        pairs = list(zip(rows[:half], rows[half:], strict=True))
        rows = []
        for first, second in pairs:
            for start in (0, per // 2):
                lanes = [
                    part + start + place // 2 + (width if place % 2 else 0)
                    for part in range(0, width, per)
                    for place in range(per)
                ]
                rows.append(shuffled(builder, first, second, lanes))
    return rows


def sorted_parts(builder: Builder, vectors: list[Register], per: int) -> list[Register]:
    """The first parts of all vectors, then the second ones and on."""
    width = vectors[0].width
    for _ in range(len(vectors).bit_length() - 1):
        pairs = list(zip(vectors[0::2], vectors[1::2], strict=True))
        vectors = []
        for odd in (0, 1):
            parts = [part * per for part in range(odd, 2 * width // per, 2)]
            lanes = [part + place for part in parts for place in range(per)]
            vectors += [shuffled(builder, first, second, lanes) for first, second in pairs]
    return vectors


def _reinterpreted(builder: Builder, register: Register, dtype: DType, width: int) -> Register:
    if register.dtype == dtype:
        return register
    return builder.value(f"bitcast {register.typed} to {value_type(dtype, width)}", dtype, width)
