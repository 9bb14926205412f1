"""Locks: mutual exclusion of tile blocks.

A lock is a loop that ends only when `atomic_cas` with `acquire` has found the word that it replaced, and an atomic with
`release` that puts this word back.  By the contract, the words of locks are free at first.  Accesses between the
two, in the order of tokens, do not race if tile blocks whose accesses meet have the same lock.
"""

from __future__ import annotations

from dataclasses import dataclass

from tileir.dialect import ops
from tileir.execute.analysis.token_order import TokenOrder
from tileir.ir.core import Operation
from tileir.proofs.solving import Solver
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements
from tileir.proofs.symbolic.memory import ATOMIC, Access, primed
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.token_paths import always_after
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
                if releasing is not taking and _releases(releasing, taking) and releasing.offset is taking.offset:
                    if releasing.array is taking.array and all(
                        other in (taking, releasing) or other.array is not taking.array for other in accesses
                    ):
                        self._locks.append(_Lock(taking, releasing, loop))

    def exclude(self, solver: Solver, first: Access, second: Access, meeting: list[Term]) -> bool:
        """Whether two accesses of different tile blocks that meet hold the same lock."""
        return any(
            all(solver.follows(each.mask, each.facts) for each in (lock.taking, lock.releasing))
            and self._is_held(lock, first)
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
    if free is None or replaced is None or free == replaced:
        return None
    breaks = ends_of(loop, ops.BREAK)
    for end in breaks:
        branching = end.parent_operation
        if branching is None or branching.declaration is not ops.IF or branching.parent_operation is not loop:
            return None
        holds = end.parent is branching.regions[0].blocks[0]
        if not _has_taken(branching.operands[0].defining_operation, holds, taking, (free, replaced)):
            return None
    return loop if breaks else None


def _has_taken(comparison: Operation | None, holds: bool, taking: Operation, words: tuple[int, int]) -> bool:
    """Whether a comparison shows that the word was free; or that it was not taken, as there are two words."""
    if comparison is None or comparison.declaration is not ops.CMPI:
        return False
    predicate = comparison.keyword("comparison_predicate")
    if predicate not in ("equal", "not_equal"):
        return False
    left, right = comparison.operands
    number = constant_integer(right if left is taking.results[0] else left)
    if taking.results[0] not in (left, right) or number not in words:
        return False
    return (number == words[0]) is (holds is (predicate == "equal"))


def _releases(access: Access, taking: Access) -> bool:
    """Whether an atomic puts the word back that the lock has while it is free."""
    operation = access.operation
    if operation.declaration is ops.ATOMIC_RMW_TKO and operation.keyword("mode") == "xchg":
        word = operation.arg
    elif operation.declaration is ops.ATOMIC_STORE_TKO:
        word = operation.value
    else:
        return False
    is_free = constant_integer(word) == constant_integer(taking.operation.cmp)
    return is_free and operation.keyword("memory_ordering_semantics") in _RELEASES
