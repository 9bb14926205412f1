"""Exceptions where a signal handler may raise one, at a step that can be chosen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType


class Interrupt(BaseException):
    """What a signal handler raises."""


def interrupted(work: Callable[[], object], number: int, places: tuple[str, ...]) -> tuple[int, str]:
    """Do something and raise at the step of a number, counted in files whose paths begin so.

    Python looks for signals when a function begins and when one in C has ended.  Gives how many steps there were, and
    where the last one is.
    """
    count, place = 0, ""

    def step(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count, place
        name = frame.f_code.co_filename
        if event in ("call", "c_return") and name.startswith(places):
            count += 1
            if count == number:
                place = f"{os.path.basename(name)}:{frame.f_lineno}"
                sys.setprofile(None)
                raise Interrupt

    sys.setprofile(step)
    try:
        work()
    except Interrupt:
        pass
    finally:
        sys.setprofile(None)
    return count, place


def steps(work: Callable[[], object], places: tuple[str, ...]) -> int:
    """How many steps there are."""
    return interrupted(work, -1, places)[0]
