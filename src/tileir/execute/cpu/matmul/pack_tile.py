"""Packing of a tile by a loop nest, for operands that are converted, scaled, transposed or computed.

Where columns lie in memory one after another, as those of B in Q K^T do, vectors along a row would have to be gathered,
an element at a time.  Vectors along columns are plain loads; as many of them as they have elements are transposed by
shuffles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy

from tileir.execute.cpu.codegen.context import Emission, TileView
from tileir.execute.cpu.codegen.edge_versions import lanes_of, over_an_edge, versions
from tileir.execute.cpu.codegen.loop_nest import Axis, NestEmitter, Term
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, Expression, Mapped, ViewLoad, row_major
from tileir.execute.cpu.ir.statements import Matmul
from tileir.execute.cpu.matmul.functions import call_function
from tileir.execute.cpu.matmul.pack import interleaved, packed_pointer, store_packed
from tileir.execute.cpu.matmul.plan import Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, scalar_type, value_type
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import DType, tf32_numbers
from tileir.ir import floats
from tileir.ir.types import FNV8E5M3FNU, TF32, Type

_LANE_BYTES: Final = 16
"""Machines shuffle within parts of this size, or move the parts."""


def pack_tile(
    emission: Emission, matmul: Matmul, batch: Number, pointer: str, k: Number, is_edge: bool = False
) -> None:
    """Pack a tile of B into panels of so many k; with `is_edge` it is known to lie over an edge."""
    builder, plan = emission.builder, matmul.plan
    roots = [matmul.rhs, *matmul.scales[1:]]
    lanes = min(lanes_of(emission, roots, []), plan.nr)
    group, unit = plan.k_group, plan.k_group * plan.b_dtype.itemsize
    side = min(emission.target.vector_bytes // unit, plan.nr, plan.k // group)
    if not matmul.scales and unit in (4, 8) and side > 1 and _is_column_major(emission, matmul.rhs):
        row = plan.nr * unit

        def place(top: Number, first: Number) -> Rows:
            return packed_pointer(builder, plan, (pointer, k), top, first), row

        _transpose_tile(emission, matmul, 1, batch, side, place)
        return

    def emit(masked: bool) -> None:
        nest = NestEmitter(emission, (plan.k // group, plan.n), lanes, masked)
        step, column = nest.index
        members = []
        for member in range(group):
            row = _member(nest, step, group, member)
            register = _element(emission, nest, matmul, 1, batch, row, column)
            members.append(nest.spread_lanes(register, column))
        with nest.at_level(nest.depth):
            packed = interleaved(builder, members)
            store_packed(builder, plan, packed, packed_pointer(builder, plan, (pointer, k), step.base, column.base))
        nest.close()

    (over_an_edge if is_edge else versions)(emission, roots, [], emit)


def copy_tile(emission: Emission, matmul: Matmul, batch: Number, to: Rows, is_edge: bool = False) -> None:
    """Copy a tile of A to rows; with `is_edge` it is known to lie over an edge."""
    builder, plan = emission.builder, matmul.plan
    roots = [matmul.lhs, *matmul.scales[:1]]
    size = plan.a_dtype.itemsize
    side = min(emission.target.vector_bytes // size, plan.m, plan.k)
    if not matmul.scales and size in (4, 8) and side > 1 and _is_column_major(emission, matmul.lhs):

        def place(top: Number, first: Number) -> Rows:
            offset = builder.add(builder.multiply(top, to[1]), builder.multiply(first, size))
            return builder.moved(to[0], offset), to[1]

        _transpose_tile(emission, matmul, 0, batch, side, place)
        return
    lanes = min([lanes_of(emission, roots, []), plan.k, *[plan.k // scale.shape[-1] for scale in matmul.scales[:1]]])

    def emit(masked: bool) -> None:
        nest = NestEmitter(emission, (plan.m, plan.k), lanes, masked)
        row, column = nest.index
        register = _element(emission, nest, matmul, 0, batch, row, column)
        terms: list[Term] = [(row, to[1]), (column, size)]
        nest.store(to[0], terms, register, emission.scratch_suffix)
        nest.close()

    (over_an_edge if is_edge else versions)(emission, roots, [], emit)


def _member(nest: NestEmitter, axis: Axis, group: int, member: int) -> Axis:
    """A member of a group of rows."""
    if group == 1:
        return axis
    with nest.at_level(axis.level):
        return Axis(nest.builder.add(nest.builder.multiply(axis.base, group), member), False, axis.level)


# --- elements ---


def _element(
    emission: Emission, nest: NestEmitter, matmul: Matmul, side: int, batch: Number, row: Axis, column: Axis
) -> Register:
    """An element of A or B as the kernel reads it, with its scale."""
    plan, operand = matmul.plan, (matmul.lhs, matmul.rhs)[side]
    dtype = (plan.a_dtype, plan.b_dtype)[side]
    is_signed = matmul.operation.keyword(f"signedness_{('lhs', 'rhs')[side]}") != "unsigned"
    first = [Axis(batch, False, 0)] if len(operand.shape) == 3 else []
    register, _ = nest.at(operand, (*first, row, column))
    with nest.at_level(nest.depth):
        register = _converted(emission, operand.element, register, dtype, is_signed)
    if not matmul.scales:
        return register
    scale = matmul.scales[side]
    # There is one for each block of elements along k.
    block = plan.k // scale.shape[-2 if side else -1]
    along = _scale_axis(nest, row if side else column, block)
    return _scaled(nest, register, scale, (*first, along, column) if side else (*first, row, along))


def _converted(emission: Emission, element: Type, register: Register, dtype: DType, signed: bool) -> Register:
    """An element in the type that the kernel multiplies; the conversion is exact."""
    if element is TF32:
        register = trace(emission.builder, tf32_numbers, [register])
    if register.dtype == numpy.int8 and not signed:
        register = casting.retag(register, numpy.dtype(numpy.uint8))
    if register.dtype == dtype or (register.dtype.itemsize == dtype.itemsize and dtype.kind in "iu"):
        return casting.retag(register, dtype)
    return casting.cast(emission.builder, register, dtype)


def _scale_axis(nest: NestEmitter, axis: Axis, block: int) -> Axis:
    """The axis of scales: one for each block of elements."""
    if isinstance(axis.base, int):
        return Axis(axis.base // block, axis.lanes and block == 1, axis.level)
    with nest.at_level(axis.level):
        return Axis(nest.builder.emit(f"udiv i64 {axis.base}, {block}"), axis.lanes and block == 1, axis.level)


def _scaled(nest: NestEmitter, register: Register, scale: Expression, index: tuple[Axis, ...]) -> Register:
    factor, _ = nest.at(scale, index)
    with nest.at_level(nest.depth):
        builder = nest.builder
        if scale.element is FNV8E5M3FNU:
            # Held as its pattern.
            factor = casting.decode(builder, factor, floats.FNV8E5M3FNU)
        factor = casting.cast(builder, factor, register.dtype)
        width = max(register.width, factor.width)
        return casting.binary(builder, "fmul", builder.splat(register, width), builder.splat(factor, width))


# --- column-major tiles ---


def _load_square(
    emission: Emission,
    matmul: Matmul,
    side: int,
    batch: Number,
    square: tuple[str, int, int],
    top: Number,
    first: Number,
) -> None:
    """Copy some columns of A or B, the `first` and those after it, to memory, each from `top` on.

    A square is a pointer, how many columns, and how much of each.
    """
    builder, plan = emission.builder, matmul.plan
    size = (plan.a_dtype, plan.b_dtype)[side].itemsize
    pointer, count, length = square

    def emit(masked: bool) -> None:
        nest = NestEmitter(emission, (count, length), length, masked)
        number, lanes = nest.index
        with nest.at_level(number.level):
            column = Axis(builder.add(first, number.base), False, number.level)
        row = Axis(top, True, 0)
        register = nest.spread_lanes(_element(emission, nest, matmul, side, batch, row, column), row)
        nest.store(pointer, [(number, length * size), (lanes, size)], register, "")
        nest.close()

    versions(emission, [(matmul.lhs, matmul.rhs)[side]], [], emit)


def _transpose_tile(
    emission: Emission, matmul: Matmul, side: int, batch: Number, count: int, to: Callable[[Number, Number], Rows]
) -> None:
    """Copy a column-major tile of A or B to rows, in squares of so many groups of k a side.

    Each goes through memory on the stack: transposing it takes as long as that, and is written once, not for every
    edge.  `to` gives where a square goes, from its first group and column.
    """
    builder, plan = emission.builder, matmul.plan
    dtype, group = ((plan.a_dtype, 1), (plan.b_dtype, plan.k_group))[side]
    rows, columns = ((plan.m, plan.k), (plan.k // group, plan.n))[side]
    unit = group * dtype.itemsize
    square = emission.frame.stack("i8", count * count * unit, 64, f"square{count * count * unit}")

    whole = SINGLE if unit == SINGLE.itemsize else DOUBLE
    is_split = side == 1 and plan.parts > 1

    def store_split(register: Register, pointer: str) -> None:
        text = f"bitcast {register.typed} to {value_type(dtype, count * group)}"
        store_packed(builder, plan, builder.value(text, dtype, count * group), pointer)

    def across(first: Number) -> None:
        def down(top: Number) -> None:
            start = builder.multiply(top, group)
            _load_square(emission, matmul, side, batch, (square, count, count * group), start, first)
            _call_transpose(emission, whole, count, square, to(top, first), store_split if is_split else None)

        builder.count(0, rows, count, down)

    builder.count(0, columns, count, across)


def _is_column_major(emission: Emission, matrix: Expression) -> bool:
    """Whether everything that a matrix is computed from has its neighbors along columns, and not along rows."""
    rank = len(matrix.shape)
    down = list(_distances(emission, matrix, rank - 2))
    along = list(_distances(emission, matrix, rank - 1))
    return bool(down) and all(one == 1 for one in down) and all(one != 1 for one in along)


def _distances(emission: Emission, expression: Expression, axis: int | None) -> Iterator[Number]:
    """The distance of neighbors along a dimension, for each tile that is read; 0 where that is not known."""
    if isinstance(expression, Mapped):
        places = [place for place, (taken, _) in enumerate(expression.mapping) if taken == axis]
        yield from _distances(emission, expression.source, places[0] if axis is not None and places else None)
    elif isinstance(expression, Elementwise):
        for operand in expression.operands:
            yield from _distances(emission, operand, axis)
    elif isinstance(expression, BufferRead):
        yield row_major(expression.shape)[axis] if axis is not None else 0
    elif isinstance(expression, ViewLoad) and axis is not None:
        view = emission.views[expression.operation.view]
        yield view.strides[axis] if isinstance(view, TileView) and view.sparse < 0 else 0
    elif expression.reads:
        yield 0


def _interleaved(builder: Builder, rows: list[Register], per: int) -> list[Register]:
    """Elements of rows in turn, until those of a column are together, within each part of so many elements."""
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


def _sorted_parts(builder: Builder, vectors: list[Register], per: int) -> list[Register]:
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


def _call_transpose(
    emission: Emission,
    dtype: DType,
    side: int,
    square: str,
    target: Rows,
    store: Callable[[Register, str], None] | None = None,
) -> None:
    """Store the columns of a square in memory as rows, as they are if `store` does nothing else; the square is used up.

    A loop over shuffles that are alike, since they take LLVM long.  Those of the other half follow each other: with a
    loop for them, too, a machine waits for what it has just stored.
    """
    builder, size = emission.builder, dtype.itemsize
    vector = f"<{side} x {scalar_type(dtype)}>"
    per = min(side, _LANE_BYTES // size)

    def place(row: Number) -> str:
        return builder.moved("%square", builder.multiply(row, side * size))

    def load(rows: list[Number]) -> list[Register]:
        return [builder.value(f"load {vector}, ptr {place(row)}, align 64", dtype, side) for row in rows]

    def interleave(first: Number) -> None:
        rows = [builder.add(first, number) for number in range(per)]
        for row, register in zip(rows, _interleaved(builder, load(rows), per), strict=True):
            builder.do(f"store {register.typed}, ptr {place(row)}, align 64")

    def sort(number: int) -> None:
        rows = [builder.add(number, first) for first in range(0, side, per)]
        for row, register in zip(rows, _sorted_parts(builder, load(rows), per), strict=True):
            where = builder.moved("%target", builder.multiply("%row", row))
            if store is not None:
                store(register, where)
            else:
                builder.do(f"store {register.typed}, ptr {where}, align {size}")

    def write() -> None:
        builder.count(0, side, per, interleave)
        for number in range(per):
            sort(number)

    parameters = {"%square": ("ptr", square), "%target": ("ptr", target[0]), "%row": ("i64", target[1])}
    kind = "split" if store is not None else "plain"
    call_function(emission, f"transpose.{kind}.{dtype.name}.{side}", parameters, write)
