"""Code of matmuls and k-loops: k-blocks, one after the other, each packed and multiplied.

A matmul outside of a k-loop is a k-loop of one iteration.  A is read in place, copied or packed; B is packed, with
zeros over an edge.  Where only k ends, for both operands, the last k-block ends there too without a copy: the k tail.
"""

from __future__ import annotations

from functools import reduce
from typing import Final, NamedTuple

from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.codegen import bounds, nontemporal, view_access
from tileir.execute.cpu.codegen.affine_tiles import AffineReader
from tileir.execute.cpu.codegen.context import FAR, Emission
from tileir.execute.cpu.codegen.exits import is_stopped, leave_worker
from tileir.execute.cpu.codegen.scalars import emit_loop
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, matrix_in_memory, pointer_load
from tileir.execute.cpu.ir.statements import LoopStatement, Matmul, PackCache
from tileir.execute.cpu.matmul.macrokernel import Operands, call_macrokernel
from tileir.execute.cpu.matmul.operands import Operand, destination_of, pointer_operand, view_operand
from tileir.execute.cpu.matmul.pack import RowPacker, TilePacker, cached_panel, scan_packed
from tileir.execute.cpu.matmul.plan import Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Loop, Number
from tileir.execute.cpu.vector.llvm import index_register, scalar_type
from tileir.ir.values import Value


class KBlock(NamedTuple):
    """So many iterations of the loop from the `first`, with an extent of k."""

    first: Number
    iterations: Number
    k: Number
    whole: tuple[str, str]  # Of A and B an i1: all of it is valid, and lies in memory in rows.


