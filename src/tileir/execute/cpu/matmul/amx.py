"""The micro-kernel on matrix tiles of AMX: bf16, f16 and eight-bit floats to f32, and bytes to i32.

A tile register holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 block of C, two the rows of A and two the
columns of B, so that every tile of A and B that is loaded is multiplied twice.  B is packed in panels of 16 columns: a
tile is then 1024 bytes in a row.  Packed A has the tiles of 32 rows one after the other.

Products of bytes are exact.  A product of bf16 adds two chains of 16 fused multiply-adds, even and odd k, to each other
and then to C: never less accurate than the chain of all k.  Where the unit does not multiply f16 too, f16 is split into
two bf16 (`special_values`), every tile into two and a product into four.  The fallback multiplies special values from
the same tiles by fused multiply-adds of vectors.

The unit falls asleep some 200 ns after a product and takes 300 ns to wake up (Emerald Rapids).  So C is loaded into the
tiles before the products: adding it later would be a loop nest between this matmul and the next.

Generated code gives the registers their shape (`configure`) once before all matmuls, and calls `release` after them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy

from tileir.execute.cpu.matmul.fma import FmaKernel
from tileir.execute.cpu.matmul.plan import AMX_BYTES, AMX_ROWS, TILE_BYTES, Plan, RowBlock, Rows, chosen
from tileir.execute.cpu.matmul.special_values import SCANNED, is_found, nothing_found, scan_memory
from tileir.execute.cpu.vector.builder import Builder, Number

_TILES: Final = 8
_INSTRUCTIONS: Final = {
    ("bfloat16", "bfloat16"): "tdpbf16ps",
    ("float16", "float16"): "tdpfp16ps",
    ("int8", "int8"): "tdpbssd",
    ("int8", "uint8"): "tdpbsud",
    ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud",
}
_SPLIT: Final = "tdpbf16ps"
_PARTS: Final = {1: [(0, 0)], 2: [(0, 0), (0, 1), (1, 1), (1, 0)]}  # Parts of A and B, one stays in its register
_FALLBACK_ROWS: Final = 8  # Rows of C that the fallback computes at the same time.


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


class AmxKernel:
    """Emits blocks of C of a plan."""

    def __init__(self, builder: Builder, plan: Plan) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.down: Final = plan.mr // AMX_ROWS
        self.across: Final = plan.column_block // AMX_ROWS

    def _tile(self, name: str, register: int, pointer: str, stride: Number) -> None:
        operands = [f"i8 {register}", f"ptr {pointer}", f"i64 {stride}"]
        self.builder.call("void", f"llvm.x86.{name}", operands)

    def block(self, a: RowBlock, b: Rows, c_in: Rows, c_out: Rows, k: Number, fallback: bool) -> None:
        """One block of C: packed A, panels of B and their size, the tiles of C it begins with and becomes."""
        if fallback:
            for panel in range(self.across):
                columns = panel * AMX_ROWS * self.plan.acc_dtype.itemsize
                start, end = (self.builder.moved(rows[0], columns) for rows in (c_in, c_out))
                panel_b = self.builder.moved(b[0], self.builder.multiply(panel, b[1]))
                self._fallback(a[0], panel_b, (start, c_in[1]), (end, c_out[1]), k)
            return
        for number, pointer in enumerate(self._tiles_of(c_in)):
            self._tile("tileloadd64", number, pointer, c_in[1])
        self._products(a[0], b, k)
        for number, pointer in enumerate(self._tiles_of(c_out)):
            self._tile("tilestored64", number, pointer, c_out[1])

    def has_special(self, a: RowBlock, k: Number) -> str:
        """An i1: there are special values in so many k of a row block of A."""
        size = self.builder.multiply(k, self.plan.a_step)
        return is_found(self.builder, scan_memory(self.builder, self.plan.guard, a[0], size, nothing_found(SCANNED)))

    def _tiles_of(self, c: Rows) -> list[str]:
        """Pointers to the tiles of a block of C."""
        builder, columns = self.builder, AMX_ROWS * self.plan.acc_dtype.itemsize
        return [
            builder.moved(c[0], builder.add(builder.multiply(AMX_ROWS * i, c[1]), columns * j))
            for i in range(self.down)
            for j in range(self.across)
        ]

    def _products(self, a: str, b: Rows, k: Number) -> None:
        """All products of a block of C, which is in registers."""
        builder, plan = self.builder, self.plan
        names = plan.a_dtype.name, plan.b_dtype.name
        instruction = f"llvm.x86.{_SPLIT if plan.parts == 2 else _INSTRUCTIONS[names]}"
        lefts = [builder.moved(a, i * TILE_BYTES) for i in range(self.down)]
        rights = [builder.moved(b[0], builder.multiply(j, b[1])) for j in range(self.across)]

        def load_a(i: int, part: int, index: Number, step: int) -> None:
            here = builder.moved(lefts[i], builder.multiply(index, plan.a_step))
            offset = step * plan.tile_k * plan.a_step + part * self.down * TILE_BYTES
            self._tile("tileloadd64", 4 + i, builder.moved(here, offset), AMX_BYTES)

        def load_b(j: int, part: int, index: Number, step: int) -> None:
            here = builder.moved(rights[j], builder.multiply(index, plan.b_step))
            offset = (step * plan.parts + part) * TILE_BYTES
            self._tile("tileloadd64", 6 + j, builder.moved(here, offset), AMX_BYTES)

        def products(index: Number) -> None:
            for step in range(plan.k_unroll // plan.tile_k):
                a_part = b_part = -1
                for left, right in _PARTS[plan.parts]:
                    # Tiles are loaded just before their first products: the others go on meanwhile.
                    for i in range(self.down):
                        for j in range(self.across):
                            if i == 0 and right != b_part:
                                load_b(j, right, index, step)
                            if j == 0 and left != a_part:
                                load_a(i, left, index, step)
                            operands = [f"i8 {i * self.across + j}", f"i8 {4 + i}", f"i8 {6 + j}"]
                            builder.call("void", instruction, operands)
                    a_part, b_part = left, right

        builder.count(0, k, plan.k_unroll, products)

    def _fallback(self, a: str, panel: str, c_in: Rows, c_out: Rows, k: Number) -> None:
        """The chain of fused multiply-adds for k = 0, 1, 2 and on, for the columns of a panel."""
        builder, plan = self.builder, self.plan
        low_parts = (plan.mr * AMX_BYTES, TILE_BYTES) if plan.parts == 2 else (0, 0)
        kernel = FmaKernel(builder, replace(plan, kind="dots", mr=_FALLBACK_ROWS, parts=1), low_parts=low_parts)

        def tile(number: Number) -> None:
            left = builder.moved(a, builder.multiply(number, plan.a_step * plan.tile_k))
            right = builder.moved(panel, builder.multiply(number, TILE_BYTES * plan.parts))
            before = chosen(builder, builder.compared("eq", number, 0), c_in, c_out)

            def rows(row: Number) -> None:
                offsets: list[Number] = [i * AMX_BYTES for i in range(_FALLBACK_ROWS)]
                block = builder.moved(left, builder.multiply(row, AMX_BYTES)), offsets
                start, end = (
                    (builder.moved(pointer, builder.multiply(row, stride)), stride)
                    for pointer, stride in (before, c_out)
                )
                kernel.block(block, (right, 0), start, end, plan.tile_k, True)

            builder.count(0, plan.mr, _FALLBACK_ROWS, rows)

        builder.count(0, builder.divided(k, plan.tile_k)[0], 1, tile)
