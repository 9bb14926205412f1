"""Packing of a tile by a loop nest, for operands that are converted, scaled, transposed or computed.

Where columns lie in memory one after another, as those of B in Q K^T do, vectors along a row would have to be gathered,
an element at a time.  Vectors along columns are plain loads; as many of them as they have elements, a square, are
transposed by shuffles.
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
                with nest.at_level(row.level):
                    number = builder.add(builder.multiply(row.base, layout.group), member)
                member_row = Axis(number, row.lanes and layout.group == 1, row.level)
                element = self._element(nest, member_row, column)
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
            axis, count = (row, scale.shape[-2]) if layout.side else (column, scale.shape[-1])
            block = layout.plan.k // count
            with nest.at_level(axis.level):
                along = Axis(self.builder.divided(axis.base, block)[0], axis.lanes and block == 1, axis.level)
            register = _scaled(nest, register, scale, (*first, *((along, column) if layout.side else (row, along))))
        return register

    # --- column-major tiles ---

    def _transpose(self, to: str, k: Number, side: int) -> None:
        """Pack a column-major tile in squares of so many packed rows.

        Each goes through memory on the stack: transposing it takes as long as that, and is written once, not for every
        edge.
        """
        builder, layout = self.builder, self.layout
        size = side * side * layout.unit
        square = self.emission.frame.stack("i8", size, 64, f"square{size}")

        def one(number: Number) -> None:
            column, row = builder.divided(number, layout.shape[0] // side)
            top, first = builder.multiply(row, side), builder.multiply(column, side)
            versions(self.emission, [self.operand], [], lambda masked: self._load(square, side, (top, first), masked))
            place = builder.moved(to, layout.offset(builder, top, first, k))
            _call_transpose(self.emission, layout, side, square, (place, layout.offset(builder, 1, 0, k)))

        builder.count(0, layout.shape[0] * layout.shape[1] // side**2, 1, one)

    def _load(self, square: str, side: int, start: tuple[Number, Number], masked: bool) -> None:
        """Copy so many columns to memory, of each as many packed rows, from a packed row and a column on."""
        builder, layout = self.builder, self.layout
        length, size = side * layout.group, layout.dtype.itemsize
        nest = NestEmitter(self.emission, (side, length), length, masked)
        number, lanes = nest.index
        with nest.at_level(number.level):
            column = Axis(builder.add(start[1], number.base), False, number.level)
        with nest.at_level(0):
            row = Axis(builder.multiply(start[0], layout.group), True, 0)
        register = nest.spread_lanes(self._element(nest, row, column), row)
        nest.store(square, [(number, length * size), (lanes, size)], register, "")
        nest.close()


def _converted(builder: Builder, element: Type, register: Register, dtype: DType, signed: bool) -> Register:
    """An element in the type that the kernel multiplies; the conversion is exact."""
    if element is TF32:
        register = trace(builder, tf32_numbers, [register])
    if register.dtype == numpy.int8 and not signed:
        register = casting.retag(register, numpy.dtype(numpy.uint8))
    if register.dtype == dtype or (register.dtype.itemsize == dtype.itemsize and dtype.kind in "iu"):
        return casting.retag(register, dtype)
    return casting.cast(builder, register, dtype)


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


def _call_transpose(emission: Emission, layout: Layout, side: int, square: str, target: Rows) -> None:
    """Store the columns of a square in memory as packed rows."""
    builder = emission.builder
    dtype = SINGLE if layout.unit == SINGLE.itemsize else DOUBLE
    kind, whole, half = value_type(dtype, side), side * layout.group, side // 2

    def write() -> None:
        places = [builder.moved("%square", row * side * layout.unit) for row in range(side)]
        rows = [builder.value(f"load {kind}, ptr {place}, align 16", dtype, side) for place in places]
        for _ in range(side.bit_length() - 1):
            # The elements of rows in turn, until those of a column are together.
            rows = [
                shuffled(
                    builder, one, other, [place for lane in range(start, start + half) for place in (lane, lane + side)]
                )
                for one, other in zip(rows[:half], rows[half:], strict=True)
                for start in (0, half)
            ]
        for number, row in enumerate(rows):
            text = f"bitcast {row.typed} to {value_type(layout.dtype, whole)}"
            where = builder.moved("%target", builder.multiply("%row", number))
            layout.store(builder, builder.value(text, layout.dtype, whole), where)

    parameters = {"%square": ("ptr", square), "%target": ("ptr", target[0]), "%row": ("i64", target[1])}
    name = f"transpose.{layout.dtype.name}.{layout.group}.{layout.plan.parts}.{side}"
    call_function(emission, name, parameters, write)
