"""Matrix products C += A * B of tiles, emitted as LLVM IR.

`plan` and `plan_scaled` choose how a product is computed and in what form it wants its operands; `emit_mma` writes it:
with blocks of C in vector registers (`blocks`), or on the matrix tiles of AMX (`amx`).

Every floating-point element is a chain of fma for k = 0, 1, 2 and on, started from C: the interpreter's `exact` mode,
whatever the width of the vectors and the shape of the blocks.  Only a `fast` plan may differ.  Integers wrap, so the
order of their sums does not matter.
"""

from __future__ import annotations

from tileir.execute.cpu.matrix.amx import configure, emit_amx, release
from tileir.execute.cpu.matrix.blocks import Blocks
from tileir.execute.cpu.matrix.plan import MmaPlan, plan, plan_scaled
from tileir.execute.cpu.vector.builder import Builder, Number

__all__ = ["MmaPlan", "configure", "emit_mma", "plan", "plan_scaled", "release"]


def emit_mma(
    builder: Builder,
    plan: MmaPlan,
    a_pointer: str,
    a_row_stride: Number,
    b_pointer: str,
    c_pointer: str,
    c_row_stride_bytes: int,
    *,
    a_suffix: str = "",
    b_suffix: str = "",
    c_suffix: str = "",
    extent: Number = 0,
    stage: str = "",
) -> None:
    """Emit C += A * B.  The code before may end anywhere in a basic block; the code after continues in a new one.

    `a_row_stride` is in bytes.  The suffixes (alias metadata, with its comma) end the loads and
    stores of an operand.  `extent` is how far k goes where that is the plan's k more than once:
    A goes on along its rows, and the panels of B are as much longer.  `stage` is memory for the
    plan's `stage_elements`.
    """
    extent = extent or plan.k
    if plan.kind == "amx":
        emit_amx(builder, plan, a_pointer, a_row_stride, b_pointer, c_pointer, c_row_stride_bytes, extent, stage)
        return
    blocks = Blocks(builder, plan, (a_suffix, b_suffix, c_suffix))
    blocks.emit(a_pointer, a_row_stride, b_pointer, c_pointer, c_row_stride_bytes, extent)
