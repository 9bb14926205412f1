"""The frames of tileir in tracebacks and stacks of the user's program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_own_frame(frame: FrameType) -> bool:
    """Whether code of tileir runs, or of Triton, which calls it."""
    is_triton = str(frame.f_globals.get("__name__")).startswith("triton.")
    return is_triton or frame.f_code.co_filename.startswith(_PACKAGE)


def without_own_frames(error: BaseException, place: TracebackType | None) -> TracebackType | None:
    """A traceback without the lines of tileir that lead from a launch to what went wrong there.

    A mistake of tileir's own is shown whole: somebody has to find it.
    """
    from types import TracebackType

    from tileir.ir.diagnostics import TileIRError

    frames = []
    while place is not None:
        frames.append(place)
        place = place.tb_next
    kept = [frame for frame in frames if not is_own_frame(frame.tb_frame)]
    is_reported = isinstance(error, (TileIRError, KeyboardInterrupt)) and type(error).__name__ != "InternalError"
    if not kept or (kept[-1] is not frames[-1] and not is_reported):
        kept = frames
    following = None
    for frame in reversed(kept):
        following = TracebackType(following, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return following
