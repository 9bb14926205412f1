"""Warnings at the line of the user's that led to them, however many functions of this package are in between."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType
from typing import Final

_PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_GENERATED: Final = "<generated>"
"""The file of functions that are written for a kernel (`generated_functions.py`)."""
_BETWEEN: Final = frozenset(("torch", "jax", "jaxlib", "importlib"))
"""Packages that call this one for the user: torch launches its operators, importlib imports torch."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as `warnings.warn` does, at the innermost line that is neither of this package nor of those between."""
    frame = inner = sys._getframe(1)
    while _is_between(frame):
        if frame.f_back is None:
            # All of the process is ours, as that of the command line is: where the warning was found.
            frame = inner
            break
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__") or "<string>",
        names.setdefault("__warningregistry__", {}),
    )


def _is_between(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == _GENERATED or file.startswith(_PACKAGE):
        return True
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _BETWEEN