class KLoop:
    """Writes the k-blocks of a matmul, of one of a batch."""

    def __init__(self, emission: Emission, matmul: Matmul, batch: Number = 0) -> None:
        self.emission: Final = emission
        self.builder: Final = emission.builder
        self.matmul: Final = matmul
        self.plan: Final = matmul.plan
        self.batch: Final = batch
        self.counter: Final = matmul.loop.regions[0].blocks[0].arguments[0] if matmul.loop is not None else None
        self.reader: Final = AffineReader(emission, matmul.loop) if matmul.general is not None else None
        """Has the conditions under which the tiles of pointers lie side by side."""
        self.lower: Number = 0
        self.iterations: Number = 1
        self.operands: Final = self._open_views() if self.reader is None else self._open_pointers(self.reader)
        self.destination: Final = destination_of(emission, matmul)
        self.k_end: Number = FAR  # Where k ends within the last iteration: k-blocks go no further.
        self.signed_zero: str = ""  # What to add to accumulators
        self._find_k_end()
        # The iterations before tiles begin to lie over an edge of k.
        rooms: list[Number] = [FAR, *[operand.room for operand in self.operands if operand.room != FAR]]
        self.room: Final = reduce(self.builder.smaller, rooms)
        offset = self.builder.multiply(batch, self.plan.m * self.plan.n * self.plan.acc_dtype.itemsize)
        self.accumulator: Final = self.builder.moved(emission.buffer(matmul.accumulator), offset)

    # --- operands ---

    def _open_views(self) -> list[Operand]:
        emission, builder, matmul, plan = self.emission, self.builder, self.matmul, self.plan
        if matmul.loop is not None and self.counter is not None:
            self.lower, upper = (emission.whole(value) for value in matmul.loop.operands[:2])
            self.iterations = builder.call("i64", "llvm.ssub.sat.i64", [f"i64 {upper}", f"i64 {self.lower}"])
            # The tiles of the first iteration: the counter is the lower bound.
            emission.scalars[self.counter] = emission.scalars[matmul.loop.operands[0]]
        found = [Operand("", 0, in_rows="false", is_whole="false", is_row_major=False) for _ in range(2)]
        for side, expression in enumerate((matmul.lhs, matmul.rhs)):
            load = matrix_in_memory(expression)
            if side in matmul.computed:
                continue
            if isinstance(expression, BufferRead):
                row = plan.k * plan.a_dtype.itemsize
                offset = builder.multiply(self.batch, plan.m * row)
                found[side] = Operand(builder.moved(emission.buffer(expression.buffer), offset), row)
            elif load is not None and not emission.sanitize:  # The sanitizer judges each element.
                found[side] = view_operand(emission, load, side, self.lower, self.batch, plan)
        return found

    def _open_pointers(self, reader: AffineReader) -> list[Operand]:
        emission, builder, loop = self.emission, self.builder, self.matmul.loop
        assert loop is not None
        lower, upper, step = (emission.whole(value) for value in loop.operands[:3])
        reader.need("sge", step, 1)
        divisor = builder.larger(step, 1, signed=True)
        distance = reader.exact("add", reader.exact("sub", upper, lower), builder.subtract(divisor, 1))
        self.iterations = reader.iterations = builder.emit(f"sdiv i64 {distance}, {divisor}")
        reader.need("sge", self.iterations, 1)
        found = []
        for side, expression in enumerate((self.matmul.lhs, self.matmul.rhs)):
            source = pointer_load(expression)
            assert source is not None
            found.append(pointer_operand(emission, source[0], side, reader, self.plan))
        return found

    def _find_k_end(self) -> None:
        """Find whether k ends for both operands in the last iteration, which needs no copies then.  That leaves out
        products of zeros, which change an accumulator of -0.0 to 0.0: so does adding `signed_zero`."""
        builder, plan, (a, b) = self.builder, self.plan, self.operands
        if self.matmul.loop is None or plan.kind != "fma" or FAR in (a.room, b.room):
            return
        if not a.is_zero_padded or not b.is_zero_padded:
            return
        # Tiles that are packed one by one are whole along k.
        conditions = [each.is_whole for each in (a, b) if each.in_rows != "true"]
        missing = builder.subtract(builder.multiply(self.iterations, plan.k), a.along)
        conditions += [
            builder.compared("eq", a.along, b.along),
            builder.compared("ult", builder.subtract(missing, 1), plan.k - 1),
            builder.compared("eq", builder.divided(missing, plan.k_unroll)[1], 0),
        ]
        k_tail, kind = builder.all_of(conditions), scalar_type(plan.acc_dtype)
        self.k_end = builder.select(k_tail, a.along, FAR)
        self.signed_zero = builder.emit(f"select i1 {k_tail}, {kind} 0.0, {kind} -0.0")
        for each in (a, b):
            each.room = builder.select(k_tail, self.iterations, each.room)

    # --- packed operands ---

    def _packed(self, side: int, block: KBlock, whole: str) -> tuple[str, str]:
        """Packed A or B of a k-block, found in its cache or packed; and an i1: there are special values."""
        emission, builder, matmul, plan = self.emission, self.builder, self.matmul, self.plan
        operand, cache = self.operands[side], matmul.packed[side]
        if not isinstance(cache, PackCache):
            assert cache is not None
            packed = emission.buffer(cache)
            return packed, self._pack(side, block, whole, packed)
        keys = indices = [emission.whole(key) for key in cache.keys]
        if matmul.general is not None:
            keys, indices = operand.keys, [builder.divided(operand.keys[0], plan.n * plan.b_dtype.itemsize)[0]]
        elif len((matmul.lhs, matmul.rhs)[side].shape) == 3:
            keys = indices = [*keys, self.batch]
        # K-blocks of other indices have other slots, as far as there are enough.
        slot = reduce(builder.add, indices)
        if matmul.loop is not None:
            # Rounded up: the last k-block may begin within the one before.
            length = matmul.iterations
            blocks, number = (
                builder.divided(builder.add(each, length - 1), length)[0] for each in (self.iterations, block.first)
            )
            slot = builder.add(number, builder.multiply(slot, blocks))
            keys = [builder.add(self.lower, block.first), *keys, block.k]
        return cached_panel(emission, cache, keys, slot, lambda to: self._pack(side, block, whole, to))

    def _pack(self, side: int, block: KBlock, whole: str, to: str) -> str:
        """Pack A or B of a k-block; an i1: there are special values."""
        emission, builder, plan, operand = self.emission, self.builder, self.plan, self.operands[side]
        layout = plan.layout(side)

        def tiles() -> list[str]:
            builder.count(0, block.iterations, 1, lambda number: self._pack_tile(side, block, number, to))
            return [f"i1 {scan_packed(emission, layout, to, block.k)}"]

        def rows(is_edge: bool) -> list[str]:
            expression = (self.matmul.lhs, self.matmul.rhs)[side]
            source, count = Rows(operand.at(builder, block.first), operand.row), (plan.m, block.k)[side]
            valid: tuple[Number, Number] | None = None
            if is_edge:
                left = builder.remaining(operand.along, builder.multiply(block.first, plan.k))
                along = builder.smaller(left, block.k)
                across = builder.smaller(operand.across, (plan.m, plan.n)[side])
                valid = (along, across) if side else (across, along)
                if side == 0 and self.destination is not None and isinstance(self.matmul.packed[0], Buffer):
                    # The last row block may go on behind the rows that are stored.
                    count = builder.smaller(builder.add(self.destination.extents[0], plan.mr), plan.m)
            return [f"i1 {RowPacker(emission, layout, expression, valid).pack(source, count, to, block.k)}"]

        has_rows = operand.in_rows == "true" and operand.is_zero_padded
        (found,) = builder.branch(whole, lambda: rows(False), (lambda: rows(True)) if has_rows else tiles)
        return found if plan.guard else "false"

    def _pack_tile(self, side: int, block: KBlock, number: Number, to: str) -> None:
        emission, builder, (a, _) = self.emission, self.builder, self.operands
        if self.counter is not None:
            index = builder.add(builder.add(self.lower, block.first), number)
            register = casting.cast(builder, index_register(index), dtype_of(self.counter))
            emission.scalars[self.counter] = register
        if side == 1 and a.load is not None:
            # A is checked first: of several errors the first is reported.
            access = view_access.tile_access(emission, a.load)
            builder.branch(block.whole[0], None, lambda: bounds.check_tile(emission, access))
        packer = TilePacker(emission, self.matmul, side, self.batch)
        target = builder.moved(to, builder.multiply(number, self.plan.k * packer.layout.step))
        packer.pack(target, block.k, self.operands[side].is_row_major)

    def _a_rows(self, block: KBlock) -> tuple[Rows, str]:
        """A of a k-block as the kernel reads it, and an i1: there are special values."""
        builder, plan, a, whole = self.builder, self.plan, self.operands[0], block.whole[0]
        row = builder.multiply(block.k, plan.a_dtype.itemsize)
        if plan.kind == "amx" or not a.pointer or 0 in self.matmul.computed:
            packed, special = self._packed(0, block, whole)
            return Rows(packed, row), special
        in_place, copied = (
            lambda: [f"ptr {a.at(builder, block.first)}", f"i64 {a.row}"],
            lambda: [f"ptr {self._packed(0, block, 'false')[0]}", f"i64 {row}"],
        )
        return Rows(*builder.branch(whole, in_place, copied)), "false"

    # --- k-blocks ---

    def emit(self) -> None:
        builder, destination, is_left = self.builder, self.destination, "true"
        if self.matmul.loop is None:
            self._k_block(0, 1)
        else:
            is_left = builder.emit(f"icmp slt i64 0, {self.iterations}")
            builder.branch(is_left, self._k_blocks, self.zero_fill)
        if destination is not None and destination.target.is_copy:
            self.emission.done[destination.target.user] = builder.all_of([destination.direct, is_left])

    def zero_fill(self) -> None:
        """Fill the accumulator where it does not begin with something else."""
        if self.matmul.zero_init:
            self.builder.fill(self.accumulator, 0, self.matmul.accumulator.bytes)

    def _k_blocks(self) -> None:
        """Emit k-blocks, one at least; one ends where tiles begin to lie over an edge."""
        builder, room, iterations = self.builder, self.room, self.iterations
        loop = Loop(builder)
        first = loop.carry("i64", 0)
        count: Number = 0

        def block() -> None:
            nonlocal count
            end: Number = iterations
            if room != FAR:
                end = builder.smaller(builder.select(builder.compared("ult", first, room), room, end), end)
            count = builder.smaller(builder.subtract(end, first), self.matmul.iterations)
            self._k_block(first, count)
            # A tile block that would not end can still be stopped.
            builder.branch(is_stopped(self.emission), lambda: leave_worker(self.emission, 2))

        def again() -> str:
            following = builder.emit(f"add i64 {first}, {count}")
            loop.becomes(first, following)
            return builder.emit(f"icmp ult i64 {following}, {iterations}")

        loop.write(block, again)

    def _k_block(self, first: Number, count: Number) -> None:
        builder, plan, destination = self.builder, self.plan, self.destination
        end = builder.add(first, count)
        a_whole, b_whole = (self._is_whole(operand, end) for operand in self.operands)
        k = builder.multiply(count, plan.k)
        if self.k_end != FAR:
            k = builder.smaller(k, builder.subtract(self.k_end, builder.multiply(first, plan.k)))
        block = KBlock(first, count, k, (a_whole, b_whole))
        panel, b_special = self._packed(1, block, b_whole)
        rows, a_special = self._a_rows(block)
        c_row = plan.n * plan.acc_dtype.itemsize
        c_in = c_out = own = Rows(self.accumulator, c_row)
        if self.matmul.zero_init:
            c_in = Rows(self.emission.module.zeros(c_row), 0).where(builder, builder.compared("eq", first, 0), own)
        extents: tuple[Number, Number] = (plan.m, plan.n)
        if destination is not None:
            extents = destination.extents
            if destination.direct != "false":
                # The last k-block writes the result where it is stored.
                is_last = builder.all_of([destination.direct, builder.compared("eq", end, self.iterations)])
                c_out = destination.rows.where(builder, is_last, own)
        special = builder.any_of([a_special, b_special]) if plan.guard else ""
        operands = Operands(*rows, panel, *c_in, *c_out, block.k, *extents, special, self.signed_zero)
        call_macrokernel(self.emission, plan, operands)

    def _is_whole(self, operand: Operand, end: Number) -> str:
        """An i1: all of a k-block up to an iteration is valid."""
        if operand.is_whole == "false" or operand.room == FAR:
            return operand.is_whole
        return self.builder.all_of([operand.is_whole, self.builder.compared("ule", end, operand.room)])


