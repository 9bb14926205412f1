"""The rules, by name, in the order of the documentation: one module for rules that look at the same things."""

from __future__ import annotations

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.analyze.lint.rules.silences import UNKNOWN_RULE, UNUSED_SILENCE
from tileir.analyze.lint.rules.unused import UNUSED_LOAD, UNUSED_VALUE
from tileir.annotations import Final

_ALL: Final[tuple[Rule, ...]] = (
    UNUSED_VALUE,
    UNUSED_LOAD,
    UNKNOWN_RULE,
    UNUSED_SILENCE,
)

RULES: Final[dict[str, Rule]] = {rule.name: rule for group in GROUPS for rule in _ALL if rule.group == group}
