"""Which tile block it is."""

from __future__ import annotations

from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue


def block_number(lowering: Lowering) -> TtirValue:
    """The number of the tile block among all of the grid, x the fastest, as i64."""
    build = lowering.build
    x, y, z = [
        build.convert("arith.extui", build.emit(f"tt.get_program_id {axis} : i32", "i32"), "i64") for axis in "xyz"
    ]
    columns, rows = [
        build.convert("arith.extui", build.emit(f"tt.get_num_programs {axis} : i32", "i32"), "i64") for axis in "xy"
    ]
    row = build.binary("arith.addi", build.binary("arith.muli", z, rows), y)
    return build.binary("arith.addi", build.binary("arith.muli", row, columns), x)
