"""What rules are given: a kernel, what is known about its values, and what it is meant to run on.

Rules ask for the operations they are about (`operations(LOAD_VIEW_TKO, ..)`) instead of walking the program each.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import (
    ALLOCA,
    ASSUME,
    ATOMIC_RED_VIEW_TKO,
    CONTINUE,
    GET_TILE_BLOCK_ID,
    IF,
    LOAD_VIEW_TKO,
    STORE_VIEW_TKO,
    YIELD,
)
from tileir.execute.gpu.gpus import GPUS
from tileir.execute.gpu.targets import ARCHITECTURES, TARGETS, Architecture, target_named
from tileir.forking import cached_property
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import OptionError
from tileir.ir.traits import ATOMIC, ENDS_ITERATION, NO_MEMORY_EFFECT, PURE
from tileir.ir.traversal import memory_changes, pre_order
from tileir.ir.values import OperationResult, Value
from tileir.ir.versions import NEWEST, Version
from tileir.rewrite.facts import Facts
from tileir.rewrite.token_order import TokenOrder

_VIEW_ACCESSES: Final = (LOAD_VIEW_TKO, STORE_VIEW_TKO, ATOMIC_RED_VIEW_TKO)
_COMPUTED: Final = PURE | NO_MEMORY_EFFECT


class Subject:
    """A kernel of a module, or a module: `entry` is None then.

    `targets` are names of GPUs as `tileir cost` takes them (h100) and architectures (sm_90); empty where none is
    stated.  `version` is the oldest version of the dialect that the program has to work with.
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

    @cached_property
    def gpus(self) -> list[Architecture]:
        """The stated targets, or the common GPUs."""
        return list(dict.fromkeys([architecture_named(text) for text in self.targets])) or list(COMMON)

    def affected(self, gpus: list[Architecture]) -> list[Architecture]:
        """Of the GPUs that something holds on, those that advice is given for.

        Without stated targets, these are all common GPUs or none, so that a program that is meant for one of them is
        not blamed for another.
        """
        return gpus if self.targets or len(gpus) == len(COMMON) else []


# --- GPUs ---

COMMON: Final = tuple([ARCHITECTURES[name] for name in ("sm_80", "sm_90", "sm_100", "sm_120")])
"""A100, H100 and H200, B200, RTX 50."""


def architecture_named(text: object) -> Architecture:
    """The architecture of a target: `sm_90`, `90`, or a GPU by name, `h100`."""
    if isinstance(text, str):
        plain = "".join([character for character in text.lower() if character not in " -_"])
        if plain in GPUS:
            return ARCHITECTURES[GPUS[plain].architecture]
    try:
        return ARCHITECTURES[target_named(text)]
    except OptionError:
        shown = f"'{text}'" if isinstance(text, str) else repr(text)
        raise OptionError(
            f"there is no target {shown}: choose one of {', '.join(TARGETS)}, or a GPU of {', '.join(GPUS)}"
        ) from None


def named(architectures: list[Architecture]) -> str:
    """The GPUs in a sentence: "sm_80 and sm_90"."""
    names = [each.name for each in architectures]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- equal values ---


class Numbering:
    """Numbers of values, each found on first use."""

    def __init__(self, facts: Facts) -> None:
        self._facts: Facts = facts
        self._numbers: dict[Value, int] = {}
        self._keys: dict[object, int] = {}

    def number(self, value: Value) -> int:
        found = self._numbers.get(value)
        if found is not None:
            return found
        # With a stack of our own: programs have long chains of operations.
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._numbers:
                stack.pop()
                continue
            operation = _computing(current)
            missing = [] if operation is None else [v for v in operation.operands if v not in self._numbers]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._numbers[current] = self._new(current, operation)
        return self._numbers[value]

    def _new(self, value: Value, operation: Operation | None) -> int:
        if operation is None:
            return self._keyed(value)
        if operation.declaration is ASSUME:
            return self._numbers[operation.operands[0]]
        fact = self._facts.fact(value)
        if fact.value is not None:
            return self._keyed((value.type, fact.value))
        index = value.index if isinstance(value, OperationResult) else 0
        operands = tuple([self._numbers[operand] for operand in operation.operands])
        attributes = tuple(sorted(operation.attributes.items(), key=_name))
        return self._keyed((operation.declaration, index, value.type, operation.segments, attributes, operands))

    def _keyed(self, key: object) -> int:
        return self._keys.setdefault(key, len(self._keys))


def _computing(value: Value) -> Operation | None:
    """The operation that computes a value from its operands alone."""
    operation = value.defining_operation
    if operation is None or operation.regions:
        return None
    declaration = operation.declaration
    return operation if declaration.traits & _COMPUTED or declaration is ASSUME else None


def _name(attribute: tuple[str, object]) -> str:
    return attribute[0]


class Varying:
    """What varies in a kernel.

    `values` may differ between tile blocks (pointers of an `alloca` do); `branching` are the `if`s and loops whose
    regions not all tile blocks run, or not as often.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.values: set[Value] = set()
        self.branching: set[Operation] = set()
        self._chosen: dict[Block, bool] = {}
        self._pending: list[Value] = []
        for operation in operations:
            declaration = operation.declaration
            if declaration in (GET_TILE_BLOCK_ID, ALLOCA) or declaration.traits & ATOMIC:
                self._pending.extend(operation.results)
        while self._pending:
            value = self._pending.pop()
            if value not in self.values:
                self.values.add(value)
                for user in value.users:
                    self._visit(user, value)

    def _visit(self, user: Operation, value: Value) -> None:
        declaration = user.declaration
        if declaration.is_terminator:
            self._pass_on(user)
        elif declaration.is_control_flow:
            if declaration is IF or value in user.operands[:3]:
                self._branch(user)
            else:
                self._vary(user)
        else:
            self._vary(user)

    def _vary(self, operation: Operation) -> None:
        self._pending.extend(operation.results)
        for region in operation.regions:
            for block in region.blocks:
                self._pending.extend(block.arguments)

    def _branch(self, operation: Operation) -> None:
        """Not all tile blocks do what is in an operation: nor what leaves a loop from there."""
        if operation in self.branching:
            return
        self.branching.add(operation)
        self._vary(operation)
        if operation.declaration is not IF:
            return
        for inner in operation.walk():
            if inner.declaration.has_trait(ENDS_ITERATION):
                loop = _receiver(inner)
                if loop is not None and loop.is_ancestor_of(operation):
                    self._branch(loop)

    def _pass_on(self, terminator: Operation) -> None:
        owner = _receiver(terminator)
        if owner is not None:
            self._pending.extend(owner.results)
            if terminator.declaration is CONTINUE:
                self._pending.extend(owner.regions[0].block.arguments)

    def chooses(self, operation: Operation) -> bool:
        """Whether some tile blocks may not get to an operation, or not as often as others."""
        path: list[Block] = []
        block, found = operation.parent, False
        while block is not None:
            known = self._chosen.get(block)
            owner = block.parent_operation
            found = known if known is not None else owner in self.branching
            if known is not None or found:
                break
            path.append(block)
            block = owner.parent if owner is not None else None
        for each in path:
            self._chosen[each] = found
        return found


def _receiver(terminator: Operation) -> Operation | None:
    """The operation that a terminator gives values to: the `if` of a `yield`, the loop of a `break` or `continue`."""
    owner = terminator.parent_operation
    if terminator.declaration is YIELD:
        return owner
    while owner is not None and owner.declaration is IF:
        owner = owner.parent_operation
    return owner
