"""Small tile blocks whose k-loops are computed as one, those of neighbors in the grid (`loops.order`).

A row block of few rows reads a panel of B for little, one of few columns does not fill the registers.  So the first
tile block of a group computes the matmul of all, from operands that lie side by side in memory; the others find it, or
have nothing left to do where it is stored as it is.  Each element is the same chain of fused multiply-adds.  Groups
over an edge, or not all of whose tile blocks are in the thread's chunk, are computed one by one, and so are tiles over
an edge of k.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.cpu.emission.context import Emission, Member
from tileir.execute.cpu.loops.statements import Group, Matmul
from tileir.execute.cpu.matmul.functions import call_function, call_macrokernel
from tileir.execute.cpu.matmul.k_loop import KLoop, emit_matmul
from tileir.execute.cpu.matmul.macrokernel import Operands
from tileir.execute.cpu.matmul.operands import Operand, compared, remaining
from tileir.execute.cpu.matmul.pack import pack_rows
from tileir.execute.cpu.matmul.pack_cache import cached_panel
from tileir.execute.cpu.matmul.plan import Plan, Rows
from tileir.execute.cpu.vector.builder import Number

_WIDE: Final = 1 << 40
"""What the key of a panel has more if it is one of a wide matmul, which is packed in another way."""


def emit_grouped(emission: Emission, matmul: Matmul) -> None:
    """Emit a matmul or a k-loop, for the group of the tile block where it can be."""
    group, member = emission.group, emission.member
    if group is None or member is None or group is not matmul.group:
        emit_matmul(emission, matmul)
        return
    k_loop = KLoop(emission, matmul)

    def alone() -> list[str]:
        k_loop.zero_fill()
        return ["i64 0", "i1 false"]

    grouped = _Grouped(k_loop, group, member)
    done, written = k_loop.builder.branch(k_loop.builder.all_of(grouped.conditions), grouped.emit, alone)
    k_loop.emit(done, written)


class _Grouped:
    """The matmul of a group of tile blocks."""

    def __init__(self, k_loop: KLoop, group: Group, member: Member) -> None:
        self.k_loop = k_loop
        self.group = group
        self.member = member
        builder, plan = k_loop.builder, group.plan
        a, b = k_loop.a, k_loop.b
        self.iterations: Number = builder.call(
            "i64", "llvm.smin.i64", [f"i64 {k_loop.iterations}", f"i64 {k_loop.room}"]
        )
        """How many iterations are taken together: those before tiles begin to lie over an edge of k."""
        self.above: Number = builder.multiply(member.row, k_loop.plan.m)
        """How many rows of the group are above the tile block, and columns left of it."""
        self.before: Number = builder.multiply(member.column, k_loop.plan.n)
        self.conditions: list[str] = [
            member.is_whole,
            builder.emit(f"icmp sgt i64 {self.iterations}, 0"),
            a.in_rows,
            b.in_rows,
            self._is_inside(a, self.above, plan.m),
            self._is_inside(b, self.before, plan.n),
        ]
        self.direct: str = self._is_direct()
        """An i1: the results of the whole group are written where they are stored."""

    def _is_inside(self, operand: Operand, before: Number, extent: int) -> str:
        """An i1: the tensor goes as far as the group."""
        return compared(self.k_loop.builder, "uge", self.k_loop.builder.add(operand.across, before), extent)

    def _is_direct(self) -> str:
        builder, plan, destination = self.k_loop.builder, self.group.plan, self.k_loop.destination
        if destination is None or destination.target is None or not destination.target.is_shared:
            return "false"
        view, starts = destination.box.view, destination.box.starts
        fits = []
        for axis, (before, extent) in enumerate(((self.above, plan.m), (self.before, plan.n))):
            left = builder.add(remaining(builder, view.extents[axis], starts[axis]), before)
            fits.append(compared(builder, "uge", left, extent))
        return builder.all_of(
            [
                destination.cached,
                view.tensor.fits(destination.box.operation),
                *fits,
                compared(builder, "sge", destination.row, plan.n * destination.size),
                compared(builder, "eq", self.iterations, self.k_loop.iterations),
            ]
        )

    def emit(self) -> list[str]:
        """Have the matmul, and take the tile block's part of it."""
        k_loop, group, builder = self.k_loop, self.group, self.k_loop.builder
        plan, small = group.plan, k_loop.plan
        size = plan.acc_dtype.itemsize

        def compute(result: str) -> str:
            k_loop.k_blocks(0, self.iterations, lambda first, count: self._k_block(result, first, count))
            return "false"

        iterations = self.iterations
        if self.direct != "false":
            # What is written elsewhere is not found here.
            elsewhere = builder.emit(f"select i1 {self.direct}, i64 {_WIDE}, i64 0")
            iterations = builder.add(iterations, elsewhere)
        keys: list[Number] = [self.member.first, k_loop.lower, iterations]
        result, _ = cached_panel(k_loop.emission, group.cache, keys, 0, plan.m * plan.n * size, compute)
        first = builder.add(builder.multiply(self.above, plan.n), self.before)
        source = builder.moved(result, builder.multiply(first, size))

        def take() -> None:
            _take_part(k_loop.emission, small, plan, source, k_loop.accumulator)

        if self.direct == "false":
            take()
        else:
            builder.branch(self.direct, None, take)
        return [f"i64 {self.iterations}", f"i1 {self.direct}"]

    def _c_out(self, own: Rows, end: Number) -> Rows:
        """Where the result up to an iteration goes."""
        builder, destination = self.k_loop.builder, self.k_loop.destination
        if destination is None or self.direct == "false":
            return own
        above = builder.multiply(self.above, destination.row)
        back = builder.add(above, builder.multiply(self.before, destination.size))
        is_last = builder.all_of([self.direct, compared(builder, "eq", end, self.iterations)])
        pointer = builder.moved(destination.box.pointer, builder.subtract(0, back))
        chosen = builder.emit(f"select i1 {is_last}, ptr {pointer}, ptr {own[0]}")
        return chosen, builder.emit(f"select i1 {is_last}, i64 {destination.row}, i64 {own[1]}")

    def _k_block(self, result: str, first: Number, count: Number) -> None:
        k_loop, builder, plan = self.k_loop, self.k_loop.builder, self.group.plan
        k = k_loop.extent(first, count)
        column, *others = k_loop.keys[::-1]
        column = builder.subtract(column, self.member.column)
        if self.group.counts[1] > 1:
            column = builder.emit(f"udiv i64 {column}, {self.group.counts[1]}")
        # Few rows have panels of more columns than many.
        is_wide = (plan.n, plan.nr) != (k_loop.plan.n, k_loop.plan.nr)

        def pack(panel: str) -> str:
            source = k_loop.b.at(builder, first)
            back = builder.multiply(self.before, -plan.b_dtype.itemsize)
            return pack_rows(k_loop.emission, plan, (builder.moved(source, back), k_loop.b.row), panel, k)

        keys = [*others, builder.add(column, _WIDE) if is_wide else column]
        panel, _ = k_loop.b_panel(plan, first, k, keys, pack)
        back = builder.multiply(builder.multiply(self.above, -1), k_loop.a.row)
        rows = builder.moved(k_loop.a.at(builder, first), back), k_loop.a.row
        own = result, plan.n * plan.acc_dtype.itemsize
        end = builder.add(first, count)
        c_in = k_loop.zeros_at_first(first, own, plan)
        zero = k_loop.signed_zero(end)
        operands = Operands(rows, panel, c_in, self._c_out(own, end), k, plan.m, plan.n, signed_zero=zero)
        call_macrokernel(k_loop.emission, plan, operands)


def _take_part(emission: Emission, small: Plan, wide: Plan, source: str, target: str) -> None:
    """Copy the part of a wide matmul that is a small one."""
    builder = emission.builder
    size = small.acc_dtype.itemsize

    def write() -> None:
        def one(row: Number) -> None:
            there = builder.moved("%target", builder.multiply(row, small.n * size))
            here = builder.moved("%source", builder.multiply(row, wide.n * size))
            operands = [f"ptr align {size} {pointer}" for pointer in (there, here)]
            builder.call("void", "llvm.memcpy.p0.p0.i64", [*operands, f"i64 {small.n * size}", "i1 false"])

        builder.count(0, small.m, 1, one)

    parameters = {"%source": ("ptr", source), "%target": ("ptr", target)}
    call_function(emission, f"part.{wide.n}.{small.name}", parameters, write)
