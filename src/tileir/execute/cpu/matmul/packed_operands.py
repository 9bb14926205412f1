"""The operands of a matmul, k-block by k-block, as its kernel reads them.

A is read where it lies, or copied or packed; B is packed.  What lies over an edge is zeros.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.codegen import bounds, view_access
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.ir.expressions import BufferRead, PointerLoad, matrix_in_memory
from tileir.execute.cpu.ir.statements import Matmul
from tileir.execute.cpu.matmul.affine import AffineReader, Exact
from tileir.execute.cpu.matmul.functions import cached_panel
from tileir.execute.cpu.matmul.operands import BufferOperand, Operand, PointerOperand, ViewOperand, quotient, smaller
from tileir.execute.cpu.matmul.pack import copy_rows, pack_a, pack_rows, scan_packed
from tileir.execute.cpu.matmul.pack_tile import copy_tile, pack_tile
from tileir.execute.cpu.matmul.plan import Rows
from tileir.execute.cpu.matmul.store_target import Destination, destination_of
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register


class PackedOperands:
    """Opens the operands of a matmul, of one of a batch, and packs k-blocks of them.

    A k-block is `count` iterations of the loop from the `first`, with an extent of k.
    """

    def __init__(self, emission: Emission, matmul: Matmul, batch: Number) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.matmul: Final = matmul
        self.plan: Final = matmul.plan
        self.batch: Final = batch
        self.counter: Final = matmul.loop.regions[0].blocks[0].arguments[0] if matmul.loop is not None else None
        self.exact: Final = Exact(emission)
        """The conditions under which operands behind pointers lie side by side."""
        self.lower: Number = 0
        self.iterations: Number = 1
        self.a, self.b = self._open_pointers() if matmul.general is not None else self._open_views()
        self.destination: Final[Destination | None] = destination_of(emission, matmul)
        self.keys: Final[list[Number]] = self._keys()
        """What packed B is found by, beside the k-block."""

    def _open_views(self) -> tuple[Operand, Operand]:
        emission, matmul, loop = self.emission, self.matmul, self.matmul.loop
        if loop is not None and self.counter is not None:
            self.lower, upper = (emission.whole(value) for value in loop.operands[:2])
            self.iterations = self.builder.call("i64", "llvm.ssub.sat.i64", [f"i64 {upper}", f"i64 {self.lower}"])
            # The tiles of the first iteration: the counter is the lower bound.
            emission.scalars[self.counter] = emission.scalars[loop.operands[0]]
        if isinstance(matmul.lhs, BufferRead) and 0 not in matmul.computed:
            row = self.plan.k * self.plan.a_dtype.itemsize
            offset = self.builder.multiply(self.batch, self.plan.m * row)
            a: Operand = BufferOperand((self.builder.moved(emission.buffer(matmul.lhs.buffer), offset), row))
        else:
            a = self._open_view(0)
        # The sanitizer judges each element of B.
        return a, Operand() if emission.sanitize else self._open_view(1)

    def _open_view(self, side: int) -> Operand:
        load = matrix_in_memory((self.matmul.lhs, self.matmul.rhs)[side])
        if load is None or side in self.matmul.computed:
            return Operand()
        return ViewOperand(self.emission, load, 1 - side, self.lower, self.batch, self.plan)

    def _open_pointers(self) -> tuple[Operand, Operand]:
        emission, builder, exact, loop = self.emission, self.builder, self.exact, self.matmul.loop
        assert loop is not None
        lower, upper, step = (emission.whole(value) for value in loop.operands[:3])
        exact.need("sge", step, 1)
        divisor = step
        if not isinstance(step, int):
            divisor = builder.call("i64", "llvm.smax.i64", [f"i64 {step}", "i64 1"])
        distance = exact.plus(exact.minus(upper, lower), builder.subtract(divisor, 1))
        self.iterations = builder.emit(f"sdiv i64 {distance}, {divisor}")
        exact.need("sge", self.iterations, 1)
        found = []
        for side, load in enumerate((self.matmul.lhs, self.matmul.rhs)):
            assert isinstance(load, PointerLoad)
            rows, columns = load.shape
            reader = AffineReader(loop, exact, (rows, columns, self.iterations))
            found.append(PointerOperand(emission, load, 1 - side, reader, self.plan, self.iterations))
        return found[0], found[1]

    def _keys(self) -> list[Number]:
        if isinstance(self.b, PointerOperand):
            return self.b.keys
        cache = self.matmul.b_cache
        keys = [self.emission.whole(key) for key in cache.keys] if cache is not None else []
        return [*keys, self.batch] if len(self.matmul.rhs.shape) == 3 else keys

    # --- B ---

    def b_panel(self, first: Number, count: Number, k: Number, a_whole: str, b_whole: str) -> tuple[str, str]:
        """Packed B of a k-block, found by its keys or packed; and an i1: there are special values."""
        matmul, plan, cache, keys = self.matmul, self.plan, self.matmul.b_cache, self.keys

        def pack(panel: str) -> str:
            return self._pack_b(first, count, k, a_whole, b_whole, panel)

        if cache is None:
            assert matmul.b_packed is not None
            panel = self.emission.buffer(matmul.b_packed)
            return panel, pack(panel)
        columns = keys
        if isinstance(self.b, PointerOperand):
            columns = [quotient(self.builder, keys[0], plan.n * plan.b_dtype.itemsize)]
        size = matmul.iterations * plan.packed_bytes
        slot = self._slot(first, columns)
        return cached_panel(self.emission, cache, self._tag(first, k, keys), slot, size, pack)

    def _slot(self, first: Number, keys: list[Number]) -> Number:
        """The slot of a k-block in a cache: those of other indices have others, as far as there are enough."""
        builder = self.builder
        total: Number = 0
        for key in keys:
            total = builder.add(total, key)
        if self.matmul.loop is None:
            return total
        # Rounded up: the last k-block may begin within the one before.
        length = self.matmul.iterations
        blocks = quotient(builder, builder.add(self.iterations, length - 1), length)
        number = quotient(builder, builder.add(first, length - 1), length)
        return builder.add(number, builder.multiply(total, blocks))

    def _tag(self, first: Number, k: Number, keys: list[Number]) -> list[Number]:
        """What a k-block is found by in a cache."""
        return keys if self.matmul.loop is None else [self.builder.add(self.lower, first), *keys, k]

    def _pack_b(self, first: Number, count: Number, k: Number, a_whole: str, b_whole: str, panel: str) -> str:
        """Pack B of a k-block; an i1: there are special values."""
        emission, builder, plan, a, b = self.emission, self.builder, self.plan, self.a, self.b

        def tiles() -> list[str]:
            def one(number: Number) -> None:
                self._go_to(first, number)
                if isinstance(a, ViewOperand):
                    # A is checked first: of several errors the first is reported.
                    box = view_access.tile_access(emission, a.box.operation)
                    builder.branch(a_whole, None, lambda: bounds.check_tile(emission, box))
                target = builder.moved(panel, builder.multiply(number, plan.k * plan.b_step))
                pack_tile(emission, self.matmul, self.batch, target, k, b.is_row_major)

            builder.count(0, count, 1, one)
            return [f"i1 {scan_packed(emission, plan, panel, k)}"]

        if type(b) is Operand:
            return tiles()[0].removeprefix("i1 ")
        source = b.at(builder, first), b.row

        def whole() -> list[str]:
            return [f"i1 {pack_rows(emission, plan, source, panel, k)}"]

        def edge() -> list[str]:
            valid = b.valid(builder, first, (k, plan.n), plan.k)
            return [f"i1 {pack_rows(emission, plan, source, panel, k, valid)}"]

        # What is packed tile by tile is checked behind this anyway.
        is_sure = (a.in_rows == "true" or not isinstance(a, ViewOperand)) and b.in_rows == "true" and b.is_zero_padded
        otherwise = edge if is_sure else tiles
        if b_whole in ("true", "false"):
            return (whole if b_whole == "true" else otherwise)()[0].removeprefix("i1 ")
        (found,) = builder.branch(b_whole, whole, otherwise)
        return found if plan.guard else "false"

    def _go_to(self, first: Number, number: Number) -> None:
        """Set the loop's counter to an iteration of a k-block."""
        if self.counter is not None:
            place = self.builder.add(self.builder.add(self.lower, first), number)
            register = casting.cast(self.builder, Register(str(place), casting.INT64), dtype_of(self.counter))
            self.emission.scalars[self.counter] = register

    # --- A ---

    def a_block(self, first: Number, count: Number, k: Number, whole: str) -> tuple[Rows, str]:
        """A of a k-block as the kernel reads it, and an i1: there are special values."""
        emission, builder, matmul, plan = self.emission, self.builder, self.matmul, self.plan
        row = builder.multiply(k, plan.a_dtype.itemsize)
        is_computed = type(self.a) is Operand
        if not plan.packs_a and not is_computed:
            return self._rows(first, count, k, whole), "false"

        def fill(to: str) -> str:
            if plan.packs_a:
                return pack_a(emission, plan, self._rows(first, count, k, whole), to, k)
            self._copy_tiles(first, count, (to, row))
            return "false"

        if matmul.a_cache is None:
            buffer = matmul.a_packed if plan.packs_a else matmul.a_scratch
            assert buffer is not None
            scratch = emission.buffer(buffer)
            return (scratch, row), fill(scratch)
        keys = [emission.whole(key) for key in matmul.a_cache.keys]
        if len(matmul.lhs.shape) == 3:
            keys.append(self.batch)
        slot = self.batch if matmul.loop is None else self._slot(first, keys)
        size = matmul.iterations * plan.m * plan.k * plan.parts * plan.a_dtype.itemsize
        pointer, special = cached_panel(emission, matmul.a_cache, self._tag(first, k, keys), slot, size, fill)
        return (pointer, row), special

    def _rows(self, first: Number, count: Number, k: Number, whole: str) -> Rows:
        """Rows of A of a k-block: where they lie, or a copy."""
        builder = self.builder
        if isinstance(self.a, BufferOperand):
            return self.a.pointer, self.a.row
        assert self.matmul.a_scratch is not None
        copy = self.emission.buffer(self.matmul.a_scratch), builder.multiply(k, self.plan.a_dtype.itemsize)

        def copied() -> list[str]:
            self._copy(first, count, k, copy)
            return [f"ptr {copy[0]}", f"i64 {copy[1]}"]

        if whole == "false":
            copied()
            return copy
        here = self.a.at(builder, first), self.a.row
        if whole == "true":
            return here
        pointer, row = builder.branch(whole, lambda: [f"ptr {here[0]}", f"i64 {here[1]}"], copied)
        return pointer, row

    def _copy(self, first: Number, count: Number, k: Number, to: Rows) -> None:
        """Copy A of a k-block, in rows if it lies in memory that way."""
        builder, plan, a = self.builder, self.plan, self.a

        def rows() -> None:
            along, across = a.valid(builder, first, (k, plan.m), plan.k)
            needed: Number = plan.m
            if self.destination is not None:
                # The last row block may go on behind the rows that are stored.
                needed = smaller(builder, builder.add(self.destination.extents[0], plan.mr), plan.m)
            source = a.at(builder, first), a.row
            copy_rows(self.emission, plan, source, to[0], k, (across, along), needed)

        def tiles() -> None:
            self._copy_tiles(first, count, to)

        if type(a) is Operand or not a.is_zero_padded or a.in_rows == "false":
            tiles()
        elif a.in_rows == "true":
            rows()
        else:
            builder.branch(a.in_rows, rows, tiles)

    def _copy_tiles(self, first: Number, count: Number, to: Rows) -> None:
        """Copy A of a k-block tile by tile."""
        builder, plan = self.builder, self.plan

        def one(number: Number) -> None:
            self._go_to(first, number)
            place = builder.moved(to[0], builder.multiply(number, plan.k * plan.a_dtype.itemsize))
            copy_tile(self.emission, self.matmul, self.batch, (place, to[1]), self.a.is_row_major)

        builder.count(0, count, 1, one)
