"""Operations removed in chunks, with what else goes with them.

A value that is gone is replaced (`replacing.py`).  Where nothing can stand for it, an optional operand is dropped, and
any other user goes too: so a view or a pointer takes its accesses with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.replacing import EARLIER, MINUS_ONES, ONES, OPERANDS, ZERO, Stand, drop_operand
from tileir.dialect.ops import CONSTANT, GET_GLOBAL
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE, SYMBOL, TERMINATOR
from tileir.ir.traversal import is_function
from tileir.ir.values import Value
from tileir.rewrite.cleanup import DeadCode, is_removable

Edit = Callable[[Program], bool]


def removable_positions(program: Program) -> list[int]:
    """Operations that may be removed by themselves, by position: neither terminators nor functions and globals."""
    return [
        position
        for position, operation in enumerate(program.operations)
        if position and not operation.declaration.traits & (TERMINATOR | SYMBOL) and not is_function(operation)
    ]


def symbol_positions(program: Program) -> list[int]:
    """Functions, globals and modules inside the module, by position."""
    return [
        position
        for position, operation in enumerate(program.operations)
        if position and (operation.declaration.traits & SYMBOL or is_function(operation))
    ]


def chunk_removals(positions: list[int], size: int) -> list[Edit]:
    """The chunks of a size, from the end: users come after what they use."""
    edits: list[Edit] = []
    for end in range(len(positions), 0, -size):
        edits.append(removal(positions[max(0, end - size) : end]))
    return edits


def symbol_removals(program: Program, size: int) -> list[Edit]:
    """Chunks of functions and globals, with all that mentions the globals."""
    mentions: dict[str, list[int]] = {}
    for position, operation in enumerate(program.operations):
        name = operation.attributes.get("name") if operation.declaration is GET_GLOBAL else None
        if isinstance(name, SymbolAttribute):
            mentions.setdefault(name.path[-1], []).append(position)
    positions = symbol_positions(program)
    edits: list[Edit] = []
    for end in range(len(positions), 0, -size):
        chunk = positions[max(0, end - size) : end]
        users = [
            user for position in chunk for user in mentions.get(program.operations[position].symbol_name or "", [])
        ]
        edits.append(removal([*users, *chunk]))
    return edits


def kept_removals(positions: list[int], size: int) -> list[Edit]:
    """As `chunk_removals`, but what nobody uses any more stays: it may be what is interesting."""
    edits: list[Edit] = []
    for end in range(len(positions), 0, -size):
        edits.append(removal(positions[max(0, end - size) : end], cascade=False))
    return edits


def single_removals(program: Program) -> list[Edit]:
    """Every operation by itself, its results replaced by each thing that may stand for them."""
    edits: list[Edit] = []
    for position in reversed(removable_positions(program)):
        operation = program.operations[position]
        alike = len({id(v) for v in operation.operands for r in operation.results if v.type is r.type})
        for turn in range(max(1, min(alike, 3))):
            edits.append(removal([position], OPERANDS, turn))
        if not operation.is_unused:
            edits.append(removal([position], EARLIER))
            if operation.declaration is not CONSTANT:
                edits.append(removal([position], ZERO))
                edits += [removal([position], ONES), removal([position], MINUS_ONES)]
        edits.append(removal([position], OPERANDS, cascade=False))
    return edits


def removal(positions: list[int], choice: str = OPERANDS, turn: int = 0, cascade: bool = True) -> Edit:
    """The edit that removes the operations at some positions."""
    return lambda program: remove([program.operations[position] for position in positions], choice, turn, cascade)


def remove_dead_code(program: Program) -> bool:
    """The edit that removes all that is not used."""
    return _sweep(program.operations) > 0


def remove(operations: Iterable[Operation], choice: str = OPERANDS, turn: int = 0, cascade: bool = True) -> bool:
    """Remove operations; False if something that must stay uses them and nothing can stand for them."""
    # In order, as all that follows from it.
    doomed: dict[Operation, None] = dict.fromkeys(operations)
    stand = Stand(doomed, choice, turn)
    waiting = _roots(doomed)
    roots: list[Operation] = []
    while waiting:
        operation = waiting.pop()
        roots.append(operation)
        for result in operation.results:
            if result.has_uses and not _detach_users(result, stand, doomed, waiting):
                return False
    # Those that were doomed on the way may have been inside others.
    feeders: dict[Operation, None] = {}
    for operation in roots:
        if cascade:
            for inner in operation.walk():
                for value in inner.operands:
                    if value.defining_operation is not None:
                        feeders[value.defining_operation] = None
    for operation in roots:
        operation.drop_all_references()
    for operation in roots:
        if operation.is_unused:
            operation.detach()
        else:
            return False
    if cascade:
        remove_unused([feeder for feeder in feeders if feeder not in doomed])
    return True


def _roots(doomed: dict[Operation, None]) -> list[Operation]:
    """Those that are not inside another one."""
    found: list[Operation] = []
    for operation in doomed:
        cursor = operation.parent_operation
        while cursor is not None and cursor not in doomed:
            cursor = cursor.parent_operation
        if cursor is None:
            found.append(operation)
    return found


def _detach_users(value: Value, stand: Stand, doomed: dict[Operation, None], waiting: list[Operation]) -> bool:
    """Give the users of a value that goes another one, or let them go too."""
    users = [user for user in value.users if not _inside(user, doomed)]
    if not users:
        return True
    other = stand.value_for(value)
    for user in users:
        for index in reversed(range(len(user.operands))):
            if user.operands[index] is not value:
                continue
            if other is not None:
                user.set_operand(index, other)
            elif not drop_operand(user, index):
                if user.declaration.traits & TERMINATOR:
                    return False
                doomed[user] = None
                waiting.append(user)
                break
    return True


def _inside(operation: Operation, doomed: dict[Operation, None]) -> bool:
    cursor: Operation | None = operation
    while cursor is not None:
        if cursor in doomed:
            return True
        cursor = cursor.parent_operation
    return False


def remove_unused(feeders: list[Operation]) -> None:
    """Remove what only the removed operations needed, and what only that needed."""
    dead = DeadCode()
    while feeders:
        operation = feeders.pop()
        if operation.parent is None or not _is_droppable(operation, dead):
            continue
        definitions = [value.defining_operation for inner in operation.walk() for value in inner.operands]
        operation.erase()
        dead = DeadCode()
        feeders.extend([definition for definition in definitions if definition is not None])


def _is_droppable(operation: Operation, dead: DeadCode) -> bool:
    """Whether nobody notices that an operation is gone; loads are not kept for their own sake."""
    declaration = operation.declaration
    if not operation.is_unused or declaration.traits & (TERMINATOR | SYMBOL):
        return False
    if declaration.traits & (PURE | NO_MEMORY_EFFECT):
        return True
    if is_removable(declaration):
        return dead.is_dead(operation)
    return declaration.reads is not None and declaration.writes is None


def _sweep(operations: list[Operation]) -> int:
    dead = DeadCode()
    count = 0
    for operation in reversed(operations):
        if operation.parent is not None and _is_droppable(operation, dead):
            operation.erase()
            dead = DeadCode()
            count += 1
    return count
