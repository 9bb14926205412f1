"""The operations of a kernel with what holds when they run.

    for visit in walk(entry):
        visit.operation, visit.loops, visit.conditions
    facts_of(elements, visit)        # the same as terms

A path has the loops around an operation and the conditions of the `if`s: of those around it, and of those before it
that leave (by `break`, `continue` or `return`) in one of their branches.  More may hold on it, never less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileir.dialect import ops
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements
from tileir.proofs.symbolic.terms import Term
from tileir.rewrite.matching import branch, ends_of, leaves

Conditions = tuple[tuple[Value, bool], ...]


@dataclass(frozen=True)
class Visit:
    """An operation, the loops around it, outermost first, and the conditions that hold or do not hold there."""

    operation: Operation
    loops: tuple[Operation, ...] = ()
    conditions: Conditions = ()


def walk(entry: Operation) -> Iterator[Visit]:
    """The operations of a kernel, in program order; those in the bodies of reductions and scans are left out."""
    yield from _block(entry.regions[0].blocks[0], (), ())


def _block(block: Block, loops: tuple[Operation, ...], conditions: Conditions) -> Iterator[Visit]:
    for operation in block:
        yield Visit(operation, loops, conditions)
        if operation.declaration.is_loop:
            yield from _block(operation.regions[0].block, (*loops, operation), conditions)
        elif operation.declaration is ops.IF:
            condition = operation.operands[0]
            branches = [branch(operation, 0), branch(operation, 1)]
            for holds, inner in zip((True, False), branches, strict=True):
                if inner is not None:
                    yield from _block(inner, loops, (*conditions, (condition, holds)))
            for holds, inner in zip((True, False), branches, strict=True):
                if leaves(inner):
                    conditions = (*conditions, (condition, not holds))


def facts_of(elements: Elements, visit: Visit) -> list[Term]:
    """What holds when an operation runs: the counters of its loops are in their ranges, its conditions hold."""
    found: list[Term] = []
    for loop in visit.loops:
        found += elements.counter_facts(loop)
    for condition, holds in visit.conditions:
        term = elements.scalar(condition)
        found.append(term if holds else terms.negation(term))
    return found


def is_left_early(loop: Operation) -> bool:
    """Whether an iteration of a loop may end before the end of its body."""
    last = loop.regions[0].block.last
    ends = [*ends_of(loop, ops.CONTINUE), *ends_of(loop, ops.BREAK)]
    return any(end is not last for end in ends) or any(each.declaration is ops.RETURN for each in loop.walk())
