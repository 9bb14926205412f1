"""Chains of vector products whose tile blocks are small: those of neighbours are computed as one (`loops.order`).

A block of few rows reads a panel of the right operand for little, one of few columns does not fill the registers.  So
the first tile block of a group computes the product of all, from operands that lie side by side in memory; the others
find it, or have nothing left to do where it is stored as it is.  Each element is the same chain of fused multiply-adds.
Groups over an edge, or not all of whose tile blocks are in the thread's chunk, are computed one by one, and so are
tiles over an edge of k.
"""

from __future__ import annotations

from tileir.execute.cpu.emission import chain_functions
from tileir.execute.cpu.emission.chain_sides import Side
from tileir.execute.cpu.emission.context import Emission, Member
from tileir.execute.cpu.emission.destinations import chosen
from tileir.execute.cpu.emission.exits import is_stopped, leave_worker
from tileir.execute.cpu.emission.panels import panel_of
from tileir.execute.cpu.emission.pointer_chains import emit_pointer_chain
from tileir.execute.cpu.emission.vector_chains import VectorChain
from tileir.execute.cpu.loops.statements import Chain, Group
from tileir.execute.cpu.matrix.plan import Rows
from tileir.execute.cpu.vector.builder import Number

_WIDE: int = 1 << 40
"""What the key of a panel has more if it is one of a wide product, which is packed in another way."""


def emit_vector_chain(emission: Emission, statement: Chain) -> None:
    """Emit a chain, for the group of the tile block where it can be."""
    if statement.paths is not None:
        emit_pointer_chain(emission, statement)
        return
    chain = VectorChain(emission, statement)

    def clear() -> list[str]:
        # Otherwise the first turn begins with zeros.
        builder, accumulator = emission.builder, statement.product.accumulator
        if statement.clearing is not None:
            is_empty = builder.emit(f"icmp sle i64 {chain.turns}, 0")
            builder.branch(is_empty, lambda: builder.fill(emission.buffer(accumulator), 0, accumulator.bytes))
        return ["i64 0", "i1 false"]

    group, member = emission.group, emission.member
    if group is None or member is None or group is not statement.group:
        clear()
        chain.emit(0)
        return
    grouped = _Grouped(chain, group, member)
    done, written = emission.builder.branch(emission.builder.all_of(grouped.conditions), grouped.emit, clear)
    chain.emit(done, written)


