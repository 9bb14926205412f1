"""Actions before and after the import of a module, which the program may do at any time.

Nothing else is imported here: a process that TILEIR_EMULATE is set for may never import what is emulated.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_before: dict[str, list[Callable[[], None]]] = {}
_after: dict[str, list[Callable[[Any], None]]] = {}
_provided: dict[str, Callable[[str], ModuleSpec | None]] = {}


def before_import(names: Sequence[str], action: Callable[[], None]) -> None:
    """Call a function before each of these modules is imported: now, if one is."""
    if any(name in sys.modules for name in names):
        action()
    for name in names:
        _before.setdefault(name, []).append(action)
    _watch()


def after_import(name: str, action: Callable[[Any], None]) -> None:
    """Call a function with a module once it is imported: now, if it is."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        action(module)
    if action not in _after.setdefault(name, []):
        _after[name].append(action)
    _watch()


def provide(name: str, spec_of: Callable[[str], ModuleSpec | None]) -> None:
    """Have a function find a module; None leaves it to the others."""
    _provided[name] = spec_of
    _watch()


def found_elsewhere(name: str) -> ModuleSpec | None:
    """What the other finders find."""
    _FINDER.is_searching = True
    try:
        return importlib.util.find_spec(name)
    finally:
        _FINDER.is_searching = False


def _watch() -> None:
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Finder(MetaPathFinder):
    """Finds what the others find, and has its loader do more."""

    is_searching: bool = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if self.is_searching or not (name in _before or name in _after or name in _provided):
            return None
        for action in _before.get(name, ()):
            action()
        spec = _provided[name](name) if name in _provided else None
        if spec is not None:
            return spec
        spec = found_elsewhere(name)
        if spec is not None and spec.loader is not None and name in _after:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """The loader of a module, which calls the functions for it afterwards."""

    def __init__(self, original: Any) -> None:
        self._original: Any = original

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._original.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._original
        if module.__spec__ is not None:
            module.__spec__.loader = self._original
        self._original.exec_module(module)
        for action in _after[module.__name__]:
            action(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


_FINDER = _Finder()
