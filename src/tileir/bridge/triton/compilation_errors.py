"""Errors of Triton's frontend, in the user's lines only.

Triton raises one error for each function on the way to an error, those of its own library included, each caused by the
next.  The reason is in the last one, which stays the last cause, and lines count from the function's first.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

_LIBRARY = "triton/language/"


def show_user_lines(error: BaseException) -> None:
    """Leave the errors of the user's functions and the reason in a chain of causes, with file and line."""
    from triton.compiler.errors import CompilationError

    chain: list[Any] = []
    each: BaseException | None = error
    while each is not None and each not in chain:
        chain.append(each)
        each = each.__cause__
    places = {each: _place(each) for each in chain if isinstance(each, CompilationError)}
    users = [each for each, place in places.items() if _LIBRARY not in place.replace("\\", "/")]
    if not users or users[0] is not error:
        return
    last = chain[-1]
    reason = last.error_message if isinstance(last, CompilationError) else str(last)
    for each, cause in zip(users, [*users[1:], None if last in users else last], strict=True):
        each.__cause__, each.__suppress_context__ = cause, True
        if places[each]:
            # Python 3.10 does not show notes, and has no function that adds one.
            each.__notes__ = [f"at {places[each]}"]
    if note := _help_for(places[users[-1]], reason):
        users[-1].__notes__ = [*getattr(users[-1], "__notes__", ()), note]
    if reason and not users[-1].error_message:
        users[-1].error_message = reason
        users[-1].message = users[-1]._format_message()


def _help_for(place: str, reason: str) -> str:
    """What to change, where Triton's error is a frequent one."""
    import triton.language

    # Imported here: few kernels are wrong.
    from tileir.bridge.help.table import help_for
    from tileir.bridge.help.triton import TRITON

    file, _, line = place.rpartition(":")
    return help_for(reason, file, int(line or 0), TRITON, triton.language)


def _place(error: Any) -> str:
    """The file and line of a function that could not be compiled; empty if they are not known."""
    line, place = getattr(error.node, "lineno", 0), error.__traceback__
    found = ""
    while isinstance(place, TracebackType):
        generator: Any = place.tb_frame.f_locals.get("self")
        file = getattr(generator, "file_name", None)
        if file and getattr(getattr(generator, "jit_fn", None), "src", None) == error.src:
            # Counted from zero there.
            found = f"{file}:{generator.begin_line + line}"
        place = place.tb_next
    return found
