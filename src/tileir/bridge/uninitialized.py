"""The functions that allocate memory and do not write to it: NumPy's, torch's and CuPy's.

Where launches are sanitized, or judged, what they return is filled (`execute.sanitizer.uninitialized`).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import numpy

from tileir.bridge.contexts import active
from tileir.bridge.frames import is_own_frame
from tileir.bridge.hooks import replace
from tileir.execute.arguments.binding import host_array
from tileir.execute.sanitizer.uninitialized import ALLOCATIONS, Elements, fill
from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from types import FrameType

Extent = tuple[int, int, Elements]  # Where memory begins, its bytes, and what it holds.
_LIBRARIES: Final = ("cupy", "numpy", "torch")
_FLOATS: Final = ("bfloat", "complex", "float")

WATCHED: Final[list[str]] = []
"""Empty until allocations are watched; has "everywhere" where contexts do not matter."""


def watch_allocations(*, everywhere: bool = False) -> None:
    """From now on fill what is allocated: in contexts that sanitize, or `everywhere` for good."""
    if not WATCHED:
        WATCHED.append("contexts")
        for name in ("empty", "empty_like"):
            replace(numpy, name, _allocate)
    if everywhere:
        WATCHED.append("everywhere")


def _allocate(original: Any, *arguments: Any, **keywords: Any) -> Any:
    made = original(*arguments, **keywords)
    note_allocation(_extent(made))
    return made


def note_allocation(extent: Extent | None) -> None:
    """Fill memory that was just allocated, if allocations are watched."""
    if extent is None or not WATCHED or not extent[0]:
        return
    is_everywhere = "everywhere" in WATCHED
    if not is_everywhere:
        context = active()
        if context is None or not context.sanitizes:
            return
    frame = sys._getframe(1)
    while frame.f_back is not None:
        package, _, rest = frame.f_globals.get("__name__", "").partition(".")
        if package == "tileir" and not rest.startswith("bridge."):
            # Scratch memory of an engine.
            return
        if package != "tileir" and package not in _LIBRARIES:
            break
        frame = frame.f_back
    if is_everywhere:
        fill(*extent)
    else:
        ALLOCATIONS.add(*extent, frame_words(frame))


def _extent(array: Any) -> Extent | None:
    host = host_array(array)
    array = array if host is None else host
    if type(array) is not numpy.ndarray or array.base is not None or array.dtype.hasobject:
        return None
    elements = Elements(array.dtype.itemsize, array.dtype.name.startswith(_FLOATS))
    return array.__array_interface__["data"][0], array.nbytes, elements


# --- the line of a script that is running now ---


def launching_frame() -> FrameType | None:
    """The line of the script that launches: the innermost one that is not tileir's or Triton's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own_frame(frame):
        frame = frame.f_back
    return frame


def frame_words(frame: FrameType | None) -> str:
    """As in `at k.py:3 in main`."""
    if frame is None:
        return "outside of Python"
    # A path below the working directory, as the user would write it.
    path = frame.f_code.co_filename.removeprefix(os.getcwd() + os.sep)
    return f"at {harmless(path)}:{frame.f_lineno} in {harmless(frame.f_code.co_name)}"
