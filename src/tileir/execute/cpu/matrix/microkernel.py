"""Matrix products C += A * B of tiles, emitted as LLVM IR.

`plan` and `plan_scaled` choose how a product is computed and in what form it wants its operands; `emit_mma` writes it:
with blocks of C in vector registers (`blocks`; `dots` for pairs of bf16), or on the matrix tiles of AMX (`amx`).

Every floating-point element is a chain of fma for k = 0, 1, 2 and on, started from C: the interpreter's `exact` mode,
whatever the width of the vectors and the shape of the blocks.  Only a plan that is not `exact` may differ.  Integers
wrap, so the order of their sums does not matter.
"""

from __future__ import annotations

from tileir.execute.cpu.matrix.amx import bring_rows, configure, emit_amx, release
from tileir.execute.cpu.matrix.blocks import Blocks
from tileir.execute.cpu.matrix.dots import emit_dots
from tileir.execute.cpu.matrix.edges import Known, Reach
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
    source: Rows | None = None,
    result: Rows | None = None,
    addend: str = "",
    reach: Reach | None = None,
    known: Known | None = None,
) -> None:
    """Emit C += A * B.  The code before may end anywhere in a basic block; the code after continues in a new one.

    The suffix (alias metadata, with its comma) ends the loads and stores of B and C, which are scratch memory.
    `extent` is how far k goes where that is the plan's k more than once: A goes on along its rows, and the panels of B
    are as much longer.  `stage` is memory for the plan's `stage_elements`, or if it is `staged` what `bring_rows` has
    left in it.  `odd` is an i1: the packed operand holds something that the plan's `guard` is about.  So is `fresh`, of
    AMX alone: C counts as zero.  `source` is what the product is added to where C does not hold it, `result` where the
    sum goes if not to C; `addend` is a number that is added to every sum at the end; all for plans of vectors.
    `reach` is how much of C is wanted, if not all of it: blocks behind that are left out
    (dots compute all).  `known` says what there is of A, for AMX with a stage alone.
    """
    extent = extent or plan.k
    if plan.kind == "amx":
        emit_amx(builder, plan, a, b, c, extent, (stage, staged), odd, fresh, reach, known)
    elif plan.kind == "dots":
        emit_dots(builder, plan, a, b, c, extent, odd)
    else:
        Blocks(builder, plan, suffix, source, result, addend, reach).emit(a, b, c, extent)
