"""What is known about the values of a program: constants, ranges, divisibility, uniformity.

    facts = Facts()
    facts.range(value)                # (-128, 127): the least and the greatest an element can be
    facts.divisor(value)              # 16: a power of two that divides every element (or address)
    facts.constant(value)             # 7 or 1.5, or None
    facts.is_uniform(value)           # whether all elements are the same

Facts come from constants, `assume`, loop bounds, block ids and the types of views; the rules of `fact_rules.py` carry
them through arithmetic and shapes.  A fact is computed on demand and cached.  After a change of the program, call
`forget` for each value that is computed differently, or `invalidate`.

The model of control flow:

1. A result of `if` is one of the values that its branches yield.
2. The induction variable of a `for` starts at the lower bound, stays below the upper one and grows by the step.
3. A carried value is the initial one or an operand of a `continue`.  A fixed-point iteration assumes for the carried
   value what is known of the initial one, computes the facts about the operands of `continue` under this assumption,
   and widens the assumption until they confirm it.  A bound that moves becomes that of the type, so this ends after a
   few rounds.  Assumptions nest with loops, up to a limit: beyond it nothing is known of a carried value.
4. A result of `for` is like its carried value; a result of `loop` is one of the operands of its `break`s.
5. Nothing is known of loaded values and of arguments of kernels and reductions.
"""

from __future__ import annotations

from functools import reduce

from tileir.annotations import Final
from tileir.dialect.ops import ASSUME, BREAK, BROADCAST, CONTINUE, FOR, IF, LOOP, PERMUTE, RESHAPE
from tileir.ir.core import Block, Operation
from tileir.ir.floats import FORMATS, to_double
from tileir.ir.types import FloatType
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.rewrite.fact import Fact, anything, full, joined, narrowed, shape_of, widened, width_of
from tileir.rewrite.fact_rules import fact_of_result
from tileir.rewrite.matching import carried_values, constant_value, if_yields, loop_ends, received_values

# Assumptions about carried values nest up to this depth of loops.
_MAX_LEVEL: Final = 3
_MAX_ROUNDS: Final = 8


