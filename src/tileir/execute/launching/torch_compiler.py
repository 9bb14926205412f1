"""`torch.compile` and launches: the compiler of torch runs them as they are, and does not look inside.

It would trace a launch as any Python, and find nothing to make a graph of.  It has a list of folders that it does not
trace, and `leave_launches_alone` adds tileir when that module is imported: importing it here would take too long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from tileir.forking import NO_FORK

_RULES: Final = "torch._dynamo.trace_rules"


def leave_launches_alone() -> None:
    """Have the compiler of torch run launches, whenever it is imported."""
    rules = sys.modules.get(_RULES)
    if rules is not None:
        _add_rule(rules)
        return
    with NO_FORK:
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)


def _add_rule(rules: Any) -> None:
    add = getattr(rules, "add", None)
    if callable(add):
        add("tileir")


class _Finder:
    """Finds the module by the other finders, and adds tileir to its rules once it is loaded."""

    def __init__(self) -> None:
        self.is_looking: bool = False

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        if name != _RULES or self.is_looking:
            return None
        # Imported here, as few come by.
        import importlib.util

        self.is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_looking = False
        if spec is not None and spec.loader is not None:
            # A loader is one module's.
            cast(Any, spec.loader).exec_module = partial(self.load, spec.loader.exec_module)
        return spec

    def load(self, load: Callable[[Any], None], module: Any) -> None:
        load(module)
        with NO_FORK:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
        _add_rule(module)


_FINDER: Final[Any] = _Finder()
