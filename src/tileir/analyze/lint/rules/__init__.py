"""The rules, by name: one module for rules that look at the same things.

A rule is a function under `@Rule(..)` in a module of this folder; nothing else names it.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tileir.analyze.lint.rule import GROUPS, Rule
from tileir.annotations import Final

_MODULES: Final = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_FOUND: Final = [value for module in _MODULES for value in vars(module).values() if isinstance(value, Rule)]

RULES: Final[dict[str, Rule]] = {
    rule.name: rule for group in GROUPS for rule in sorted(_FOUND, key=lambda rule: rule.name) if rule.group == group
}
"""In the order of the documentation: group by group."""
