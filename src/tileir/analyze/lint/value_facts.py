"""What rules know of values beside `rewrite/facts.py`: which are written twice, and which differ between tile blocks.

Two values have one number if they are computed by the same operation of the same values: `%i * %four` here and
`%i * %four` there.  What facts know to be one integer is that integer, and an `assume` is what it is about.  Values of
different numbers may still be equal.

Values vary that come from the number of the tile block, and from atomics, which give each tile block what the ones
before it left.  So does what such a value chooses: the results of an `if`, the iterations of a loop.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ALLOCA, ASSUME, CONTINUE, GET_TILE_BLOCK_ID, IF, YIELD
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ATOMIC, ENDS_ITERATION, NO_MEMORY_EFFECT, PURE
from tileir.ir.values import OperationResult, Value
from tileir.rewrite.facts import Facts

_COMPUTED: Final = PURE | NO_MEMORY_EFFECT


class Numbering:
    """Numbers of values, found when they are asked for."""

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
