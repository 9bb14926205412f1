"""C += A * B on the matrix tiles of AMX: bf16 to f32, and bytes to i32.

A tile register holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 block of C, two the rows of A and two the
columns of B, so that every tile of A and B that is loaded takes part in two products.  The plan packs B in panels of 16
columns: a tile is then 1024 bytes in a row.

Products of bytes are exact.  Those of bf16 flush subnormal numbers and add in pairs: for plans that are not `exact`.

The registers have no shape until `configure`; generated code does that once before the products and `release` after
them.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS, STAGED_BYTES, MmaPlan, Rows
from tileir.execute.cpu.vector.builder import Builder, Number

_TILES: Final = 8
_TILE_BYTES: Final = AMX_ROWS * AMX_BYTES
_UNROLL: Final = 2
"""Products of each tile of C in one turn of the innermost loop."""

_PRODUCTS: Final = {
    ("bfloat16", "bfloat16"): "tdpbf16ps",
    ("int8", "int8"): "tdpbssd",
    ("int8", "uint8"): "tdpbsud",
    ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud",
}


def configure(builder: Builder) -> None:
    """Give all tile registers their full shape, for this thread."""
    table = numpy.zeros(64, numpy.uint8)
    table[0] = 1  # the palette
    table[16 : 16 + 2 * _TILES].view(numpy.uint16)[:] = AMX_BYTES
    table[48 : 48 + _TILES] = AMX_ROWS
    builder.call("void", "llvm.x86.ldtilecfg", [f"ptr {builder.module.table(table)}"])


def release(builder: Builder) -> None:
    """Give the tile registers up, so that the system need not save them."""
    builder.call("void", "llvm.x86.tilerelease", [])


def emit_amx(builder: Builder, plan: MmaPlan, a: Rows, b: str, c: Rows, extent: Number, stage: str) -> None:
    """Emit the product; `extent` is how far k goes, `stage` memory for the plan's `stage_elements`, or empty."""
    product = _Product(builder, plan, stage)
    if not stage:
        product.emit(a, b, c, extent, extent)
        return
    size = plan.lhs_dtype.itemsize

    def part(first: Number) -> None:
        left = builder.moved(a[0], builder.multiply(first, size))
        right = builder.moved(b, builder.multiply(first, AMX_ROWS * size))
        rest = builder.emit(f"sub i64 {extent}, {first}")
        length = builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {STAGED_BYTES // size}"])
        product.emit((left, a[1]), right, c, length, extent)

    builder.count(0, extent, STAGED_BYTES // size, part)


class _Product:
    """Writes the loops."""

    def __init__(self, builder: Builder, plan: MmaPlan, stage: str) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.stage: Final = stage
        self.down: Final = plan.rows // AMX_ROWS
        self.across: Final = min(2, plan.n // AMX_ROWS)
        self.tile_k: Final = AMX_BYTES // plan.lhs_dtype.itemsize
        self.turn: Final = min(plan.k, _UNROLL * self.tile_k)

    def _tile(self, name: str, register: int, pointer: str, stride: Number) -> None:
        operands = [f"i8 {register}", f"ptr {pointer}", f"i64 {stride}"]
        self.builder.call("void", f"llvm.x86.{name}", operands)

    def emit(self, a: Rows, b: str, c: Rows, extent: Number, panel_extent: Number) -> None:
        """The product of `extent` columns of A, given with the distance of its rows as C is.

        The panels of B go on for `panel_extent`.
        """
        builder, plan = self.builder, self.plan
        size = plan.accumulator_dtype.itemsize
        column_bytes = builder.multiply(panel_extent, plan.rhs_dtype.itemsize)
        c_start, c_stride = c

        def rows(row: Number) -> None:
            left = builder.moved(a[0], builder.multiply(row, a[1]))
            if self.stage:
                self._copy(left, a[1], extent)
            c_rows = builder.moved(c_start, builder.multiply(row, c_stride))

            def columns(column: Number) -> None:
                block = builder.moved(c_rows, builder.multiply(column, size))
                panel = builder.moved(b, builder.multiply(column, column_bytes))
                places = [
                    builder.moved(block, builder.add(builder.multiply(AMX_ROWS * i, c_stride), AMX_ROWS * j * size))
                    for i in range(self.down)
                    for j in range(self.across)
                ]
                for number, place in enumerate(places):
                    self._tile("tileloadd64", number, place, c_stride)
                self._chain((left, a[1]), panel, builder.multiply(AMX_ROWS, column_bytes), extent)
                for number, place in enumerate(places):
                    self._tile("tilestored64", number, place, c_stride)

            builder.count(0, plan.n, self.across * AMX_ROWS, columns)

        builder.count(0, plan.m, plan.rows, rows)

    def _chain(self, a: Rows, b: str, panel_bytes: Number, extent: Number) -> None:
        """One block of C, which is in registers, through the whole of k."""
        builder, plan = self.builder, self.plan
        instruction = f"llvm.x86.{_PRODUCTS[plan.lhs_dtype.name, plan.rhs_dtype.name]}"
        size = plan.lhs_dtype.itemsize
        if self.stage:
            # Tiles one after the other, those of all rows before those of the next k.
            lefts = [builder.moved(self.stage, i * _TILE_BYTES) for i in range(self.down)]
            left_stride: Number = AMX_BYTES
            along, step_bytes = size * plan.rows, AMX_BYTES * plan.rows
        else:
            lefts = [builder.moved(a[0], builder.multiply(AMX_ROWS * i, a[1])) for i in range(self.down)]
            left_stride, along, step_bytes = a[1], size, AMX_BYTES
        rights = [builder.moved(b, builder.multiply(j, panel_bytes)) for j in range(self.across)]

        def products(k: Number) -> None:
            for step in range(self.turn // self.tile_k):
                for i in range(self.down):
                    left = builder.moved(lefts[i], builder.multiply(k, along))
                    self._tile("tileloadd64", 4 + i, builder.moved(left, step * step_bytes), left_stride)
                for j in range(self.across):
                    right = builder.moved(rights[j], builder.multiply(k, AMX_ROWS * size))
                    self._tile("tileloadd64", 6 + j, builder.moved(right, step * _TILE_BYTES), AMX_BYTES)
                for i in range(self.down):
                    for j in range(self.across):
                        operands = [f"i8 {i * self.across + j}", f"i8 {4 + i}", f"i8 {6 + j}"]
                        builder.call("void", instruction, operands)

        builder.count(0, extent, self.turn, products)

    def _copy(self, rows: str, stride: Number, extent: Number) -> None:
        """Bring the rows of a block into the stage, tile by tile."""
        builder = self.builder
        size = self.plan.lhs_dtype.itemsize

        def column(k: Number) -> None:
            source = builder.moved(rows, builder.multiply(k, size))
            target = builder.moved(self.stage, builder.multiply(k, size * self.plan.rows))
            for row in range(self.plan.rows):
                line = builder.emit(f"load <{AMX_BYTES} x i8>, ptr {source}, align 1")
                place = builder.moved(target, row * AMX_BYTES)
                builder.do(f"store <{AMX_BYTES} x i8> {line}, ptr {place}, align {AMX_BYTES}")
                source = builder.moved(source, stride)

        builder.count(0, extent, self.tile_k, column)
