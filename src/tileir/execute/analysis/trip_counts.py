"""What decides how often the loops of a kernel run.

A launch that was short the last time is short again if its loops run as often: if their bounds come from the grid and
from arguments that are the same.  Bounds that come from memory may be others each time, and a `loop` ends when its
body says so.
"""

from __future__ import annotations

from tileir.dialect.ops import FOR, LOOP
from tileir.ir.core import Operation
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.values import BlockArgument, Value


def deciding_parameters(entry: Operation) -> list[int] | None:
    """The numbers of the parameters that decide, beside the grid, how often loops run; None if memory may."""
    found: set[int] = set()
    seen: set[Value] = set()
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is LOOP:
            return None
        if declaration is not FOR:
            continue
        pending: list[Value] = list(operation.operands[:3])
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if isinstance(value, BlockArgument):
                owner = value.block.parent_operation
                if owner is entry:
                    found.add(value.index)
                elif owner is None or owner.declaration is not FOR or value.index:
                    # What a loop carries; but its own number is one that its bounds decide, which are checked too.
                    return None
                continue
            maker = value.defining_operation
            if maker is None or maker.regions or not is_memory_effect_free(maker):
                return None
            pending.extend(maker.operands)
    return sorted(found)
