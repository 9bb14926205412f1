"""Build a large program without the garbage collector walking it over and over.

A program under construction is all live: each collection walks everything built so far and frees nothing.  Without a
pause, reading 20,000 operations takes 1.6 times as long.
"""

from __future__ import annotations

import gc
import os

# New objects between collections during a pause: more than a program of a million operations has.  The collector is
# not switched off: a pause whose end is lost to an interrupt does little harm.  No other code sets this number.
_THRESHOLD = 20_000_003


class _State:
    """The pauses under way in this process, and the collector's thresholds before them."""

    def __init__(self) -> None:
        self.active: set[int] = set()
        self.before: tuple[int, int, int] = (0, 0, 0)

    def restore(self) -> None:
        """Restore the thresholds, unless the user has set others meanwhile."""
        if gc.get_threshold() == (_THRESHOLD, *self.before[1:]):
            gc.set_threshold(*self.before)

    def after_fork(self) -> None:
        """End the pauses of threads that a forked process does not have."""
        self.active.clear()
        self.restore()


_STATE = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_STATE.after_fork)


class CollectorPaused:
    """Makes collections rare within a `with`; pauses may nest, and overlap in threads.

    There is no lock: if two threads begin or end pauses at the same time, at worst one pause ends too early.
    """

    def __enter__(self) -> None:
        _STATE.active.add(id(self))
        thresholds = gc.get_threshold()
        if 0 < thresholds[0] < _THRESHOLD:
            _STATE.before = thresholds
            gc.set_threshold(_THRESHOLD, *thresholds[1:])

    def __exit__(self, *exception: object) -> None:
        _STATE.active.discard(id(self))
        if not _STATE.active:
            _STATE.restore()
