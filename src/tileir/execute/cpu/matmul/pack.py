"""Packing of rows in memory into the layout that a plan reads, with zeros for what lies over an edge.

Whatever does not lie in memory in rows is packed by a loop nest (`pack_tile`), into the same layout.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.matmul.functions import call_function
from tileir.execute.cpu.matmul.plan import AMX_ROWS, Layout, Rows
from tileir.execute.cpu.matmul.special_values import SCANNED, is_found, nothing_found, scan_memory, scanned
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, scalar_type, suffix_of, value_type
from tileir.execute.dtypes import DType

_ROWS_AHEAD: Final = 3
"""How many rows before it is packed a row is prefetched.  Rows whose distance is a power of two share a few sets of the
nearest cache, which has no more than eight or twelve lines there: of eight rows the first would be gone again."""
_LINE: Final = 64


def pack_rows(
    emission: Emission, layout: Layout, source: Rows, count: Number, valid: tuple[Number, Number] | None, to: Rows
) -> str:
    """Pack so many rows into an operand of so many k; an i1: there are special values.

    Of rows and columns only so many are `valid`, if not all: zeros for the others.
    """
    (pointer, row), (target, k) = source, to
    parameters = {
        "%source": ("ptr", pointer), "%row": ("i64", row), "%to": ("ptr", target), "%k": ("i64", k),
        "%count": ("i64", emission.builder.divided(count, layout.group)[0]),
    }  # fmt: skip
    name = f"pack.{'ab'[layout.side]}.{layout.plan.name}"
    if valid is not None:
        parameters |= {"%rows": ("i64", valid[0]), "%columns": ("i64", valid[1])}
        name = f"{name}.edge"
    return call_function(emission, name, parameters, _RowPacker(emission, layout, valid is not None).write)


class _RowPacker:
    """Writes `pack_rows`: a row at a time, with all columns.

    For matrix tiles a few rows, or a tile of two panels, at a time: so lines are read as a whole, and written next to
    each other.
    """

    def __init__(self, emission: Emission, layout: Layout, is_masked: bool) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.layout: Final = layout
        self.is_masked: Final = is_masked
        plan = layout.plan
        self.depth: Final = (4, AMX_ROWS)[layout.side] if layout.is_tiled else 1
        """Rows that are packed before the next columns."""
        width = plan.lanes if is_masked and not layout.is_tiled else plan.column_block
        if not layout.side:
            width = min(layout.adjacent, emission.target.vector_bytes // layout.unit, 32)
        self.width: Final = width
        """Columns that are packed together."""
        self.stored: Final = min(self.width, layout.adjacent)
        """Columns of them that are adjacent."""
        self.guard: Final = plan.guard if layout.side or layout.is_tiled else ""

    def write(self) -> str:
        builder, layout = self.builder, self.layout
        columns = layout.plan.n if layout.side else "%k"

        def rows(first: Number, states: list[Register]) -> list[Register]:
            row = self._row(first)
            if self.depth == 1 and isinstance(columns, int) and not self.is_masked:
                for column in range(0, columns, self.width):
                    states = self._pack(row, column, states)
                return states

            def across(column: Number, states: list[Register]) -> list[Register]:
                if self.depth == 1:
                    return self._pack(row, column, states)

                def down(number: Number, states: list[Register]) -> list[Register]:
                    return self._pack(self._row(builder.add(first, number)), column, states)

                return builder.carry(0, self.depth, 1, states, down)

            return builder.carry(0, columns, self.width, states, across)

        start = [nothing_found(self.stored * layout.group)] if self.guard else []
        states = builder.carry(0, "%count", self.depth, start, rows)
        return is_found(builder, states[0]) if states else "false"

    def _row(self, row: Number) -> tuple[list[tuple[str, Number]], str]:
        """The rows in memory that a packed row is made of, each with how many columns are valid; and that row."""
        builder, layout = self.builder, self.layout
        found = []
        for member in range(layout.group):
            number = builder.add(builder.multiply(row, layout.group), member)
            valid: Number = 0
            if self.is_masked:
                is_valid = builder.emit(f"icmp ult i64 {number}, %rows")
                valid = builder.emit(f"select i1 {is_valid}, i64 %columns, i64 0")
            found.append((builder.moved("%source", builder.multiply(number, "%row")), valid))
        return found, builder.moved("%to", layout.offset(builder, row, 0, "%k"))

    def _pack(
        self, row: tuple[list[tuple[str, Number]], str], column: Number, states: list[Register]
    ) -> list[Register]:
        """Pack some columns of a row."""
        builder, layout = self.builder, self.layout
        members = [self._load(pointer, valid, column) for pointer, valid in row[0]]
        for start in range(0, self.width, self.stored):
            parts = members
            if self.stored < self.width:
                lanes = range(start, start + self.stored)
                parts = [shuffled(builder, member, None, lanes) for member in members]
            to = builder.moved(row[1], layout.offset(builder, 0, builder.add(column, start), "%k"))
            high = layout.store(builder, interleaved(builder, parts), to)
            states = [scanned(builder, self.guard, state, high) for state in states]
        return states

    def _load(self, row: str, valid: Number, column: Number) -> Register:
        """Load some columns of a row, and prefetch those of a later one."""
        builder, layout, dtype = self.builder, self.layout, self.layout.dtype
        pointer = builder.moved(row, builder.multiply(column, dtype.itemsize))
        if self.is_masked:
            return load_valid(self.emission, dtype, self.width, pointer, builder.subtract(valid, column))
        if layout.side:
            # Rows are often pages apart, where no machine prefetches by itself.
            ahead = builder.moved(pointer, builder.multiply("%row", max(_ROWS_AHEAD, self.depth * layout.group)))
            for line in range(0, self.width * dtype.itemsize, _LINE):
                if not isinstance(column, int) or (column * dtype.itemsize + line) % _LINE == 0:
                    where = builder.moved(ahead, line)
                    builder.call("void", "llvm.prefetch.p0", [f"ptr {where}", "i32 0", "i32 3", "i32 1"])
        kind = value_type(dtype, self.width)
        text = f"load {kind}, ptr {pointer}, align {dtype.itemsize}{self.emission.memory_suffix}"
        return builder.value(text, dtype, self.width)


def load_valid(emission: Emission, dtype: DType, width: int, pointer: str, count: Number) -> Register:
    """Load a vector, of which so many elements are valid, 32 at most: zeros for the others.

    The mask is made of bits in a register: it is one instruction away wherever it is used.
    """
    builder = emission.builder
    least = builder.call("i64", "llvm.smax.i64", [f"i64 {count}", "i64 0"])
    number = builder.call("i64", "llvm.umin.i64", [f"i64 {least}", f"i64 {width}"])
    bits = builder.emit(f"sub i64 {builder.emit(f'shl i64 1, {number}')}, 1")
    if width == 1:
        mask = builder.emit(f"insertelement <1 x i1> poison, i1 {builder.emit(f'trunc i64 {bits} to i1')}, i64 0")
    else:
        mask = builder.emit(f"bitcast i{width} {builder.emit(f'trunc i64 {bits} to i{width}')} to <{width} x i1>")
    kind = value_type(dtype, width)
    operands = [f"ptr {pointer}", f"i32 {dtype.itemsize}", f"<{width} x i1> {mask}", f"{kind} zeroinitializer"]
    name = f"llvm.masked.load.{suffix_of(scalar_type(dtype), width)}.p0"
    return Register(builder.call(kind, name, operands, emission.memory_suffix), dtype, width)


def interleaved(builder: Builder, parts: list[Register]) -> Register:
    """The lanes of several vectors in turn."""
    while len(parts) > 1:
        half, width = len(parts) // 2, max(parts[0].width, 1)
        vectors = [builder.splat(part, width) for part in parts]
        lanes = [place for lane in range(width) for place in (lane, lane + width)]
        parts = [shuffled(builder, *pair, lanes) for pair in zip(vectors[:half], vectors[half:], strict=True)]
    return parts[0]


def scan_packed(emission: Emission, layout: Layout, packed: str, k: Number) -> str:
    """An i1: there are special values in a packed operand of so many k."""
    builder, plan = emission.builder, layout.plan
    if not plan.guard or not (layout.side or layout.is_tiled):
        return "false"
    blocks = plan.n // plan.nr if layout.side else plan.m // plan.mr
    parameters = {"%to": ("ptr", packed), "%size": ("i64", builder.multiply(k, layout.step * blocks))}

    def write() -> str:
        return is_found(builder, scan_memory(builder, plan.guard, "%to", "%size", nothing_found(SCANNED)))

    return call_function(emission, f"scan.{plan.guard}", parameters, write)