def emit_matmul(emission: Emission, matmul: Matmul) -> None:
    if matmul.loop is None:
        nontemporal.prefetch_pointers(emission, [matmul.lhs, matmul.rhs])
        batch = matmul.lhs.shape[0] if len(matmul.lhs.shape) == 3 else 1
        emission.builder.count(0, batch, 1, lambda number: KLoop(emission, matmul, number).emit())
    elif matmul.general is None:
        KLoop(emission, matmul).emit()
    else:
        _emit_pointer_loop(KLoop(emission, matmul), matmul.general)


def _emit_pointer_loop(k_loop: KLoop, general: LoopStatement) -> None:
    """Emit a k-loop through pointers where tiles lie side by side, else the loop as it is."""
    emission, builder, matmul = k_loop.emission, k_loop.builder, k_loop.matmul
    reader, loop = k_loop.reader, general.operation
    assert reader is not None
    target = emission.program.store_targets.get(matmul)
    carried = [argument for argument in loop.regions[0].blocks[0].arguments[1:] if is_scalar(argument)]

    def done() -> list[str]:
        return [f"i1 {emission.done[target.user]}"] if target is not None and target.user in emission.done else []

    def all_iterations() -> list[str]:
        k_loop.emit()
        # What the loop would carry to its end.
        for argument in carried:
            by = reader.step_of(argument)
            last = emission.whole(loop.operands[2 + argument.index])
            if isinstance(by, Value):
                last = builder.add(last, builder.multiply(k_loop.iterations, emission.whole(by)))
            emission.put(argument, casting.cast(builder, index_register(last), dtype_of(argument)))
        return done()

    def each_iteration() -> list[str]:
        k_loop.zero_fill()
        emit_loop(emission, general)
        return ["i1 false"] if done() else []

    found = builder.branch(builder.all_of(reader.conditions), all_iterations, each_iteration)
    if target is not None and found:
        emission.done[target.user] = found[0]
    for argument in carried:
        emission.take(argument)
        emission.scalars[loop.results[argument.index - 1]] = emission.scalars[argument]
