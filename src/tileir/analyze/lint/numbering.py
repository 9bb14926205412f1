"""Which values are the same value, written twice.

Two values have one number if they are computed by the same operation of the same values: `%i * %four` here and
`%i * %four` there.  What facts know to be one integer is that integer, and an `assume` is what it is about.  Values of
different numbers may still be equal.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ASSUME
from tileir.ir.core import Operation
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE
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
