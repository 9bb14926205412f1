"""All that can be done to a program: every pass alone with either family of rules, every level of both pipelines."""

from __future__ import annotations

from collections.abc import Callable

from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError
from tileir.ir.traversal import clone
from tileir.passes.catalog import registered_passes
from tileir.passes.pipeline import PassReport, optimize, run_passes

Form = Callable[[Operation], Operation]

RULES = ("parity", "full")
_OLDER = ("{version=13.1}", "{version=13.2}", "{version=13.3}")


def forms() -> dict[str, Form]:
    """The forms by name; each verifies what every one of its passes leaves."""
    found: dict[str, Form] = {}
    for one in registered_passes():
        if one.name == "test-debuginfo-update-symbol-name":
            # Renames what it is told to: a second time it is told that there is no such name.
            continue
        for options in _OLDER if one.name == "downlevel" else ("",):
            for rules in RULES:
                found[f"{one.name}{options} {rules}"] = _pass(one.name + options, rules)
    for rules in RULES:
        for level in range(4):
            found[f"-O{level} {rules}"] = _level(level, rules, False)
            found[f"-O{level} {rules} fuse-fma"] = _level(level, rules, True)
    return found


def _pass(text: str, rules: str) -> Form:
    return lambda module: run_passes(module, [text], rules=rules, report=PassReport(verify=True))


def _level(level: int, rules: str, fuse_fma: bool) -> Form:
    return lambda module: optimize(module, level, rules=rules, fuse_fma=fuse_fma, report=PassReport(verify=True))


def formed(module: Operation, name: str, form: Form) -> Operation | None:
    """The form of a copy; None where it is refused, which leaves the program as it was."""
    copy = clone(module)
    try:
        return form(copy)
    except PassError:
        assert name.startswith(("legalize", "downlevel"))
        assert copy.text(debug_info=True) == module.text(debug_info=True)
        return None
