"""What rules are given: a kernel, what is known about its values, and what it is meant to run on.

Rules ask for the operations they are about (`operations(LOAD_VIEW_TKO, ..)`) instead of walking the program each.
"""

from __future__ import annotations

from tileir.analyze.lint.value_facts import Numbering, Varying
from tileir.annotations import Final
from tileir.dialect.ops import ATOMIC_RED_VIEW_TKO, LOAD_VIEW_TKO, STORE_VIEW_TKO
from tileir.forking import cached_property
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traversal import memory_changes, pre_order
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.rewrite.facts import Facts
from tileir.rewrite.token_order import TokenOrder

_VIEW_ACCESSES: Final = (LOAD_VIEW_TKO, STORE_VIEW_TKO, ATOMIC_RED_VIEW_TKO)


class Subject:
    """A kernel of a module, or a module: `entry` is None then.

    `targets` are names of GPUs as `tileir cost` takes them (h100) and architectures (sm_90); empty where none was asked
    about.  `version` is the oldest version of the dialect that the program has to work with.
    """

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
        self._nesting: dict[Block, tuple[Operation | None, int]] = {}

    @cached_property
    def numbering(self) -> Numbering:
        """Which values are the same."""
        return Numbering(self.facts)

    @cached_property
    def ordering(self) -> TokenOrder:
        """Which memory operations come after which."""
        return TokenOrder(self.all_operations[0])

    @cached_property
    def varying(self) -> Varying:
        """What may be different in another tile block."""
        return Varying(self.all_operations)

    @cached_property
    def changing(self) -> set[Operation]:
        """The operations that may change memory, or have such operations inside."""
        return memory_changes(self.all_operations[0])

    @cached_property
    def _by_declaration(self) -> dict[OperationDeclaration, list[Operation]]:
        found: dict[OperationDeclaration, list[Operation]] = {}
        for operation in self.all_operations:
            found.setdefault(operation.declaration, []).append(operation)
        return found

    def operations(self, *declarations: OperationDeclaration) -> list[Operation]:
        """The operations of these declarations: in program order for each, one declaration after the other."""
        return [each for declaration in declarations for each in self._by_declaration.get(declaration, ())]

    def places(self, access: Operation) -> list[Value]:
        """The values that say where in memory an access goes: pointers, or a view and its indices."""
        declaration = access.declaration
        leading = declaration.reads if declaration.reads is not None else declaration.writes
        values = access.operand_group(leading) if leading is not None else []
        return [*values, *access.index] if declaration in _VIEW_ACCESSES else values

    def place(self, access: Operation) -> tuple[int, ...]:
        """Where in memory an access goes: accesses of equal places touch the same elements, if their masks let them."""
        return tuple([self.numbering.number(value) for value in self.places(access)])

    def mask(self, access: Operation) -> Value | None:
        """The mask of an access; None where all elements are touched."""
        return access.mask if access.declaration not in _VIEW_ACCESSES else None

    def accesses(self) -> list[Operation]:
        """The operations that read or write memory, in program order."""
        return [operation for operation in self.all_operations if operation.declaration.accesses_memory]

    def loop_of(self, operation: Operation) -> Operation | None:
        """The innermost loop that an operation is in."""
        return self._nest_of(operation.parent)[0]

    def depth(self, block: Block | None) -> int:
        """How many regions a block is in."""
        return self._nest_of(block)[1]

    def is_inside(self, value: Value, loop: Operation) -> bool:
        """Whether a value is made within a loop, anew in each round."""
        block, outside = value.parent_block, self.depth(loop.parent)
        while block is not None and self.depth(block) > outside:
            owner = block.parent_operation
            if owner is loop:
                return True
            block = owner.parent if owner is not None else None
        return False

    def _nest_of(self, block: Block | None) -> tuple[Operation | None, int]:
        """The innermost loop around a block, and how deep it is."""
        path: list[Block] = []
        found: tuple[Operation | None, int] = (None, 0)
        while block is not None:
            known = self._nesting.get(block)
            if known is not None:
                found = known
                break
            path.append(block)
            owner = block.parent_operation
            block = owner.parent if owner is not None else None
        for each in reversed(path):
            owner = each.parent_operation
            loop = owner if owner is not None and owner.declaration.is_loop else found[0]
            found = self._nesting[each] = (loop, found[1] + 1)
        return found
