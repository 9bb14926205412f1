"""Python functions made from text: for what each launch does, a loop over parameters takes twice the time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any


def generated(name: str, lines: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    """The function of a name from its text, which finds `names` when it is called."""
    exec(_code("\n".join(lines)), names)
    found: Callable[..., Any] = names[name]
    return found


@functools.lru_cache(256)
def _code(text: str) -> CodeType:
    """Most kernels have parameters like another's: what differs should be in the names."""
    return compile(text, "<generated>", "exec")
