"""C += A * B on the matrix tiles of AMX: bf16 to f32, and bytes to i32.

A tile register holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 block of C, two the rows of A and two the
columns of B, so that every tile of A and B that is loaded takes part in two products.  The plan packs B in panels of 16
columns: a tile is then 1024 bytes in a row.

Products of bytes are exact.  Those of bf16 flush subnormal numbers and add in pairs: for `fast` plans only.

The registers have no shape until `configure`; generated code does that once before the products and `release` after
them.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.execute.cpu.matrix.loops import loop, moved, multiply
from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS, MmaPlan
from tileir.execute.cpu.vector.llvm import Builder

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


def emit_amx(
    builder: Builder, plan: MmaPlan, a: str, a_stride: str, b: str, c: str, c_stride: int, extent: str
) -> None:
    """Emit the product; `extent` is how far k goes."""
    down = plan.rows // AMX_ROWS
    across = min(2, plan.n // AMX_ROWS)
    instruction = f"llvm.x86.{_PRODUCTS[plan.lhs_dtype.name, plan.rhs_dtype.name]}"
    lhs_size = plan.lhs_dtype.itemsize
    tile_k = AMX_BYTES // lhs_size
    panel_bytes = multiply(builder, extent, AMX_ROWS * plan.rhs_dtype.itemsize)

    def tile(name: str, register: int, pointer: str, stride: str | int) -> None:
        builder.call("void", f"llvm.x86.{name}", [f"i8 {register}", f"ptr {pointer}", f"i64 {stride}"])

    def rows(row: str) -> None:
        first = moved(builder, a, multiply(builder, row, a_stride))
        lefts = [moved(builder, first, multiply(builder, str(AMX_ROWS * one), a_stride)) for one in range(down)]
        c_rows = moved(builder, c, multiply(builder, row, c_stride))

        def columns(column: str) -> None:
            size = plan.accumulator_dtype.itemsize
            block = moved(builder, c_rows, multiply(builder, column, size))
            places = [
                moved(builder, block, AMX_ROWS * (i * c_stride + j * size)) for i in range(down) for j in range(across)
            ]
            panel = moved(builder, b, multiply(builder, column, multiply(builder, extent, plan.rhs_dtype.itemsize)))
            panels = [moved(builder, panel, multiply(builder, str(one), panel_bytes)) for one in range(across)]
            for number, place in enumerate(places):
                tile("tileloadd64", number, place, c_stride)

            def products(k: str) -> None:
                for part in range(turn // tile_k):
                    for i in range(down):
                        left = moved(builder, lefts[i], multiply(builder, k, lhs_size))
                        tile("tileloadd64", 4 + i, moved(builder, left, part * AMX_BYTES), a_stride)
                    for j in range(across):
                        right = moved(builder, panels[j], multiply(builder, k, AMX_ROWS * lhs_size))
                        tile("tileloadd64", 6 + j, moved(builder, right, part * _TILE_BYTES), AMX_BYTES)
                    for i in range(down):
                        for j in range(across):
                            operands = [f"i8 {i * across + j}", f"i8 {4 + i}", f"i8 {6 + j}"]
                            builder.call("void", instruction, operands)

            turn = min(plan.k, _UNROLL * tile_k)
            loop(builder, "k", extent, turn, products)
            for number, place in enumerate(places):
                tile("tilestored64", number, place, c_stride)

        loop(builder, "columns", plan.n, across * AMX_ROWS, columns)

    loop(builder, "rows", plan.m, plan.rows, rows)