class _Grouped:
    """The product of a group of tile blocks."""

    def __init__(self, chain: VectorChain, group: Group, member: Member) -> None:
        self.chain = chain
        self.group = group
        self.member = member
        builder, plan = chain.builder, group.plan
        left, right = chain.left, chain.right
        operands = [f"i64 {chain.turns}", f"i64 {chain.room}"]
        self.turns: str = builder.call("i64", "llvm.smin.i64", operands)
        """How many turns are taken together: those before tiles begin to lie over an edge of k."""
        self.above: Number = builder.multiply(member.row, chain.plan.m)
        """How many rows of the group are above the tile block, and columns left of it."""
        self.before: Number = builder.multiply(member.column, chain.plan.n)
        self.conditions: list[str] = [
            member.is_whole,
            builder.emit(f"icmp sgt i64 {self.turns}, 0"),
            left.rows,
            right.rows,
            self._is_inside(left, self.above, plan.m),
            self._is_inside(right, self.before, plan.n),
        ]
        self.direct: str = self._is_direct()
        """An i1: the results of the whole group are written where they go."""

    def _is_inside(self, side: Side, before: Number, extent: int) -> str:
        """An i1: the tensor goes as far as the group."""
        left = self.chain.builder.add(side.across, before)
        return self.chain.builder.emit(f"icmp uge i64 {left}, {extent}")

    def _is_direct(self) -> str:
        builder, plan, goal = self.chain.builder, self.group.plan, self.chain.destination
        if goal is None or not goal.is_shared:
            return "false"
        view, starts = goal.box.view, goal.box.starts
        reaches = []
        for axis, (before, extent) in enumerate(((self.above, plan.m), (self.before, plan.n))):
            operands = [f"i64 {view.extents[axis]}", f"i64 {starts[axis]}"]
            left = builder.add(builder.call("i64", "llvm.usub.sat.i64", operands), before)
            reaches.append(builder.emit(f"icmp uge i64 {left}, {extent}"))
        return builder.all_of(
            [
                goal.cached,
                view.tensor.fits(goal.box.operation),
                *reaches,
                builder.emit(f"icmp sge i64 {goal.row}, {plan.n * goal.size}"),
                builder.emit(f"icmp eq i64 {self.turns}, {self.chain.turns}"),
            ]
        )

    def emit(self) -> list[str]:
        """Have the product, and take the tile block's part of it; gives how many turns are done, and an i1: the result
        is where it goes."""
        chain, group, builder = self.chain, self.group, self.chain.builder
        plan, small = group.plan, chain.plan
        size = plan.accumulator_dtype.itemsize

        def compute(result: str) -> str:
            chain.parts(0, self.turns, lambda turn, count: self._part(result, turn, count))
            return "false"

        turns = self.turns
        if self.direct != "false":
            # What is written elsewhere is not found here.
            elsewhere = builder.emit(f"select i1 {self.direct}, i64 {_WIDE}, i64 0")
            turns = builder.emit(f"add i64 {turns}, {elsewhere}")
        keys = [self.member.first, str(chain.lower), turns]
        result, _ = panel_of(chain.emission, group.memo, keys, 0, plan.m * plan.n * size, compute)
        first = builder.add(builder.multiply(self.above, plan.n), self.before)
        source = builder.moved(result, builder.multiply(first, size))
        target = chain.emission.buffer(chain.product.accumulator)
        if self.direct == "false":
            chain_functions.take_part(chain.emission, small, plan, source, target)
        else:
            builder.branch(
                self.direct, None, lambda: chain_functions.take_part(chain.emission, small, plan, source, target)
            )
        return [f"i64 {self.turns}", f"i1 {self.direct}"]

    def _goes_to(self, result: str, end: Number) -> Rows | None:
        """Where the sum up to a turn goes, if not always to the result that others find."""
        builder, goal = self.chain.builder, self.chain.destination
        if goal is None or self.direct == "false":
            return None
        above = builder.multiply(self.above, goal.row)
        back = builder.add(above, builder.multiply(self.before, goal.size))
        is_last = builder.all_of([self.direct, builder.emit(f"icmp eq i64 {end}, {self.turns}")])
        place = builder.moved(goal.box.pointer, builder.subtract(0, back))
        rows = result, self.group.plan.n * goal.size
        return chosen(builder, is_last, (place, goal.row), rows)

    def _part(self, result: str, turn: Number, count: str) -> None:
        chain, builder = self.chain, self.chain.builder
        plan = self.group.plan
        extent = chain.extent(turn, count, plan)
        column = builder.emit(f"sub i64 {chain.column}, {self.member.column}")
        if self.group.counts[1] > 1:
            column = builder.emit(f"udiv i64 {column}, {self.group.counts[1]}")
        key = extent
        # Few rows have panels of more columns than many.
        if (plan.n, plan.columns) != (chain.plan.n, chain.plan.columns):
            key = builder.emit(f"add i64 {extent}, {_WIDE}")

        def pack_part(panel: str) -> str:
            source = chain.right.at(chain.emission, turn)
            back = builder.multiply(self.before, -plan.rhs_dtype.itemsize)
            place = builder.moved(source, back), chain.right.row
            chain_functions.pack_rows(chain.emission, plan, place, panel, extent)
            return "false"

        def rows() -> Rows:
            back = builder.multiply(builder.multiply(self.above, -1), chain.left.row)
            return builder.moved(chain.left.at(chain.emission, turn), back), chain.left.row

        fresh = builder.emit(f"icmp eq i64 {turn}, 0")
        end = builder.add(turn, count)
        to = self._goes_to(result, end)
        addend = chain.addend(end)
        chain.multiply(plan, turn, (column, key), extent, pack_part, rows, result, to, fresh, addend)
        builder.branch(is_stopped(chain.emission), lambda: leave_worker(chain.emission, 2))
