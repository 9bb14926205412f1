"""The macro-kernel: the register tiles of C, one after the other, each through a whole k-block.

The outer loop goes over the rows of C: the rows of A that a register tile reads stay in the nearest cache while the
packed panels of B pass.

Every floating-point element is a chain of fma for k = 0, 1, 2 and on, started from C: the interpreter's `exact` mode,
whatever the width of the vectors and the shape of the register tile.  Only a plan that is not `exact` may differ.

Where a plan has a guard, a row block with special values takes the k of one operation at a time (`Plan.checked_k`), by
the unit or by the fallback.  So the result does not depend on how many operations are in a k-block.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.matmul.microkernel import AmxKernel, FmaKernel
from tileir.execute.cpu.matmul.plan import Plan, RowBlock, Rows, SpecialValues
from tileir.execute.cpu.vector.builder import Builder, Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type


class Operands(NamedTuple):
    """What a macro-kernel computes: `c_out` = `c_in` + A * B, whose rows may be the same.  Pointers and row strides."""

    a: str
    a_row: Number
    b: str
    c_in: str
    c_in_row: Number
    c_out: str
    c_out_row: Number
    k: Number  # The extent of the k-block; A goes on along its rows, and the packed panels of B are as long.
    rows: Number  # The valid extents of C: register tiles behind them are left out.
    columns: Number
    needs_fallback: str = ""  # An i1, where the plan has a guard: there are special values in B, or in packed A.
    signed_zero: str = ""  # A number to add to every element at the end, if any.


def call_macrokernel(emission: Emission, plan: Plan, operands: Operands) -> None:
    kinds = dict.fromkeys(Operands._fields, "i64") | dict.fromkeys(("a", "b", "c_in", "c_out"), "ptr")
    kinds |= {"needs_fallback": "i1", "signed_zero": scalar_type(plan.acc_dtype)}
    parameters = {f"%{name}": (kinds[name], value) for name, value in operands._asdict().items() if value != ""}

    def write() -> None:
        inside = operands._replace(**{name[1:]: name for name in parameters})
        MacroKernel(emission.builder, plan, inside).emit()

    # All k-blocks but the last write their result where they begin.
    tail = ".tail" if operands.signed_zero else ""
    emission.call_as_written(f"matmul.{plan.name}{tail}", parameters, write, ("%c_in", "%c_out"))


class MacroKernel:
    """Emits the loops.  The code before may end anywhere in a basic block; the code after continues in a new one."""

    def __init__(self, builder: Builder, plan: Plan, operands: Operands) -> None:
        self.builder: Final = builder
        self.plan: Final = plan
        self.operands: Final = operands
        self.is_tiled: Final = plan.kind == "amx"
        self.kernel: Final = (
            AmxKernel(builder, plan) if self.is_tiled else FmaKernel(builder, plan, operands.signed_zero)
        )
        self.layouts: Final = plan.layout(0), plan.layout(1)
        self.panel_bytes: Final[Number] = builder.multiply(operands.k, self.layouts[1].step)

    def emit(self) -> None:
        builder, rows = self.builder, self.operands.rows
        start = 0
        for count, end in self.plan.row_blocks:
            last = self._end(rows, start, end, count)
            blocks = partial(builder.count, start, last, count, partial(self._row_block, count=count))
            if start and rows != self.plan.m:
                builder.branch(builder.emit(f"icmp ugt i64 {rows}, {start}"), blocks)
            else:
                blocks()
            start = end

    def _end(self, valid: Number, start: int, end: int, step: int) -> Number:
        """Where register tiles end that would go on from a start to an end; there is one at least."""
        if end <= start + step or valid == end:
            return end
        return self.builder.smaller(self.builder.larger(valid, start + 1), end)

    def _row_block(self, row: Number, count: int) -> None:
        builder, plan, operands = self.builder, self.plan, self.operands
        if self.is_tiled:
            before = builder.multiply(row, builder.multiply(operands.k, self.layouts[0].step // plan.mr))
            a: RowBlock = builder.moved(operands.a, before), [0]
        else:
            first = builder.opaque_pointer(Rows(operands.a, operands.a_row).from_row(builder, row).pointer)
            a = first, [builder.opaque(builder.multiply(number, operands.a_row)) for number in range(count)]
        c_in = Rows(operands.c_in, operands.c_in_row).from_row(builder, row)
        c_out = Rows(operands.c_out, operands.c_out_row).from_row(builder, row)
        plain = partial(self._columns, a, c_in, c_out, 0, operands.k, False)
        if not plan.guard:
            plain()
            return
        # Packed A has been scanned.
        found = [operands.needs_fallback] + ([] if self.is_tiled else [self._has_special(a, operands.k)])
        is_clean = builder.emit(f"xor i1 {builder.any_of(found)}, true")
        builder.branch(is_clean, plain, lambda: self._checked(a, c_in, c_out), likely=True)

    def _columns(self, a: RowBlock, c_in: Rows, c_out: Rows, first: Number, k: Number, fallback: bool) -> None:
        """A row block with all columns: so many k, from the first; C before and after."""
        builder, plan = self.builder, self.plan
        rows = self._from_k(a, first)

        def columns(column: Number) -> None:
            offset = builder.multiply(column, plan.acc_dtype.itemsize)
            start, end = c_in.moved(builder, offset), c_out.moved(builder, offset)
            self.kernel.block(rows, Rows(self._panel(column, first), self.panel_bytes), start, end, k, fallback)

        last = self._end(self.operands.columns, 0, plan.n, plan.column_block)
        builder.count(0, last, plan.column_block, columns)

    def _from_k(self, a: RowBlock, first: Number) -> RowBlock:
        return self.builder.moved(a[0], self.builder.multiply(first, self.layouts[0].step)), a[1]

    def _panel(self, column: Number, first: Number) -> str:
        """A pointer to the packed panel that begins with a column, from a k on."""
        builder, step = self.builder, self.layouts[1].step
        # A packed panel has k times its columns elements, so the product is the size of all in front of it.
        before = builder.multiply(column, builder.multiply(self.operands.k, step // self.plan.nr))
        return builder.moved(builder.moved(self.operands.b, before), builder.multiply(first, step))

    def _has_special(self, a: RowBlock, k: Number) -> str:
        """An i1: there are special values in so many k of rows of A."""
        builder, special = self.builder, SpecialValues(self.builder, self.plan.guard)
        state, size = special.nothing(), builder.multiply(k, self.layouts[0].step)
        for offset in a[1]:
            state = special.scanned_memory(state, builder.moved(a[0], offset), size)
        return special.is_found(state)

    def _checked(self, a: RowBlock, c_in: Rows, c_out: Rows) -> None:
        """A row block with special values: each operation's part of k by the unit, or without it."""
        builder, plan, length = self.builder, self.plan, self.plan.checked_k
        special = SpecialValues(builder, plan.guard)

        def part(first: Number) -> None:
            start = c_in.where(builder, builder.compared("eq", first, 0), c_out)
            rows = self._from_k(a, first)

            def add(column: Number, states: list[Register]) -> list[Register]:
                return [special.scanned_memory(states[0], self._panel(column, first), length * self.layouts[1].step)]

            (state,) = builder.carry(0, plan.n, plan.nr, [special.nothing()], add)
            found = builder.any_of([self._has_special(rows, length), special.is_found(state)])
            emit = partial(self._columns, a, start, c_out, first, length)
            builder.branch(found, partial(emit, True), partial(emit, False))

        builder.count(0, self.operands.k, length, part)
