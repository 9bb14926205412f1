"""Changes a program and notifies the driver.

Patterns change a program only through a `Rewriter`: operations that were inserted, changed or lost a user are visited
again.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Sequence
from tileir.dialect.ops import CONSTANT
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, InsertionPoint, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import UNKNOWN, Location, joined_location
from tileir.ir.quoting import type_text
from tileir.ir.traversal import pre_order
from tileir.ir.types import Type
from tileir.ir.values import Value

if TYPE_CHECKING:
    from tileir.dialect.builder import Builder


class Worklist:
    """Operations to visit, without duplicates; the one added last comes first."""

    def __init__(self) -> None:
        # A dictionary, because its keys are unique and in order.
        self._waiting: dict[Operation, None] = {}

    def fill(self, operations: list[Operation]) -> None:
        """Replace the contents; the first operation is visited first."""
        self._waiting = dict.fromkeys(reversed(operations))

    def push(self, operation: Operation) -> None:
        self._waiting[operation] = None

    def remove(self, operation: Operation) -> None:
        self._waiting.pop(operation, None)

    def pop(self) -> Operation | None:
        return self._waiting.popitem()[0] if self._waiting else None


class Rewriter:
    """Inserts at an insertion point, replaces, erases.

    The driver sets the insertion point in front of the operation that a pattern is tried on.  New operations have the
    location of that operation unless another one is given.  With `keep_locations`, an operation that replaces another
    one gets its location too.
    """

    __slots__ = ("_before", "_block", "_worklist", "changed", "failed_at", "keep_locations", "location", "reason")

    def __init__(self, worklist: Worklist | None = None, keep_locations: bool = False) -> None:
        self.keep_locations: bool = keep_locations
        self._worklist: Worklist = worklist if worklist is not None else Worklist()
        self.location: Location = UNKNOWN
        self.changed: bool = False
        """Whether anything was changed since the driver reset it."""
        self.reason: str = ""
        """Why the last pattern did not match, if it called `no_match`."""
        self.failed_at: Location = UNKNOWN
        self._block: Block | None = None
        self._before: Operation | None = None

    def no_match(self, operation: Operation, reason: str) -> bool:
        """Return False, and record why a pattern does not match: `return rewriter.no_match(operation, "..")`.

        `operation` is the one that breaks the condition; `tileir opt --trace-patterns` shows the reason there.
        """
        self.reason = reason
        self.failed_at = operation.location
        return False

    def insert_before(self, operation: Operation) -> None:
        """Insert in front of an operation from now on."""
        self._block = operation.parent
        self._before = operation

    def insert_after(self, operation: Operation) -> None:
        self._block = operation.parent
        self._before = operation.next

    def insert_at_start(self, block: Block) -> None:
        self._block = block
        self._before = block.first

    def insert_at_end(self, block: Block) -> None:
        """Insert at the end of a block, after its terminator if it has one."""
        self._block = block
        self._before = None

    def insert(self, operation: Operation) -> Operation:
        """Insert an operation that is in no block; its contents are visited too."""
        block = self._block
        if block is None:
            raise ValueError("the rewriter has no insertion point")
        block.insert_before(operation, self._before)
        for inner in operation.walk():
            self.modify(inner)
        return operation

    def create(
        self,
        declaration: OperationDeclaration,
        operands: list[Value],
        result_types: list[Type],
        attributes: dict[str, Attribute] = NO_ATTRIBUTES,
        regions: list[Region] = NO_REGIONS,
        location: Location | None = None,
        segments: tuple[int, ...] | None = None,
    ) -> Operation:
        """Build and insert an operation; declarations are in `tileir.declarations`, as ADDI."""
        if location is None:
            location = self.location
        return self.insert(Operation(declaration, operands, result_types, attributes, regions, location, segments))

    def constant(self, value: DenseAttribute, location: Location | None = None) -> Value:
        """Insert a `constant`; the driver moves it to the start of the kernel and merges equal ones."""
        return self.create(CONSTANT, [], [value.type], {"value": value}, location=location).results[0]

    def builder(self) -> Builder:
        """Return a builder at the insertion point: it infers types and verifies; rules are tried on what it builds.

            build = rewriter.builder()
            rewriter.replace(operation, [build.shli(operation.operands[0], 1)])

        Its operations have the location of the rewriter.
        """
        # Imported here because tileir's own patterns know their types and do not need it.
        from tileir.dialect.builder import Builder

        if self._block is None:
            raise ValueError("the rewriter has no insertion point")
        found = Builder(block=self._block, before=self._before)
        found.point = _NotifyingPoint(self, self._block, self._before)
        return found

    def modify(self, operation: Operation) -> None:
        """Record that an operation was changed in place: it is visited again; for a terminator, its parent too."""
        self.changed = True
        worklist = self._worklist
        if operation.declaration.is_terminator:
            parent = operation.parent_operation
            if parent is not None:
                worklist.push(parent)
        worklist.push(operation)

    def set_operand(self, operation: Operation, index: int, value: Value) -> None:
        old = operation.operands[index]
        if old is not value:
            operation.set_operand(index, value)
            self.modify(operation)
            self.touch(old)

    def set_operands(
        self, operation: Operation, operands: list[Value], segments: tuple[int, ...] | None = None
    ) -> None:
        before = operation.operands
        operation.set_operands(operands, segments)
        self.modify(operation)
        for value in before:
            self.touch(value)

    def replace_uses(self, value: Value, other: Value) -> None:
        """Replace all uses of a value by another one."""
        if value is other or not value.has_uses:
            return
        users = value.users
        if self.keep_locations:
            self.inherit(other.defining_operation, value.defining_operation)
        value.replace_all_uses_with(other)
        for user in users:
            self.modify(user)
        self.touch(value)

    def replace(self, operation: Operation, values: Sequence[Value]) -> None:
        """Replace all uses of the results by `values`, then erase the operation."""
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"an operation is replaced by a list of values, not by {type_text(values)}")
        if len(values) != len(operation.results):
            raise ValueError(
                f"'{operation.name}' has {len(operation.results)} results, but {len(values)} values replace them"
            )
        for result, value in zip(operation.results, values, strict=True):
            self.replace_uses(result, value)
        self.erase(operation)

    def inherit(self, heir: Operation | None, operation: Operation | None) -> None:
        """Record that `heir` replaces `operation`: with `keep_locations` it gets that location too."""
        if self.keep_locations and heir is not None and operation is not None:
            heir.location = joined_location(heir.location, operation.location)

    def revisit(self, operation: Operation) -> None:
        """Visit an operation again, although it did not change itself."""
        self._worklist.push(operation)

    def touch(self, value: Value) -> None:
        """Visit the defining operation of a value that has lost a user."""
        definition = value.defining_operation
        if definition is not None and definition.parent is not None and value.has_one_user_at_most:
            self._worklist.push(definition)

    def erase(self, operation: Operation) -> None:
        """Erase an operation and its contents; its results must be unused."""
        if not operation.is_unused:
            raise ValueError(f"cannot erase '{operation.name}': a result is still used")
        self.changed = True
        worklist = self._worklist
        parent = operation.parent_operation
        if parent is not None:
            worklist.push(parent)
        following = operation.next
        if following is not None and following.regions:
            # It has a new predecessor, which only patterns for operations with regions inspect.
            worklist.push(following)
        operation.detach()
        self._drop(operation)

    def erase_from(self, operation: Operation) -> None:
        """Erase an operation and all that follow it in its block; they must be unreachable and unused elsewhere."""
        block = operation.parent
        if block is None:
            return
        self.changed = True
        parent = block.parent_operation
        if parent is not None:
            self._worklist.push(parent)
        cursor = block.last
        while cursor is not None:
            previous = cursor.previous
            cursor.detach()
            self._drop(cursor)
            if cursor is operation:
                return
            cursor = previous

    def _drop(self, root: Operation) -> None:
        """Remove a detached operation and its contents from use lists and the worklist."""
        dropped = pre_order(root)
        values = [value for operation in dropped for value in operation.operands]
        root.drop_all_references()
        for value in values:
            self.touch(value)
        for operation in dropped:
            self._worklist.remove(operation)

    def splice_before(self, block: Block, before: Operation) -> None:
        """Move all operations of a block without arguments in front of an operation; the block is left empty."""
        self.changed = True
        _relink(block, _block_of(before), before)

    def splice_at_end(self, block: Block, target: Block) -> None:
        """Move all operations of a block without arguments to the end of another one."""
        self.changed = True
        _relink(block, target, None)

    def move_before(self, operation: Operation, before: Operation) -> None:
        """Move one operation in front of another one, of any block."""
        operation.detach()
        _block_of(before).insert_before(operation, before)
        self.modify(operation)


class _NotifyingPoint(InsertionPoint):
    """An insertion point of a builder that notifies the rewriter."""

    def __init__(self, rewriter: Rewriter, block: Block, before: Operation | None) -> None:
        super().__init__(block, before)
        self._rewriter: Rewriter = rewriter

    def insert(self, operation: Operation) -> Operation:
        super().insert(operation)
        if operation.location is UNKNOWN:
            operation.location = self._rewriter.location
        self._rewriter.modify(operation)
        return operation


def _block_of(operation: Operation) -> Block:
    if operation.parent is None:
        raise ValueError("the operation is in no block")
    return operation.parent


def _relink(source: Block, target: Block, before: Operation | None) -> None:
    for operation in source.operations:
        operation.detach()
        target.insert_before(operation, before)
