"""The macro-kernel: the register tiles of C, one after the other, each through a whole k-block.

The loops go over the rows of C and then its columns, in register tiles of the plan.  Rows are outside: the rows of A
that a register tile reads stay in the nearest cache while the panels of B pass.

Every floating-point element is a chain of fma for k = 0, 1, 2 and on, started from C: the interpreter's `exact` mode,
whatever the width of the vectors and the shape of the register tile.  Only a plan that is not `exact` may differ.
Integers wrap, so the order of their sums does not matter.

Where a plan has a guard, a row block with special values takes the k of one operation at a time (`Plan.checked_k`):
each such part is multiplied by the unit, or by the fallback where it has special values.  The result does not depend on
how many operations are in a k-block.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.matmul.amx import AmxKernel
from tileir.execute.cpu.matmul.fma import FmaKernel
from tileir.execute.cpu.matmul.functions import call_function
from tileir.execute.cpu.matmul.plan import Plan, Rows
from tileir.execute.cpu.matmul.special_values import SpecialValueScan
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type


class Operands(NamedTuple):
    """What a macro-kernel computes: `c_out` = `c_in` + A * B, whose rows may be the same."""

    a: Rows
    """Rows, or for a plan that packs them a pointer to all of them."""
    b: str
    """Packed panels."""
    c_in: Rows
    c_out: Rows
    k: Number
    """The extent of the k-block; A goes on along its rows, and the panels of B are as long."""
    rows: Number
    """The valid extents of C: register tiles behind them are left out."""
    columns: Number
    needs_fallback: str = "false"
    """An i1: there are special values in B, or in packed A."""
    signed_zero: str = ""
    """A number to add to every element at the end, if any."""


def call_macrokernel(emission: Emission, plan: Plan, operands: Operands) -> None:
    """Call the macro-kernel of a plan."""
    parameters = {
        "%a": ("ptr", operands.a[0]),
        "%a.row": ("i64", operands.a[1]),
        "%b": ("ptr", operands.b),
        "%c.in": ("ptr", operands.c_in[0]),
        "%c.in.row": ("i64", operands.c_in[1]),
        "%c.out": ("ptr", operands.c_out[0]),
        "%c.out.row": ("i64", operands.c_out[1]),
        "%k": ("i64", operands.k),
        "%rows": ("i64", operands.rows),
        "%columns": ("i64", operands.columns),
    }
    name = f"matmul.{plan.name}"
    if plan.guard:
        parameters["%special"] = "i1", operands.needs_fallback
    if operands.signed_zero:
        parameters["%zero"] = scalar_type(plan.acc_dtype), operands.signed_zero
        name = f"{name}.tail"

    def write() -> None:
        found = Operands(
            ("%a", "%a.row"), "%b", ("%c.in", "%c.in.row"), ("%c.out", "%c.out.row"), "%k", "%rows", "%columns",
            "%special" if plan.guard else "false", "%zero" if operands.signed_zero else "",
        )  # fmt: skip
        MacroKernel(emission.builder, plan, found).emit()

    # All k-blocks but the last write their result where they begin.
    call_function(emission, name, parameters, write, ("%c.in", "%c.out"))


class MacroKernel:
    """Emits the loops.  The code before may end anywhere in a basic block; the code after continues in a new one."""

    def __init__(self, builder: Builder, plan: Plan, operands: Operands) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.operands: Final = operands
        self.kernel: Final = (
            AmxKernel(builder, plan) if plan.kind == "amx" else FmaKernel(builder, plan, operands.signed_zero)
        )
        self.panel_bytes: Final[Number] = builder.multiply(operands.k, plan.b_step)

    def emit(self) -> None:
        builder = self.builder
        start = 0
        for count, end in self.plan.row_blocks:
            last = self._end(self.operands.rows, start, end, count)
            blocks = partial(builder.count, start, last, count, partial(self._row_block, count=count))
            if start and self.operands.rows != self.plan.m:
                builder.branch(builder.emit(f"icmp ugt i64 {self.operands.rows}, {start}"), blocks)
            else:
                blocks()
            start = end

    def _end(self, valid: Number, start: int, end: int, step: int) -> Number:
        """Where register tiles end that would go on from a start to an end; there is one at least."""
        if end <= start + step or valid == end:
            return end
        least = self.builder.call("i64", "llvm.umax.i64", [f"i64 {valid}", f"i64 {start + 1}"])
        return self.builder.call("i64", "llvm.umin.i64", [f"i64 {least}", f"i64 {end}"])

    def _row_block(self, row: Number, count: int) -> None:
        builder, plan, operands = self.builder, self.plan, self.operands
        a, stride = operands.a
        offsets: list[Number] = []
        if plan.packs_a:
            a = builder.moved(a, builder.multiply(row, builder.multiply(operands.k, plan.a_step // plan.mr)))
        else:
            a = builder.moved(a, builder.multiply(row, stride))
            if plan.kind != "amx":
                a = builder.opaque_pointer(a)
                offsets = [builder.opaque(builder.multiply(number, stride)) for number in range(count)]
        rows = (a, stride), offsets
        c_in, c_out = (
            (builder.moved(c[0], builder.multiply(row, c[1])), c[1]) for c in (operands.c_in, operands.c_out)
        )

        def plain() -> None:
            self._columns(rows, c_in, c_out, 0, operands.k, False)

        if not plan.guard:
            plain()
            return
        found = [operands.needs_fallback]
        if not plan.packs_a:
            found.append(self._has_special(rows, operands.k))
        is_clean = builder.emit(f"xor i1 {builder.any_of(found)}, true")
        builder.branch(is_clean, plain, lambda: self._checked(rows, c_in, c_out), likely=True)

    def _columns(
        self, a: tuple[Rows, list[Number]], c_in: Rows, c_out: Rows, first: Number, length: Number, fallback: bool
    ) -> None:
        """A row block with all columns: so many k, from the first."""
        builder, plan = self.builder, self.plan
        size = plan.acc_dtype.itemsize
        step = plan.a_step if plan.packs_a else plan.a_dtype.itemsize
        rows = builder.moved(a[0][0], builder.multiply(first, step)), a[0][1]

        def columns(column: Number) -> None:
            start, end = (builder.moved(c[0], builder.multiply(column, size)) for c in (c_in, c_out))
            panel = self._panel(column, first), self.panel_bytes
            self.kernel.block(rows, a[1], panel, (start, c_in[1]), (end, c_out[1]), length, fallback)

        last = self._end(self.operands.columns, 0, plan.n, plan.column_block)
        builder.count(0, last, plan.column_block, columns)

    def _panel(self, column: Number, first: Number) -> str:
        """The panel that begins with a column, at a k."""
        builder, plan = self.builder, self.plan
        # A panel has k times its columns elements, so the product is the size of all in front of it.
        before = builder.multiply(column, builder.multiply(self.operands.k, plan.b_step // plan.nr))
        return builder.moved(builder.moved(self.operands.b, before), builder.multiply(first, plan.b_step))

    # --- special values ---

    def _has_special(self, a: tuple[Rows, list[Number]], length: Number) -> str:
        """An i1: there are special values in so many k of a row block of A."""
        if isinstance(self.kernel, FmaKernel):
            return self.kernel.scan_a(*a, length)
        size = self.builder.multiply(length, self.plan.a_step)
        return SpecialValueScan(self.plan.guard).memory(self.builder, a[0][0], size)

    def _checked(self, a: tuple[Rows, list[Number]], c_in: Rows, c_out: Rows) -> None:
        """A row block with special values: each operation's part of k by the unit, or without it."""
        builder, plan = self.builder, self.plan
        scan, length = SpecialValueScan(plan.guard), plan.checked_k
        step = plan.a_step if plan.packs_a else plan.a_dtype.itemsize

        def part(first: Number) -> None:
            start = c_in
            if first != 0:
                is_first = builder.emit(f"icmp eq i64 {first}, 0")
                pointer = builder.emit(f"select i1 {is_first}, ptr {c_in[0]}, ptr {c_out[0]}")
                start = pointer, builder.emit(f"select i1 {is_first}, i64 {c_in[1]}, i64 {c_out[1]}")
            rows = (builder.moved(a[0][0], builder.multiply(first, step)), a[0][1]), a[1]

            def add(column: Number, states: list[Register]) -> list[Register]:
                return scan.add_memory(builder, self._panel(column, first), length * plan.b_step, states)

            states = builder.carry(0, plan.n, plan.nr, [scan.start(32)], add)
            found = builder.any_of([self._has_special(rows, length), scan.result(builder, states)])
            emit = partial(self._columns, a, start, c_out, first, length)
            builder.branch(found, partial(emit, True), partial(emit, False))

        builder.count(0, self.operands.k, length, part)
