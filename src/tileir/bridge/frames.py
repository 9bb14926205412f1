"""The frames of tileir in tracebacks and stacks of the user's program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = ("triton.", "cuda.tile.")
_STANDARD: Final = os.path.dirname(os.__file__) + os.sep
_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"
BINDER: Final = "dynamic_func"
"""The function that Triton generates to read the arguments of a launch."""
_FORWARDS: Final = ("tileir.bridge.triton.entry_points._run", "tileir.bridge.triton.resolving.resolved")
"""What hands a launch on to Triton's own function."""
_ANSWERS: Final = (
    "tileir.bridge.triton.kernel.__missing__",
    *[f"tileir.bridge.emulated.device.{name}" for name in ("__torch_function__", "_called", "_made")],
)
"""Calls torch's function for the user, or looks up a name for the user."""
_REFUSALS: Final = (IndexError, KeyError, RuntimeError, TypeError, ValueError)


def is_own_frame(frame: FrameType) -> bool:
    """Whether code of tileir runs, or of Triton or cuTile, which call it or are called by it."""
    code = frame.f_code
    is_library = f"{frame.f_globals.get('__name__')}.".startswith(_LIBRARIES) or code.co_name == BINDER
    return is_library or code.co_filename.startswith(_PACKAGE)


def is_script_frame(frame: FrameType) -> bool:
    """Whether code of the user runs, and none of a library."""
    file = frame.f_code.co_filename
    return not is_own_frame(frame) and not file.startswith(_STANDARD) and _INSTALLED not in file


def is_compile_error(error: BaseException) -> bool:
    """Whether Triton, cuTile, or the translation of TTIR refuses the user's kernel: the message has line and reason."""
    return type(error).__module__.startswith((*_LIBRARIES, "tileir.ttir.")) and "Internal" not in type(error).__name__


def hide_own_frames(error: BaseException, *, is_reported: bool = False) -> None:
    """Take the lines of tileir, Triton and cuTile out of the tracebacks of an error and of what it comes from.

    A bug of tileir is shown whole, so that it can be found.  With `is_reported` the message explains the error in the
    user's program, and what Python's own modules did on the way to it is left out, too.
    """
    frames = _frames(error)
    if all(is_own_frame(each.tb_frame) for each in frames):
        return
    if is_own_frame(frames[-1].tb_frame) and not is_reported and not _is_reported(error, frames[-1].tb_frame):
        return
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        kept = [frame for frame in _frames(each) if not is_own_frame(frame.tb_frame)]
        while is_reported and len(kept) > 1 and _is_standard(kept[-1].tb_frame):
            kept.pop()
        each.__traceback__ = _linked(kept)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def is_triton_refusal(error: BaseException) -> bool:
    """Whether Triton itself refuses a launch, in its own code: no function of tileir stands below its entry points."""
    frames = _frames(error)
    if not frames or not isinstance(error, Exception):
        return False
    innermost = frames[-1].tb_frame
    is_triton = _name(innermost).startswith("triton.") or innermost.f_code.co_name == BINDER
    own = [each.tb_frame for each in frames if each.tb_frame.f_code.co_filename.startswith(_PACKAGE)]
    return is_triton and (not own or _name(own[-1]) in _FORWARDS)


def _is_standard(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(_STANDARD) and _INSTALLED not in file


def _is_reported(error: BaseException, innermost: FrameType) -> bool:
    """Whether the message of an error explains what is wrong with the user's program."""
    from tileir.ir.diagnostics import TileIRError

    kind = type(error)
    if isinstance(error, (TileIRError, KeyboardInterrupt)):
        return kind.__name__ != "InternalError"
    if _name(innermost) in _ANSWERS:
        return isinstance(error, _REFUSALS)
    return is_compile_error(error) or is_triton_refusal(error)


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"


def _frames(error: BaseException) -> list[TracebackType]:
    found, place = [], error.__traceback__
    while place is not None:
        found.append(place)
        place = place.tb_next
    return found


def _linked(frames: list[TracebackType]) -> TracebackType | None:
    from types import TracebackType

    following = None
    for frame in reversed(frames):
        following = TracebackType(following, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return following
