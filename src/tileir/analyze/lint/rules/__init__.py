"""The rules, by name, in the order of the documentation: one module for rules that look at the same things."""

from __future__ import annotations

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules.alignment import MISALIGNED_ROWS, UNKNOWN_ALIGNMENT
from tileir.analyze.lint.rules.arithmetic import FALSE_ASSUMPTION, IDENTICAL_OPERANDS, UNDEFINED_ARITHMETIC
from tileir.analyze.lint.rules.bounds import INDEX_OUTSIDE_VIEW, MISSING_PADDING
from tileir.analyze.lint.rules.capacity import REGISTER_SPILL, SHARED_MEMORY
from tileir.analyze.lint.rules.coalescing import UNCOALESCED_ACCESS
from tileir.analyze.lint.rules.conditions import CONSTANT_COMPARISON, CONSTANT_CONDITION, CONSTANT_MASK
from tileir.analyze.lint.rules.hints import CONTRADICTING_HINTS
from tileir.analyze.lint.rules.integers import CHEAP_DIVISION, INDEX_OVERFLOW
from tileir.analyze.lint.rules.loops import ENDLESS_LOOP, IDLE_LOOP, INVARIANT_LOAD, REPEATED_LOAD
from tileir.analyze.lint.rules.numerics import ORDER_DEPENDENT_REDUCTION, ORDER_DEPENDENT_SUM
from tileir.analyze.lint.rules.ordering import DEAD_STORE, MISSING_TOKEN, TOKEN_ORDERS_NOTHING
from tileir.analyze.lint.rules.portability import NEWER_THAN_VERSION, UNSUPPORTED_ON_TARGET
from tileir.analyze.lint.rules.sharing import NARROW_SCOPE, SAME_STORE
from tileir.analyze.lint.rules.silences import UNKNOWN_RULE, UNUSED_SILENCE
from tileir.analyze.lint.rules.style import PRINT_IN_KERNEL, UNUSED_PARAMETER
from tileir.analyze.lint.rules.tensor_cores import F32_PRODUCT, IDLE_TENSOR_CORES
from tileir.analyze.lint.rules.unused import (
    UNUSED_ASSUMPTION,
    UNUSED_CARRIED_VALUE,
    UNUSED_CONSTANT,
    UNUSED_LOAD,
    UNUSED_VALUE,
)
from tileir.annotations import Final

_ALL: Final[tuple[Rule, ...]] = (
    UNUSED_VALUE,
    UNUSED_LOAD,
    REGISTER_SPILL,
    SHARED_MEMORY,
    IDLE_TENSOR_CORES,
    F32_PRODUCT,
    UNCOALESCED_ACCESS,
    MISALIGNED_ROWS,
    UNKNOWN_ALIGNMENT,
    CONTRADICTING_HINTS,
    NEWER_THAN_VERSION,
    UNSUPPORTED_ON_TARGET,
    UNUSED_ASSUMPTION,
    UNUSED_CARRIED_VALUE,
    MISSING_TOKEN,
    TOKEN_ORDERS_NOTHING,
    DEAD_STORE,
    MISSING_PADDING,
    INDEX_OUTSIDE_VIEW,
    SAME_STORE,
    NARROW_SCOPE,
    CONSTANT_MASK,
    CONSTANT_COMPARISON,
    CONSTANT_CONDITION,
    ENDLESS_LOOP,
    IDLE_LOOP,
    IDENTICAL_OPERANDS,
    UNDEFINED_ARITHMETIC,
    FALSE_ASSUMPTION,
    ORDER_DEPENDENT_SUM,
    ORDER_DEPENDENT_REDUCTION,
    INDEX_OVERFLOW,
    INVARIANT_LOAD,
    REPEATED_LOAD,
    CHEAP_DIVISION,
    UNUSED_CONSTANT,
    UNUSED_PARAMETER,
    PRINT_IN_KERNEL,
    UNKNOWN_RULE,
    UNUSED_SILENCE,
)

RULES: Final[dict[str, Rule]] = {rule.name: rule for group in GROUPS for rule in _ALL if rule.group == group}
