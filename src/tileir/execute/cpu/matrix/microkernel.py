"""Matrix products C += A * B of tiles, emitted as LLVM IR.

`plan` and `plan_scaled` choose how a product is computed and in what form it wants its operands; `emit_mma` writes it:
with blocks of C in vector registers (`blocks`; `dots` for pairs of bf16), or on the matrix tiles of AMX (`amx`).

Every floating-point element is a chain of fma for k = 0, 1, 2 and on, started from C: the interpreter's `exact` mode,
whatever the width of the vectors and the shape of the blocks.  Only a plan that is not `exact` may differ.  Integers
wrap, so the order of their sums does not matter.
"""

from __future__ import annotations

from tileir.execute.cpu.matrix.amx import bring_rows, configure, emit_amx, release
from tileir.execute.cpu.matrix.blocks import Blocks, Start
from tileir.execute.cpu.matrix.dots import emit_dots
from tileir.execute.cpu.matrix.plan import MmaPlan, Rows, plan, plan_scaled
from tileir.execute.cpu.vector.builder import Builder, Number

__all__ = ["MmaPlan", "bring_rows", "configure", "emit_mma", "plan", "plan_scaled", "release"]


def emit_mma(
    builder: Builder,
    plan: MmaPlan,
    a: Rows,
    b: str,
    c: Rows,
    *,
    suffix: str = "",
    extent: Number = 0,
    stage: str = "",
    staged: bool = False,
    odd: str = "false",
    fresh: str = "false",
    shared: bool = False,
    start: Start | None = None,
) -> None:
    """Emit C += A * B.  The code before may end anywhere in a basic block; the code after continues in a new one.

    The suffix (alias metadata, with its comma) ends the loads and stores of B and C, which are scratch memory.
    `extent` is how far k goes where that is the plan's k more than once: A goes on along its rows, and the panels of B
    are as much longer.  `stage` is memory for the plan's `stage_elements`, or if it is `staged`
    what `bring_rows` has left in it.  `odd` is an i1: the packed operand holds
    something that the plan's `guard` is about.  So is `fresh`, of AMX alone: C counts as zero.  `start` gives what the
    product is added to where C does not hold it; for plans of vectors that are not shared.  What is `shared` with
    other places of the program becomes a function, which takes no longer to compile the more of them there are.
    """
    extent = extent or plan.k
    if plan.kind == "amx":
        emit_amx(builder, plan, a, b, c, extent, (stage, staged), odd, fresh)
    elif plan.kind == "dots":
        emit_dots(builder, plan, a, b, c, extent, odd)
    elif shared:
        _call(builder, plan, a, b, c, suffix, extent)
    else:
        Blocks(builder, plan, suffix, start).emit(a, b, c, extent)


def _call(builder: Builder, plan: MmaPlan, a: Rows, b: str, c: Rows, suffix: str, extent: Number) -> None:
    """Call the function of a plan, which the module gets on the first one."""
    module = builder.module
    dtypes = f"{plan.lhs_dtype.name}.{plan.accumulator_dtype.name}"
    symbol = f"multiply.{plan.kind}.{plan.m}x{plan.n}x{plan.k}.{dtypes}.{c[1]}"
    if symbol not in module.symbols:
        module.symbols.add(symbol)
        stride = c[1] if isinstance(c[1], int) else "%c.stride"
        with builder.into([]) as lines:
            Blocks(builder, plan, suffix).emit(("%a", "%a.stride"), "%b", ("%c", stride), "%extent")
            builder.do("ret void")
        parameters = "ptr noundef %a, i64 %a.stride, ptr noundef %b, ptr noundef %c, i64 %c.stride, i64 %extent"
        module.define(f"define internal void @{symbol}({parameters}) noinline nounwind", lines)
    arguments = f"ptr {a[0]}, i64 {a[1]}, ptr {b}, ptr {c[0]}, i64 {c[1]}, i64 {extent}"
    builder.do(f"call void @{symbol}({arguments})")
