"""Passes that remove operations: in chunks, with the functions they are in, and one by one.

A removed value is replaced by an operand of its operation, an earlier value of its type, or a constant.  Where there is
no replacement, an optional operand is dropped, and any other user is removed too: so a view or a pointer takes its
accesses with it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import partial

from tileir.analyze.reducing.program import Edit, Program
from tileir.dialect.literals import dense_of
from tileir.dialect.ops import CONSTANT, GET_GLOBAL, MAKE_TOKEN
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.attributes import Attribute, SymbolAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ONE
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import BuildError
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE, SYMBOL, TERMINATOR
from tileir.ir.traversal import is_function
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.rewrite.cleanup import DeadCode, is_removable


def removable_positions(program: Program, symbols: bool = False) -> list[int]:
    """Operations that may be removed by themselves, by position; or `symbols`: functions, globals, inner modules."""
    return [
        position
        for position, operation in enumerate(program.operations)
        if position
        and bool(operation.declaration.traits & SYMBOL or is_function(operation)) is symbols
        and not operation.declaration.traits & TERMINATOR
    ]


def _chunks(positions: list[int], size: int) -> Iterator[list[int]]:
    """Chunks of a size, from the end: users come after what they use."""
    for end in range(len(positions), 0, -size):
        yield positions[max(0, end - size) : end]


def chunk_removals(program: Program, size: int) -> Iterator[Edit]:
    """Chunks of operations, with what only they need; then without, since that may be what is interesting."""
    for cascade in (True, False):
        for chunk in _chunks(removable_positions(program), size):
            yield partial(_remove_at, positions=chunk, cascade=cascade)


def symbol_removals(program: Program, size: int) -> Iterator[Edit]:
    """Chunks of functions and globals, with the operations that refer to the globals."""
    users: dict[str, list[int]] = {}
    for position, operation in enumerate(program.operations):
        name = operation.attributes.get("name") if operation.declaration is GET_GLOBAL else None
        if isinstance(name, SymbolAttribute):
            users.setdefault(name.path[-1], []).append(position)
    for chunk in _chunks(removable_positions(program, symbols=True), size):
        names = [program.operations[position].symbol_name or "" for position in chunk]
        yield partial(_remove_at, positions=[*[user for name in names for user in users.get(name, [])], *chunk])


def _remove_at(program: Program, positions: list[int], cascade: bool = True) -> bool:
    return remove([program.operations[position] for position in positions], cascade)


def dead_code_removal(program: Program) -> bool:
    """The edit that removes all that is unused."""
    before = len(program.operations)
    remove_unused(list(program.operations))
    return sum(1 for _ in program.module.walk()) < before


def remove(operations: Iterable[Operation], cascade: bool = True) -> bool:
    """Remove operations, with `cascade` also what becomes unused; False if what must stay needs one of them."""
    removed: dict[Operation, None] = dict.fromkeys(operations)
    replacements = Replacements(removed)
    waiting = [operation for operation in removed if not _is_inside(operation.parent_operation, removed)]
    roots: list[Operation] = []
    while waiting:
        operation = waiting.pop()
        roots.append(operation)
        for result in operation.results:
            if result.has_uses and not _detach_users(result, replacements, removed, waiting):
                return False
    feeders = [each for operation in roots for each in _definitions(operation)] if cascade else []
    for operation in roots:
        operation.drop_all_references()
    if not all(operation.is_unused for operation in roots):
        return False
    for operation in roots:
        operation.detach()
    remove_unused([feeder for feeder in dict.fromkeys(feeders) if feeder not in removed])
    return True


def _definitions(operation: Operation) -> list[Operation]:
    operands = [value.defining_operation for inner in operation.walk() for value in inner.operands]
    return [definition for definition in operands if definition is not None]


def _is_inside(operation: Operation | None, removed: dict[Operation, None]) -> bool:
    while operation is not None and operation not in removed:
        operation = operation.parent_operation
    return operation is not None


def _detach_users(
    value: Value, replacements: Replacements, removed: dict[Operation, None], waiting: list[Operation]
) -> bool:
    """Give the users of a removed value another one, or remove them too."""
    users = [user for user in value.users if not _is_inside(user, removed)]
    other = replacements.value_for(value) if users else None
    for user in users:
        for index in reversed(range(len(user.operands))):
            if user.operands[index] is not value:
                continue
            if other is not None:
                user.set_operand(index, other)
            elif not drop_operand(user, index):
                if user.declaration.traits & TERMINATOR:
                    return False
                removed[user] = None
                waiting.append(user)
                break
    return True


def remove_unused(operations: list[Operation]) -> None:
    """Remove those of some operations that are unused, then what only they needed; the last first."""
    while operations:
        operation = operations.pop()
        if operation.parent is not None and _is_droppable(operation):
            operations.extend(_definitions(operation))
            operation.erase()


def _is_droppable(operation: Operation) -> bool:
    """Whether removing an operation has no effect; loads are not kept for their own sake."""
    declaration = operation.declaration
    if not operation.is_unused or declaration.traits & (TERMINATOR | SYMBOL):
        return False
    if declaration.traits & (PURE | NO_MEMORY_EFFECT):
        return True
    if is_removable(declaration):
        return DeadCode().is_dead(operation)
    return declaration.reads is not None and declaration.writes is None


def drop_operand(user: Operation, index: int) -> bool:
    """Drop an operand where the declaration lets it be absent."""
    declaration = user.declaration
    if declaration.unregistered or not declaration.operands:
        return False
    group = [number for number, length in enumerate(user.segment_lengths()) for _ in range(length)][index]
    if declaration.operands[group].count == ONE:
        return False
    segments = user.segments
    if segments is not None:
        segments = (*segments[:group], segments[group] - 1, *segments[group + 1 :])
    user.set_operands([*user.operands[:index], *user.operands[index + 1 :]], segments)
    return True


class Replacements:
    """Finds values for the removed ones, outside of them; constants are inserted at the start of the function."""

    def __init__(self, removed: dict[Operation, None]) -> None:
        self._removed: dict[Operation, None] = removed
        self._constants: dict[tuple[Block, Type], Value | None] = {}
        self._early: dict[Block, dict[Type, list[Value]]] = {}
        self._found: dict[Value, Value | None] = {}

    def value_for(self, old: Value) -> Value | None:
        """A value that is visible wherever the old one is: an operand, an earlier one, a constant; or None."""
        # An operand may be removed too, and so on: a chain of any length.
        chain: list[Value] = []
        found: Value | None = old
        while found is not None and _is_inside(owner_of(found), self._removed):
            if found in self._found:
                found = self._found[found]
                break
            chain.append(found)
            operands = found.operation.operands if isinstance(found, OperationResult) else ()
            found = next((value for value in operands if value.type is chain[-1].type), None)
        if found is None and chain:
            found = self._earlier(chain[-1])
        self._found.update(dict.fromkeys(chain, found))
        return found

    def _earlier(self, old: Value) -> Value | None:
        """The first value of the type in the body of the function if it is there before the old one; or a constant."""
        around = outermost(owner_of(old))
        if around is None or around.parent is None:
            return None
        body = around.parent
        if body not in self._early:
            self._early[body] = early_values(body, 1, self._removed)
        for found in self._early[body].get(old.type, []):
            if found.defining_operation is None or found.defining_operation.is_before(around):
                return found
        key = (body, old.type)
        if key not in self._constants:
            self._constants[key] = insert_constant(body, old.type, 0)
        return self._constants[key]


def owner_of(value: Value) -> Operation | None:
    """The operation whose result or block argument a value is."""
    return value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation


def outermost(operation: Operation | None) -> Operation | None:
    """The operation in the body of a function that is or contains an operation."""
    while operation is not None:
        around = operation.parent_operation
        if around is not None and is_function(around):
            return operation
        operation = around
    return None


def early_values(body: Block, most: int, removed: Container[Operation] = ()) -> dict[Type, list[Value]]:
    """The arguments of the body of a function and the first results in it, by their types."""
    found: dict[Type, list[Value]] = {}
    for value in (*body.arguments, *[result for each in body if each not in removed for result in each.results]):
        values = found.setdefault(value.type, [])
        if len(values) < most or value.defining_operation is None:
            values.append(value)
    return found


def insert_constant(body: Block, type: Type, number: int) -> Value | None:
    """A constant tile or a token at the start of a block; None for other types."""
    value = splat(type, number) if isinstance(type, TileType) else None
    if value is None and type is not TOKEN:
        return None
    attributes: dict[str, Attribute] = {} if value is None else {"value": value}
    operation = Operation(MAKE_TOKEN if value is None else CONSTANT, [], [type], attributes)
    body.insert_before(operation, body.first)
    return operation.results[0]


def splat(type: TileType, number: int) -> DenseAttribute | None:
    """A tile of one small number; None where the element type does not have it."""
    try:
        return dense_of(number, type)
    except BuildError:
        return None
