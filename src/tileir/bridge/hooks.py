"""Changes of other libraries: replaced functions, and actions before and after an import.

A function is replaced once and does what the original does outside of contexts.  So contexts of threads and tasks may
overlap in any way, and a module that has imported a function by name is reached.  The program may import a library at
any time: nothing else is imported here, as a process that TILEIR_EMULATE is set for may never do so.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, cast

from tileir.forking import NO_FORK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class Hook:
    """A replaced function: `replacement` is called with the original and with the arguments."""

    __name__: str

    def __init__(self, original: Callable[..., Any], replacement: Callable[..., Any]) -> None:
        functools.update_wrapper(cast(Any, self), original)
        self.original: Callable[..., Any] = original
        self.replacement: Callable[..., Any] = replacement

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        return self.replacement(self.original, *arguments, **keywords)

    def __reduce__(self) -> str:
        # Pickled by name, as the original.
        return str(self.__name__)


def hook(module: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Have calls of `module.name` come by a hook, also those of modules that have imported it by whatever name."""
    with NO_FORK:
        original = getattr(module, name)
        if isinstance(original, Hook) and original.replacement is replacement:
            return
        # A new hook each time: another library may have replaced the last one with a function that calls it.
        made = Hook(original, replacement)
        for other in list(sys.modules.values()):
            names = getattr(other, "__dict__", None)
            if not isinstance(names, dict) or other is module:
                continue
            for alias, value in list(names.items()):
                if value is original:
                    names[alias] = made
        # Last: where an interrupt comes before this, the next context begins once more.
        setattr(module, name, made)


def replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a function or method: `replacement` is called with the original and with the arguments."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return replacement(original, *arguments, **keywords)

    setattr(owner, name, call)


_before: dict[str, list[Callable[[str], ModuleSpec | None]]] = {}
_after: dict[str, list[Callable[[Any], None]]] = {}


def before_import(names: Sequence[str], action: Callable[[str], None]) -> None:
    """Call a function with the name before each of these modules is imported: now, if it is."""
    for name in names:
        if name in sys.modules:
            action(name)
        provide(name, action)


def after_import(name: str, action: Callable[[Any], None]) -> None:
    """Call a function with a module once it is imported: now, if it is."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        action(module)
    _add(_after, name, action)


def provide(name: str, spec_of: Callable[[str], ModuleSpec | None]) -> None:
    """Have a function find a module; None leaves it to the others."""
    _add(_before, name, spec_of)


def _add(table: dict[str, list[Any]], name: str, function: Callable[..., Any]) -> None:
    if function not in table.setdefault(name, []):
        table[name].append(function)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def found_elsewhere(name: str) -> ModuleSpec | None:
    """What the other finders find."""
    _FINDER.is_searching = True
    try:
        return importlib.util.find_spec(name)
    finally:
        _FINDER.is_searching = False


class _Finder(MetaPathFinder):
    """Finds what the others find, and has its loader do more."""

    is_searching: bool = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if self.is_searching or not (name in _before or name in _after):
            return None
        for find in _before.get(name, ()):
            spec = find(name)
            if spec is not None:
                return spec
        spec = found_elsewhere(name)
        loader: Any = getattr(spec, "loader", None)

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            loader.exec_module(module)
            for action in _after.get(module.__name__, ()):
                action(module)

        if loader is not None and name in _after:
            loader.exec_module = exec_module
        return spec


_FINDER = _Finder()
