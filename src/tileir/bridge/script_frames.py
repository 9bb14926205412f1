"""The line of a script that is running now, below the libraries it calls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def launching_frame() -> FrameType | None:
    """The line of the script that launches: the innermost one that is not tileir's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def frame_words(frame: FrameType | None) -> str:
    """As in `at k.py:3 in main`."""
    if frame is None:
        return "outside of Python"
    return f"at {harmless(_short(frame.f_code.co_filename))}:{frame.f_lineno} in {harmless(frame.f_code.co_name)}"


def _short(path: str) -> str:
    """A path below the working directory, as the user would write it."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here)
