"""Locks: tile blocks that take turns.

A lock is a loop that ends only when `atomic_cas` with `acquire` has found the word that it replaced, and a release of
the same word by an atomic that comes after the accesses.  Accesses between them, in the order of tokens, do not race
if tile blocks whose accesses meet have the same lock.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileir.dialect import ops
from tileir.execute.analysis.token_order import TokenOrder
from tileir.ir.core import Operation
from tileir.prove import terms
from tileir.prove.elements import Elements
from tileir.prove.memory import ATOMIC, Access, primed
from tileir.prove.solving import Solver
from tileir.prove.terms import Term
from tileir.prove.token_paths import always_after
from tileir.rewrite.matching import constant_integer, ends_of

_ACQUIRES = ("acquire", "acq_rel")
_RELEASES = ("release", "acq_rel")


@dataclass(frozen=True)
class _Lock:
    taking: Access
    releasing: Access
    loop: Operation


class Locks:
    """The locks of a kernel."""

    def __init__(self, elements: Elements, accesses: list[Access], order: TokenOrder) -> None:
        self._order = order
        self._locks: list[_Lock] = []
        atomics = [access for access in accesses if access.kind == ATOMIC and access.array is not None]
        for taking in atomics:
            loop = _spinning(taking.operation)
            if loop is None or taking.operation.keyword("memory_ordering_semantics") not in _ACQUIRES:
                continue
            for releasing in atomics:
                if releasing is not taking and _releases(releasing) and releasing.offset is taking.offset:
                    if releasing.array is taking.array and all(
                        other in (taking, releasing) or other.array is not taking.array for other in accesses
                    ):
                        self._locks.append(_Lock(taking, releasing, loop))

    def exclude(self, solver: Solver, first: Access, second: Access, meeting: list[Term]) -> bool:
        """Whether two accesses of different tile blocks that meet hold the same lock."""
        return any(
            self._is_held(lock, first)
            and self._is_held(lock, second)
            and solver.follows(terms.equal(lock.taking.offset, primed(lock.taking.offset)), meeting)
            for lock in self._locks
        )

    def _is_held(self, lock: _Lock, access: Access) -> bool:
        """Whether an access comes after the lock is taken and before it is released."""
        return always_after(self._order, access.operation, lock.taking.operation) and always_after(
            self._order, lock.releasing.operation, access.operation
        )


def _spinning(taking: Operation) -> Operation | None:
    """The loop that ends only where an `atomic_cas` has found what it compares with."""
    loop = taking.parent_operation
    if taking.declaration is not ops.ATOMIC_CAS_TKO or loop is None or loop.declaration is not ops.LOOP:
        return None
    free = constant_integer(taking.cmp)
    replaced = constant_integer(taking.val)
    if free is None or replaced is None or free == replaced or taking.mask is not None:
        return None
    breaks = ends_of(loop, ops.BREAK)
    for end in breaks:
        branching = end.parent_operation
        if branching is None or branching.declaration is not ops.IF or branching.parent_operation is not loop:
            return None
        if end.parent is not branching.regions[0].blocks[0]:
            return None
        if not _found_free(branching.operands[0].defining_operation, taking, free):
            return None
    return loop if breaks else None


def _found_free(comparison: Operation | None, taking: Operation, free: int) -> bool:
    if comparison is None or comparison.declaration is not ops.CMPI:
        return False
    if comparison.keyword("comparison_predicate") != "equal":
        return False
    left, right = comparison.operands
    found = taking.results[0]
    return (left is found and constant_integer(right) == free) or (right is found and constant_integer(left) == free)


def _releases(access: Access) -> bool:
    operation = access.operation
    if operation.declaration not in (ops.ATOMIC_RMW_TKO, ops.ATOMIC_STORE_TKO) or operation.mask is not None:
        return False
    return operation.keyword("memory_ordering_semantics") in _RELEASES
