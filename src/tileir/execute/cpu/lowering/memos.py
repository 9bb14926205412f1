"""What operands that are remembered from tile block to tile block depend on (`loops.statements.Memo`)."""

from __future__ import annotations

import numpy

from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.loops.expressions import Applied, Count, Expression, Mapped, Splat, Table, Viewed, nodes
from tileir.execute.cpu.loops.statements import Memo
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.dtypes import DType
from tileir.ir.values import Value


def memo_keys(lowering: Lowering, roots: list[Expression]) -> list[Value]:
    """The numbers that operands depend on, besides memory that stays as it is; none where they depend on more."""
    keys: dict[Value, None] = {}
    for node in nodes(roots):
        if isinstance(node, Viewed):
            view = node.operation.view
            if node.positions is not None or not lowering.origins.is_launch_constant(view):
                return []
            if not lowering.is_never_written(lowering.origins.of(view)):
                return []
            for index in node.operation.index:
                keys[index] = None
        elif isinstance(node, Splat):
            keys[node.scalar] = None
        elif isinstance(node, Mapped):
            for _, scalar in node.mapping:
                if scalar is not None:
                    keys[scalar] = None
        elif not isinstance(node, (Applied, Table, Count)):
            return []
    return list(keys) if all(dtype_of(key).kind in "iub" for key in keys) else []


def remembered(lowering: Lowering, keys: list[Value], slots: int, dtype: DType, elements: int, words: int = 1) -> Memo:
    """Memory for so many operands of a size, and for the indices they are made for with so many words more."""
    panels = lowering.new_buffer(dtype, slots * elements)
    # And the launch, and what packing it gave.
    tags = lowering.new_buffer(numpy.dtype(numpy.int64), slots * (len(keys) + words + 2))
    panels.persistent = tags.persistent = True
    return Memo(keys, slots, panels, tags)
