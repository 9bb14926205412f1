"""C += A * B on the matrix tiles of AMX: bf16, f16 and eight-bit floats to f32, and bytes to i32.

A tile register holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 block of C, two the rows of A and two the
columns of B, so that every tile of A and B that is loaded takes part in two products.  The plan packs B in panels of 16
columns: a tile is then 1024 bytes in a row.  Rows of A are copied in the same way, to a stage that stays in the nearest
cache while all columns pass.

Products of bytes are exact.  A product of bf16 adds two chains of 16 fused multiply-adds, even and odd k, to each other
and then to C: never less accurate than the chain of all k.  Where the unit does not multiply f16 too, that is split in
two numbers of bf16 (`halves`), every tile into two and a product into four.

What the unit does not take as it should (`guards`) is looked for in A as it is copied; who packs B says whether it is
there.  Such a part of a product is computed from the same tiles by fused multiply-adds of vectors (`tile_chain`).  It
is always the rows of a block with the columns of A that one operation has, however many operations are taken together,
so that the result does not depend on that.

The unit falls asleep some 200 ns after a product and takes 300 ns to wake up (Emerald Rapids).  What a product is added
to is therefore in C before it: to add it later would be a nest between this product and the next.  Products without a
purpose that keep it awake meanwhile cost more than they save, and to compute the first product of a turn at the end of
the one before, next to another, saves nothing that can be measured.

The registers have no shape until `configure`; generated code does that once before the products and `release` after
them.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.execute.cpu.matrix.edges import Known, Reach, end_of
from tileir.execute.cpu.matrix.guards import Guard
from tileir.execute.cpu.matrix.halves import halves
from tileir.execute.cpu.matrix.plan import AMX_BYTES, AMX_ROWS, MmaPlan, Rows
from tileir.execute.cpu.matrix.tile_chain import emit_tile_chain
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register, value_type

_TILES: Final = 8
_TILE_BYTES: Final = AMX_ROWS * AMX_BYTES
_UNROLL: Final = 2
"""Products of each tile of C in one turn of the innermost loop."""

_PRODUCTS: Final = {
    ("bfloat16", "bfloat16"): "tdpbf16ps",
    ("float16", "float16"): "tdpfp16ps",
    ("int8", "int8"): "tdpbssd",
    ("int8", "uint8"): "tdpbsud",
    ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud",
}
_BROUGHT: Final = 4
"""Rows that are copied to the stage at the same time."""
_SPLIT: Final = "tdpbf16ps"
_PARTS: Final = {1: [(0, 0)], 2: [(0, 0), (0, 1), (1, 1), (1, 0)]}
"""Which part of A meets which of B, in an order in which one of them stays in its register."""


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
    builder: Builder,
    plan: MmaPlan,
    a: Rows,
    b: str,
    c: Rows,
    extent: Number,
    stage: tuple[str, bool],
    odd: str,
    fresh: str,
    reach: Reach | None = None,
    known: Known | None = None,
) -> None:
    """Emit the product; `extent` is how far k goes, `stage` memory for the plan's `stage_elements`, or empty; or what
    `bring_rows` left there.

    `odd` is an i1: something in B, or in the stage, is not for the unit.  So is `fresh`: C holds nothing yet, and
    counts as zero.  `reach` is how much of C is wanted, `known` how many rows there are.
    """
    memory, is_staged = stage
    product = _Product(builder, plan, memory, odd, reach, known)
    if not memory or is_staged:
        product.emit(a, b, c, extent, extent, fresh, is_staged)
        return
    size = plan.lhs_dtype.itemsize

    def part(first: Number) -> None:
        left = builder.moved(a[0], builder.multiply(first, size))
        right = builder.moved(b, builder.multiply(first, AMX_ROWS * size * plan.parts))
        if isinstance(extent, int) and extent <= plan.staged:
            length: Number = extent
        else:
            rest = builder.emit(f"sub i64 {extent}, {first}")
            length = builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {plan.staged}"])
        begins = fresh
        if fresh != "false" and first != 0:
            begins = builder.emit(f"and i1 {fresh}, {builder.emit(f'icmp eq i64 {first}, 0')}")
        product.emit((left, a[1]), right, c, length, extent, begins, False)

    builder.count(0, extent, plan.staged, part)


def bring_rows(builder: Builder, plan: MmaPlan, a: Rows, extent: Number, stage: str, known: Known | None = None) -> str:
    """Stage all rows, block after block; an i1 says whether something there is not for the unit."""
    product = _Product(builder, plan, stage, "false", None, known)

    def rows(row: Number, seen: list[Register]) -> list[Register]:
        place = product.staged_rows(stage, row, extent)
        return product.bring(row, builder.moved(a[0], builder.multiply(row, a[1])), a[1], extent, place, seen)

    return product.answer(builder.carry(0, plan.m, plan.rows, product.nothing_seen(), rows))


class _Product:
    """Writes the loops."""

    def __init__(
        self, builder: Builder, plan: MmaPlan, stage: str, odd: str, reach: Reach | None, known: Known | None
    ) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.stage: str = stage
        self.odd: Final = odd
        self.reach: Final = reach
        self.known: Final = known
        self.guard: Final = Guard(plan.guard) if plan.guard else None
        self.down: Final = plan.rows // AMX_ROWS
        self.across: Final = min(2, plan.n // AMX_ROWS)
        self.tile_k: Final = AMX_BYTES // plan.lhs_dtype.itemsize
        self.turn: Final = min(plan.k, _UNROLL * self.tile_k) if plan.parts == 1 else self.tile_k
        # How far a step of k is, in the stage and in a panel.
        self.left_bytes: Final = plan.lhs_dtype.itemsize * plan.rows * plan.parts
        self.right_bytes: Final = plan.rhs_dtype.itemsize * AMX_ROWS * plan.parts

    def _tile(self, name: str, register: int, pointer: str, stride: Number) -> None:
        operands = [f"i8 {register}", f"ptr {pointer}", f"i64 {stride}"]
        self.builder.call("void", f"llvm.x86.{name}", operands)

    def emit(self, a: Rows, b: str, c: Rows, extent: Number, panel_extent: Number, fresh: str, is_staged: bool) -> None:
        """The product of `extent` columns of A, given with the distance of its rows as C is.

        The panels of B go on for `panel_extent`.
        """
        builder, plan = self.builder, self.plan
        stage = self.stage
        panel_bytes = builder.multiply(panel_extent, self.right_bytes)

        def rows(row: Number) -> None:
            left = builder.moved(a[0], builder.multiply(row, a[1]))
            c_rows = builder.moved(c[0], builder.multiply(row, c[1])), c[1]

            def plain() -> None:
                self._columns((left, a[1]), b, panel_bytes, c_rows, extent, 0, fresh)

            if not self.stage:
                plain()
                return
            found = "false"
            if is_staged:
                self.stage = self.staged_rows(stage, row, extent)
            else:
                found = self.answer(self.bring(row, left, a[1], extent, stage, self.nothing_seen()))
            if self.guard is None:
                plain()
                return
            clean = builder.emit(f"xor i1 {builder.any_of([self.odd, found])}, true")
            builder.branch(clean, plain, lambda: self._carefully(b, panel_bytes, c_rows, extent, fresh), likely=True)

        builder.count(0, end_of(builder, self.reach, 0, 0, plan.m, plan.rows), plan.rows, rows)

    def _columns(
        self, a: Rows, b: str, panel_bytes: Number, c: Rows, extent: Number, first: Number, fresh: str
    ) -> None:
        """A block of rows with all columns; k begins at `first` in the stage and in the panels."""
        builder, plan = self.builder, self.plan
        size = plan.accumulator_dtype.itemsize
        c_rows, c_stride = c

        def columns(column: Number) -> None:
            block = builder.moved(c_rows, builder.multiply(column, size))
            panel = self._panel(b, panel_bytes, column, first)
            places = [
                builder.moved(block, builder.add(builder.multiply(AMX_ROWS * i, c_stride), AMX_ROWS * j * size))
                for i in range(self.down)
                for j in range(self.across)
            ]

            def load() -> None:
                for number, place in enumerate(places):
                    self._tile("tileloadd64", number, place, c_stride)

            def clear() -> None:
                for number in range(len(places)):
                    builder.call("void", "llvm.x86.tilezero", [f"i8 {number}"])

            if fresh == "false":
                load()
            else:
                builder.branch(fresh, clear, load)
            self._chain(a, panel, panel_bytes, extent, first)
            for number, place in enumerate(places):
                self._tile("tilestored64", number, place, c_stride)

        step = self.across * AMX_ROWS
        builder.count(0, end_of(builder, self.reach, 1, 0, plan.n, step), step, columns)

    def _panel(self, b: str, panel_bytes: Number, column: Number, first: Number) -> str:
        """Where the panel of a column is, at a k."""
        builder = self.builder
        if isinstance(column, int):
            number: Number = column // AMX_ROWS
        else:
            number = builder.emit(f"lshr i64 {column}, {AMX_ROWS.bit_length() - 1}")
        panel = builder.moved(b, builder.multiply(number, panel_bytes))
        return builder.moved(panel, builder.multiply(first, self.right_bytes))

    def _chain(self, a: Rows, b: str, panel_bytes: Number, extent: Number, first: Number) -> None:
        """One block of C, which is in registers, through the whole of k."""
        builder, plan = self.builder, self.plan
        names = plan.lhs_dtype.name, plan.rhs_dtype.name
        instruction = f"llvm.x86.{_SPLIT if plan.parts == 2 else _PRODUCTS[names]}"
        if self.stage:
            # Tiles one after the other: those of all rows, then their other parts, then those of the next k.
            begin = builder.moved(self.stage, builder.multiply(first, self.left_bytes))
            lefts = [builder.moved(begin, i * _TILE_BYTES) for i in range(self.down)]
            left_stride: Number = AMX_BYTES
            along = self.left_bytes
        else:
            lefts = [builder.moved(a[0], builder.multiply(AMX_ROWS * i, a[1])) for i in range(self.down)]
            left_stride, along = a[1], plan.lhs_dtype.itemsize
        rights = [builder.moved(b, builder.multiply(j, panel_bytes)) for j in range(self.across)]

        def load_left(i: int, part: int, k: Number, step: int) -> None:
            here = builder.moved(lefts[i], builder.multiply(k, along))
            offset = step * self.tile_k * along + part * self.down * _TILE_BYTES
            self._tile("tileloadd64", 4 + i, builder.moved(here, offset), left_stride)

        def load_right(j: int, part: int, k: Number, step: int) -> None:
            here = builder.moved(rights[j], builder.multiply(k, self.right_bytes))
            offset = (step * plan.parts + part) * _TILE_BYTES
            self._tile("tileloadd64", 6 + j, builder.moved(here, offset), AMX_BYTES)

        def products(k: Number) -> None:
            for step in range(self.turn // self.tile_k):
                in_left = in_right = -1
                for left, right in _PARTS[plan.parts]:
                    # Tiles are loaded just before their first products: the others go on meanwhile.
                    for i in range(self.down):
                        for j in range(self.across):
                            if i == 0 and right != in_right:
                                load_right(j, right, k, step)
                            if j == 0 and left != in_left:
                                load_left(i, left, k, step)
                            operands = [f"i8 {i * self.across + j}", f"i8 {4 + i}", f"i8 {6 + j}"]
                            builder.call("void", instruction, operands)
                    in_left, in_right = left, right

        builder.count(0, extent, self.turn, products)

    # --- the stage ---

    def staged_rows(self, stage: str, row: Number, extent: Number) -> str:
        """Where the block of a row begins, if all are staged one after the other."""
        per_row = self.builder.multiply(extent, self.plan.lhs_dtype.itemsize * self.plan.parts)
        return self.builder.moved(stage, self.builder.multiply(row, per_row))

    def nothing_seen(self) -> list[Register]:
        return [] if self.guard is None else [self.guard.start(self.tile_k)] * _BROUGHT

    def answer(self, seen: list[Register]) -> str:
        """An i1: something that was seen is not for the unit."""
        return "false" if self.guard is None else self.guard.answer(self.builder, seen)

    def bring(
        self, first: Number, rows: str, stride: Number, extent: Number, stage: str, seen: list[Register]
    ) -> list[Register]:
        """Bring the rows of a block, from the `first` on, into the stage, and look at them.

        A few rows at a time, each from its beginning to its end: the processor fetches ahead what follows in a row.
        """
        builder, plan, guard = self.builder, self.plan, self.guard
        size = plan.lhs_dtype.itemsize
        kind = value_type(plan.lhs_dtype, self.tile_k)

        def some(row: Number, seen: list[Register]) -> list[Register]:
            pointer = builder.moved(rows, builder.multiply(row, stride))
            sources = [builder.moved(pointer, builder.multiply(number, stride)) for number in range(_BROUGHT)]
            if self.known is not None:
                top = builder.add(first, row)
                sources = [self._known(self.known, builder.add(top, number), one) for number, one in enumerate(sources)]
            targets = builder.moved(stage, builder.multiply(row, AMX_BYTES))

            def column(k: Number, before: list[Register]) -> list[Register]:
                after = []
                target = builder.moved(targets, builder.multiply(k, self.left_bytes))
                for number, source in enumerate(sources):
                    place = builder.moved(source, builder.multiply(k, size))
                    line = builder.value(f"load {kind}, ptr {place}, align {size}", plan.lhs_dtype, self.tile_k)
                    parts = [line] if plan.parts == 1 else halves(builder, line)
                    for part, vector in enumerate(parts):
                        place = builder.moved(target, (part * plan.rows + number) * AMX_BYTES)
                        builder.do(f"store {vector.typed}, ptr {place}, align {AMX_BYTES}")
                    if guard is not None:
                        after.append(guard.seen(builder, before[number], parts[0]))
                return after

            return builder.carry(0, extent, self.tile_k, seen, column)

        return builder.carry(0, plan.rows, _BROUGHT, seen, some)

    def _known(self, known: Known, row: Number, pointer: str) -> str:
        """A pointer to a row, or to zeros if there is none."""
        builder = self.builder
        zeros = builder.module.zeros(known[1] * self.plan.lhs_dtype.itemsize)
        return builder.emit(f"select i1 {builder.emit(f'icmp ult i64 {row}, {known[0]}')}, ptr {pointer}, ptr {zeros}")

    # --- what is not for the unit ---

    def _carefully(self, b: str, panel_bytes: Number, c: Rows, extent: Number, fresh: str) -> None:
        """The staged rows with all columns, each operation's part of k by the unit or without it."""
        builder, plan, guard = self.builder, self.plan, self.guard
        assert guard is not None
        length = min(plan.k, plan.staged)

        def clear(row: Number) -> None:
            here = builder.moved(c[0], builder.multiply(row, c[1]))
            builder.fill(here, 0, plan.n * plan.accumulator_dtype.itemsize)

        if fresh != "false":
            builder.branch(fresh, lambda: builder.count(0, plan.rows, 1, clear))

        def part(first: Number) -> None:
            stage = builder.moved(self.stage, builder.multiply(first, self.left_bytes))
            odd = guard.looked(builder, stage, length * self.left_bytes)

            def look(column: Number, seen: list[Register]) -> list[Register]:
                panel = self._panel(b, panel_bytes, column, first)
                return guard.looking(builder, panel, length * self.right_bytes, seen)

            columns = builder.carry(0, plan.n, AMX_ROWS, [guard.start(self.tile_k)], look)
            odd = builder.any_of([odd, guard.answer(builder, columns)])

            def chain(column: Number) -> None:
                place = builder.moved(c[0], builder.multiply(column, plan.accumulator_dtype.itemsize))
                panel = self._panel(b, panel_bytes, column, first)
                emit_tile_chain(builder, plan, stage, panel, (place, c[1]), length)

            def without() -> None:
                builder.count(0, plan.n, AMX_ROWS, chain)

            def unit() -> None:
                self._columns((self.stage, AMX_BYTES), b, panel_bytes, c, length, first, "false")

            builder.branch(odd, without, unit)

        builder.count(0, extent, length, part)
