"""The order in which tile blocks are handed out.

Tile blocks that follow each other on a thread should share packed operands (`emission.products`): the grid is gone
through fastest along a dimension that no remembered operand depends on.  A kernel that orders memory between tile
blocks, prints or asserts keeps the plain order: one that waits for an earlier tile block must find it started.
"""

from __future__ import annotations

from tileir.dialect.ops import ASSUME, ENTRY, FOR, GET_TILE_BLOCK_ID
from tileir.execute.analysis.values import ordering_of
from tileir.execute.cpu.loops.statements import Chain, Group, Memo, Multiply, Program, statements
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC, BLOCK_ORDER
from tileir.ir.values import BlockArgument, Value

PLAIN: tuple[int, int, int] = (0, 1, 2)


def order_of(program: Program) -> tuple[int, int, int]:
    """The dimensions of the grid, the fastest first."""
    memos = _memos(program)
    if not memos or not may_change_order(program.entry):
        return PLAIN
    axes = block_axes([key for memo in memos for key in memo.keys])
    if 0 not in axes:
        return PLAIN
    fastest = next((axis for axis in (1, 2) if axis not in axes), 0)
    first, second = (axis for axis in PLAIN if axis != fastest)
    return fastest, first, second


def shared_axis(program: Program) -> int:
    """The dimension along which tile blocks share remembered operands; -1 where none are remembered."""
    memos = _memos(program)
    fastest = order_of(program)[0]
    axes = block_axes([key for memo in memos for key in memo.keys])
    return fastest if memos and fastest not in axes else -1


def together(program: Program) -> Group | None:
    """The tile blocks that are handed out one after the other since their products may be computed as one."""
    groups = [each.group for each in statements(program.body) if isinstance(each, Chain) and each.group is not None]
    if len(groups) != 1 or not may_change_order(program.entry):
        return None
    return groups[0] if order_of(program)[:2] == groups[0].axes else None


def _memos(program: Program) -> list[Memo]:
    memos: list[Memo] = []
    for statement in statements(program.body):
        memo = statement.memo if isinstance(statement, (Chain, Multiply)) else None
        if memo is not None:
            memos.append(memo)
    return memos


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


def block_axes(values: list[Value]) -> set[int]:
    """The dimensions of the grid that some values depend on."""
    found: set[int] = set()
    seen: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        operation = value.defining_operation
        if operation is None:
            assert isinstance(value, BlockArgument)
            parent = value.block.parent_operation
            if parent is None or parent.declaration is ENTRY:
                continue
            if parent.declaration is not FOR or value.index != 0:
                # Carried by a loop: whatever the loop does.
                return {0, 1, 2}
            work.extend(parent.operands[:3])
        elif operation.declaration is GET_TILE_BLOCK_ID:
            found.add([result is value for result in operation.results].index(True))
        elif operation.regions:
            return {0, 1, 2}
        else:
            work.extend(operation.operands)
    return found
