"""Packing of a tile by a loop nest, for operands that are converted, scaled, transposed or computed.

Where columns lie in memory one after another, as those of B in Q K^T do, vectors along a row would have to be gathered,
an element at a time.  Vectors along columns are plain loads; as many of them as they have elements are transposed by
shuffles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy

from tileir.execute.cpu.codegen.context import Emission, TileView
from tileir.execute.cpu.codegen.edge_versions import lanes_of, over_an_edge, versions
from tileir.execute.cpu.codegen.loop_nest import Axis, NestEmitter
from tileir.execute.cpu.ir.expressions import BufferRead, Elementwise, Expression, Mapped, ViewLoad, row_major
from tileir.execute.cpu.ir.statements import Matmul
from tileir.execute.cpu.matmul.functions import call_function
from tileir.execute.cpu.matmul.pack import interleaved
from tileir.execute.cpu.matmul.plan import Layout, Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import DOUBLE, SINGLE
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import DType, tf32_numbers
from tileir.ir import floats
from tileir.ir.types import FNV8E5M3FNU, TF32, Type

_LANE_BYTES: Final = 16
"""Machines shuffle within parts of this size, or move the parts."""


class TilePacker:
    """Packs tiles of A or B, of one matmul of a batch."""

    def __init__(self, emission: Emission, matmul: Matmul, side: int, batch: Number) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.layout: Final = Layout(matmul.plan, side)
        self.batch: Final = batch
        self.operand: Final[Expression] = (matmul.lhs, matmul.rhs)[side]
        self.scales: Final = matmul.scales[side : side + 1]
        self.is_signed: Final = matmul.operation.keyword(f"signedness_{('lhs', 'rhs')[side]}") != "unsigned"

    def pack(self, to: str, k: Number, is_edge: bool = False) -> None:
        """Pack a tile into an operand of so many k; with `is_edge` it is known to lie over an edge."""
        emission, builder, layout = self.emission, self.builder, self.layout
        roots = [self.operand, *self.scales]
        side = min(emission.target.vector_bytes // layout.unit, layout.adjacent, layout.shape[0])
        if not self.scales and layout.unit in (4, 8) and side > 1 and _is_column_major(emission, self.operand):
            self._transpose(to, k, side)
            return
        lanes = min(lanes_of(emission, roots, []), layout.adjacent)
        if not layout.side:
            lanes = min([lanes, *[layout.plan.k // scale.shape[-1] for scale in self.scales]])

        def emit(masked: bool) -> None:
            nest = NestEmitter(emission, layout.shape, lanes, masked)
            row, column = nest.index
            members = []
            for member in range(layout.group):
                element = self._element(nest, _member(nest, row, layout.group, member), column)
                members.append(nest.spread_lanes(element, column))
            with nest.at_level(nest.depth):
                place = builder.moved(to, layout.offset(builder, row.base, column.base, k))
                layout.store(builder, interleaved(builder, members), place)
            nest.close()

        (over_an_edge if is_edge else versions)(emission, roots, [], emit)

    # --- elements ---

    def _element(self, nest: NestEmitter, row: Axis, column: Axis) -> Register:
        """An element as the kernel reads it, with its scale."""
        layout, operand = self.layout, self.operand
        first = [Axis(self.batch, False, 0)] if len(operand.shape) == 3 else []
        register, _ = nest.at(operand, (*first, row, column))
        with nest.at_level(nest.depth):
            register = _converted(self.builder, operand.element, register, layout.dtype, self.is_signed)
        for scale in self.scales:
            # There is one for each block of elements along k.
            block = layout.plan.k // scale.shape[-2 if layout.side else -1]
            along = _scale_axis(nest, row if layout.side else column, block)
            register = _scaled(nest, register, scale, (*first, *((along, column) if layout.side else (row, along))))
        return register

    # --- column-major tiles ---

    def _load_square(self, square: str, side: int, top: Number, first: Number) -> None:
        """Copy so many columns from the `first` on to memory, of each as many packed rows from `top` on."""
        builder, layout = self.builder, self.layout
        length, size = side * layout.group, layout.dtype.itemsize

        def emit(masked: bool) -> None:
            nest = NestEmitter(self.emission, (side, length), length, masked)
            number, lanes = nest.index
            with nest.at_level(number.level):
                column = Axis(builder.add(first, number.base), False, number.level)
            row = Axis(top, True, 0)
            register = nest.spread_lanes(self._element(nest, row, column), row)
            nest.store(square, [(number, length * size), (lanes, size)], register, "")
            nest.close()

        versions(self.emission, [self.operand], [], emit)

    def _transpose(self, to: str, k: Number, side: int) -> None:
        """Pack a column-major tile in squares of so many packed rows.

        Each goes through memory on the stack: transposing it takes as long as that, and is written once, not for every
        edge.
        """
        builder, layout = self.builder, self.layout
        size = side * side * layout.unit
        square = self.emission.frame.stack("i8", size, 64, f"square{size}")

        def across(first: Number) -> None:
            def down(top: Number) -> None:
                self._load_square(square, side, builder.multiply(top, layout.group), first)
                place = builder.moved(to, layout.offset(builder, top, first, k))
                _call_transpose(self.emission, layout, side, square, (place, layout.offset(builder, 1, 0, k)))

            builder.count(0, layout.shape[0], side, down)

        builder.count(0, layout.shape[1], side, across)


def _member(nest: NestEmitter, axis: Axis, group: int, member: int) -> Axis:
    """A member of a group of rows."""
    if group == 1:
        return axis
    with nest.at_level(axis.level):
        return Axis(nest.builder.add(nest.builder.multiply(axis.base, group), member), False, axis.level)


def _converted(builder: Builder, element: Type, register: Register, dtype: DType, signed: bool) -> Register:
    """An element in the type that the kernel multiplies; the conversion is exact."""
    if element is TF32:
        register = trace(builder, tf32_numbers, [register])
    if register.dtype == numpy.int8 and not signed:
        register = casting.retag(register, numpy.dtype(numpy.uint8))
    if register.dtype == dtype or (register.dtype.itemsize == dtype.itemsize and dtype.kind in "iu"):
        return casting.retag(register, dtype)
    return casting.cast(builder, register, dtype)


def _scale_axis(nest: NestEmitter, axis: Axis, block: int) -> Axis:
    """The axis of scales: one for each block of elements."""
    with nest.at_level(axis.level):
        return Axis(nest.builder.divided(axis.base, block)[0], axis.lanes and block == 1, axis.level)


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


def _call_transpose(emission: Emission, layout: Layout, side: int, square: str, target: Rows) -> None:
    """Store the columns of a square in memory as packed rows; the square is used up.

    A loop over shuffles that are alike, since they take LLVM long.  Those of the other half follow each other: with a
    loop for them, too, a machine waits for what it has just stored.
    """
    builder = emission.builder
    dtype = SINGLE if layout.unit == SINGLE.itemsize else DOUBLE
    size, per = dtype.itemsize, min(side, _LANE_BYTES // dtype.itemsize)
    is_split = layout.plan.parts > 1

    def place(row: Number) -> str:
        return builder.moved("%square", builder.multiply(row, side * size))

    def load(rows: list[Number]) -> list[Register]:
        kind = value_type(dtype, side)
        return [builder.value(f"load {kind}, ptr {place(row)}, align 64", dtype, side) for row in rows]

    def interleave(first: Number) -> None:
        rows = [builder.add(first, number) for number in range(per)]
        for row, register in zip(rows, _interleaved(builder, load(rows), per), strict=True):
            builder.do(f"store {register.typed}, ptr {place(row)}, align 64")

    def sort(number: int) -> None:
        rows = [builder.add(number, first) for first in range(0, side, per)]
        for row, register in zip(rows, _sorted_parts(builder, load(rows), per), strict=True):
            where = builder.moved("%target", builder.multiply("%row", row))
            if is_split:
                width = side * layout.group
                text = f"bitcast {register.typed} to {value_type(layout.dtype, width)}"
                layout.store(builder, builder.value(text, layout.dtype, width), where)
            else:
                builder.do(f"store {register.typed}, ptr {where}, align {size}")

    def write() -> None:
        builder.count(0, side, per, interleave)
        for number in range(per):
            sort(number)

    parameters = {"%square": ("ptr", square), "%target": ("ptr", target[0]), "%row": ("i64", target[1])}
    kind = "split" if is_split else "plain"
    call_function(emission, f"transpose.{kind}.{dtype.name}.{side}", parameters, write)
