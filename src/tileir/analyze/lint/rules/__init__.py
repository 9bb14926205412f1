"""The rules, by name, in the order of the documentation: one module for rules that look at the same things."""

from __future__ import annotations

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules.alignment import MISALIGNED_ROWS, UNKNOWN_ALIGNMENT
from tileir.analyze.lint.rules.coalescing import UNCOALESCED_ACCESS
from tileir.analyze.lint.rules.grids import SAME_STORE
from tileir.analyze.lint.rules.hints import CONTRADICTING_HINTS
from tileir.analyze.lint.rules.portability import NEWER_THAN_VERSION, UNSUPPORTED_ON_TARGET
from tileir.analyze.lint.rules.room import REGISTER_SPILL, SHARED_MEMORY
from tileir.analyze.lint.rules.silences import UNKNOWN_RULE, UNUSED_SILENCE
from tileir.analyze.lint.rules.tensor_cores import F32_PRODUCT, IDLE_TENSOR_CORES
from tileir.analyze.lint.rules.unused import UNUSED_LOAD, UNUSED_VALUE
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
    SAME_STORE,
    NEWER_THAN_VERSION,
    UNSUPPORTED_ON_TARGET,
    UNKNOWN_RULE,
    UNUSED_SILENCE,
)

RULES: Final[dict[str, Rule]] = {rule.name: rule for group in GROUPS for rule in _ALL if rule.group == group}
