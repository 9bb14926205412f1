"""TILEIR_DEBUG: launches that are emulated stop in the debugger."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final

from tileir.bridge.settings import NO

if TYPE_CHECKING:
    from tileir.bridge.contexts import Watcher
    from tileir.execute.sanitizer.report import Names

VARIABLE: Final = "TILEIR_DEBUG"
# The debugger stands above what it debugs, so it is found by name, as plugins are.
_DEBUGGER: Final = "tileir.serve.debugger.scripts"
_found: Final[list[Any]] = []
"""The one of this process: the first launch is the first of all contexts."""


def asked_debugger(sanitize: bool, watch_nan: bool, names: Names) -> Watcher | None:
    """Who debugs the launches of this process, if its environment asks for it."""
    text = os.environ.get(VARIABLE, "").strip()
    if text.lower() in NO:
        return None
    if not _found:
        _found.append(importlib.import_module(_DEBUGGER).watcher_of(text, sanitize, watch_nan, names))
    watcher: Watcher = _found[0]
    return watcher
