"""Packing of operands into the layout that a plan reads, with zeros for what lies over an edge.

Rows in memory are packed by a function (`RowPacker`), many tiles at a time; those behind pointers may be converted.
Whatever else is converted, scaled, transposed or computed is packed tile by tile by a loop nest (`TilePacker`).  Of a
column-major operand, as B in Q K^T, it loads columns and transposes squares of them: rows would be gathered.

The pack cache (`cached_panel`) keeps packed operands, found by their indices, for the next tile blocks of a thread,
which share most of them.  An operand is cached if it depends only on indices and on memory that is never written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy

from tileir.execute.analysis.values import tile_of
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.edge_versions import lanes_of, versions
from tileir.execute.cpu.codegen.loop_nest import Axis, NestEmitter
from tileir.execute.cpu.ir.expressions import Expression, is_column_major, pointer_load
from tileir.execute.cpu.ir.statements import Matmul, PackCache
from tileir.execute.cpu.matmul.plan import AMX_ROWS, Layout, Rows, SpecialValues
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.casting import BOOL, DOUBLE, INT64, SINGLE
from tileir.execute.cpu.vector.instructions import emit_operation
from tileir.execute.cpu.vector.lanes import interleaved, shuffled, transposed
from tileir.execute.cpu.vector.llvm import Register, value_type
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import DType, tf32_numbers
from tileir.ir import floats
from tileir.ir.core import Operation
from tileir.ir.types import FNV8E5M3FNU, TF32, Type

_ROWS_AHEAD: Final = 3
"""How many rows before it is packed a row is prefetched.  Rows a power of two apart share a few sets of eight or twelve
lines in the nearest cache: of eight rows the first would be gone again."""
_LINE: Final = 64


# --- rows in memory ---


class RowPacker:
    """Packs rows in memory, with zeros for rows and columns that are not `valid`: a whole row at a time; for matrix
    tiles a few rows, to read and write whole cache lines."""

    def __init__(
        self, emission: Emission, layout: Layout, operand: Expression, valid: tuple[Number, Number] | None
    ) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.layout: Final = layout
        self.operand: Final = operand
        self.valid: Final = valid
        load, conversions = pointer_load(operand) or (None, [])
        self.source: Final[DType] = layout.dtype if load is None else load.dtype  # Of the elements in memory.
        self.conversions: Final[list[Operation]] = conversions
        self.special: Final = SpecialValues(emission.builder, layout.guard)
        self.depth: Final = (4, AMX_ROWS)[layout.side] if layout.is_tiled else 1  # Rows before the next columns
        width = layout.plan.lanes if valid is not None and not layout.is_tiled else layout.plan.column_block
        if not layout.side:
            width = min(layout.adjacent, emission.target.vector_bytes // layout.unit, 32)
        self.width: Final = width  # Columns that are packed together.
        self.stored: Final = min(self.width, layout.adjacent)  # Columns of them that are adjacent.

    def pack(self, rows: Rows, count: Number, to: str, k: Number) -> str:
        """Pack so many rows; an i1: there are special values."""
        count = self.builder.divided(count, self.layout.group)[0]
        parameters: dict[str, tuple[str, Number]] = {"%source": ("ptr", rows.pointer), "%row": ("i64", rows.stride)}
        parameters |= {"%to": ("ptr", to), "%k": ("i64", k), "%count": ("i64", count)}
        name = f"pack.{'ab'[self.layout.side]}.{self.layout.plan.name}"
        if self.source != self.layout.dtype or self.conversions:
            names = [f"{tile_of(each.results[0]).element}.{each.keyword('rounding_mode')}" for each in self.conversions]
            name = ".".join([name, self.source.name, *names])
        if self.valid is not None:
            parameters |= {"%rows": ("i64", self.valid[0]), "%columns": ("i64", self.valid[1])}
            name = f"{name}.edge"
        return self.emission.call_as_written(name, parameters, self._write)

    def _write(self) -> str:
        builder, layout = self.builder, self.layout
        columns: Number = layout.plan.n if layout.side else "%k"

        def rows(first: Number, states: list[Register]) -> list[Register]:
            row = self._row(first)

            def across(column: Number, states: list[Register]) -> list[Register]:
                def down(number: Number, states: list[Register]) -> list[Register]:
                    return self._pack(self._row(builder.add(first, number)), column, states)

                if self.depth == 1:
                    return self._pack(row, column, states)
                return builder.carry(0, self.depth, 1, states, down)

            if self.depth > 1 or isinstance(columns, str) or self.valid is not None:
                return builder.carry(0, columns, self.width, states, across)
            for column in range(0, columns, self.width):
                states = across(column, states)
            return states

        start = [self.special.nothing(self.stored * layout.group)] if layout.guard else []
        states = builder.carry(0, "%count", self.depth, start, rows)
        return self.special.is_found(states[0]) if states else "false"

    def _row(self, row: Number) -> tuple[list[tuple[str, Number]], str]:
        """The rows in memory that a packed row is made of, each with how many columns are valid; and that row."""
        builder, layout = self.builder, self.layout
        found = []
        for member in range(layout.group):
            number = builder.add(builder.multiply(row, layout.group), member)
            valid: Number = 0
            if self.valid is not None:
                valid = builder.select(builder.compared("ult", number, "%rows"), "%columns", 0)
            found.append((builder.moved("%source", builder.multiply(number, "%row")), valid))
        return found, builder.moved("%to", layout.offset(builder, row, 0, "%k"))

    def _pack(
        self, row: tuple[list[tuple[str, Number]], str], column: Number, states: list[Register]
    ) -> list[Register]:
        builder, layout = self.builder, self.layout
        members = [self._load(pointer, valid, column) for pointer, valid in row[0]]
        for start in range(0, self.width, self.stored):
            lanes, is_part = range(start, start + self.stored), self.stored < self.width
            parts = [shuffled(builder, member, None, lanes) if is_part else member for member in members]
            to = builder.moved(row[1], layout.offset(builder, 0, builder.add(column, start), "%k"))
            high = layout.store(builder, interleaved(builder, parts), to)
            states = [self.special.scanned(state, high) for state in states]
        return states

    def _load(self, row: str, valid: Number, column: Number) -> Register:
        """Load some columns of a row, and prefetch those of a later one."""
        builder, layout, dtype = self.builder, self.layout, self.source
        pointer = builder.moved(row, builder.multiply(column, dtype.itemsize))
        if self.valid is not None:
            found = load_valid(self.emission, dtype, self.width, pointer, builder.subtract(valid, column))
            return self._converted(found)
        if layout.side:
            # Rows are often pages apart, where no machine prefetches by itself.
            ahead = builder.moved(pointer, builder.multiply("%row", max(_ROWS_AHEAD, self.depth * layout.group)))
            for line in range(0, self.width * dtype.itemsize, _LINE):
                if not isinstance(column, int) or (column * dtype.itemsize + line) % _LINE == 0:
                    where = builder.moved(ahead, line)
                    builder.call("void", "llvm.prefetch.p0", [f"ptr {where}", "i32 0", "i32 3", "i32 1"])
        return self._converted(builder.load(dtype, self.width, pointer, suffix=self.emission.memory_suffix))

    def _converted(self, register: Register) -> Register:
        for operation in self.conversions:
            register = emit_operation(self.builder, operation, [register])
        return _converted(self.builder, self.operand.element, register, self.layout.dtype, signed=True)


def load_valid(emission: Emission, dtype: DType, width: int, pointer: str, count: Number) -> Register:
    """Load a vector, zeros for elements that are not valid; 32 at most, as bits in a register are the mask."""
    builder = emission.builder
    valid = builder.smaller(builder.larger(count, 0, signed=True), width)
    bits = builder.emit(f"sub i64 {builder.emit(f'shl i64 1, {valid}')}, 1")
    narrow = builder.emit(f"trunc i64 {bits} to i{width}")
    mask = builder.value(f"bitcast i{width} {narrow} to <{width} x i1>", BOOL, width)
    return builder.load(dtype, width, pointer, 0, emission.memory_suffix, mask)


def scan_packed(emission: Emission, layout: Layout, packed: str, k: Number) -> str:
    """An i1: there are special values in a packed operand of so many k."""
    special = SpecialValues(emission.builder, layout.guard)
    if not layout.guard:
        return "false"
    size = emission.builder.multiply(k, layout.bytes // layout.plan.k)
    parameters: dict[str, tuple[str, Number]] = {"%to": ("ptr", packed), "%size": ("i64", size)}

    def write() -> str:
        return special.is_found(special.scanned_memory(special.nothing(), "%to", "%size"))

    return emission.call_as_written(f"scan.{layout.guard}", parameters, write)


# --- tiles by loop nests ---


class TilePacker:
    """Packs tiles of A or B, of one matmul of a batch."""

    def __init__(self, emission: Emission, matmul: Matmul, side: int, batch: Number) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.layout: Final = matmul.plan.layout(side)
        self.batch: Final = batch
        self.operand: Final[Expression] = (matmul.lhs, matmul.rhs)[side]
        self.scales: Final = matmul.scales[side : side + 1]
        self.is_signed: Final = matmul.operation.keyword(f"signedness_{('lhs', 'rhs')[side]}") != "unsigned"

    def pack(self, to: str, k: Number, is_edge: bool = False) -> None:
        """Pack a tile into an operand of so many k; with `is_edge` it is known to lie over an edge."""
        emission, builder, layout = self.emission, self.builder, self.layout
        roots = [self.operand, *self.scales]
        side = min(emission.target.vector_bytes // layout.unit, layout.adjacent, layout.shape[0])
        if not self.scales and layout.unit in (4, 8) and side > 1 and is_column_major(self.operand):
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
                members.append(nest.spread_lanes(self._element(nest, member_row, column), column))
            with nest.at_level(nest.depth):
                pointer = builder.moved(to, layout.offset(builder, row.base, column.base, k))
                layout.store(builder, interleaved(builder, members), pointer)
            nest.close()

        versions(emission, roots, [], emit, is_edge=is_edge)

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
        """Pack a column-major tile in squares of packed rows through the stack, with one transpose for all edges."""
        builder, layout = self.builder, self.layout
        size = side * side * layout.unit
        square = self.emission.frame.stack("i8", size, 64, f"square{size}")

        def one(number: Number) -> None:
            column, row = builder.divided(number, layout.shape[0] // side)
            top, first = builder.multiply(row, side), builder.multiply(column, side)
            versions(self.emission, [self.operand], [], lambda masked: self._load(square, side, (top, first), masked))
            pointer = builder.moved(to, layout.offset(builder, top, first, k))
            row = layout.offset(builder, 1, 0, k)
            parameters = {"%square": ("ptr", square), "%target": ("ptr", pointer), "%row": ("i64", row)}
            name = f"transpose.{layout.dtype.name}.{layout.group}.{layout.plan.parts}.{side}"
            self.emission.call_as_written(name, parameters, lambda: self._store_columns(side))

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

    def _store_columns(self, side: int) -> None:
        """Store the columns of a square in memory as packed rows."""
        builder, layout = self.builder, self.layout
        dtype = SINGLE if layout.unit == SINGLE.itemsize else DOUBLE
        pointers = [builder.moved("%square", row * side * layout.unit) for row in range(side)]
        columns = transposed(builder, [builder.load(dtype, side, pointer) for pointer in pointers])
        for number, column in enumerate(columns):
            whole = side * layout.group
            text = f"bitcast {column.typed} to {value_type(layout.dtype, whole)}"
            where = builder.moved("%target", builder.multiply("%row", number))
            layout.store(builder, builder.value(text, layout.dtype, whole), where)


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


# --- the pack cache ---


def cached_panel(
    emission: Emission, cache: PackCache, keys: list[Number], slot: Number, pack: Callable[[str], str]
) -> tuple[str, str]:
    """A pointer to a cached operand, which is packed if it is not there, and the i1 that packing it returned."""
    builder, suffix = emission.builder, emission.scratch_suffix
    slot = builder.emit(f"and i64 {slot}, {cache.slots - 1}")
    panel = builder.moved(emission.buffer(cache.panels), builder.multiply(slot, cache.panels.bytes // cache.slots))
    # The tag of a packed panel: the launch it was packed in, its indices, and what packing it returned.
    tag = builder.moved(emission.buffer(cache.tags), builder.multiply(slot, 8 * (len(keys) + 2)))
    words = [builder.load(INT64, 0, emission.launch_number).name, *keys]
    parameters = {"%tag": ("ptr", tag), **{f"%word{number}": ("i64", word) for number, word in enumerate(words)}}

    def write() -> str:
        same = []
        for number in range(len(words)):
            pointer = builder.moved("%tag", 8 * number)
            same.append(builder.compared("eq", builder.load(INT64, 0, pointer).name, f"%word{number}"))
            # For what is about to be packed.
            builder.store(Register(f"%word{number}", INT64), pointer)
        return builder.all_of(same)

    is_cached = emission.call_as_written(f"tagged{len(words)}", parameters, write)
    answer = builder.moved(tag, 8 * len(words))
    found = "false"

    def missing() -> None:
        nonlocal found
        found = pack(panel)
        if found != "false":
            builder.do(f"store i64 {builder.emit(f'zext i1 {found} to i64')}, ptr {answer}, align 8{suffix}")

    builder.branch(is_cached, None, missing)
    if found == "false":
        return panel, "false"
    return panel, builder.compared("ne", builder.load(INT64, 0, answer, 8, suffix).name, 0)
