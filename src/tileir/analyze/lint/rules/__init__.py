"""The rules, by name, in the order of the documentation: one module for rules that look at the same things."""

from __future__ import annotations

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules.portability import NEWER_THAN_VERSION, UNSUPPORTED_ON_TARGET
from tileir.analyze.lint.rules.room import REGISTER_SPILL, SHARED_MEMORY
from tileir.analyze.lint.rules.silences import UNKNOWN_RULE, UNUSED_SILENCE
from tileir.analyze.lint.rules.unused import UNUSED_LOAD, UNUSED_VALUE
from tileir.annotations import Final

_ALL: Final[tuple[Rule, ...]] = (
    UNUSED_VALUE,
    UNUSED_LOAD,
    REGISTER_SPILL,
    SHARED_MEMORY,
    NEWER_THAN_VERSION,
    UNSUPPORTED_ON_TARGET,
    UNKNOWN_RULE,
    UNUSED_SILENCE,
)

RULES: Final[dict[str, Rule]] = {rule.name: rule for group in GROUPS for rule in _ALL if rule.group == group}
