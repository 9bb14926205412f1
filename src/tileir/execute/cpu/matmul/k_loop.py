"""Code of matmuls and k-loops: k-blocks, one after the other, each packed and multiplied.

A matmul outside of a k-loop is a k-loop of one iteration.  Where only k ends, for both operands, the last k-block ends
there too, and nothing is copied: the k tail.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.codegen import nontemporal
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.exits import is_stopped, leave_worker
from tileir.execute.cpu.codegen.scalars import emit_loop
from tileir.execute.cpu.ir.statements import Matmul
from tileir.execute.cpu.matmul.affine import AffineReader, Exact
from tileir.execute.cpu.matmul.macrokernel import Operands, call_macrokernel
from tileir.execute.cpu.matmul.operands import Operand, PointerOperand, compared, quotient, smaller
from tileir.execute.cpu.matmul.packed_operands import PackedOperands
from tileir.execute.cpu.matmul.plan import Rows
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Loop, Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type


class KLoop(PackedOperands):
    """Writes the k-blocks of a matmul, of one of a batch."""

    def __init__(self, emission: Emission, matmul: Matmul, batch: Number = 0) -> None:
        super().__init__(emission, matmul, batch)
        self.k_tail: Final = self._has_k_tail()
        """An i1: k ends with both operands, within the last iteration, and k-blocks go no further."""
        if self.k_tail != "false":
            for operand in (self.a, self.b):
                operand.room = self.builder.emit(f"select i1 {self.k_tail}, i64 {self.iterations}, i64 {operand.room}")
        self.room: Final = smaller(self.builder, self.a.room, self.b.room)
        """The iterations before tiles begin to lie over an edge of k."""
        offset = self.builder.multiply(batch, self.plan.m * self.plan.n * self.plan.acc_dtype.itemsize)
        self.accumulator: Final = self.builder.moved(emission.buffer(matmul.accumulator), offset)

    def _has_k_tail(self) -> str:
        """Whether nothing but zeros lies behind the end of both operands, and the last iteration goes beyond it.

        Then that iteration takes what is valid of k where it lies, instead of a k-block of its own with copies of it.
        """
        builder, a, b, plan = self.builder, self.a, self.b, self.plan
        if self.matmul.loop is None or plan.kind != "fma" or not (a.is_zero_padded and b.is_zero_padded):
            return "false"
        if isinstance(a, PointerOperand) and isinstance(b, PointerOperand) and not (a.has_limits or b.has_limits):
            return "false"
        iterations = quotient(builder, builder.add(a.along, plan.k - 1), plan.k)
        # Where no tile is packed by itself, that of B may lie over an edge in the other dimension.
        is_sure = a.in_rows == b.in_rows == "true"
        return builder.all_of(
            [
                a.in_rows,
                b.in_rows if is_sure else b.is_whole,
                compared(builder, "eq", a.along, b.along),
                compared(builder, "eq", iterations, self.iterations),
                builder.emit(f"icmp eq i64 {builder.emit(f'and i64 {a.along}, {plan.k_unroll - 1}')}, 0"),
            ]
        )

    # --- k-blocks ---

    def emit(self) -> None:
        """Emit all iterations."""
        builder, destination = self.builder, self.destination
        if self.matmul.loop is None:
            self._k_block(0, 1)
            is_left = "true"
        else:
            is_left = builder.emit(f"icmp slt i64 0, {self.iterations}")
            builder.branch(is_left, self._k_blocks)
        if destination is not None and destination.target is not None and destination.target.is_copy:
            self.emission.done[destination.target.user] = builder.all_of([destination.direct, is_left])

    def zero_fill(self) -> None:
        """Fill the accumulator where there is no iteration to begin with zeros."""
        if self.matmul.zero_init:
            is_empty = self.builder.emit(f"icmp sle i64 {self.iterations}, 0")
            size = self.matmul.accumulator.bytes
            self.builder.branch(is_empty, lambda: self.builder.fill(self.accumulator, 0, size))

    def _k_blocks(self) -> None:
        """Emit k-blocks, one at least; one ends where tiles begin to lie over an edge."""
        builder, room, iterations = self.builder, self.room, self.iterations
        loop = Loop(builder)
        first = loop.carry("i64", 0)
        count = ""

        def block() -> None:
            nonlocal count
            is_before = builder.emit(f"icmp ult i64 {first}, {room}")
            end = builder.emit(f"select i1 {is_before}, i64 {room}, i64 {iterations}")
            end = builder.call("i64", "llvm.umin.i64", [f"i64 {end}", f"i64 {iterations}"])
            rest = builder.emit(f"sub i64 {end}, {first}")
            count = builder.call("i64", "llvm.umin.i64", [f"i64 {rest}", f"i64 {self.matmul.iterations}"])
            self._k_block(first, count)
            # A tile block that would not end can still be stopped.
            builder.branch(is_stopped(self.emission), lambda: leave_worker(self.emission, 2))

        def again() -> str:
            following = builder.emit(f"add i64 {first}, {count}")
            loop.becomes(first, following)
            return builder.emit(f"icmp ult i64 {following}, {iterations}")

        loop.write(block, again)

    def _k_block(self, first: Number, count: Number) -> None:
        builder, plan = self.builder, self.plan
        end = builder.add(first, count)
        k = self._extent(first, count)
        a_whole, b_whole = (self._is_whole(operand, end) for operand in (self.a, self.b))

        panel, b_special = self.b_panel(first, count, k, a_whole, b_whole)
        rows, a_special = self.a_block(first, count, k, a_whole)
        own = self.accumulator, plan.n * plan.acc_dtype.itemsize
        destination = self.destination
        c_out: Rows = own
        extents: tuple[Number, Number] = (plan.m, plan.n)
        if destination is not None:
            extents = destination.extents
            if destination.direct != "false":
                # The last k-block writes the result where it is stored.
                is_last = builder.all_of([destination.direct, compared(builder, "eq", end, self.iterations)])
                c_out = destination.rows(builder, is_last, own)
        c_in = self._zeros_at_first(first, own) if self.matmul.zero_init else own
        special = builder.any_of([a_special, b_special])
        operands = Operands(rows, panel, c_in, c_out, k, *extents, special, self._signed_zero(end))
        call_macrokernel(self.emission, plan, operands)

    def _is_whole(self, operand: Operand, end: Number) -> str:
        """An i1: all of a k-block up to an iteration is valid."""
        near = compared(self.builder, "ule", end, operand.room) if operand.is_whole != "false" else "false"
        return "false" if near == "false" else self.builder.all_of([operand.is_whole, near])

    def _extent(self, first: Number, count: Number) -> Number:
        """The extent of a k-block: so many iterations from one on, or less with a k tail."""
        builder, k = self.builder, self.plan.k
        extent = builder.multiply(count, k)
        if self.k_tail == "false":
            return extent
        # Without a k tail there are nothing but whole iterations, however little is valid.
        left = builder.emit(f"sub i64 {self.a.along}, {builder.multiply(first, k)}")
        left = builder.emit(f"select i1 {self.k_tail}, i64 {left}, i64 {extent}")
        return smaller(builder, left, extent)

    def _signed_zero(self, end: Number) -> str:
        """What to add to accumulators up to an iteration; empty where it is never anything.

        The products of zeros that a k tail leaves out make nothing of an accumulator but zero of its negative.
        """
        builder, kind = self.builder, scalar_type(self.plan.acc_dtype)
        if self.k_tail == "false":
            return ""
        is_last = compared(builder, "eq", end, self.iterations)
        is_short = compared(builder, "ult", self.a.along, builder.multiply(self.iterations, self.plan.k))
        return builder.emit(f"select i1 {builder.all_of([self.k_tail, is_last, is_short])}, {kind} 0.0, {kind} -0.0")

    def _zeros_at_first(self, first: Number, rows: Rows) -> Rows:
        """Rows of zeros in the first iteration, else others."""
        builder = self.builder
        zeros = self.emission.module.zeros(self.plan.n * self.plan.acc_dtype.itemsize)
        if first == 0:
            return zeros, 0
        is_first = builder.emit(f"icmp eq i64 {first}, 0")
        pointer = builder.emit(f"select i1 {is_first}, ptr {zeros}, ptr {rows[0]}")
        return pointer, builder.emit(f"select i1 {is_first}, i64 0, i64 {rows[1]}")


def emit_matmul(emission: Emission, matmul: Matmul) -> None:
    """Emit a matmul of tiles, or a k-loop."""
    if matmul.general is not None:
        _emit_pointer_loop(emission, matmul)
    elif matmul.loop is not None:
        k_loop = KLoop(emission, matmul)
        k_loop.zero_fill()
        k_loop.emit()
    else:
        nontemporal.prefetch_pointers(emission, [matmul.lhs, matmul.rhs])
        batch = matmul.lhs.shape[0] if len(matmul.lhs.shape) == 3 else 1
        emission.builder.count(0, batch, 1, lambda number: KLoop(emission, matmul, number).emit())


def _emit_pointer_loop(emission: Emission, matmul: Matmul) -> None:
    """Emit a k-loop through pointers where tiles lie side by side, else the loop as it is."""
    builder, loop, general = emission.builder, matmul.loop, matmul.general
    assert loop is not None and general is not None
    k_loop = KLoop(emission, matmul)
    target = emission.program.store_targets.get(matmul)
    carried = [argument for argument in loop.regions[0].blocks[0].arguments[1:] if is_scalar(argument)]

    def done() -> list[str]:
        return [f"i1 {emission.done[target.user]}"] if target is not None and target.user in emission.done else []

    def all_iterations() -> list[str]:
        k_loop.emit()
        # What the loop would carry to its end.
        reader = AffineReader(loop, Exact(None))
        for argument in carried:
            by = reader.step_of(argument)
            last = emission.whole(loop.operands[2 + argument.index])
            if by is not None:
                last = builder.add(last, builder.multiply(k_loop.iterations, emission.whole(by)))
            emission.put(argument, casting.cast(builder, Register(str(last), casting.INT64), dtype_of(argument)))
        return done()

    def each_iteration() -> list[str]:
        if matmul.zero_init:
            builder.fill(k_loop.accumulator, 0, matmul.accumulator.bytes)
        emit_loop(emission, general)
        return ["i1 false"] if done() else []

    found = builder.branch(builder.all_of(k_loop.exact.conditions), all_iterations, each_iteration)
    if target is not None and found:
        emission.done[target.user] = found[0]
    for argument in carried:
        emission.take(argument)
        emission.scalars[loop.results[argument.index - 1]] = emission.scalars[argument]
