"""The order in which tile blocks are handed out.

Tile blocks go to threads in the order of the grid, its first dimension fastest, unless groups of them are computed as
one (`matmul.groups`).  A kernel that orders memory between tile blocks, prints or asserts always has this
order: one that waits for an earlier tile block must find it started.
"""

from __future__ import annotations

from tileir.dialect.ops import ASSUME, GET_TILE_BLOCK_ID
from tileir.execute.analysis.values import ordering_of
from tileir.execute.cpu.loops.statements import Group, Matmul, Program, statements
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC, BLOCK_ORDER
from tileir.ir.values import Value

PLAIN: tuple[int, int, int] = (0, 1, 2)


def order_of(program: Program) -> tuple[int, int, int]:
    """The dimensions of the grid, the fastest first."""
    group = together(program)
    if group is None:
        return PLAIN
    (last,) = set(PLAIN) - set(group.axes)
    return *group.axes, last


def together(program: Program) -> Group | None:
    """The tile blocks that are handed out one after the other since their products may be computed as one."""
    groups = [each.group for each in statements(program.body) if isinstance(each, Matmul) and each.group is not None]
    return groups[0] if len(groups) == 1 and may_change_order(program.entry) else None


def may_change_order(entry: Operation) -> bool:
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration.has_trait(BLOCK_ORDER | ATOMIC):
            return False
        if declaration.accesses_memory and ordering_of(operation) != "weak":
            return False
    return True


def block_axis(value: Value) -> int:
    """The dimension of the grid that a number is the tile block's place in; -1 where it is another."""
    operation = value.defining_operation
    while operation is not None and operation.declaration is ASSUME:
        value = operation.operands[0]
        operation = value.defining_operation
    if operation is None or operation.declaration is not GET_TILE_BLOCK_ID:
        return -1
    return [result is value for result in operation.results].index(True)