class Facts:
    """Facts about values, computed on demand and cached."""

    __slots__ = ("_inside", "_known", "_level", "_loop", "_outer")

    def __init__(self) -> None:
        self._known: dict[Value, Fact] = {}
        # Only for facts under an assumption about a loop: the facts that hold outside, and the loop.
        self._outer: Facts | None = None
        self._loop: Operation | None = None
        self._level: int = 0
        self._inside: dict[Block, bool] = {}

    def fact(self, value: Value) -> Fact:
        """Everything known about a value."""
        found = self._lookup(value)
        return found if found is not None else self._evaluate(value)

    def constant(self, value: Value) -> int | float | None:
        """Return the number that all elements are, if it is known; integers are signed, i1 is 0 or 1."""
        found = self.integer(value)
        return _float_constant(value) if found is None else found

    def integer(self, value: Value) -> int | None:
        """Return the integer that all elements are, if it is known: signed, for i1 0 or 1."""
        fact = self.fact(value)
        if fact.value is None:
            return None
        return fact.value if fact.width == 1 else fact.signed_low

    def range(self, value: Value, signed: bool = True) -> tuple[int, int]:
        """Return the smallest and largest possible element, of integers and pointers; a signed i1 is 0 or -1."""
        fact = self.fact(value)
        if fact.width == 0:
            raise ValueError(f"'{value.type.text}' has no range")
        return fact.range(signed)

    def divisor(self, value: Value) -> int:
        """Return the largest power of two known to divide every element; for zeros, 2 to the number of bits."""
        return 1 << self.fact(value).zeros

    def groups(self, value: Value) -> tuple[int, ...]:
        """Return an extent per dimension: all elements of an aligned block of this shape are known to be equal."""
        return self.fact(value).groups

    def is_uniform(self, value: Value) -> bool:
        """Whether all elements are known to be equal; a scalar is always uniform."""
        return self.fact(value).groups == shape_of(value.type)

    def invalidate(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._inside.clear()

    def forget(self, value: Value) -> None:
        """Forget the facts about a value and about all values computed from it."""
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
                if user.declaration.is_loop:
                    pending.extend(user.regions[0].block.arguments)
                elif user.declaration.is_terminator:
                    pending.extend(received_values(user))

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
        """Compute a fact after those it needs, with an explicit stack: chains of operations may be long."""
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
            # Something is missing here only if a value is used in its own definition.
            facts = [self._lookup(source) or anything(source.type) for source in needed]
            if current not in known:
                self._record(current, facts)
        return known[value]

    def _record(self, value: Value, facts: list[Fact]) -> None:
        """Record the fact about a value, given those about its sources."""
        owner = value.block.parent_operation if isinstance(value, BlockArgument) else None
        if isinstance(value, OperationResult) and value.operation.declaration is FOR:
            found = facts[0]
        elif isinstance(value, OperationResult) and value.operation.regions:
            found = reduce(joined, facts) if facts else anything(value.type)
        elif isinstance(value, OperationResult):
            found = fact_of_result(value, facts)
        elif isinstance(value, BlockArgument) and owner is not None and owner.declaration is FOR and value.index == 0:
            found = _induction_fact(owner, facts)
        elif owner is not None and owner.declaration.is_loop:
            self._record_carried(owner, facts)
            return
        else:
            found = anything(value.type)
        self._known[value] = found

    def _record_carried(self, loop: Operation, initial: list[Fact]) -> None:
        """Rule 3, for all carried values of a loop at once."""
        arguments = carried_values(loop)
        assumed = initial
        continued = [terminator.operands for terminator in loop_ends(loop, CONTINUE)]
        for _ in range(_MAX_ROUNDS if self._level < _MAX_LEVEL else 0):
            inner = Facts()
            inner._outer = self
            inner._loop = loop
            inner._level = self._level + 1
            for argument, fact in zip(arguments, assumed, strict=True):
                inner._known[argument] = fact
            found: list[Fact] = []
            for position, fact in enumerate(assumed):
                for operands in continued:
                    fact = joined(fact, inner.fact(operands[position]))
                found.append(fact)
            if all(new.same_as(old) for old, new in zip(assumed, found, strict=True)):
                break
            assumed = [widened(old, new) for old, new in zip(assumed, found, strict=True)]
        else:
            assumed = [anything(argument.type) for argument in arguments]
        for argument, fact in zip(arguments, assumed, strict=True):
            self._known[argument] = fact


def _sources(value: Value) -> list[Value]:
    """The values whose facts a value's own fact needs."""
    if isinstance(value, OperationResult):
        operation = value.operation
        declaration = operation.declaration
        if declaration is FOR:
            return [carried_values(operation)[value.index]]
        if declaration is LOOP:
            return [terminator.operands[value.index] for terminator in loop_ends(operation, BREAK)]
        if declaration is IF:
            return [terminator.operands[value.index] for terminator in if_yields(operation)]
        return [] if operation.regions else operation.operands
    if isinstance(value, BlockArgument):
        owner = value.block.parent_operation
        if owner is not None and owner.declaration is FOR:
            return owner.operands[:3] if value.index == 0 else owner.operands[3:]
        if owner is not None and owner.declaration is LOOP:
            return owner.operands
    return []


def _induction_fact(loop: Operation, facts: list[Fact]) -> Fact:
    """Rule 2."""
    lower, upper, step = facts
    width = width_of(loop.operands[0].type)
    signed = not loop.unsigned_cmp
    low = lower.range(signed)[0]
    high = upper.range(signed)[1] - 1
    if high < low:
        return full(width, ())  # The body is unreachable.
    first, distance = lower.value, step.value
    if first is not None and distance is not None and distance > 0:
        start = lower.signed_low if signed else first
        high = start + (high - start) // distance * distance
    zeros = min(lower.zeros, step.zeros)
    return narrowed(width, (), (low, high) if signed else None, None if signed else (low, high), zeros)


def _float_constant(value: Value) -> float | None:
    """Return the float that all elements of a constant are, also if it is reshaped, broadcast or permuted."""
    definition = value.defining_operation
    while definition is not None and definition.declaration in (RESHAPE, BROADCAST, PERMUTE, ASSUME):
        value = definition.operands[0]
        definition = value.defining_operation
    elements = constant_value(value)
    if elements is None or not isinstance(elements.element_type, FloatType):
        return None
    found = set(elements.values())
    return to_double(FORMATS[elements.element_type.name], found.pop()) if len(found) == 1 else None
