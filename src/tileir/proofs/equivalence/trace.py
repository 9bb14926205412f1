"""What a kernel does, as plain data: effects, obligations, and the iterations of loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.proofs.equivalence.value_graph import Term

Promises = frozenset[Term]
Bounds = tuple[Term, Term, Term]
Split = tuple[tuple[Term, Term], tuple[Term, Term]]
"""The bounds of two loops that a loop becomes."""

# Kinds of the terms of loops, and of what must hold there.
RESULT: Final = "result"  # of a loop or reduction without effects
INSIDE: Final = "inside"  # obligations in each iteration of a loop without effects
BRANCH: Final = "branch"


class Unsupported(Exception):
    """The program has something that no terms stand for; the message names it."""


@dataclass(eq=False)
class Obligation:
    """What must hold where `guard` does."""

    guard: Term
    what: Term
    seen: dict[Term, int]
    """The `levels` of the trace there: which effects come before."""
    operation: Operation
    promises: Promises
    """What the operands depend on: one that may be anything keeps no obligation."""

    def is_before(self, effect: Effect) -> bool:
        return self.seen.get(effect.guard, -1) < effect.place[-1]

    def is_as_early_as(self, other: Obligation) -> bool:
        """Whether no effect comes before this one that does not come before another one."""
        return all(other.seen.get(guard, -1) >= level for guard, level in self.seen.items())


@dataclass(eq=False)
class Effect:
    """An operation with an effect, or a loop that contains one."""

    operation: Operation
    place: tuple[int, ...]
    """With those of the loops around it; effects that exclude each other may have one place."""
    guard: Term
    operands: list[Term]
    tokens: list[Term]
    promises: list[Promises]
    """Of the guard, then of each operand."""
    loop: Body | None = None


@dataclass(eq=False)
class Body:
    """One iteration of a loop."""

    bounds: Bounds | None
    """Lower bound, upper bound and step of a `for`, for an unsigned comparison."""
    counter: Term | None
    """The symbol that takes the values between the bounds."""
    carried: list[Term]
    continues: Term
    next: list[Term]
    next_promises: list[Promises]
    breaks: Term
    broken: list[Term]
    broken_promises: list[Promises]
    trace: Trace
    returns: Term = field(init=False)


@dataclass(eq=False)
class Trace:
    """The effects of a kernel or of an iteration."""

    effects: list[Effect] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    levels: dict[Term, int] = field(default_factory=dict)
    """By guard, how many effects at most happen up to the last one under it."""


@dataclass(eq=False)
class Exit:
    declaration: OperationDeclaration
    guard: Term
    values: list[Term]
    promises: list[Promises]


@dataclass(eq=False)
class Path:
    """Where evaluation is: the condition, what it depends on, and the exits found so far in the body around."""

    guard: Term
    promises: Promises
    exits: list[Exit]
