"""What is known about the values of a program: constants, ranges, divisibility, uniformity.

    facts = Facts()
    facts.range(value)                # (-128, 127): the least and the greatest an element can be
    facts.divisor(value)              # 16: a power of two that divides every element (or address)
    facts.constant(value)             # 7 or 1.5, or None
    facts.is_uniform(value)           # whether all elements are the same

The sources are constants, `assume`, the bounds of loops, block ids and the types of views; rules carry facts through
arithmetic and shapes (`fact_rules.py`).  A fact is computed when it is asked for and kept.  Whoever changes the program
calls `forget` for a value that is made differently now, or `invalidate`.

The model of control flow:

1. A result of `if` is one of the values its branches yield.
2. The induction variable of a `for` starts at the lower bound, stays below the upper one and moves by the step.
3. A carried value is the initial one, or one that a `continue` passes on.  What is known of the initial value is
   supposed of the carried one, and the facts about what is passed on are computed under that supposition; if they do
   not confirm it, it is weakened until they do.  Bounds that move go all the way at once, so this ends after a few
   rounds.  Suppositions nest with loops, up to a limit: beyond it nothing is known of a carried value.
4. A result of `for` is like its carried value; a result of `loop` is one of the values its `break`s give.
5. Of arguments of kernels and of reductions, and of what is loaded, nothing is known.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ASSUME, BREAK, BROADCAST, CONTINUE, FOR, IF, LOOP, PERMUTE, RESHAPE, YIELD
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.floats import FORMATS, to_double
from tileir.ir.types import FloatType
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.rewrite.fact import Fact, anything, full, joined, narrowed, shape_of, widened, width_of
from tileir.rewrite.fact_rules import fact_of_result

# Loops nested deeper than this are not reasoned about under suppositions about the ones around them.
_DEEPEST_SUPPOSITION: Final = 3
_MOST_ROUNDS: Final = 8


class Facts:
    """Facts about values, computed on demand and kept."""

    __slots__ = ("_inside", "_known", "_level", "_loop", "_outer")

    def __init__(self) -> None:
        self._known: dict[Value, Fact] = {}
        # Set for the facts supposed inside a loop only: whose facts hold outside, and for which loop.
        self._outer: Facts | None = None
        self._loop: Operation | None = None
        self._level: int = 0
        self._inside: dict[Block, bool] = {}

    # --- questions ---

    def fact(self, value: Value) -> Fact:
        """All that is known about a value."""
        found = self._lookup(value)
        return found if found is not None else self._evaluate(value)

    def constant(self, value: Value) -> int | float | None:
        """Return the number that every element is, if there is one; an integer is signed, of i1 it is 0 or 1."""
        found = self.integer(value)
        return _float_constant(value) if found is None else found

    def integer(self, value: Value) -> int | None:
        """Return the integer that every element is (signed; of i1 0 or 1), if there is one."""
        fact = self.fact(value)
        if fact.value is None:
            return None
        return fact.value if fact.width == 1 else fact.signed_low

    def range(self, value: Value, signed: bool = True) -> tuple[int, int]:
        """The least and the greatest an element can be; only for integers and pointers.

        Read as signed, a single bit is 0 or -1.
        """
        fact = self.fact(value)
        if fact.width == 0:
            raise ValueError(f"'{value.type.text}' has no range")
        return fact.range(signed)

    def divisor(self, value: Value) -> int:
        """The greatest power of two known to divide every element; for zeros, 2 to the number of bits."""
        return 1 << self.fact(value).zeros

    def groups(self, value: Value) -> tuple[int, ...]:
        """An extent per dimension: aligned blocks of this shape are known to hold one value each."""
        return self.fact(value).groups

    def is_uniform(self, value: Value) -> bool:
        """Whether all elements are known to be the same; a scalar always is."""
        return self.fact(value).groups == shape_of(value.type)

    # --- changes ---

    def invalidate(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._inside.clear()

    def forget(self, value: Value) -> None:
        """Forget what is known about a value, and about all that was computed from it."""
        pending: list[Value] = [value]
        seen: set[Value] = set()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            self._known.pop(current, None)
            for user in current.users:
                pending.extend(user.results)
                if user.declaration in (FOR, LOOP):
                    pending.extend(user.regions[0].block.arguments)
                elif user.declaration.is_terminator:
                    pending.extend(_receivers(user))

    # --- answers ---

    def _lookup(self, value: Value) -> Fact | None:
        outer = self._outer
        if outer is not None and not self._is_inside(value):
            return outer.fact(value)
        return self._known.get(value)

    def _is_inside(self, value: Value) -> bool:
        block = value.parent_block
        loop = self._loop
        if block is None or loop is None:
            return False
        found = self._inside.get(block)
        if found is None:
            owner = block.parent_operation
            found = self._inside[block] = owner is not None and loop.is_ancestor_of(owner)
        return found

    def _evaluate(self, value: Value) -> Fact:
        """Compute a fact after those it needs, with a stack of our own: programs have long chains of operations."""
        known = self._known
        stack: list[Value] = [value]
        waiting: set[Value] = set()
        while stack:
            current = stack[-1]
            if current in known:
                stack.pop()
                continue
            needed = _sources(current)
            if current not in waiting:
                waiting.add(current)
                missing = [source for source in needed if self._lookup(source) is None]
                if missing:
                    stack.extend(reversed(missing))
                    continue
            stack.pop()
            # Only a program that uses a value in its own definition leaves something missing here.
            facts = [self._lookup(source) or anything(source.type) for source in needed]
            if current not in known:
                self._record(current, facts)
        return known[value]

    def _record(self, value: Value, facts: list[Fact]) -> None:
        """Note the fact about a value, given those about its sources."""
        known = self._known
        if isinstance(value, OperationResult):
            operation = value.operation
            if operation.declaration is FOR:
                known[value] = facts[0]
            elif operation.regions:
                known[value] = _any_of(value, facts)
            else:
                known[value] = fact_of_result(operation, value.index, facts)
        elif isinstance(value, BlockArgument):
            owner = value.block.parent_operation
            if owner is not None and owner.declaration is FOR and value.index == 0:
                known[value] = _induction_fact(owner, facts)
            elif owner is not None and owner.declaration in (FOR, LOOP):
                self._record_carried(owner, facts)
            else:
                known[value] = anything(value.type)
        else:
            known[value] = anything(value.type)

    def _record_carried(self, loop: Operation, initial: list[Fact]) -> None:
        """Rule 3, for all carried values of a loop at once."""
        arguments = _carried(loop)
        supposed = initial
        passed_on = [terminator.operands for terminator in _ends(loop, CONTINUE)]
        for _ in range(_MOST_ROUNDS if self._level < _DEEPEST_SUPPOSITION else 0):
            inner = Facts()
            inner._outer = self
            inner._loop = loop
            inner._level = self._level + 1
            for argument, fact in zip(arguments, supposed, strict=True):
                inner._known[argument] = fact
            found: list[Fact] = []
            for position, fact in enumerate(supposed):
                for operands in passed_on:
                    fact = joined(fact, inner.fact(operands[position]))
                found.append(fact)
            if all(new.same_as(old) for old, new in zip(supposed, found, strict=True)):
                break
            supposed = [widened(old, new) for old, new in zip(supposed, found, strict=True)]
        else:
            supposed = [anything(argument.type) for argument in arguments]
        for argument, fact in zip(arguments, supposed, strict=True):
            self._known[argument] = fact


# --- where facts come from ---


def _carried(loop: Operation) -> list[BlockArgument]:
    arguments = loop.regions[0].block.arguments
    return arguments[1:] if loop.declaration is FOR else arguments


def _sources(value: Value) -> list[Value]:
    """The values whose facts a value's own fact needs."""
    if isinstance(value, OperationResult):
        operation = value.operation
        declaration = operation.declaration
        if declaration is FOR:
            return [_carried(operation)[value.index]]
        if declaration is LOOP:
            return [terminator.operands[value.index] for terminator in _ends(operation, BREAK)]
        if declaration is IF:
            return [terminator.operands[value.index] for terminator in _yields(operation)]
        return [] if operation.regions else operation.operands
    if isinstance(value, BlockArgument):
        owner = value.block.parent_operation
        if owner is not None and owner.declaration is FOR:
            return owner.operands[:3] if value.index == 0 else owner.operands[3:]
        if owner is not None and owner.declaration is LOOP:
            return owner.operands
    return []


