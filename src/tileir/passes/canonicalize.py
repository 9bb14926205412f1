"""Canonicalization: folds and patterns until none fires, what nothing needs removed, constants merged.

The model (rewrite/driver.py).  The rules are those of the public dialect ("parity") or those and the folds draft's
("full"). Constants are gathered at the start of the kernel.  An operation is removed when its results are unused and it
has no effect on memory; loads and everything else ordered by tokens stay.

With the "full" rules the expression simplifier runs once after the fixed point (the folds draft, Canonicalization
Driver). Where it changes something, the rules are given another chance at what it made, and it at what they leave: so a
second canonicalization finds nothing to do.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.passes.registry import FULL, PassSession
from tileir.rewrite.driver import Fold, Pattern, apply_greedily
from tileir.rewrite.folds import full_folds, public_folds
from tileir.rewrite.patterns_if import if_patterns
from tileir.rewrite.patterns_select import PRODUCT_FIRST, full_select_patterns, public_select_patterns
from tileir.rewrite.simplifier import simplify_expressions

# Far more rounds than programs need; a bound all the same.
_MOST_ROUNDS: Final = 16


def canonicalization_folds(rules: str) -> list[Fold]:
    """The folds of a family of rules."""
    return full_folds() if rules == FULL else public_folds()


def canonicalization_patterns(rules: str) -> list[Pattern]:
    """The patterns of a family of rules, in the order they are tried."""
    patterns = [PRODUCT_FIRST, *if_patterns(), *public_select_patterns()]
    return [*patterns, *full_select_patterns()] if rules == FULL else patterns


def run(root: Operation, session: PassSession) -> int:
    """Canonicalize what is inside `root`; gives the number of rules that fired."""
    before = sum(session.statistics.fired.values())
    patterns = canonicalization_patterns(session.rules)
    folds = canonicalization_folds(session.rules)
    statistics, trace, kept = session.statistics, session.trace, session.keep_locations
    apply_greedily(root, patterns, folds, statistics=statistics, trace=trace, keep_locations=kept)
    if session.rules == FULL:
        # The simplifier takes away more than it makes and the rules make nothing it takes away, so this ends.
        for _ in range(_MOST_ROUNDS):
            if not simplify_expressions(root, statistics, trace, keep_locations=kept):
                break
            apply_greedily(root, patterns, folds, statistics=statistics, trace=trace, keep_locations=kept)
    return sum(session.statistics.fired.values()) - before
