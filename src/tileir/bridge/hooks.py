"""Functions in the place of others': put there once, for good, and doing what the original does where nobody asks.

So contexts of threads and tasks may overlap in any way, and a module that has imported a function by name is reached.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, cast

from tileir.forking import NO_FORK


class Hook:
    """A function in the place of another, `original`."""

    __name__: str

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original: Callable[..., Any] = original
        functools.update_wrapper(cast(Any, self), original)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.original(*arguments, **keywords)

    def __reduce__(self) -> str:
        # Pickled by name, as the original.
        return str(self.__name__)


def hook(module: Any, name: str, kind: type[Hook]) -> None:
    """Have calls of `module.name` come by a hook, also those of modules that have imported it by whatever name."""
    if isinstance(getattr(module, name), kind):
        return
    with NO_FORK:
        original = getattr(module, name)
        if isinstance(original, kind):
            return
        # A new one each time: where somebody has replaced the last one, theirs may lead to it.
        made = kind(original)
        for other in list(sys.modules.values()):
            names = getattr(other, "__dict__", None)
            if not isinstance(names, dict) or other is module:
                continue
            for alias, value in list(names.items()):
                if value is original:
                    names[alias] = made
        # Last: where an interrupt comes before this, the next context begins once more.
        setattr(module, name, made)