def _yields(branching: Operation) -> list[Operation]:
    """The `yield`s of an `if`; a branch that leaves for good gives nothing."""
    found: list[Operation] = []
    for region in branching.regions:
        for block in region.blocks:
            if block.last is not None and block.last.declaration is YIELD:
                found.append(block.last)
    return found


def _ends(loop: Operation, terminator: OperationDeclaration) -> list[Operation]:
    """The `continue`s or `break`s that belong to a loop: those directly in its body or in `if`s there."""
    found: list[Operation] = []
    pending: list[Block] = [loop.regions[0].block]
    while pending:
        for operation in pending.pop():
            if operation.declaration is terminator:
                found.append(operation)
            elif operation.declaration is IF:
                for region in operation.regions:
                    pending.extend(region.blocks)
    return found


def _receivers(terminator: Operation) -> list[Value]:
    """The values that a terminator's operands may become."""
    owner = terminator.parent_operation
    if owner is not None and terminator.declaration is not YIELD:
        while owner is not None and owner.declaration is IF:
            owner = owner.parent_operation
    if owner is None:
        return []
    found: list[Value] = list(owner.results)
    if owner.declaration in (FOR, LOOP):
        found.extend(_carried(owner))
    return found


def _any_of(value: Value, facts: list[Fact]) -> Fact:
    if not facts:
        return anything(value.type)
    fact = facts[0]
    for other in facts[1:]:
        fact = joined(fact, other)
    return fact


def _induction_fact(loop: Operation, facts: list[Fact]) -> Fact:
    """Rule 2."""
    lower, upper, step = facts
    width = width_of(loop.operands[0].type)
    signed = not loop.unsigned_cmp
    low = lower.range(signed)[0]
    high = upper.range(signed)[1] - 1
    if high < low:
        return full(width, ())  # The body is never reached.
    first, distance = lower.value, step.value
    if first is not None and distance is not None and distance > 0:
        start = lower.signed_low if signed else first
        high = start + (high - start) // distance * distance
    zeros = min(lower.zeros, step.zeros)
    if signed:
        return narrowed(width, (), signed=(low, high), zeros=zeros)
    return narrowed(width, (), unsigned=(low, high), zeros=zeros)


def _float_constant(value: Value) -> float | None:
    """Return the float that every element of a constant is, also where the constant is reshaped or broadcast."""
    definition = value.defining_operation
    while definition is not None and definition.declaration in (RESHAPE, BROADCAST, PERMUTE, ASSUME):
        definition = definition.operands[0].defining_operation
    elements = definition.attributes.get("value") if definition is not None else None
    if not isinstance(elements, DenseAttribute) or not isinstance(elements.element_type, FloatType):
        return None
    found = set(elements.values())
    return to_double(FORMATS[elements.element_type.name], found.pop()) if len(found) == 1 else None
