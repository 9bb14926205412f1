"""The end of all processes that a child has started, those too that have left its group and whose parents are gone."""

from __future__ import annotations

import os
import signal
import time
from typing import Final

from tileir.judge.confinement.linux import PR_SET_CHILD_SUBREAPER, prctl

_PAUSE: Final = 0.001
_PATIENCE: Final = 2000


def adopt_descendants() -> bool:
    """Have processes whose parents end become children of this one, which then can end them."""
    return prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_descendants() -> None:
    """End all children of this process and theirs, in a moment when it should have none."""
    for turn in range(_PATIENCE):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for child in _descendants(os.getpid()):
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                continue
        if turn:
            time.sleep(_PAUSE)


def _descendants(process: int) -> list[int]:
    found: list[int] = []
    pending = [process]
    while pending:
        children = _children(pending.pop())
        found += children
        pending += children
    return found


def _children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", "rb") as file:
                found += [int(each) for each in file.read().split()]
    except (OSError, ValueError):
        # It is gone, or the system has no such directory.
        pass
    return found
