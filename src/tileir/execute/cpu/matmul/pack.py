"""Packing of operands: into the layout that a plan reads, with zeros for what lies over an edge.

What lies in memory in rows is packed by functions, many tiles at a time: `pack_rows` packs B, `copy_rows` copies A,
`pack_a` packs it for matrix tiles.  Anything else is packed tile by tile (`matmul.pack_tile`).
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.matmul.amx import TILE_BYTES, emit_pack_a
from tileir.execute.cpu.matmul.functions import call_function
from tileir.execute.cpu.matmul.plan import AMX_ROWS, Plan, Rows
from tileir.execute.cpu.matmul.special_values import SpecialValueScan, split_bf16
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, scalar_type, suffix_of, value_type
from tileir.execute.dtypes import DType

_ROWS_AHEAD: Final = 3
"""How many rows before it is packed a row is prefetched.  Rows whose distance is a power of two share a few sets of the
nearest cache, which has no more than eight or twelve lines there: of eight rows the first would be gone again."""
_LINE: Final = 64

_PackedRows = tuple[list[tuple[str, Number]], str]
"""A group of k: each row in memory, with how many of its columns are valid; and the row of the first panel."""


# --- rows in memory ---


def pack_rows(
    emission: Emission, plan: Plan, source: Rows, panel: str, k: Number, valid: tuple[Number, Number] | None = None
) -> str:
    """Pack rows of B that lie in memory, k of them; an i1: there are special values.

    Of rows and columns only so many are `valid`, if not all: zeros for the others.
    """
    parameters = {"%source": ("ptr", source[0]), "%row": ("i64", source[1]), "%panel": ("ptr", panel), "%k": ("i64", k)}
    name = f"pack.{plan.name}"
    if valid is not None:
        parameters |= {"%rows": ("i64", valid[0]), "%columns": ("i64", valid[1])}
        name = f"{name}.edge"
    return call_function(emission, name, parameters, _RowPacker(emission, plan, valid is not None).write)


class _RowPacker:
    """Writes `pack_rows`.

    A group of k at a time with all columns, in whole panels; for matrix tiles a tile of two panels at a time, so that
    lines are read as a whole, and written next to each other.
    """

    def __init__(self, emission: Emission, plan: Plan, is_masked: bool) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.plan: Final = plan
        self.is_masked: Final = is_masked
        self.depth: Final = AMX_ROWS if plan.kind == "amx" else 1
        """Groups of k that are packed before the next columns."""
        self.width: Final = plan.lanes if is_masked and plan.kind != "amx" else plan.column_block
        """Columns that are packed together."""
        self.stored: Final = min(self.width, plan.nr)
        """Columns of them in one panel."""
        self.scan: Final = SpecialValueScan(plan.guard) if plan.guard else None

    def write(self) -> str:
        builder, plan, scan = self.builder, self.plan, self.scan
        groups = builder.emit(f"udiv i64 %k, {plan.k_group}")
        panel_bytes = builder.multiply("%k", plan.b_step)

        def tiles(first: Number, states: list[Register]) -> list[Register]:
            def columns(column: Number, states: list[Register]) -> list[Register]:
                def one(number: Number, states: list[Register]) -> list[Register]:
                    return self._group(self._rows(builder.add(first, number)), column, panel_bytes, states)

                return builder.carry(0, self.depth, 1, states, one)

            return builder.carry(0, plan.n, self.width, states, columns)

        def group(number: Number, states: list[Register]) -> list[Register]:
            rows = self._rows(number)
            if self.is_masked:
                return builder.carry(
                    0, plan.n, self.width, states, lambda column, one: self._group(rows, column, panel_bytes, one)
                )
            for column in range(0, plan.n, self.width):
                states = self._group(rows, column, panel_bytes, states)
            return states

        start = []
        if scan is not None:
            start = [scan.start(self.stored * plan.k_group)] * (self.width // self.stored)
        states = builder.carry(0, groups, self.depth, start, tiles if self.depth > 1 else group)
        return "false" if scan is None else scan.result(builder, states)

    def _rows(self, group: Number) -> _PackedRows:
        """A group of k, in memory and in the first panel."""
        builder, plan = self.builder, self.plan
        found = []
        for member in range(plan.k_group):
            k = builder.add(builder.multiply(group, plan.k_group), member)
            valid: Number = plan.n
            if self.is_masked:
                is_valid = builder.emit(f"icmp ult i64 {k}, %rows")
                valid = builder.emit(f"select i1 {is_valid}, i64 %columns, i64 0")
            found.append((builder.moved("%source", builder.multiply(k, "%row")), valid))
        return found, packed_pointer(builder, plan, ("%panel", 0), group, 0)

    def _group(self, rows: _PackedRows, column: Number, panel_bytes: Number, states: list[Register]) -> list[Register]:
        """Pack some columns of a group of k."""
        builder, plan = self.builder, self.plan
        members = [self._load(pointer, valid, column) for pointer, valid in rows[0]]
        panel, within = _divided(builder, column, plan.nr)
        offset = builder.multiply(within, plan.k_group * plan.b_dtype.itemsize)
        target = builder.moved(rows[1], builder.add(builder.multiply(panel, panel_bytes), offset))
        found = []
        for number in range(self.width // self.stored):
            lanes = range(number * self.stored, (number + 1) * self.stored)
            parts = members if self.width == self.stored else [shuffled(builder, one, None, lanes) for one in members]
            pointer = builder.moved(target, builder.multiply(number, panel_bytes))
            high = store_packed(builder, plan, interleaved(builder, parts), pointer)
            if self.scan is not None:
                found.append(self.scan.add(builder, states[number], high))
        return found

    def _load(self, row: str, valid: Number, column: Number) -> Register:
        """Load some columns of one k, and prefetch those of a later one."""
        builder, plan = self.builder, self.plan
        dtype, size = plan.b_dtype, plan.b_dtype.itemsize
        pointer = builder.moved(row, builder.multiply(column, size))
        if self.is_masked:
            return load_valid(self.emission, dtype, self.width, pointer, builder.subtract(valid, column))
        # Rows are often pages apart, where no machine prefetches by itself.
        ahead = builder.moved(pointer, builder.multiply("%row", max(_ROWS_AHEAD, self.depth * plan.k_group)))
        for line in range(0, self.width * size, _LINE):
            if not isinstance(column, int) or (column * size + line) % _LINE == 0:
                where = builder.moved(ahead, line)
                builder.call("void", "llvm.prefetch.p0", [f"ptr {where}", "i32 0", "i32 3", "i32 1"])
        text = f"load {value_type(dtype, self.width)}, ptr {pointer}, align {size}{self.emission.memory_suffix}"
        return builder.value(text, dtype, self.width)


def copy_rows(
    emission: Emission, plan: Plan, source: Rows, to: str, k: Number, valid: tuple[Number, Number], count: Number
) -> None:
    """Copy so many rows of A, k elements of each: zeros where they are not valid."""
    builder, size = emission.builder, plan.a_dtype.itemsize
    lanes = min(plan.k, emission.target.vector_bytes // size, 32)

    def write() -> None:
        def one(row: Number) -> None:
            is_valid = builder.emit(f"icmp ult i64 {row}, %rows")
            count = builder.emit(f"select i1 {is_valid}, i64 %columns, i64 0")
            here = builder.moved("%source", builder.multiply(row, "%row"))
            there = builder.moved("%to", builder.multiply(row, builder.multiply("%k", size)))

            def across(column: Number) -> None:
                offset = builder.multiply(column, size)
                rest = builder.subtract(count, column)
                loaded = load_valid(emission, plan.a_dtype, lanes, builder.moved(here, offset), rest)
                builder.do(f"store {loaded.typed}, ptr {builder.moved(there, offset)}, align {size}")

            builder.count(0, "%k", lanes, across)

        builder.count(0, "%count", 1, one)

    parameters = {
        "%source": ("ptr", source[0]), "%row": ("i64", source[1]), "%to": ("ptr", to), "%k": ("i64", k),
        "%rows": ("i64", valid[0]), "%columns": ("i64", valid[1]), "%count": ("i64", count),
    }  # fmt: skip
    call_function(emission, f"copy.{plan.name}", parameters, write)


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


def pack_a(emission: Emission, plan: Plan, rows: Rows, to: str, k: Number) -> str:
    """Pack A for matrix tiles; an i1: there are special values."""
    parameters = {"%rows": ("ptr", rows[0]), "%row": ("i64", rows[1]), "%k": ("i64", k), "%to": ("ptr", to)}

    def write() -> str:
        return emit_pack_a(emission.builder, plan, ("%rows", "%row"), "%k", "%to")

    return call_function(emission, f"pack.a.{plan.name}", parameters, write)


def scan_packed(emission: Emission, plan: Plan, panel: str, k: Number) -> str:
    """An i1: there are special values in packed B of so many k."""
    if not plan.guard:
        return "false"
    size = emission.builder.multiply(k, plan.b_step * plan.n // plan.nr)

    def write() -> str:
        return SpecialValueScan(plan.guard).memory(emission.builder, "%panel", "%size")

    parameters = {"%panel": ("ptr", panel), "%size": ("i64", size)}
    return call_function(emission, f"scan.{plan.guard}", parameters, write)


# --- the layout of packed B ---


def packed_pointer(builder: Builder, plan: Plan, packed: tuple[str, Number], group: Number, column: Number) -> str:
    """Where a group of k of a column is: `Plan.packed_index` in code; of packed B of so many k."""
    panel, within = _divided(builder, column, plan.nr)
    offset = builder.multiply(panel, builder.multiply(packed[1], plan.b_step))
    offset = builder.add(offset, builder.multiply(within, plan.k_group * plan.b_dtype.itemsize))
    row = plan.nr * plan.k_group * plan.b_dtype.itemsize
    if plan.parts > 1:
        tile, group = _divided(builder, group, AMX_ROWS)
        offset = builder.add(offset, builder.multiply(tile, plan.parts * TILE_BYTES))
    return builder.moved(packed[0], builder.add(offset, builder.multiply(group, row)))


def store_packed(builder: Builder, plan: Plan, packed: Register, pointer: str) -> Register:
    """Store elements of packed B, all parts of them; gives the first, to be searched for special values."""
    parts = [packed] if plan.parts == 1 else split_bf16(builder, packed)
    for number, part in enumerate(parts):
        where = builder.moved(pointer, number * TILE_BYTES)
        builder.do(f"store {part.typed}, ptr {where}, align {plan.b_dtype.itemsize}")
    return parts[0]


def interleaved(builder: Builder, parts: list[Register]) -> Register:
    """The lanes of several vectors in turn."""
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_interleaved(builder, low, high) for low, high in zip(parts[:half], parts[half:], strict=True)]
    (found,) = parts
    return found


def _interleaved(builder: Builder, first: Register, second: Register) -> Register:
    if not first.width:
        pair = f"<2 x {scalar_type(first.dtype)}>"
        one = builder.emit(f"insertelement {pair} poison, {first.typed}, i64 0")
        return builder.value(f"insertelement {pair} {one}, {second.typed}, i64 1", first.dtype, 2)
    width = first.width
    return shuffled(builder, first, second, [lane // 2 + (width if lane % 2 else 0) for lane in range(2 * width)])


def _divided(builder: Builder, number: Number, size: int) -> tuple[Number, Number]:
    """Quotient and remainder by a power of two."""
    if isinstance(number, int):
        return number // size, number % size
    shift = size.bit_length() - 1
    quotient = builder.emit(f"lshr i64 {number}, {shift}") if shift else number
    return quotient, builder.emit(f"and i64 {number}, {size - 1}")
