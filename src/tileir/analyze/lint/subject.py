"""What rules are given: a kernel, what is known about its values, and what it is meant to run on.

Rules ask for the operations they are about (`operations(LOAD_VIEW_TKO, ..)`) instead of walking the program each.
"""

from __future__ import annotations

from tileir.dialect.ops import FOR, LOOP
from tileir.ir.core import Operation
from tileir.ir.declaration import NEWEST, OperationDeclaration, Version
from tileir.ir.traversal import pre_order
from tileir.rewrite.facts import Facts


class Subject:
    """A kernel of a module, or a module: `entry` is None then.

    `targets` are names of GPUs as `tileir cost` takes them (h100) and architectures (sm_90); empty where none was asked
    about.  `version` is the oldest version of the dialect that the program has to work with.
    """

    __slots__ = ("_by_declaration", "all_operations", "entry", "facts", "module", "targets", "version")

    def __init__(
        self,
        module: Operation,
        entry: Operation | None,
        facts: Facts,
        targets: tuple[str, ...] = (),
        version: Version = NEWEST,
    ) -> None:
        self.module: Operation = module
        self.entry: Operation | None = entry
        self.facts: Facts = facts
        self.targets: tuple[str, ...] = targets
        self.version: Version = version
        self.all_operations: list[Operation] = pre_order(entry if entry is not None else module)
        """In program order, each before what it contains; the kernel itself is the first."""
        self._by_declaration: dict[OperationDeclaration, list[Operation]] | None = None

    def operations(self, *declarations: OperationDeclaration) -> list[Operation]:
        """The operations of these declarations: in program order for each, one declaration after the other."""
        found = self._by_declaration
        if found is None:
            found = self._by_declaration = {}
            for operation in self.all_operations:
                found.setdefault(operation.declaration, []).append(operation)
        if len(declarations) == 1:
            return found.get(declarations[0], [])
        return [operation for declaration in declarations for operation in found.get(declaration, ())]

    def accesses(self) -> list[Operation]:
        """The operations that read or write memory, in program order."""
        return [operation for operation in self.all_operations if operation.declaration.accesses_memory]

    def loop_of(self, operation: Operation) -> Operation | None:
        """The innermost loop that an operation is in."""
        cursor = operation.parent_operation
        while cursor is not None and cursor.declaration not in (FOR, LOOP):
            cursor = cursor.parent_operation
        return cursor
