"""How far apart in memory, or in numbers, neighbours in a tile are: along each dimension, as far as that is known.

Tiles of integers and of pointers that are made of `iota`, constants and numbers that are the same for all elements grow
evenly.  A step of 0 is a dimension along which nothing changes; None one of which nothing is known.  Steps of pointers
count elements.  A value that a loop carries has the steps it starts with, if the loop passes on no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.ir.attributes import DenseArrayAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.facts import Facts

Steps = tuple[int | None, ...]
_MOST_ROUNDS: Final = 4


class TileSteps:
    """The steps of all tiles of integers and pointers of a kernel."""

    def __init__(self, operations: Sequence[Operation], facts: Facts) -> None:
        self._facts: Final = facts
        self._known: dict[Value, Steps] = {}
        unsure: set[Value] = set()
        for _ in range(_MOST_ROUNDS):
            self._known = {}
            wrong = self._walk(operations, unsure)
            if not wrong:
                return
            unsure |= wrong
        self._known = {}
        self._walk(operations, {argument for each in operations for argument in _carried(each)})

    def of(self, value: Value) -> Steps:
        found = self._known.get(value)
        if found is not None:
            return found
        shape = value.type.shape if isinstance(value.type, TileType) else ()
        same = 0 if shape and self._facts.is_uniform(value) else None
        return tuple([0 if extent == 1 else same for extent in shape])

    def _walk(self, operations: Sequence[Operation], unsure: set[Value]) -> set[Value]:
        """Follow a kernel from its start; gives the carried values whose steps do not stay."""
        wrong: set[Value] = set()
        for operation in operations:
            declaration = operation.declaration
            rule = _RULES.get(declaration)
            if rule is not None:
                self._known[operation.results[0]] = rule(self, operation)
            elif declaration.is_loop:
                first = 3 if declaration is ops.FOR else 0
                for argument, given in zip(_carried(operation), operation.operands[first:], strict=True):
                    if argument not in unsure:
                        self._known[argument] = self.of(given)
            elif declaration is ops.CONTINUE:
                for argument, given in zip(_carried(_loop_of(operation)), operation.operands, strict=True):
                    if argument not in unsure and self.of(argument) != self.of(given):
                        wrong.add(argument)
        return wrong

    def constant(self, value: Value) -> int | None:
        return self._facts.integer(value)


def _carried(loop: Operation | None) -> list[BlockArgument]:
    if loop is None or not loop.declaration.is_loop:
        return []
    arguments = loop.regions[0].block.arguments
    return arguments[1:] if loop.declaration is ops.FOR else arguments


def _loop_of(end: Operation) -> Operation | None:
    around = end.parent_operation
    while around is not None and around.declaration is ops.IF:
        around = around.parent_operation
    return around


# --- operations ---


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TileType) else ()


def _sum(steps: TileSteps, operation: Operation) -> Steps:
    sign = -1 if operation.declaration is ops.SUBI else 1
    pairs = zip(*[steps.of(operand) for operand in operation.operands], strict=True)
    return tuple([None if left is None or right is None else left + sign * right for left, right in pairs])


def _product(steps: TileSteps, operation: Operation) -> Steps:
    for value, other in (operation.operands, operation.operands[::-1]):
        factor = steps.constant(other)
        if factor is not None:
            if operation.declaration is ops.SHLI:
                if other is operation.operands[0] or not 0 <= factor < 64:
                    continue
                factor = 1 << factor
            return tuple([None if step is None else step * factor for step in steps.of(value)])
    # Along a dimension where neither changes the product does not either.
    pairs = zip(*[steps.of(operand) for operand in operation.operands], strict=True)
    return tuple([0 if left == 0 and right == 0 else None for left, right in pairs])


def _broadcast(steps: TileSteps, operation: Operation) -> Steps:
    source = operation.operands[0]
    return tuple([0 if extent == 1 else step for extent, step in zip(_shape(source), steps.of(source), strict=True)])


def _reshape(steps: TileSteps, operation: Operation) -> Steps:
    """Dimensions of one element come and go; others have to stay as they are."""
    source, target = operation.operands[0], _shape(operation.results[0])
    pairs = zip(_shape(source), steps.of(source), strict=True)
    kept = [(extent, step) for extent, step in pairs if extent > 1]
    if [extent for extent, _ in kept] != [extent for extent in target if extent > 1]:
        if all(step == 0 for _, step in kept):
            return (0,) * len(target)
        return tuple([0 if extent == 1 else None for extent in target])
    following = iter(kept)
    return tuple([0 if extent == 1 else next(following)[1] for extent in target])


def _permute(steps: TileSteps, operation: Operation) -> Steps:
    order = operation.attributes.get("permutation")
    found = steps.of(operation.operands[0])
    if not isinstance(order, DenseArrayAttribute):
        return (None,) * len(found)
    return tuple([found[int(axis)] for axis in order.values])


def _same(steps: TileSteps, operation: Operation) -> Steps:
    return steps.of(operation.operands[0])


def _iota(steps: TileSteps, operation: Operation) -> Steps:
    return (1,)


def _constant(steps: TileSteps, operation: Operation) -> Steps:
    return tuple(
        [0 if steps.constant(operation.results[0]) is not None else None for _ in _shape(operation.results[0])]
    )


_RULES: Final[dict[OperationDeclaration, Callable[[TileSteps, Operation], Steps]]] = {
    ops.ADDI: _sum,
    ops.ASSUME: _same,
    ops.BROADCAST: _broadcast,
    ops.CONSTANT: _constant,
    ops.EXTI: _same,
    ops.IOTA: _iota,
    ops.MULI: _product,
    ops.OFFSET: _sum,
    ops.PERMUTE: _permute,
    ops.RESHAPE: _reshape,
    ops.SHLI: _product,
    ops.SUBI: _sum,
    ops.TRUNCI: _same,
}
