"""What rules are given: a kernel, what is known about its values, and what it is meant to run on."""

from __future__ import annotations

from dataclasses import dataclass

from tileir.annotations import Final
from tileir.dialect import ops
from tileir.execute.analysis.token_order import TokenOrder
from tileir.execute.gpu.gpus import target_named
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.forking import cached_property
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ATOMIC, ENDS_ITERATION, NO_MEMORY_EFFECT, PURE
from tileir.ir.traversal import memory_changes, pre_order
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import received_values, receiver

_VIEW_ACCESSES: Final = (ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO, ops.ATOMIC_RED_VIEW_TKO)
_COMPUTED: Final = PURE | NO_MEMORY_EFFECT


@dataclass(eq=False)
class Subject:
    """A kernel of a module, or a module: `entry` is None then.

    `targets` are names of GPUs as `tileir cost` takes them (h100) and architectures (sm_90); empty where none is
    stated.  `version` is the oldest version of the dialect that the program has to work with.
    """

    module: Operation
    entry: Operation | None
    facts: Facts
    targets: tuple[str, ...] = ()
    version: Version = NEWEST

    @cached_property
    def all_operations(self) -> list[Operation]:
        """In program order, each before what it contains; the kernel itself is the first."""
        return pre_order(self.entry if self.entry is not None else self.module)

    @cached_property
    def _same(self) -> dict[Value, Value]:
        """By computed value: the first one that is always equal to it."""
        firsts: dict[object, Value] = {}
        found: dict[Value, Value] = {}
        for operation in self.all_operations:
            if operation.declaration is ops.ASSUME:
                found[operation.results[0]] = found.get(operation.operands[0], operation.operands[0])
            elif operation.declaration.traits & _COMPUTED and not operation.regions:
                operands = tuple([found.get(operand, operand) for operand in operation.operands])
                attributes = frozenset(operation.attributes.items())
                computed = (operation.declaration, operation.segments, attributes, operands)
                for result in operation.results:
                    constant = self.facts.fact(result).value if width_of(result.type) else None
                    key = (result.index, computed) if constant is None else constant
                    found[result] = firsts.setdefault((result.type, key), result)
        return found

    def same(self, value: Value) -> Value:
        """One value for all that are equal in every execution."""
        return self._same.get(value, value)

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
        """The values that determine the address of an access: pointers, or a view and its indices."""
        leading = access.declaration.reads or access.declaration.writes
        values = access.operand_group(leading) if leading is not None else []
        return [*values, *access.index] if access.declaration in _VIEW_ACCESSES else values

    def place(self, access: Operation) -> tuple[Value, ...]:
        """Where in memory an access goes: accesses of equal places touch the same elements, if their masks let them."""
        return tuple([self.same(value) for value in self.places(access)])

    def mask(self, access: Operation) -> Value | None:
        """The mask of an access; None where all elements are touched."""
        return access.mask if access.declaration not in _VIEW_ACCESSES else None

    def accesses(self) -> list[Operation]:
        """The operations that read or write memory, in program order."""
        return [operation for operation in self.all_operations if operation.declaration.accesses_memory]

    @cached_property
    def _nesting(self) -> dict[Block | None, tuple[Operation | None, int]]:
        """By block, the innermost loop around it and how many regions it is in."""
        found: dict[Block | None, tuple[Operation | None, int]] = {}
        for operation in self.all_operations:
            loop, depth = found.get(operation.parent, (None, 0))
            inner = (operation if operation.declaration.is_loop else loop, depth + 1)
            found.update([(block, inner) for region in operation.regions for block in region.blocks])
        return found

    def loop_of(self, operation: Operation) -> Operation | None:
        return self._nesting.get(operation.parent, (None, 0))[0]

    def depth(self, block: Block | None) -> int:
        """How many regions a block is in."""
        return self._nesting.get(block, (None, 0))[1]

    def is_inside(self, value: Value, loop: Operation) -> bool:
        """Whether a value that something in a loop uses is defined in the loop, and so in each iteration."""
        return self.depth(value.parent_block) > self.depth(loop.parent)

    @cached_property
    def gpus(self) -> list[Architecture]:
        """The stated targets, or the common GPUs."""
        return list(dict.fromkeys([architecture_named(text) for text in self.targets])) or list(COMMON)

    def affected(self, gpus: list[Architecture]) -> list[Architecture]:
        """The GPUs to name in advice, from the GPUs to which it applies.

        Without stated targets, these are all common GPUs or none: a program for one gets no advice about others.
        """
        return gpus if self.targets or len(gpus) == len(COMMON) else []


COMMON: Final = tuple([ARCHITECTURES[name] for name in ("sm_80", "sm_90", "sm_100", "sm_120")])
"""A100, H100 and H200, B200, RTX 50."""


def architecture_named(text: object) -> Architecture:
    """The architecture of a target: `sm_90`, `90`, or a GPU by name, `h100`."""
    return ARCHITECTURES[target_named(text)]


def named(architectures: list[Architecture]) -> str:
    """The GPUs in a sentence: "sm_80 and sm_90"."""
    return " and ".join(", ".join([each.name for each in architectures]).rsplit(", ", 1))


def range_text(low: int, high: int) -> str:
    """The numbers from one to another: "7", "from 0 to 7"."""
    return str(low) if low == high else f"from {low} to {high}"


class Varying:
    """What varies in a kernel.

    `values` may differ between tile blocks (pointers of an `alloca` do); `branching` are the `if`s and loops whose
    regions not all tile blocks run, or not as often.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.values: set[Value] = set()
        self.branching: set[Operation] = set()
        self._pending: list[Value] = []
        for operation in operations:
            declaration = operation.declaration
            if declaration in (ops.GET_TILE_BLOCK_ID, ops.ALLOCA) or declaration.traits & ATOMIC:
                self._pending.extend(operation.results)
        while self._pending:
            value = self._pending.pop()
            for user in value.users if value not in self.values else ():
                if user.declaration.is_terminator:
                    self._pending.extend(received_values(user))
                elif user.declaration is ops.IF or (user.declaration.is_control_flow and value in user.operands[:3]):
                    self._branch(user)
                else:
                    self._vary(user)
            self.values.add(value)
        self._chosen: set[Block | None] = set()
        for operation in operations:
            if operation in self.branching or operation.parent in self._chosen:
                self._chosen.update([block for region in operation.regions for block in region.blocks])

    def _vary(self, operation: Operation) -> None:
        self._pending.extend(operation.results)
        for block in [block for region in operation.regions for block in region.blocks]:
            self._pending.extend(block.arguments)

    def _branch(self, operation: Operation) -> None:
        """Not all tile blocks do what is in an operation: nor what leaves a loop from there."""
        if operation in self.branching:
            return
        self.branching.add(operation)
        self._vary(operation)
        if operation.declaration is not ops.IF:
            return
        for inner in operation.walk():
            loop = receiver(inner) if inner.declaration.has_trait(ENDS_ITERATION) else None
            if loop is not None and loop.is_ancestor_of(operation):
                self._branch(loop)

    def chooses(self, operation: Operation) -> bool:
        """Whether some tile blocks may not get to an operation, or not as often as others."""
        return operation.parent in self._chosen
